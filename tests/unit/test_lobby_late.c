/* test_lobby_late.c - a player who joins a game under way runs it all from the beginning and then plays; the
 * queue gives seats to the first that waits; nobody loses a frame. net/ROOMS.md §7. */
#include "tests/unit/unit.h"
#include "tests/lib/lobby_players.h"

#include "net/engine/command.h"

/* A bounded room after so long; a newcomer, peer 12, takes the seat of player 2. */
static void start_with_newcomer(unsigned seconds) {
    start_room(KL_POLICY_BOUNDED);
    play(seconds * SECOND);
    leave(2);
    join_late(2, 12, 1);
}

/* The seat of who has left goes to the newcomer. In a strict room, too, nobody waits for it until it plays.
 */
TEST_WITH(a_seat_that_was_given_up, set_up, tear_down) {
    for (uint8_t policy = KL_POLICY_STRICT; policy <= KL_POLICY_OPTIMISTIC; policy++) {
        begin_again();
        start_room(policy);
        play(20 * SECOND);
        leave(2);
        uint32_t before = canon_end;
        assert_int_equal(join_late(2, 12, 1), 4);
        assert_in_range(canon_end - before, 58, 62); /* while it loads, the others play on */
        player[2].p.most = 10;
        play(SECOND);
        assert_int_equal(state_of(0, 2), KL_MEMBER_JOINING);
        assert_false(presses_lately(2));
        player[2].p.most = FAST;
        play(4 * SECOND);
        assert_in_range(canon_end - before, 6 * 60, 6 * 60 + 10);
        assert_int_equal(state_of(0, 2), KL_MEMBER_PLAYING);
        assert_true(player[2].pieces > 10);
        expect_all_at_the_end();
        assert_true(presses_lately(2));
        assert_int_equal(player[2].p.participant.lock.stats.absent, 0);
    }
}

/* Or of who did not come back in time; while the seat is kept for him, the newcomer watches. */
TEST_WITH(a_seat_whose_time_is_up, set_up, tear_down) {
    fixed_spacing = 4;
    start_room(KL_POLICY_BOUNDED);
    fixed_spacing = 0;
    play(5 * SECOND);
    cut(2);
    play(5 * SECOND);
    hello(12, "room", 1, PLAYERS, "x"); /* the seat is kept */
    expect_refusal(12, KL_REFUSE_FULL, "is full");
    play(60 * SECOND);
    assert_int_equal(join_late(2, 13, 1), 4);
    play(10 * SECOND);
    expect_all_at_the_end();
    assert_true(presses_lately(2));
}

/* Its link is lost while it catches up: the seat is its own all the same. */
TEST_WITH(a_joiner_comes_back, set_up, tear_down) {
    start_room(KL_POLICY_STRICT);
    play(30 * SECOND);
    leave(2);
    player[2].p.most = FAST;
    join_late(2, 12, 1);
    player[2].p.most = 20;
    play(SECOND / 4);
    cut(2);
    uint32_t before = canon_end;
    play(5 * SECOND);
    assert_in_range(canon_end - before, 298, 302); /* not even a strict room waits */
    come_back(2, 22);
    play(10 * SECOND);
    expect_all_at_the_end();
    assert_true(presses_lately(2));
}

/* A machine that only just plays at the room's pace never gets there: it is told so and watches. */
TEST_WITH(a_client_that_is_too_slow_watches, set_up, tear_down) {
    start_with_newcomer(20);
    player[2].p.most = 1;
    play(10 * SECOND);
    assert_int_equal(state_of(0, 2), KL_MEMBER_JOINING);
    play(20 * SECOND);
    assert_non_null(heard(12, KL_MSG_SEAT));
    assert_int_equal(member_of(0, 2)->seats, 0);
    assert_false(inbox[12].hung_up);
    assert_true(told(0, "p12 (3)'s machine cannot catch up: it plays 60 frames"));
    vanish(2);
    assert_int_equal(join_late(2, 13, 1), 4); /* the seat is for who can use it */
    play(8 * SECOND);
    expect_all_at_the_end();
}

