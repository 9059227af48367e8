/* test_lobby_turn.c - the queue gives seats to the first that waits, and nobody loses a frame when a seat
 * changes hands. net/PROTOCOL.md §7. */
#include "tests/unit/unit.h"
#include "tests/lib/lobby_watchers.h"

#include "net/engine/command.h"

static const char turn_text[] = "your turn: take the seat within 15 s";

static const struct kl_text *newest_notice(unsigned peer) {
    return &got(peer, KL_MSG_NOTICE)->text;
}

/* The queue in the newest ROSTER: "p20 p21", with "*" behind the client that has the turn. */
static const char *queue_is(void) {
    static char text[200];
    const struct kl_roster *o = &got(0, KL_MSG_ROSTER)->roster;
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
    go(SECOND / 2);
    says_loaded(i);
    go(3 * SECOND);
}

TEST_WITH(the_seat_goes_round, set_up_watched, tear_down) {
    begin_watched();
    go(3 * SECOND);
    order(1, KL_COMMAND_SEAT, KL_SEAT_NEXT);
    assert_string_equal(newest_notice(1)->text, "nobody waits for a seat");
    address_of_peers = "192.0.2.20:5";
    wants_to_play(0);
    address_of_peers = "192.0.2.21:5";
    wants_to_play(1);
    assert_string_equal(queue_is(), "p20 p21");
    order(AT_PEER, KL_COMMAND_SEAT, 1); /* it is not its turn */
    go(SECOND);
    assert_string_equal(queue_is(), "p20 p21");
    assert_int_equal(the_room()->watch.count, 2);

    uint32_t before = canon_end;
    order(1, KL_COMMAND_SEAT, KL_SEAT_NEXT);
    go(SECOND);
    assert_string_equal(queue_is(), "p20* p21");
    assert_string_equal(newest_notice(AT_PEER)->text, turn_text);
    assert_int_equal(newest_notice(AT_PEER)->code, KL_NOTICE_SEAT);
    assert_int_equal(player[1].lock.seats, 2); /* plays on */
    order(AT_PEER + 1, KL_COMMAND_SEAT, 1);    /* not its turn */
    go(SECOND);
    assert_int_equal(player[1].lock.seats, 2);
    order(AT_PEER, KL_COMMAND_SEAT, 1);
    go(3 * SECOND);
    assert_int_equal(player[1].lock.seats, 0);
    assert_int_equal(watcher[0].lock.seats, 2);
    assert_string_equal(queue_is(), "p21 p1");
    assert_in_range(canon_end - before, 5 * 60 - 3, 5 * 60 + 3); /* nobody has waited */

    order(AT_PEER, KL_COMMAND_SEAT, KL_SEAT_NEXT); /* and lets the time pass */
    go(14 * SECOND);
    assert_string_equal(queue_is(), "p21* p1");
    go(2 * SECOND);
    assert_string_equal(newest_notice(AT_PEER + 1)->text, "you did not take the seat in time: you watch");
    assert_string_equal(queue_is(), "p1*");
    order(1, KL_COMMAND_SEAT, 1);
    go(3 * SECOND);
    assert_int_equal(player[1].lock.seats, 2);
    assert_int_equal(watcher[0].lock.seats, 0);
    assert_string_equal(queue_is(), "p20");
    assert_int_equal(the_room()->watch.count, 1);
    assert_in_range(behind(0), 0, 30);
}

TEST_WITH(one_that_has_gone_is_passed_over, set_up_watched, tear_down) {
    begin_watched();
    go(3 * SECOND);
    wants_to_play(0);
    wants_to_play(1);
    goes(0);
    bye(AT_PEER);
    order(0, KL_COMMAND_SEAT, KL_SEAT_NEXT);
    go(SECOND);
    assert_string_equal(queue_is(), "p21*");
    goes(1);
    bye(AT_PEER + 1);
    go(SECOND);
    assert_string_equal(queue_is(), "");
    assert_string_equal(newest_notice(0)->text, "nobody takes your seat: you play on");
    assert_int_equal(player[0].lock.seats, 1);
}

/* Also a seat that is given up belongs to the first in the queue, not to a newcomer. */
TEST_WITH(a_newcomer_waits_behind_the_others, set_up_watched, tear_down) {
    struct kl_lobby_listing line;
    unsigned from = 0;
    begin_watched();
    go(3 * SECOND);
    wants_to_play(0);
    bye(2);
    vanish(2);
    go(SECOND);
    assert_string_equal(queue_is(), "p20*");
    assert_int_equal(kl_lobby_list(lobby, &from, &line, 1), 1);
    assert_true(line.filled == 2 && line.players == 3 && line.open == 0);
    comes(1, 1);
    assert_string_equal(newest_notice(AT_PEER + 1)->text,
                        "2 of 3 seats taken: you watch, number 2 in the queue");
    go(SECOND / 2);
    says_loaded(1);
    go(3 * SECOND);
    order(AT_PEER + 1, KL_COMMAND_SEAT, 1); /* it may not push in */
    assert_int_equal(the_room()->watch.count, 2);
    order(AT_PEER, KL_COMMAND_SEAT, 1);
    go(3 * SECOND);
    assert_int_equal(watcher[0].lock.seats, 4);
    assert_string_equal(queue_is(), "p21");
    order(AT_PEER + 1, KL_COMMAND_SEAT, 0);
    assert_string_equal(newest_notice(AT_PEER + 1)->text, "you left the queue: you watch");
    go(SECOND);
    assert_string_equal(queue_is(), "");
    order(AT_PEER + 1, KL_COMMAND_SEAT, KL_SEAT_NEXT);
    assert_string_equal(newest_notice(AT_PEER + 1)->text, "you watch: you have no seat to hand on");
}

