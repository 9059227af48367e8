/* test_roam.c - sessions whose address changes: followed after one datagram, with little said to an address
 * that has not answered; and those who pretend to be such a session. net/PROTOCOL.md §9, Addresses.
 * runs: waiting, test, 30 s */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/unit/unit.h"

#include "net/platform/clock.h"
#include "tests/net/net_hitch.h"
#include "tests/net/net_intruder.h"

static struct program relay, proxy;
static struct player player[2];

static void open_players(uint16_t port) {
    for (unsigned i = 0; i < 2; i++) {
        struct kl_hello h = hello_make(i ? "bob" : "ann", "room", 1, 2);
        h.params.clocked = true;
        player_open(&player[i], &h, port, 100000);
        assert_true(player_joins(&player[i]));
    }
    assert_true(players_reach(player, 2, 0, KL_PARTICIPANT_PLAYING, 10));
}

/* --- other addresses --- */

static uint32_t frames_least(unsigned count) {
    uint32_t least = UINT32_MAX;
    for (unsigned i = 0; i < count; i++)
        if (player[i].frames < least) least = player[i].frames;
    return least;
}

/* The longest time in which nobody got a frame, over this long. */
static uint64_t longest_stall_us(unsigned count, unsigned ms) {
    uint64_t now_us = kl_now_us(), end_us = now_us + ms * UINT64_C(1000), last_us = now_us, longest_us = 0;
    uint32_t frames = frames_least(count);
    for (; now_us < end_us; now_us = kl_now_us()) {
        for (unsigned i = 0; i < count; i++)
            player_turn(&player[i]);
        if (frames_least(count) != frames) {
            if (now_us - last_us > longest_us) longest_us = now_us - last_us;
            frames = frames_least(count);
            last_us = now_us;
        }
        kl_link_wait(player[0].link, 1000);
    }
    return now_us - last_us > longest_us ? now_us - last_us : longest_us;
}

/* A NAT that forgets gives both players new ports in mid-game, five times. Nobody is thrown out, and what is
 * under way to the old port is all that is lost. */
TEST(a_nat_that_forgets) {
    const char *const link[] = {"--delay", "20", "--seed", "3", NULL};
    relay = relay_start(NULL);
    proxy = proxy_start(relay.port, link);
    open_players(proxy.port);
    hitch_watch(relay.pid);
    (void)longest_stall_us(2, 1500);
    uint64_t plain_us = longest_stall_us(2, 2000), rebound_us = 0;
    for (int i = 0; i < 5; i++) {
        kill(proxy.pid, SIGUSR2);
        uint64_t still_us = hitch_us(), stall_us = longest_stall_us(2, 1000);
        still_us = hitch_us() - still_us;
        if (stall_us > still_us + rebound_us) rebound_us = stall_us - still_us;
    }
    print_message("           longest stall %.0f ms without, %.0f ms with rebinding (RTT 40 ms), less what "
                  "the machine stood still\n",
                  (double)plain_us / 1e3, (double)rebound_us / 1e3);
    assert_in_range(rebound_us, 0, plain_us + 150000);
    /* ENet, too, has moved: messages come and go long after its own time-outs */
    (void)longest_stall_us(2, 11000);
    assert_int_equal(player[0].status.phase, KL_PARTICIPANT_PLAYING);
    assert_int_equal(player[1].status.phase, KL_PARTICIPANT_PLAYING);
    uint32_t frames = frames_least(2);
    assert_true(frames > 60 * 15);
    assert_int_equal(players_differ(player, 2, frames), -1);
    assert_true(player[0].status.any_verified && player[0].status.verified > frames - 240);
    player_close(&player[0], 1000);
    player_close(&player[1], 1000);
    assert_true(program_said(&relay, "event=moved"));
    program_stop(&proxy, SIGTERM);
    assert_int_equal(program_stop(&relay, SIGTERM), 0);
}

/* --- by hand --- */