/* Nor does one that says that it has loaded, and never runs a frame. */
TEST_WITH(a_client_that_runs_nothing_watches, set_up, tear_down) {
    start_with_newcomer(10);
    player[2].plays = false;
    play(10 * SECOND);
    assert_null(heard(12, KL_MSG_SEAT));
    play(15 * SECOND);
    assert_non_null(heard(12, KL_MSG_SEAT));
    assert_int_equal(member_of(0, 2)->seats, 0);
    order(12, KL_COMMAND_SEAT, 1); /* nor does it keep the seat from others by asking again */
    expect_notice(12, "a seat went to waste: ask again in");
    assert_int_equal(the_room()->member[2]->seats, 0);
}

/* A slow machine is let go if the room's maker has it so. */
TEST_WITH(a_client_that_is_too_slow_is_let_go, set_up, tear_down) {
    start_room(KL_POLICY_BOUNDED);
    the_room()->door.flags |= KL_DOOR_LET_GO;
    play(10 * SECOND);
    leave(2);
    join_late(2, 12, 1);
    player[2].p.most = 1;
    play(10 * SECOND);
    for (unsigned i = 0; i < 200 && !inbox[12].hung_up; i++)
        play(SECOND / 10);
    vanish(2);
    expect_refusal(12, KL_REFUSE_LIMIT, "this machine cannot catch up with the game");
    play(SECOND);
    expect_all_at_the_end();
}

/* A frontend that stands still, or a game that pauses, is no slow machine. */
TEST_WITH(a_client_that_is_away_is_not_too_slow, set_up, tear_down) {
    start_with_newcomer(10);
    player[2].p.most = 1;
    play(SECOND);
    player[2].p.turn_us = now_us + 40 * SECOND;
    play(40 * SECOND);
    assert_null(heard(12, KL_MSG_SEAT));
    player[2].p.most = FAST;
    order(0, KL_COMMAND_PAUSE, 1);
    play(30 * SECOND);
    assert_null(heard(12, KL_MSG_SEAT));
    order(0, KL_COMMAND_PAUSE, 0);
    play(5 * SECOND);
    expect_all_at_the_end();
    assert_true(presses_lately(2));
}

/* The history that a joiner runs changes nothing now. Its last rate counts once it is here: it does not say
 * that one again. */
TEST_WITH(old_rates_do_not_count, set_up, tear_down) {
    start_with_newcomer(30);
    player[2].p.most = 2;
    play(SECOND);
    struct kl_msg m = {.kind = KL_MSG_COMMAND, .order = {.kind = 5, .len = 4, .data = {0x80, 0xf0, 0xfa, 2}}};
    say(12, &m);
    play(SECOND);
    say(player[0].peer, &m);
    play(SECOND);
    assert_int_equal(the_room()->lock.params.fps_uhz, 60000000); /* one of three alone says so */
    player[2].p.most = FAST;
    play(5 * SECOND);
    assert_int_equal(the_room()->lock.params.fps_uhz, 50000000);
}

/* Verdicts do not wait for who runs through the past; and the newcomer's hashes count once it is here. */
TEST_WITH(verdicts_go_on, set_up, tear_down) {
    start_with_newcomer(40);
    player[2].p.most = 2;
    play(3 * SECOND);
    uint32_t label = canon_end / 60 * 60 - 1;
    unsigned heard_before = inbox[0].count;
    for (unsigned i = 0; i < 2; i++)
        say(i, &(struct kl_msg){.kind = KL_MSG_HASH, .hash = {.frame = label, .has = KL_HASH_RAM, .ram = 7}});
    assert_true(inbox[0].count > heard_before);
    assert_true(heard(0, KL_MSG_VERDICT)->verdict.complete);
    player[2].p.most = FAST;
    play(10 * SECOND);
    expect_all_at_the_end();
    label = canon_end / 60 * 60 - 1;
    for (unsigned i = 0; i < 2; i++)
        say(i, &(struct kl_msg){.kind = KL_MSG_HASH, .hash = {.frame = label, .has = KL_HASH_RAM, .ram = 7}});
    say(12, &(struct kl_msg){.kind = KL_MSG_HASH, .hash = {.frame = label, .has = KL_HASH_RAM, .ram = 8}});
    const struct kl_verdict *v = &heard(0, KL_MSG_VERDICT)->verdict;
    assert_int_equal(v->differs, 1);
    assert_int_equal(v->minority, 4);
}

