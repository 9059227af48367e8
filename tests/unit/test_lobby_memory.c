/* test_lobby_memory.c - a room's memory follows the seats and clients that are there, and a relay without
 * memory refuses a newcomer alone. net/relay/room/lobby_memory.c. runs: working, check, 1 s */
#include "tests/unit/unit.h"
#include "tests/lib/lobby_players.h"
#include "tests/standin/scarce.h"

#include "net/engine/command.h"
#include "net/relay/durable/lobby_ticket.h"

#define ROOM_FOR_TWO (64 * 1024)
#define REQUESTS_MAX 100 /* of one newcomer: many more than there are */

/* A frame in which every player of the room holds a button. */
static void press_all(struct kl_lobby_room *r) {
    struct kl_frame f = {.spacing = 5};
    for (KL_EACH(s, kl_lobby_seats_filled(r)))
        f.in[s].joypad = 1;
    kl_lobby_past_free(r);
    kl_lobby_past_begin(r, now_us);
    kl_lobby_past_keep(r, &f);
}

TEST_WITH(a_room_for_two_holds_64_kib, set_up, tear_down) {
    start_game_of(2);
    pass(60 * SECOND);
    press_all(the_room());
    assert_in_range(kl_lobby_memory_bytes(the_room()), 1, ROOM_FOR_TWO);
}

/* Printed for docs/measured.md: rooms that play. */
TEST_WITH(larger_rooms_hold_more, set_up, tear_down) {
    static const unsigned players[] = {2, 4, 8};
    uint64_t before = 0;
    for (unsigned n = 0; n < 3; n++) {
        reopen(&(struct kl_lobby_limits){.peers = PEERS, .rooms = 1, .seats = KL_MAX_SEATS});
        start_game_of(players[n]);
        press_all(the_room());
        assert_int_equal(kl_size(kl_lobby_seats_filled(the_room())), players[n]);
        assert_true(kl_lobby_memory_bytes(the_room()) > before);
        before = kl_lobby_memory_bytes(the_room());
        print_message("%u players: %llu bytes\n", players[n], (unsigned long long)before);
    }
}

TEST_WITH(a_room_holds_what_its_clients_need, set_up, tear_down) {
    uint64_t before = 0,
             client = sizeof(struct kl_lobby_member) + sizeof(struct kl_lock_place) +
                      (KL_VERDICT_LABELS_LEAST + KL_MAX_CLIENTS) * sizeof(struct kl_verdict_word),
             seat = (KL_WINDOW_FRAMES + KL_NEAR_FRAMES) * sizeof(struct kl_pad);
    for (unsigned i = 0; i < 4; i++) {
        hello(i, "room", 1, 4, "x");
        if (i) assert_int_equal(kl_lobby_memory_bytes(the_room()) - before, client + seat);
        before = kl_lobby_memory_bytes(the_room());
    }
    for (unsigned i = 0; i < 40; i++) { /* whoever comes and goes */
        bye(3);
        run();
        hello(3, "room", 1, 4, "x");
        assert_int_equal(kl_lobby_memory_bytes(the_room()), before);
    }
}

/* Frame f of two players who press or let go of one of 16 buttons every 12 frames. */
static struct kl_frame play_like(uint32_t f) {
    static uint16_t held[2];
    static uint32_t seed;
    if (f == 0) seed = held[0] = held[1] = 0;
    for (unsigned s = 0; s < 2; s++) {
        seed = seed * 1664525u + 1013904223u;
        if (f % 12 == 0) held[s] ^= (uint16_t)(1u << (seed >> 16 & 15));
    }
    struct kl_frame frame = {.number = f, .keyframe = f - f % 5, .spacing = 5};
    for (unsigned s = 0; s < 2; s++)
        frame.in[s].joypad = held[s];
    return frame;
}

