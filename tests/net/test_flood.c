/* test_flood.c - too much of one session costs nobody's game: it gets in what the limits say, and no place is
 * held for ever. net/PROTOCOL.md §8 to §10. Floods of strangers, and somebody on the wire: test_gate,
 * `relay/storm`.
 * instead: test_gate in virtual time; test_hub, test_strangers; `relay/storm`
 * runs: alone, all, 20 s */
#include <arpa/inet.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net/platform/clock.h"
#include "tests/unit/unit.h"
#include "tests/net/net_gap.h"
#include "tests/net/net_hitch.h"
#include "tests/net/net_intruder.h"

static struct program relay;
static struct player player[2];
static struct gap gap;

static void turns(void) {
    gap_turn(&gap, player, 2, 2);
}

static void turns_for(unsigned ms) {
    gap_turns(&gap, player, 2, 2, ms);
}

static void play(void) {
    relay = relay_start((const char *const[]){"--bind", "::", NULL});
    hitch_watch(relay.pid);
    for (unsigned i = 0; i < 2; i++) {
        struct kl_hello h = hello_make(i ? "bob" : "ann", "room", 1, 2);
        h.params.clocked = true;
        player_open(&player[i], &h, relay.port, 100000);
        assert_true(player_joins(&player[i]));
    }
    assert_true(players_reach(player, 2, 0, KL_PARTICIPANT_PLAYING, 10));
    gap.frames = 0;
    turns_for(1500);
    gap.longest_us = 0;
}

/* Ends the relay; gives what it counted. */
static void end(char *line, size_t cap) {
    kill(relay.pid, SIGTERM);
    assert_true(program_said(&relay, "event=stopped"));
    snprintf(line, cap, "%s", strstr(program_log(&relay), "event=stopped"));
    print_message("           %s", line);
    program_stop(&relay, SIGKILL);
}

/* Still playing, both the same; ends the relay. Gives what it counted. */
static void stop(const char *what, char *line, size_t cap) {
    assert_int_equal(player[0].status.phase, KL_PARTICIPANT_PLAYING);
    assert_int_equal(player[1].status.phase, KL_PARTICIPANT_PLAYING);
    assert_int_equal(players_differ(player, 2, gap.frames), -1);
    print_message(
        "           %s: %u frames, longest gap %.0f ms, less what the machine stood still: %.0f ms in all\n",
        what, gap.frames, (double)gap.longest_us / 1e3, (double)hitch_us() / 1e3);
    player_close(&player[0], 500);
    player_close(&player[1], 500);
    end(line, cap);
}

static unsigned long long counted(const char *line, const char *key) {
    char find[32];
    snprintf(find, sizeof find, " %s=", key);
    const char *at = strstr(line, find);
    assert_non_null(at);
    return strtoull(at + strlen(find), NULL, 10);
}

/* A session in which ENet is not connected holds a place for some seconds. */
TEST(no_place_is_held_for_ever) {
    static const uint8_t ctrl[10];
    struct intruder first, second;
    uint64_t begin_us = kl_now_us();
    bool in = false;
    relay = relay_start((const char *const[]){"--per-address", "1", NULL});
    intruder_shake(&first, relay.port, "127.0.0.9");
    assert_true(first.has_keys);
    intruder_send(&first, -1, KL_SEAL_CTRL, ctrl, sizeof ctrl);
    while (!in && kl_now_us() < begin_us + 60 * UINT64_C(1000000)) {
        poll(NULL, 0, 500);
        intruder_shake(&second, relay.port, "127.0.0.9");
        in = second.has_keys;
        intruder_leave(&second);
    }
    print_message("           after %.1f s\n", (double)(kl_now_us() - begin_us) / 1e6);
    assert_true(in);
    intruder_leave(&first);
    assert_int_equal(program_stop(&relay, SIGTERM), 0);
}

/* He gets in what the limit says, and goes on to be heard; nobody else notices. */
TEST(too_much_of_one) {
    static const uint8_t ctrl[10];
    struct intruder n;
    char line[512];
    play();
    intruder_meanwhile = turns;
    intruder_enter(&n, relay.port);
    for (unsigned i = 0; i < 30000; i++) {
        intruder_send(&n, -1, KL_SEAL_CTRL, ctrl, sizeof ctrl);
        if (i % 30 == 0) turns();
        if (i % 100 == 0) poll(NULL, 0, 1);
    }
    assert_false(n.gone);
    intruder_serve(&n, 1200);
    intruder_leave(&n);
    stop("too much of one", line, sizeof line);
    unsigned long long in = counted(line, "datagrams_in"), limited = counted(line, "limited");
    assert_in_range(in + limited, 25000, 40000); /* the game's are among them, some the kernel lost */
    assert_in_range(in, 5000, 15000);
    assert_in_range(gap.longest_us, 0, 250000);
    intruder_meanwhile = NULL;
}