/* Nobody can catch up any more: the core gives no state. */
TEST_WITH(a_game_that_has_lost_its_beginning, set_up, tear_down) {
    struct kl_lobby_limits limits = limits_for_tests;
    limits.history_kib = 64;
    reopen(&limits);
    start_room(KL_POLICY_BOUNDED);
    lobby->room[0]->snapshot.unfit = true;
    mash();
    struct kl_lobby_listing list;
    unsigned from = 0;
    play(10 * SECOND);
    leave(2);
    assert_int_equal(kl_lobby_list(lobby, &from, &list, 1), 1);
    assert_true(list.playing && list.open > 0);
    play(60 * SECOND);
    assert_true(the_room()->past.history.first > 0);
    connect_peer(12);
    struct kl_msg m = a_hello(12, "room", 1, PLAYERS, "x");
    say(12, &m);
    expect_refusal(12, KL_REFUSE_STARTED, "does not keep its beginning any more, and not its saves either");
    from = 0;
    kl_lobby_list(lobby, &from, &list, 1);
    assert_int_equal(list.open, 0);
}

/* The last player goes while somebody joins: the game is his, once he has caught up. */
TEST_WITH(alone_in_the_game, set_up, tear_down) {
    start_with_newcomer(10);
    player[2].p.most = 20;
    leave(0);
    leave(1);
    play(10 * SECOND);
    assert_true(presses_lately(2));
    expect_all_at_the_end();
    uint32_t before = canon_end;
    play(SECOND);
    assert_in_range(canon_end - before, 58, 62);
}

static void order_seat(unsigned peer, uint8_t wanted) {
    order(peer, KL_COMMAND_SEAT, wanted);
}

/* A player steps back, and who watched plays on in his seat; neither costs the others a frame. */
TEST_WITH(seats_change_hands, set_up, tear_down) {
    for (uint8_t policy = KL_POLICY_STRICT; policy <= KL_POLICY_OPTIMISTIC; policy++) {
        begin_again();
        start_room(policy);
        play(5 * SECOND);
        order_seat(2, 0);
        play(3 * SECOND);
        assert_int_equal(player[2].p.participant.lock.seats, 0);
        uint32_t before = canon_end;
        order_seat(2, 2); /* there is but one */
        play(3 * SECOND);
        assert_int_equal(player[2].p.participant.lock.seats, 4);
        assert_true(presses_lately(2));
        order_seat(1, 0);
        play(2 * SECOND);
        assert_int_equal(player[1].p.participant.lock.seats, 0);
        assert_false(presses_lately(1));
        assert_true(presses_lately(0) && presses_lately(2));
        order_seat(1, 1);
        play(3 * SECOND);
        assert_int_equal(player[1].p.participant.lock.seats, 2);
        assert_true(presses_lately(1));
        assert_in_range(canon_end - before, 8 * 60 - 2, 8 * 60 + 4);
        expect_all_at_the_end();
    }
}

TEST_WITH(the_last_player_stays, set_up, tear_down) {
    start_room(KL_POLICY_BOUNDED);
    play(2 * SECOND);
    order_seat(0, 0);
    order_seat(1, 0);
    order_seat(2, 0);
    expect_notice(2, "you are the only player");
    play(20 * SECOND);
    assert_int_equal(kl_lobby_rooms(lobby), 1);
    assert_true(presses_lately(2));
    assert_false(presses_lately(0) || presses_lately(1));
    expect_all_at_the_end();
    order_seat(0, 9); /* no number of seats */
    assert_int_equal(player[0].p.participant.lock.seats, 0);
}

/* The host opens the game to one more. */
TEST_WITH(more_seats_than_it_began_with, set_up, tear_down) {
    start_room(KL_POLICY_BOUNDED);
    play(5 * SECOND);
    player[2].linked = false; /* its place here is for the newcomer */
    inbox[2].hung_up = true;
    order(1, KL_COMMAND_PLACES, 4); /* not the host */
    assert_int_equal(the_room()->params.players, 3);
    order(0, KL_COMMAND_PLACES, 2); /* three are taken */
    order(0, KL_COMMAND_PLACES, 5); /* this relay's rooms have four */
    assert_int_equal(the_room()->params.players, 3);
    inbox[2].hung_up = false;
    order(0, KL_COMMAND_PLACES, 4);
    assert_int_equal(heard(1, KL_MSG_ROSTER)->roster.players, 4);
    assert_int_equal(join_late(2, 12, 1), 8);
    play(5 * SECOND);
    assert_true(presses_lately(3));
}

/* --- the queue --- */