/* In a room that waits for a second player: each CTRL is answered by an UPDATE. */
static void wait_in_a_room(struct intruder *n) {
    uint8_t bytes[KL_MSG_MAX];
    struct kl_msg m = {.kind = KL_MSG_HELLO, .hello = hello_make("eve", "alone", 1, 2)};
    relay = relay_start((const char *const[]){"--bind", "::", NULL});
    intruder_enter(n, relay.port);
    int len = kl_msg_encode(&m, bytes, sizeof bytes);
    assert_true(len > 0);
    intruder_say(n, bytes, (size_t)len);
    intruder_serve(n, 100);
    assert_false(n->gone);
}

static const uint8_t ctrl[10]; /* nothing to say; for an UPDATE */
#define CTRL_BYTES (sizeof ctrl + KL_SEAL_OVERHEAD)

/* The content of this socket: datagrams and bytes. */
static unsigned drain(int fd, size_t *bytes) {
    uint8_t one[2048];
    unsigned count = 0;
    ssize_t len;
    while ((len = recv(fd, one, sizeof one, MSG_DONTWAIT)) >= 0) {
        count++;
        *bytes += (size_t)len;
    }
    return count;
}

/* A datagram that somebody on the path copies and gets there first claims an address for as long as the
 * original takes. One that has been there already claims nothing. */
TEST(a_copy_from_elsewhere) {
    struct intruder n;
    size_t there = 0;
    wait_in_a_room(&n);
    int elsewhere = stranger("127.0.0.5");
    intruder_send(&n, elsewhere, KL_SEAL_CTRL, ctrl, sizeof ctrl);
    poll(&(struct pollfd){.fd = elsewhere, .events = POLLIN}, 1, 2000);
    assert_in_range(drain(elsewhere, &there), 1, 3); /* UPDATE, and whether it is there */
    assert_in_range(there, 1, 3 * CTRL_BYTES);
    n.heard = 0;
    intruder_send(&n, -1, KL_SEAL_CTRL, ctrl, sizeof ctrl);
    for (int i = 0; i < 100 && !n.heard; i++)
        intruder_serve(&n, 20);
    assert_true(n.heard >= 1);
    intruder_serve(&n, 100);
    drain(elsewhere, &there); /* a challenge each 100 ms, until the original came */
    assert_in_range(there, 1, 3 * CTRL_BYTES);
    intruder_serve(&n, 300);
    assert_int_equal(drain(elsewhere, &there), 0);

    uint8_t bytes[64];
    size_t len = kl_seal(&n.sealer, KL_SEAL_CTRL, ctrl, sizeof ctrl, bytes);
    throw_at(n.host->socket, relay.port, bytes, len);
    intruder_serve(&n, 20);
    for (int i = 0; i < 20; i++)
        throw_at(elsewhere, relay.port, bytes, len);
    intruder_serve(&n, 300);
    assert_int_equal(drain(elsewhere, &there), 0);

    len = kl_seal(&n.sealer, KL_SEAL_CTRL, ctrl, sizeof ctrl, bytes); /* held back, and older than the next */
    intruder_send(&n, -1, KL_SEAL_CTRL, ctrl, sizeof ctrl);
    intruder_serve(&n, 20);
    throw_at(elsewhere, relay.port, bytes, len);
    intruder_serve(&n, 300);
    assert_int_equal(drain(elsewhere, &there), 0);
    close(elsewhere);
    intruder_leave(&n);
    assert_int_equal(program_stop(&relay, SIGTERM), 0);
}

/* A client that sends from an address that does not answer makes the relay send three times that at most, and
 * no ENet. */
TEST(little_goes_to_an_unproved_address) {
    struct intruder n;
    size_t came = 0;
    wait_in_a_room(&n);
    n.mute = true;
    int elsewhere = stranger("127.0.0.5");
    intruder_send(&n, elsewhere, KL_SEAL_CTRL, ctrl, sizeof ctrl); /* UPDATE, and a challenge each 100 ms */
    intruder_serve(&n, 1500);
    drain(elsewhere, &came);
    print_message("           %zu bytes sent from there, %zu came\n", CTRL_BYTES, came);
    assert_in_range(came, 1, 3 * CTRL_BYTES);
    for (unsigned i = 2; i < 10; i++) {
        intruder_send(&n, elsewhere, KL_SEAL_CTRL, ctrl, sizeof ctrl);
        intruder_serve(&n, 20);
        drain(elsewhere, &came);
        assert_in_range(came, 1, 3 * i * CTRL_BYTES);
    }
    close(elsewhere);
    intruder_leave(&n);
    assert_int_equal(program_stop(&relay, SIGTERM), 0);
}