/* It is the same person with a new session: the place is its own. */
TEST_WITH(a_watcher_that_comes_again_keeps_its_place, set_up_watched, tear_down) {
    begin_watched();
    go(3 * SECOND);
    wants_to_play(0);
    wants_to_play(1);
    struct kl_msg m = a_hello(AT_PEER, "room", 0, PLAYERS, "x");
    m.hello.door = KL_DOOR_AGAIN;
    goes(0);
    watcher[0] = (struct player){.peer = AT_PEER + 5, .linked = true};
    enter(AT_PEER + 5, &m);
    go(SECOND / 2);
    says_loaded(0);
    go(3 * SECOND);
    assert_string_equal(queue_is(), "p20 p21");
}

static void come_as(unsigned i, unsigned last) {
    live_at(last);
    comes(i, 1);
    go(SECOND / 2);
    says_loaded(i);
    go(3 * SECOND);
}

/* One address has a turn let pass once a minute, however many places it has. */
TEST_WITH(a_turn_not_taken_bars_the_address, set_up_watched, tear_down) {
    begin_watched();
    go(3 * SECOND);
    come_as(0, 50);
    come_as(1, 50);
    come_as(2, 60);
    bye(2);
    vanish(2);
    go(SECOND);
    assert_string_equal(queue_is(), "p20* p21 p22");
    go(16 * SECOND);
    assert_string_equal(queue_is(), "p21 p22*"); /* passed over, and keeps its place */
    order(AT_PEER, KL_COMMAND_SEAT, 1);
    assert_non_null(strstr(newest_notice(AT_PEER)->text, "a seat went to waste: ask again in 5"));
    order(AT_PEER + 2, KL_COMMAND_SEAT, 1);
    go(3 * SECOND);
    assert_int_equal(watcher[2].lock.seats, 4);
    order(AT_PEER + 2, KL_COMMAND_SEAT, 0); /* a seat is free again */
    go(2 * SECOND);
    assert_string_equal(queue_is(), "p21");
    go(60 * SECOND);
    assert_string_equal(queue_is(), "p21*");
    order(AT_PEER + 1, KL_COMMAND_SEAT, 0); /* does not take it either */
    order(AT_PEER, KL_COMMAND_SEAT, 1);
    assert_non_null(strstr(newest_notice(AT_PEER)->text, "a seat went to waste"));
}

/* Also if it goes before its turn is over: as a watcher, and as a client without a seat. */
TEST_WITH(whoever_goes_with_the_turn_is_barred, set_up_watched, tear_down) {
    begin_watched();
    go(3 * SECOND);
    come_as(0, 50);
    order(1, KL_COMMAND_SEAT, KL_SEAT_NEXT);
    go(SECOND);
    assert_string_equal(queue_is(), "p20*");
    goes(0);
    bye(AT_PEER);
    go(SECOND);
    come_as(1, 50);
    assert_non_null(strstr(newest_notice(AT_PEER + 1)->text, "a seat went to waste"));
    assert_string_equal(queue_is(), "");
    come_as(2, 60); /* a new session does not begin the turn anew */
    order(1, KL_COMMAND_SEAT, KL_SEAT_NEXT);
    go(14 * SECOND);
    assert_string_equal(queue_is(), "p22*");
    struct kl_msg m = a_hello(AT_PEER + 2, "room", 0, PLAYERS, "x");
    m.hello.door = KL_DOOR_AGAIN;
    goes(2);
    enter(AT_PEER + 5, &m);
    go(2 * SECOND);
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
    begin_watched();
    go(3 * SECOND);
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
    begin_watched();
    go(3 * SECOND);
    come_as(0, 50);
    come_as(1, 50);
    come_as(2, 60);
    live_at(1);
    watches(3); /* from the host's own address */
    go(SECOND);
    goes(0), goes(1);
    say(0, &m);
    expect_refusal(AT_PEER, KL_REFUSE_DOOR, "banned by the host p0 (1)");
    expect_refusal(AT_PEER + 1, KL_REFUSE_DOOR, "your address was banned by the host p0 (1)");
    assert_int_equal(the_room()->watch.count, 2);
    go(SECOND);
    assert_string_equal(queue_is(), "p22");
    memcpy(m.order.data, "\xffp23", 4);
    goes(3);
    say(0, &m);
    assert_int_equal(the_room()->watch.count, 1);
}

/* Each of the queue can become a client: there are 16. */
TEST_WITH(the_queue_is_bounded, set_up_watched, tear_down) {
    begin_watched();
    go(3 * SECOND);
    struct kl_lobby_room *r = the_room();
    wants_to_play(0);
    as_if_kept(r, 4);
    comes(1, 1);
    assert_string_equal(newest_notice(AT_PEER + 1)->text,
                        "3 of 3 seats taken, and the queue is full: you watch");
    for (unsigned i = 4; i < KL_MAX_CLIENTS; i++)
        r->member[i]->place = KL_PLACE_EMPTY;
    go(SECOND);
    assert_string_equal(queue_is(), "p20");
}