static const char turn_text[] = "your turn: take the seat within 15 s";

static const struct kl_text *newest_notice(unsigned peer) {
    return &heard(peer, KL_MSG_NOTICE)->text;
}

/* The queue in the newest ROSTER: "p20 p21", with "*" behind the client that has the turn. */
static const char *queue_is(void) {
    static char text[200];
    const struct kl_roster *o = &heard(0, KL_MSG_ROSTER)->roster;
    text[0] = 0;
    for (unsigned i = 0; i < o->waiting; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s%s", i ? " " : "", o->queue[i].name,
                 o->queue[i].turn ? "*" : "");
    return text;
}

static void wants_to_play(unsigned i) {
    comes(i, 1);
    assert_string_equal(newest_notice(AT_PEER + i)->text,
                        i == 0 ? "3 of 3 seats taken: you watch, number 1 in the queue"
                               : "3 of 3 seats taken: you watch, number 2 in the queue");
    play(SECOND / 2);
    load_start(&watcher[i]);
    play(3 * SECOND);
}

TEST_WITH(the_seat_goes_round, set_up_watched, tear_down) {
    start_room(KL_POLICY_BOUNDED);
    play(3 * SECOND);
    order(1, KL_COMMAND_SEAT, KL_SEAT_NEXT);
    assert_string_equal(newest_notice(1)->text, "nobody waits for a seat");
    address_of_peers = "192.0.2.20:5";
    wants_to_play(0);
    address_of_peers = "192.0.2.21:5";
    wants_to_play(1);
    assert_string_equal(queue_is(), "p20 p21");
    order(AT_PEER, KL_COMMAND_SEAT, 1); /* it is not its turn */
    play(SECOND);
    assert_string_equal(queue_is(), "p20 p21");
    assert_int_equal(the_room()->watch.count, 2);

    uint32_t before = canon_end;
    order(1, KL_COMMAND_SEAT, KL_SEAT_NEXT);
    play(SECOND);
    assert_string_equal(queue_is(), "p20* p21");
    assert_string_equal(newest_notice(AT_PEER)->text, turn_text);
    assert_int_equal(newest_notice(AT_PEER)->code, KL_NOTICE_SEAT);
    assert_int_equal(player[1].p.participant.lock.seats, 2); /* plays on */
    order(AT_PEER + 1, KL_COMMAND_SEAT, 1);                  /* not its turn */
    play(SECOND);
    assert_int_equal(player[1].p.participant.lock.seats, 2);
    order(AT_PEER, KL_COMMAND_SEAT, 1);
    play(3 * SECOND);
    assert_int_equal(player[1].p.participant.lock.seats, 0);
    assert_int_equal(watcher[0].p.participant.lock.seats, 2);
    assert_string_equal(queue_is(), "p21 p1");
    assert_in_range(canon_end - before, 5 * 60 - 3, 5 * 60 + 3); /* nobody has waited */

    order(AT_PEER, KL_COMMAND_SEAT, KL_SEAT_NEXT); /* and lets the time pass */
    play(14 * SECOND);
    assert_string_equal(queue_is(), "p21* p1");
    play(2 * SECOND);
    assert_string_equal(newest_notice(AT_PEER + 1)->text, "you did not take the seat in time: you watch");
    assert_string_equal(queue_is(), "p1*");
    order(1, KL_COMMAND_SEAT, 1);
    play(3 * SECOND);
    assert_int_equal(player[1].p.participant.lock.seats, 2);
    assert_int_equal(watcher[0].p.participant.lock.seats, 0);
    assert_string_equal(queue_is(), "p20");
    assert_int_equal(the_room()->watch.count, 1);
    assert_in_range(behind(0), 0, 30);
}

TEST_WITH(one_that_has_gone_is_passed_over, set_up_watched, tear_down) {
    start_room(KL_POLICY_BOUNDED);
    play(3 * SECOND);
    wants_to_play(0);
    wants_to_play(1);
    goes(0);
    bye(AT_PEER);
    order(0, KL_COMMAND_SEAT, KL_SEAT_NEXT);
    play(SECOND);
    assert_string_equal(queue_is(), "p21*");
    goes(1);
    bye(AT_PEER + 1);
    play(SECOND);
    assert_string_equal(queue_is(), "");
    assert_string_equal(newest_notice(0)->text, "nobody takes your seat: you play on");
    assert_int_equal(player[0].p.participant.lock.seats, 1);
}