/* Waits for a challenge there, and makes the answer to it. */
static bool challenged(struct intruder *n, int fd, uint8_t answer[9]) {
    struct pollfd p = {.fd = fd, .events = POLLIN};
    struct kl_opened o;
    uint8_t one[2048];
    for (uint64_t end_us = kl_now_us() + 5 * UINT64_C(1000000); kl_now_us() < end_us;) {
        if (poll(&p, 1, 100) <= 0) continue;
        size_t len = (size_t)recv(fd, one, sizeof one, MSG_DONTWAIT);
        if (len > sizeof one || kl_open(&n->opener, one, len, &o) != 0) continue;
        if (o.kind != KL_SEAL_PATH || o.len != 9) continue;
        memcpy(answer + 1, o.body + 1, 8);
        return true;
    }
    return false;
}

/* The answer from where the challenge went moves all; a wrong one, or from elsewhere, nothing. */
TEST(an_answered_challenge_moves_all) {
    struct intruder n;
    size_t came = 0, len = 0;
    uint8_t one[2048], answer[9] = {1};
    wait_in_a_room(&n);
    int elsewhere = stranger("127.0.0.5"), third = stranger("127.0.0.6");
    intruder_send(&n, elsewhere, KL_SEAL_CTRL, ctrl, sizeof ctrl);
    assert_true(challenged(&n, elsewhere, answer));
    answer[3] ^= 1;
    intruder_send(&n, elsewhere, KL_SEAL_PATH, answer, sizeof answer);
    usleep(20000); /* a claim that holds for a while */
    assert_false(program_lines(&relay, "event=moved"));
    answer[3] ^= 1;
    len = kl_seal(&n.sealer, KL_SEAL_PATH, answer, sizeof answer, one); /* older than what comes from there */
    intruder_send(&n, elsewhere, KL_SEAL_CTRL, ctrl, sizeof ctrl);
    throw_at(third, relay.port, one, len);
    usleep(20000); /* a claim that holds for a while */
    assert_false(program_lines(&relay, "event=moved"));
    intruder_send(&n, elsewhere, KL_SEAL_PATH, answer, sizeof answer);
    assert_true(program_said(&relay, "event=moved"));
    drain(elsewhere, &came);
    unsigned enet = 0; /* pings now come here, once nothing has come for a second */
    for (int i = 0; i < 60 && enet == 0; i++) {
        usleep(50000);
        while ((len = (size_t)recv(elsewhere, one, sizeof one, MSG_DONTWAIT)) <= sizeof one)
            enet += one[1] == KL_SEAL_ENET;
    }
    assert_true(enet > 0);
    close(elsewhere);
    close(third);
    intruder_leave(&n);
    assert_int_equal(program_stop(&relay, SIGTERM), 0);
}

/* A client that has moved counts at its new address, and no more at its old one. */
TEST(limits_are_for_where_one_is) {
    struct intruder n, other;
    uint8_t answer[9] = {1};
    relay = relay_start((const char *const[]){"--per-address", "1", NULL});
    intruder_enter(&n, relay.port);
    int elsewhere = stranger("127.0.0.5");
    intruder_send(&n, elsewhere, KL_SEAL_CTRL, ctrl, sizeof ctrl);
    assert_true(challenged(&n, elsewhere, answer));
    intruder_shake(&other, relay.port, "127.0.0.1");
    assert_true(other.refused);
    intruder_leave(&other);
    intruder_send(&n, elsewhere, KL_SEAL_PATH, answer, sizeof answer);
    assert_true(program_said(&relay, "event=moved"));
    intruder_shake(&other, relay.port, "127.0.0.5");
    assert_true(other.refused);
    intruder_leave(&other);
    intruder_shake(&other, relay.port, "127.0.0.1");
    assert_true(other.has_keys);
    intruder_leave(&other);
    close(elsewhere);
    intruder_leave(&n);
    assert_int_equal(program_stop(&relay, SIGTERM), 0);
}
