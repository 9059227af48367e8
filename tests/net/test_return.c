/* test_return.c - eight players of one house: their relay is killed, all their links are cut, their NAT
 * forgets its ports, and each time they are back in their match. net/ROOMS.md §7, kept seats. One player
 * alone: tests/e2e/relay/return.sh, test_lobby_seat. runs: waiting, test, 35 s */
#include <signal.h>
#include <stdio.h>

#include "tests/unit/unit.h"

#include "net/engine/command.h"
#include "net/platform/clock.h"
#include "tests/net/net_player.h"

static struct program relay, proxy;
#define HOUSE 8 /* players at one address */
static struct player player[HOUSE];

static void turns_for(unsigned ms) {
    players_turn(player, HOUSE, ms / 1e3);
}

/* Turns until player i has nearly caught up with the first, 15 s at most. */
static bool catches_up(unsigned i) {
    for (uint64_t end_us = kl_now_us() + 15000000; kl_now_us() < end_us; turns_for(20))
        if (player[i].status.phase == KL_PARTICIPANT_PLAYING && player[i].frames + 60 > player[0].frames &&
            !player[i].status.lock.absent)
            return true;
    fprintf(stderr, "%u: %u of %u frames, phase %d, absent %d: %s\n", i, player[i].frames, player[0].frames,
            player[i].status.phase, player[i].status.lock.absent, player[i].status.reason);
    return false;
}

static void house_opens(const char *room, const uint8_t *start, size_t start_len) {
    for (unsigned i = 0; i < HOUSE; i++) {
        char name[8];
        snprintf(name, sizeof name, "p%u", i);
        struct kl_hello h = hello_make(name, room, 1, HOUSE);
        h.params.clocked = true;
        h.params.policy = KL_POLICY_BOUNDED;
        h.params.wait_budget_ms = 250;
        kl_seat_make(&player[i].seat);
        player_open(&player[i], &h, proxy.port, 100000);
        player[i].start = start;
        player[i].start_len = start_len;
    }
    for (unsigned i = 0; i < HOUSE; i++) /* all at once */
        assert_true(player_joins(&player[i]));
    for (unsigned i = 0; i < HOUSE; i++)
        assert_true(players_reach(player, HOUSE, i, KL_PARTICIPANT_PLAYING, 20));
}

/* They play, and each has something to say every second, and is heard. */
static void house_plays(unsigned s) {
    struct kl_text text;
    struct kl_participant *participant;
    for (unsigned k = 0; k < s; k++) {
        for (unsigned i = 0; i < HOUSE; i++)
            player_order(&player[i], KL_COMMAND_CHAT, "well played", 11);
        turns_for(1000);
        for (unsigned i = 0; i < HOUSE; i++) {
            participant = kl_link_hold(player[i].link);
            while (kl_participant_notice(participant, &text))
                assert_null(strstr(text.text, "dropped"));
            kl_link_release(player[i].link);
        }
    }
}

static void house_is_whole_again(void) {
    for (unsigned i = 1; i < HOUSE; i++)
        assert_true(catches_up(i));
    turns_for(500);
    for (unsigned i = 0; i < HOUSE; i++) {
        assert_int_equal(player[i].status.phase, KL_PARTICIPANT_PLAYING);
        assert_false(player[i].status.desync);
        uint32_t both = player[i].frames < player[0].frames ? player[i].frames : player[0].frames;
        assert_memory_equal(player[i].digest, player[0].digest, both * sizeof *player[i].digest);
    }
}

static void nobody_was_turned_away(void) {
    assert_int_equal(program_lines(&relay, "event=refused"), 0);
    assert_int_equal(program_lines(&relay, "event=put_out"), 0);
    assert_int_equal(program_lines(&relay, "result=-"), 0); /* a command that was dropped */
}

/* With all limits as they are by default: joining, a megabyte of saves, talk, the relay killed, all links
 * cut, the NAT's ports forgotten, and the next match. */
TEST(eight_behind_one_nat) {
    static uint8_t start[1 << 20];
    char port[16];
    memset(player, 0, sizeof player);
    for (size_t i = 0; i < sizeof start; i++)
        start[i] = (uint8_t)(i * 2654435761U >> 13);
    relay = relay_start(NULL);
    proxy = proxy_start(relay.port, (const char *const[]){"--delay", "10", "--seed", "6", NULL});
    snprintf(port, sizeof port, "%u", relay.port);
    house_opens("house", start, 10000);
    house_plays(4);
    nobody_was_turned_away();
    assert_int_equal(program_stop(&relay, SIGKILL), -SIGKILL);
    turns_for(500);
    relay = relay_start((const char *const[]){"--port", port, NULL});
    turns_for(5000);
    house_is_whole_again();
    kill(proxy.pid, SIGUSR1);
    turns_for(6000);
    kill(proxy.pid, SIGUSR1);
    turns_for(500);
    house_is_whole_again();
    assert_int_equal(program_lines(&relay, "event=returned"), 2 * HOUSE);
    for (unsigned i = 0; i < 3; i++) {
        kill(proxy.pid, SIGUSR2);
        house_plays(1);
    }
    house_is_whole_again();
    for (unsigned i = 0; i < HOUSE; i++)
        player_close(&player[i], 500);
    memset(player, 0, sizeof player);
    house_opens("house", start, sizeof start);
    house_plays(4);
    house_is_whole_again();
    nobody_was_turned_away();
    for (unsigned i = 0; i < HOUSE; i++)
        player_close(&player[i], 500);
    program_stop(&proxy, SIGTERM);
    kill(relay.pid, SIGTERM);
    assert_true(program_said(&relay, " put_out=0 wrong_passwords=0 wrong_returns=0 "));
    assert_true(program_said(&relay, " limited=0 slowed=0 unfit=0 flooded=0 "));
    assert_true(program_said(&relay, " refused=0 "));
    assert_int_equal(program_stop(&relay, SIGTERM), 0);
}