/* Also a seat that is given up belongs to the first in the queue, not to a newcomer. */
TEST_WITH(a_newcomer_waits_behind_the_others, set_up_watched, tear_down) {
    struct kl_lobby_listing line;
    unsigned from = 0;
    start_room(KL_POLICY_BOUNDED);
    play(3 * SECOND);
    wants_to_play(0);
    bye(2);
    vanish(2);
    play(SECOND);
    assert_string_equal(queue_is(), "p20*");
    assert_int_equal(kl_lobby_list(lobby, &from, &line, 1), 1);
    assert_true(line.filled == 2 && line.players == 3 && line.open == 0);
    comes(1, 1);
    assert_string_equal(newest_notice(AT_PEER + 1)->text,
                        "2 of 3 seats taken: you watch, number 2 in the queue");
    play(SECOND / 2);
    load_start(&watcher[1]);
    play(3 * SECOND);
    order(AT_PEER + 1, KL_COMMAND_SEAT, 1); /* it may not push in */
    assert_int_equal(the_room()->watch.count, 2);
    order(AT_PEER, KL_COMMAND_SEAT, 1);
    play(3 * SECOND);
    assert_int_equal(watcher[0].p.participant.lock.seats, 4);
    assert_string_equal(queue_is(), "p21");
    order(AT_PEER + 1, KL_COMMAND_SEAT, 0);
    assert_string_equal(newest_notice(AT_PEER + 1)->text, "you left the queue: you watch");
    play(SECOND);
    assert_string_equal(queue_is(), "");
    order(AT_PEER + 1, KL_COMMAND_SEAT, KL_SEAT_NEXT);
    assert_string_equal(newest_notice(AT_PEER + 1)->text, "you watch: you have no seat to hand on");
}

/* It is the same person with a new session: the place is its own. */
TEST_WITH(a_watcher_that_comes_again_keeps_its_place, set_up_watched, tear_down) {
    start_room(KL_POLICY_BOUNDED);
    play(3 * SECOND);
    wants_to_play(0);
    wants_to_play(1);
    struct kl_msg m = a_hello(AT_PEER, "room", 0, PLAYERS, "x");
    m.hello.door = KL_DOOR_AGAIN;
    goes(0);
    enter_room(&watcher[0], AT_PEER + 5, AT_PEER, &m);
    play(SECOND / 2);
    load_start(&watcher[0]);
    play(3 * SECOND);
    assert_string_equal(queue_is(), "p20 p21");
}

static void come_as(unsigned i, unsigned last) {
    live_at(last);
    comes(i, 1);
    play(SECOND / 2);
    load_start(&watcher[i]);
    play(3 * SECOND);
}

/* One address has a turn let pass once a minute, however many places it has. */
TEST_WITH(a_turn_not_taken_bars_the_address, set_up_watched, tear_down) {
    start_room(KL_POLICY_BOUNDED);
    play(3 * SECOND);
    come_as(0, 50);
    come_as(1, 50);
    come_as(2, 60);
    bye(2);
    vanish(2);
    play(SECOND);
    assert_string_equal(queue_is(), "p20* p21 p22");
    play(16 * SECOND);
    assert_string_equal(queue_is(), "p21 p22*"); /* passed over, and keeps its place */
    order(AT_PEER, KL_COMMAND_SEAT, 1);
    assert_non_null(strstr(newest_notice(AT_PEER)->text, "a seat went to waste: ask again in 5"));
    order(AT_PEER + 2, KL_COMMAND_SEAT, 1);
    play(3 * SECOND);
    assert_int_equal(watcher[2].p.participant.lock.seats, 4);
    order(AT_PEER + 2, KL_COMMAND_SEAT, 0); /* a seat is free again */
    play(2 * SECOND);
    assert_string_equal(queue_is(), "p21");
    play(60 * SECOND);
    assert_string_equal(queue_is(), "p21*");
    order(AT_PEER + 1, KL_COMMAND_SEAT, 0); /* does not take it either */
    order(AT_PEER, KL_COMMAND_SEAT, 1);
    assert_non_null(strstr(newest_notice(AT_PEER)->text, "a seat went to waste"));
}