/* By bytes as by datagrams: of large ones fewer get in. */
TEST(too_many_bytes_of_one) {
    enum { KBYTES = 64, COUNT = 600, SECONDS = 2 };
    static const uint8_t ctrl[1100];
    struct intruder n;
    char line[512];
    relay = relay_start((const char *const[]){"--kbytes", "64", NULL});
    intruder_enter(&n, relay.port);
    uint64_t begin_us = kl_now_us();
    for (unsigned i = 0; i < COUNT; i++) {
        intruder_send(&n, -1, KL_SEAL_CTRL, ctrl, sizeof ctrl);
        if (i % 10 == 0) intruder_serve(&n, SECONDS * 1000 * 10 / COUNT);
    }
    intruder_serve(&n, 100);
    double took_s = (double)(kl_now_us() - begin_us) / 1e6;
    intruder_leave(&n);
    end(line, sizeof line);
    unsigned long long in = counted(line, "datagrams_in"), limited = counted(line, "limited");
    assert_in_range(in, KBYTES * 1024 / sizeof ctrl / 2,
                    (unsigned)(KBYTES * 1024 * (took_s + 1) / sizeof ctrl));
    assert_true(limited > 0 && in + limited > COUNT / 2); /* some the kernel lost */
}

/* Pieces of start data above the limit come again: it takes longer, and all of it arrives. */
TEST(pieces_wait_at_the_senders) {
    enum { TOTAL = 300000, PER_S = 100 };
    static uint8_t start[TOTAL];
    char line[512];
    for (size_t i = 0; i < sizeof start; i++)
        start[i] = (uint8_t)(i * 2654435761U >> 13);
    relay = relay_start((const char *const[]){"--pieces", "100", NULL});
    for (unsigned i = 0; i < 2; i++) {
        struct kl_hello h = hello_make(i ? "bob" : "ann", "room", 1, 2);
        player[i] = (struct player){0};
        player_open(&player[i], &h, relay.port, 1000);
        player[i].start = start;
        player[i].start_len = sizeof start;
        assert_true(player_joins(&player[i]));
    }
    uint64_t begin_us = kl_now_us();
    assert_true(players_reach(player, 2, 1, KL_PARTICIPANT_PLAYING, 60));
    double took_s = (double)(kl_now_us() - begin_us) / 1e6;
    print_message("           %.1f s\n", took_s);
    assert_true(player[1].start_ok);
    assert_true(took_s > (double)TOTAL / 1000 / PER_S - 1.1); /* a second's worth at once */
    for (unsigned i = 0; i < 2; i++)
        player_close(&player[i], 500);
    end(line, sizeof line);
    assert_true(counted(line, "slowed") > 0);
    assert_int_equal(counted(line, "flooded"), 0);
}

/* Packets far ahead of what was delivered cost memory each: ENet does not see them. */
TEST(not_too_far_ahead) {
    static const uint16_t ahead[] = {KL_ENET_AHEAD_MAX, KL_ENET_AHEAD_MAX + 1, 20000};
    struct intruder n;
    char line[512];
    relay = relay_start(NULL);
    intruder_enter(&n, relay.port);
    for (unsigned i = 0; i < sizeof ahead / sizeof *ahead; i++) {
        ENetProtocolSendReliable c = {.dataLength = htons(1)};
        uint8_t command[sizeof c + 1] = {0};
        c.header.command = ENET_PROTOCOL_COMMAND_SEND_RELIABLE | ENET_PROTOCOL_COMMAND_FLAG_ACKNOWLEDGE;
        c.header.channelID = KL_CHANNEL_BULK;
        c.header.reliableSequenceNumber = htons(ahead[i]);
        memcpy(command, &c, sizeof c);
        intruder_enet(&n, command, sizeof command);
    }
    intruder_serve(&n, 200);
    intruder_leave(&n);
    end(line, sizeof line);
    assert_int_equal(counted(line, "unfit"), 2);
}

/* So many messages as the limit says get through; the rest has to come again. A client that does not even
 * then slow down is put out. Nobody else notices. */
TEST(messages_without_end) {
    enum { PER_S = 500 };
    static const uint8_t hash[30] = {KL_MSG_HASH, 1};
    struct intruder n;
    struct kl_hello h = hello_make("eve", "another", 1, 2);
    char line[512];
    play();
    intruder_meanwhile = turns;
    intruder_enter(&n, relay.port);
    intruder_hello(&n, &h);
    uint8_t bytes[KL_MSG_MAX];
    struct kl_msg m = {.kind = KL_MSG_HASH, .hash = {.has = KL_HASH_RAM}};
    int len = kl_msg_encode(&m, bytes, sizeof bytes);
    assert_in_range(len, 1, sizeof hash);
    uint64_t begin_us = kl_now_us(), due_us = begin_us;
    unsigned sent = 0;
    n.deaf = true; /* acknowledged or not, he goes on */
    while (!program_lines(&relay, "event=put_out") && kl_now_us() < begin_us + 15000000) {
        for (due_us += 10000; kl_now_us() < due_us;)
            turns_for(1);
        for (unsigned i = 0; i < 40; i++, sent++)
            intruder_push(&n, bytes, (size_t)len);
        if (sent % 1000 == 0) n.sequence = (uint16_t)(n.sequence - 1000); /* within what may be ahead */
    }
    double took_s = (double)(kl_now_us() - begin_us) / 1e6;
    print_message("           %u messages in %.1f s\n", sent, took_s);
    assert_true(program_said(&relay, "reason=\"your machine sends more than this relay accepts\""));
    intruder_leave(&n);
    turns_for(500);
    stop("messages without end", line, sizeof line);
    assert_in_range(counted(line, "slowed"), 10000, sent);
    assert_in_range(counted(line, "messages_in"), 1, (unsigned long long)((took_s + 2) * PER_S) + 200);
    assert_int_equal(counted(line, "flooded"), 1);
    assert_in_range(gap.longest_us, 0, 250000);
    intruder_meanwhile = NULL;
}
