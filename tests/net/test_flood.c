/* test_flood.c - a stranger's cheap floods cost a relay nothing, and nobody's game: answers never longer than
 * questions, no place held for ever, limits of one session. net/PROTOCOL.md §8 to §10. Spoofed handshakes and
 * somebody on the wire: tests/e2e/relay/storm.sh.
 * instead: test_gate in virtual time; test_hub, test_strangers; `relay/hostile`
 * runs: alone, all, 30 s */
#include <arpa/inet.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net/platform/clock.h"
#include "net/transport/strangers.h"
#include "tests/unit/unit.h"
#include "tests/lib/rng.h"
#include "tests/net/net_gap.h"
#include "tests/net/net_hitch.h"
#include "tests/net/net_intruder.h"

static struct program relay;
static struct player player[2];
static struct gap gap;
static uint8_t packet[1500];
static struct rng chance = {20261121};

static uint32_t any(uint32_t below) {
    return rng_below(&chance, below);
}

static void turns(void) {
    gap_turn(&gap, player, 2, 2);
}

static void turns_for(unsigned ms) {
    gap_turns(&gap, player, 2, 2, ms);
}

static const char *const both_kinds[] = {"--bind", "::", NULL};

static void play(void) {
    relay = relay_start(both_kinds);
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

static void end(char *line, size_t cap);

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

/* Ends the relay; gives what it counted. */
static void end(char *line, size_t cap) {
    kill(relay.pid, SIGTERM);
    assert_true(program_said(&relay, "event=stopped"));
    snprintf(line, cap, "%s", strstr(program_log(&relay), "event=stopped"));
    print_message("           %s", line);
    program_stop(&relay, SIGKILL);
}

static unsigned long long counted(const char *line, const char *key) {
    char find[32];
    snprintf(find, sizeof find, " %s=", key);
    const char *at = strstr(line, find);
    assert_non_null(at);
    return strtoull(at + strlen(find), NULL, 10);
}

/* --- no answer is longer than its question --- */

static size_t all_of(int fd, int wait_ms) {
    static uint8_t bytes[2048];
    struct pollfd p = {.fd = fd, .events = POLLIN};
    size_t sum = 0;
    while (poll(&p, 1, sum ? 0 : wait_ms) > 0)
        sum += (size_t)recv(fd, bytes, sizeof bytes, 0);
    return sum;
}

/* The bytes that come within wait_ms. */
static size_t answer_to(int fd, size_t len, int wait_ms) {
    throw_at(fd, relay.port, packet, len);
    return all_of(fd, wait_ms);
}

/* To most there is no answer, so little time is waited: what came late for the one before is told from what
 * is too long. */
static size_t quick_answer_to(int fd, size_t len) {
    size_t came = answer_to(fd, len, 1);
    if (came <= len) return came;
    (void)all_of(fd, 500);
    return answer_to(fd, len, 500);
}

TEST(answers_are_short) {
    const size_t lengths[] = {1, 2, 10, 16, 26, 32, 33, 255, 256, 257, 1199, 1200, 1201, 1400};
    int fd = stranger("127.0.0.9");
    size_t most[256] = {0};
    unsigned answered = 0;
    relay = relay_start(NULL);
    for (unsigned kind = 0; kind < 256; kind++)
        for (unsigned i = 0; i < sizeof lengths / sizeof *lengths; i++)
            for (unsigned version = 0; version < 4; version++) {
                memset(packet, 0, 1500);
                packet[0] = KL_SEAL_MAGIC;
                packet[1] = (uint8_t)kind;
                packet[2] = (uint8_t)version;
                packet[36] = 0xff;
                for (unsigned k = 4; k < 36 && version < 3; k++)
                    packet[k] = (uint8_t)any(256);
                if (kind < 0x10 || kind > 0x20) version = 3;
                size_t came = quick_answer_to(fd, lengths[i]);
                assert_in_range(came, 0, lengths[i]);
                answered += came > 0;
                if (came > most[kind]) most[kind] = came;
            }
    struct kl_question q = {.kind = KL_STRANGER_LIST, .version = KL_PROTOCOL_VERSION};
    (void)all_of(fd, 500);
    assert_in_range(answer_to(fd, kl_question_write(&q, packet), 5000), 1, KL_LIST_BYTES);
    q.kind = KL_STRANGER_PING;
    assert_in_range(answer_to(fd, kl_question_write(&q, packet), 5000), 1, KL_PING_BYTES);
    print_message("           %u answers; the longest to INIT %zu, PING %zu, LIST %zu bytes\n", answered,
                  most[0x10], most[0x14], most[0x16]);
    assert_true(most[0x10] > 0 && most[0x14] > 0);
    close(fd);
    /* a whole handshake: 256 bytes and 256 bytes out, 34 and 103 in */
    struct intruder n;
    intruder_shake(&n, relay.port, "127.0.0.9");
    assert_true(n.has_keys);
    intruder_leave(&n);
    assert_int_equal(program_stop(&relay, SIGTERM), 0);
}

/* Of rooms there are as many as one answer tells of, and more, with the longest names; it is full of them. */
TEST(a_list_is_short) {
    enum { ROOMS = 32 };
    static struct intruder n[ROOMS];
    struct kl_question q = {.kind = KL_STRANGER_LIST, .version = KL_PROTOCOL_VERSION};
    relay =
        relay_start((const char *const[]){"--rooms-per-address", "100", "--mib-per-address", "1000", NULL});
    for (unsigned i = 0; i < ROOMS; i++) {
        char room[24];
        snprintf(room, sizeof room, "a room with a name %04u", i);
        struct kl_hello h = hello_make("eve", room, 1, 2);
        intruder_enter(&n[i], relay.port);
        intruder_hello(&n[i], &h);
    }
    int fd = stranger("127.0.0.9");
    size_t asked = kl_question_write(&q, packet), came = answer_to(fd, asked, 5000);
    print_message("           LIST: %zu bytes for %zu\n", came, asked);
    assert_in_range(came, 1000, asked);
    close(fd);
    for (unsigned i = 0; i < ROOMS; i++)
        intruder_leave(&n[i]);
    assert_int_equal(program_stop(&relay, SIGTERM), 0);
}

/* COOKIE, ANSWER, and REFUSAL for each reason there is. */
TEST(a_refusal_is_short) {
    const char *const limits[][3] = {{"--handshakes", "1", NULL}};
    char line[512];
    for (unsigned i = 0; i < sizeof limits / sizeof *limits; i++) {
        struct intruder first, second;
        relay = relay_start(limits[i]);
        intruder_shake(&first, relay.port, "127.0.0.9");
        intruder_shake(&second, relay.port, "127.0.0.9");
        assert_true(first.has_keys && second.refused);
        intruder_leave(&first);
        intruder_leave(&second);
        end(line, sizeof line);
        assert_int_equal(counted(line, "refused"), 1);
        assert_int_equal(counted(line, "cookies"), 2);
        assert_int_equal(counted(line, "asked_bytes"), 4 * KL_INIT_BYTES);
        assert_in_range(counted(line, "answered_bytes"), 1, 2 * 66 + 103 + 21);
    }
}

/* A stranger who has shown an address and goes no further holds a place for some seconds. */
TEST(no_place_is_held_for_ever) {
    static const uint8_t ctrl[10];
    const char *const limits[][3] = {{"--half-open", "1", NULL}, {"--per-address", "1", NULL}};
    for (unsigned i = 0; i < 2; i++) {
        struct intruder first, second;
        uint64_t begin_us = kl_now_us();
        relay = relay_start(limits[i]);
        intruder_shake(&first, relay.port, "127.0.0.9");
        assert_true(first.has_keys);
        if (i)
            intruder_send(&first, -1, KL_SEAL_CTRL, ctrl, sizeof ctrl); /* no more: ENet is not connected */
        bool in = false;
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
}

/* --- somebody with a session --- */

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

/* ENet sends every 65,536th unreliable packet of a channel as a reliable one, which then blocks; inputs are
 * none of its packets. */
TEST(more_inputs_than_a_u16_counts) {
    enum { COUNT = 70000, BATCH = 25 };
    static const uint8_t ctrl[10];
    struct intruder n;
    struct kl_hello h = hello_make("eve", "another", 1, 2);
    char line[512];
    relay = relay_start((const char *const[]){"--datagrams", "1000000", NULL});
    intruder_enter(&n, relay.port);
    intruder_hello(&n, &h);
    intruder_serve(&n, 200);
    unsigned reliable = n.peer->channels[0].incomingReliableSequenceNumber;
    for (unsigned i = 0; i < COUNT && !n.gone; i += BATCH) {
        unsigned before = n.updates;
        for (unsigned k = 0; k < BATCH; k++)
            intruder_send(&n, -1, KL_SEAL_CTRL, ctrl, sizeof ctrl);
        for (unsigned k = 0; k < 5 && n.updates == before; k++)
            intruder_serve(&n, 1); /* the relay has had its turn */
    }
    print_message("           %u inputs, %u UPDATEs\n", COUNT, n.updates);
    assert_int_equal(n.peer->channels[0].incomingReliableSequenceNumber, reliable);
    assert_false(n.gone);
    intruder_leave(&n);
    end(line, sizeof line);
    assert_in_range(counted(line, "datagrams_in"), COUNT - COUNT / 50,
                    COUNT);                            /* a full buffer may cost some */
    assert_int_equal(counted(line, "messages_in"), 1); /* HELLO */
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

/* Two who make every frame a desync fill no disk. */
TEST(log_lines_without_end) {
    enum { FRAMES = 3000 };
    unsigned lines = 0;
    relay = relay_start((const char *const[]){"--log", "info", NULL});
    for (unsigned i = 0; i < 2; i++) {
        struct kl_hello h = hello_make(i ? "bob" : "eve", "room", 1, 2);
        h.params.hash_every = 1;
        h.params.desync = KL_DESYNC_IGNORE; /* else it is healed, or tried no more */
        h.params.spacing_fixed = 1;
        player_open(&player[i], &h, relay.port, FRAMES);
        player[i].wrong_from = i ? 0 : 1;
        assert_true(player_joins(&player[i]));
    }
    assert_true(players_run(player, 2, FRAMES, 60));
    assert_true(program_said(&relay, "event=left_out"));
    for (unsigned i = 0; i < 2; i++)
        player_close(&player[i], 500);
    kill(relay.pid, SIGTERM);
    assert_true(program_said(&relay, "event=stopped"));
    unsigned long long missing = 0;
    for (const char *at = program_log(&relay); (at = strstr(at, "event=")); at++) {
        lines++;
        if (strncmp(at, "event=left_out lines=", 21) == 0 &&
            strstr(at, "of=desync room=\"room\"") < strchr(at, '\n'))
            missing += strtoull(at + 21, NULL, 10);
    }
    print_message("           %u lines for %u frames, %llu left out\n", lines, FRAMES, missing);
    assert_in_range(lines, 120, 400);
    assert_in_range(missing, 1, FRAMES); /* how many depends on how many verdicts the links let through */
    program_stop(&relay, SIGKILL);
}