/* Also if it goes before its turn is over: as a watcher, and as a client without a seat. */
TEST_WITH(whoever_goes_with_the_turn_is_barred, set_up_watched, tear_down) {
    start_room(KL_POLICY_BOUNDED);
    play(3 * SECOND);
    come_as(0, 50);
    order(1, KL_COMMAND_SEAT, KL_SEAT_NEXT);
    play(SECOND);
    assert_string_equal(queue_is(), "p20*");
    goes(0);
    bye(AT_PEER);
    play(SECOND);
    come_as(1, 50);
    assert_non_null(strstr(newest_notice(AT_PEER + 1)->text, "a seat went to waste"));
    assert_string_equal(queue_is(), "");
    come_as(2, 60); /* a new session does not begin the turn anew */
    order(1, KL_COMMAND_SEAT, KL_SEAT_NEXT);
    play(14 * SECOND);
    assert_string_equal(queue_is(), "p22*");
    struct kl_msg m = a_hello(AT_PEER + 2, "room", 0, PLAYERS, "x");
    m.hello.door = KL_DOOR_AGAIN;
    goes(2);
    enter(AT_PEER + 5, &m);
    play(2 * SECOND);
    assert_string_equal(queue_is(), "");
}

/* As if there were as many clients: those from this number on have lost their links. */
static void as_if_kept(struct kl_lobby_room *r, unsigned from) {
    for (unsigned i = from; i < KL_MAX_CLIENTS; i++) {
        assert_true(kl_lobby_memory_take(r, i, 0));
        r->member[i]->place = KL_PLACE_KEPT;
        r->member[i]->cut_us = now_us;
    }
}

/* A queue that is full has room for an address that has fewer places in it. */
TEST_WITH(places_are_shared_among_addresses, set_up_watched, tear_down) {
    start_room(KL_POLICY_BOUNDED);
    play(3 * SECOND);
    struct kl_lobby_room *r = the_room();
    as_if_kept(r, 6); /* three may wait */
    come_as(0, 50);
    come_as(1, 60);
    come_as(2, 50);
    assert_string_equal(queue_is(), "p20 p21 p22");
    come_as(3, 60); /* two each would be no better */
    assert_string_equal(newest_notice(AT_PEER + 3)->text,
                        "3 of 3 seats taken, and the queue is full: you watch");
    come_as(4, 70);
    assert_string_equal(newest_notice(AT_PEER + 2)->text,
                        "your address had most places in a full queue: you watch");
    assert_string_equal(queue_is(), "p20 p21 p24");
    for (unsigned i = 6; i < KL_MAX_CLIENTS; i++)
        r->member[i]->place = KL_PLACE_EMPTY;
}

/* The host's ban takes those with it that watch from the same address. */
TEST_WITH(a_ban_takes_the_address, set_up_watched, tear_down) {
    struct kl_msg m = {.kind = KL_MSG_COMMAND,
                       .order = {.kind = KL_COMMAND_BAN, .len = 4, .data = "\xffp20"}};
    start_room(KL_POLICY_BOUNDED);
    play(3 * SECOND);
    come_as(0, 50);
    come_as(1, 50);
    come_as(2, 60);
    live_at(1);
    watches(3); /* from the host's own address */
    play(SECOND);
    goes(0), goes(1);
    say(0, &m);
    expect_refusal(AT_PEER, KL_REFUSE_DOOR, "banned by the host p0 (1)");
    expect_refusal(AT_PEER + 1, KL_REFUSE_DOOR, "your address was banned by the host p0 (1)");
    assert_int_equal(the_room()->watch.count, 2);
    play(SECOND);
    assert_string_equal(queue_is(), "p22");
    memcpy(m.order.data, "\xffp23", 4);
    goes(3);
    say(0, &m);
    assert_int_equal(the_room()->watch.count, 1);
}

/* Each of the queue can become a client: there are 16. */
TEST_WITH(the_queue_is_bounded, set_up_watched, tear_down) {
    start_room(KL_POLICY_BOUNDED);
    play(3 * SECOND);
    struct kl_lobby_room *r = the_room();
    wants_to_play(0);
    as_if_kept(r, 4);
    comes(1, 1);
    assert_string_equal(newest_notice(AT_PEER + 1)->text,
                        "3 of 3 seats taken, and the queue is full: you watch");
    for (unsigned i = 4; i < KL_MAX_CLIENTS; i++)
        r->member[i]->place = KL_PLACE_EMPTY;
    play(SECOND);
    assert_string_equal(queue_is(), "p20");
}