/* Printed for docs/measured.md: full blocks are packed, and read as they were. */
TEST_WITH(an_hour_takes_little_and_reads_as_it_was, set_up, tear_down) {
    enum { HOUR = 216000 };
    static struct kl_history_cursor c;
    start_game_of(2);
    struct kl_lobby_room *r = the_room();
    kl_lobby_past_free(r);
    assert_int_equal(lobby->history_bytes, 0);
    kl_lobby_past_begin(r, now_us);
    for (uint32_t f = 0; f < HOUR; f++) {
        struct kl_frame frame = play_like(f);
        kl_lobby_past_keep(r, &frame);
    }
    assert_false(r->past.broken);
    uint64_t used = 0, packed = 0;
    for (const struct kl_history_block *b = r->past.history.oldest; b; b = b->next) {
        used += b->used;
        packed += b->packed ? b->packed : b->used;
        assert_int_equal(b->packed > 0, b->next != NULL);
    }
    print_message("an hour's history: %llu KiB, unpacked %llu, memory %llu\n",
                  (unsigned long long)packed / 1024, (unsigned long long)used / 1024,
                  (unsigned long long)r->past.bytes / 1024);
    assert_true(packed <= 130 * 1024 && r->past.bytes < packed + KL_HISTORY_BLOCK);
    kl_history_seek(&c, &r->past.history, 0);
    for (uint32_t f = 0; f < HOUR; f++) {
        struct kl_frame is, expected = play_like(f);
        assert_true(kl_history_next(&c, &is));
        assert_int_equal(is.number, f);
        assert_memory_equal(is.in, expected.in, 2 * sizeof is.in[0]);
    }
    for (uint32_t f = HOUR; f-- > 0;) { /* from another block each time */
        struct kl_frame is;
        if (f % 9973) continue;
        kl_history_seek(&c, &r->past.history, f);
        assert_true(kl_history_next(&c, &is));
        assert_int_equal(is.number, f);
    }
}

/* A swap is of seats that nobody has, too: it needs no memory. */
TEST_WITH(no_command_makes_a_room_larger, set_up, tear_down) {
    start_game_of(2);
    pass(SECOND);
    uint64_t before = kl_lobby_memory_bytes(the_room());
    for (uint8_t a = 0; a < KL_MAX_SEATS; a++) {
        struct kl_order swap = {KL_COMMAND_SWAP, 2, {a, (uint8_t)(KL_MAX_SEATS - 1 - a)}};
        say(0, &(struct kl_msg){.kind = KL_MSG_COMMAND, .order = swap});
        pass(SECOND);
    }
    assert_in_range(kl_lobby_memory_bytes(the_room()), 1,
                    before + 1024); /* its ticket may have become longer */
}

/* Each request for memory of a newcomer is refused once. The room that there is loses nothing. */
static void refuse_each_request(unsigned peer, const char *text) {
    for (unsigned n = 1; n < REQUESTS_MAX; n++) {
        scarce_at = n;
        hello(peer, "room", 1, 4, "x");
        bool all = scarce_at > 0;
        scarce_at = 0;
        if (all) {
            assert_true(n > 2); /* some were refused */
            assert_non_null(heard(peer, KL_MSG_WELCOME));
            return;
        }
        expect_refusal(peer, KL_REFUSE_LIMIT, text);
        run();
    }
    fail();
}

TEST_WITH(no_memory_for_a_room, set_up, tear_down) {
    for (unsigned n = 1;; n++) {
        scarce_at = n;
        hello(0, "room", 1, 4, "x");
        bool all = scarce_at > 0;
        scarce_at = 0;
        if (all) break;
        assert_true(n < REQUESTS_MAX);
        expect_refusal(0, KL_REFUSE_LIMIT, "this relay has no memory for another");
        run();
        assert_null(the_room());
        assert_int_equal(lobby->rooms, 0);
    }
    assert_non_null(heard(0, KL_MSG_WELCOME));
}

TEST_WITH(no_memory_for_a_player, set_up, tear_down) {
    hello(0, "room", 1, 4, "x");
    refuse_each_request(1, "no memory for another player");
    assert_false(inbox[0].hung_up);
    assert_int_equal(kl_lobby_seats_filled(the_room()), 3);
}

