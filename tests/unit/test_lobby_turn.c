/* test_lobby_turn.c - rematches need more than one player; the queue gives seats to the first that waits, and
 * nobody loses a frame when a seat changes hands. net/PROTOCOL.md §7. */
#include "tests/unit/unit.h"
#include "tests/lib/lobby_watchers.h"

#include "net/engine/command.h"

static const char turn_text[] = "your turn: take the seat within 15 s";

static unsigned reset_count; /* of the game, as the first player runs it */

static void count_resets(struct player *p, const struct kl_frame *f) {
    bool some = p == &player[0] && (f->flags & KL_FRAME_COMMANDS);
    const struct kl_commands *set = some ? kl_client_commands(&p->lock, f->number) : NULL;
    for (unsigned i = 0; set && i < set->count; i++)
        reset_count += set->at[i].kind == KL_COMMAND_RESET;
}

static void begin_counting(void) {
    begin_watched();
    reset_count = 0;
    on_frame = count_resets;
}

static const struct kl_text *newest_notice(unsigned peer) {
    return &got(peer, KL_MSG_NOTICE)->text;
}

static void reset_by(unsigned peer) {
    say(peer, &(struct kl_msg){.kind = KL_MSG_COMMAND, .order = {.kind = KL_COMMAND_RESET}});
}

static void a_rematch_needs_more_than_half(void **state) {
    (void)state;
    begin_counting();
    go(2 * SECOND);
    reset_by(0);
    go(SECOND);
    assert_int_equal(reset_count, 0);
    assert_string_equal(newest_notice(0)->text, "you asked for a rematch: 1 of 3 players agree");
    for (unsigned i = 1; i < PLAYERS; i++) {
        assert_int_equal(newest_notice(i)->code, KL_NOTICE_AGAIN);
        assert_string_equal(newest_notice(i)->text, "p0 (1) wants a rematch: agree within 10 s");
    }
    for (unsigned i = 0; i < 5; i++) /* again and again: it stays one wish */
        reset_by(0);
    go(SECOND);
    assert_int_equal(reset_count, 0);
    reset_by(2);
    go(SECOND);
    assert_int_equal(reset_count, 1);
    reset_by(1); /* the wishes before are used up */
    go(SECOND);
    assert_int_equal(reset_count, 1);
    go(10 * SECOND);
    reset_by(2); /* the wish before is over */
    go(SECOND);
    assert_int_equal(reset_count, 1);
}

static void a_rematch_of_one(void **state) {
    (void)state;
    begin_counting();
    go(2 * SECOND);
    order(2, KL_COMMAND_SEAT, 0);
    go(SECOND);
    reset_by(2); /* without a seat */
    assert_string_equal(newest_notice(2)->text, "only players can ask for a rematch");
    reset_by(0);
    go(SECOND);
    assert_int_equal(reset_count, 0); /* of two */
    cut(1);
    go(11 * SECOND);
    reset_by(0);
    go(SECOND);
    assert_int_equal(reset_count, 1); /* the other one is away */
    order(2, KL_COMMAND_SEAT, 1);
    reset_by(0); /* at once: the other one counts before the first sample */
    go(SECOND);
    assert_int_equal(reset_count, 1);
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

static void the_seat_goes_round(void **state) {
    (void)state;
    begin_watched();
    go(3 * SECOND);
    order(1, KL_COMMAND_SEAT, KL_SEAT_NEXT);
    assert_string_equal(newest_notice(1)->text, "nobody waits for a seat");
    wants_to_play(0);
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

static void one_that_has_gone_is_passed_over(void **state) {
    (void)state;
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
static void a_newcomer_waits_behind_the_others(void **state) {
    struct kl_lobby_listing line;
    unsigned from = 0;
    (void)state;
    begin_watched();
    go(3 * SECOND);
    wants_to_play(0);
    bye(2);
    player[2].linked = player[2].plays = false;
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
static void a_watcher_that_comes_again_keeps_its_place(void **state) {
    (void)state;
    begin_watched();
    go(3 * SECOND);
    wants_to_play(0);
    wants_to_play(1);
    struct kl_msg m = a_hello(AT_PEER, "room", 0, PLAYERS, "x");
    m.hello.door = KL_DOOR_AGAIN;
    goes(0);
    watcher[0] = (struct player){.peer = AT_PEER + 5, .linked = true};
    connect_peer(AT_PEER + 5);
    say(AT_PEER + 5, &m);
    go(SECOND / 2);
    says_loaded(0);
    go(3 * SECOND);
    assert_string_equal(queue_is(), "p20 p21");
}

/* Each of the queue can become a client: there are 16. */
static void the_queue_is_bounded(void **state) {
    (void)state;
    begin_watched();
    go(3 * SECOND);
    struct kl_lobby_room *r = the_room();
    wants_to_play(0);
    for (unsigned i = 4; i < KL_MAX_CLIENTS; i++) /* as if there were as many clients */
        r->member[i].place = KL_PLACE_KEPT;
    comes(1, 1);
    assert_string_equal(newest_notice(AT_PEER + 1)->text,
                        "3 of 3 seats taken, and the queue is full: you watch");
    for (unsigned i = 4; i < KL_MAX_CLIENTS; i++)
        r->member[i].place = KL_PLACE_EMPTY;
    go(SECOND);
    assert_string_equal(queue_is(), "p20");
}

#define T(f) cmocka_unit_test_setup_teardown(f, set_up_watched, tear_down)

int main(void) {
    static const struct CMUnitTest tests[] = {
        T(a_rematch_needs_more_than_half),
        T(a_rematch_of_one),
        T(the_seat_goes_round),
        T(one_that_has_gone_is_passed_over),
        T(a_newcomer_waits_behind_the_others),
        T(a_watcher_that_comes_again_keeps_its_place),
        T(the_queue_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