/* It watches on, and may ask again. */
TEST_WITH(no_memory_for_a_watcher_that_wants_to_play, set_up_watched, tear_down) {
    start_room(KL_POLICY_BOUNDED);
    play(2 * SECOND);
    order(2, KL_COMMAND_SEAT, 0); /* the seat is free, and its client stays */
    watches(0);
    play(3 * SECOND);
    for (unsigned n = 0; n < 3; n++) { /* for it, for its place, for its hashes */
        scarce_at = n == 0 ? 1 : 2;    /* the one before it is there by now */
        order(AT_PEER, KL_COMMAND_SEAT, 1);
        assert_int_equal(scarce_at, 0);
        assert_non_null(strstr(heard(AT_PEER, KL_MSG_NOTICE)->text.text, "no memory for another player"));
        assert_int_equal(the_room()->watch.count, 1);
        forget(AT_PEER, KL_MSG_NOTICE);
        play(SECOND);
    }
    order(AT_PEER, KL_COMMAND_SEAT, 1);
    assert_int_equal(the_room()->watch.count, 0);
    assert_int_equal(the_room()->member[3]->seats, 4);
    assert_false(inbox[AT_PEER].hung_up);
}

/* A room whose clients lack many commands gets more places for them, when there is memory. */
TEST_WITH(places_for_commands_come_when_wanted, set_up, tear_down) {
    start_room(KL_POLICY_BOUNDED);
    struct kl_lobby_room *r = the_room();
    play(SECOND);
    uint64_t before = kl_lobby_memory_bytes(r);
    assert_null(r->lock.more_commands);
    r->lock.wants_commands = true;
    scarce_at = 1;
    for (unsigned i = 0; i < 100 && scarce_at; i++)
        play(20000);
    assert_true(scarce_at == 0 && r->lock.wants_commands);
    play(SECOND);
    assert_false(r->lock.wants_commands);
    assert_true(kl_lobby_memory_bytes(r) >= before + KL_SETS_MORE * sizeof(struct kl_packed_set));
    expect_all_at_the_end();
}

/* No block comes for the history: the game goes on, and whoever is further back than the lock's ring is lost.
 */
TEST_WITH(no_memory_for_the_history, set_up, tear_down) {
    start_room(KL_POLICY_BOUNDED);
    struct kl_lobby_room *r = the_room();
    play(5 * SECOND);
    assert_true(kl_lobby_past_reaches(r, r->lock.next_close - 200));
    r->past.broken = true;
    play(5 * SECOND);
    assert_true(kl_lobby_past_reaches(r, r->lock.next_close - KL_NEAR_FRAMES));
    assert_false(kl_lobby_past_reaches(r, r->lock.next_close - KL_NEAR_FRAMES - 1));
    expect_all_at_the_end();
}

TEST_WITH(no_memory_for_a_delay, set_up, tear_down) {
    start_game_of(2);
    struct kl_lobby_room *r = the_room();
    for (unsigned n = 1; n <= 3; n++) { /* for cuts, for labels */
        scarce_at = n;
        assert_int_equal(kl_lobby_watch_delay(r, 60 * n, "the host"), n < 3 ? KL_E_SPACE : KL_OK);
        scarce_at = 0;
        assert_true(told(0, "no memory for a delay of 60 s"));
        assert_int_equal(r->watch.delay_s, n < 3 ? 0 : 180);
        pass(SECOND);
    }
    assert_true(r->watch.cuts >= 11 * 180);
}

TEST_WITH(no_memory_for_a_room_that_comes_back, set_up, tear_down) {
    static struct kl_lobby_ticket t;
    start_game_of(2);
    const struct kl_lobby_room *r = the_room();
    kl_lobby_ticket_of(&t, r);
    memcpy(t.name, "again", 6);
    for (unsigned n = 1;; n++) {
        uint64_t start_bytes = lobby->start_bytes;
        scarce_at = n;
        struct kl_lobby_room *again =
            kl_lobby_restore(lobby, &t, r->start.data, r->start.bytes, now_us, why, sizeof why);
        bool all = scarce_at > 0;
        scarce_at = 0;
        assert_int_equal(again != NULL, all);
        if (all) return;
        assert_true(n < REQUESTS_MAX);
        assert_string_equal(why, "no memory for another room");
        assert_int_equal(lobby->rooms, 1);
        assert_int_equal(lobby->start_bytes, start_bytes);
    }
}
