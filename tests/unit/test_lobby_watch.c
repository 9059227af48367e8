/* test_lobby_watch.c - watchers from outside the game: they see the game later, say little, and no player
 * notices them. The engine is the real one on both sides. net/ROOMS.md §7, Watching. */
#include "tests/unit/unit.h"
#include "tests/lib/lobby_players.h"

#include "net/engine/command.h"
#include "net/relay/lobby/lobby_parts.h"

/* --- the frames that they see --- */

TEST_WITH(they_see_the_same_and_soon, set_up_watched, tear_down) {
    start_room(KL_POLICY_BOUNDED);
    play(5 * SECOND);
    for (unsigned i = 0; i < WATCHERS; i++) {
        watches(i);
        assert_int_equal(heard(AT_PEER + i, KL_MSG_WELCOME)->welcome.client, KL_WATCHER);
        assert_int_equal(heard(AT_PEER + i, KL_MSG_WELCOME)->welcome.seat_time_s, 0);
    }
    uint32_t before = canon_end;
    play(20 * SECOND);
    assert_in_range(canon_end - before, 20 * 60 - 2, 20 * 60 + 2); /* those who play notice nothing */
    for (unsigned i = 0; i < PLAYERS; i++)
        assert_in_range(player[i].p.participant.lock.stats.stalls, 0, 3);
    for (unsigned i = 0; i < WATCHERS; i++) {
        assert_in_range(behind(i), 10, 45);
        assert_in_range(watcher[i].p.participant.lock.stats.stalls, 0, 3); /* nor does it stutter for them */
    }
    assert_int_equal(the_room()->watch.count, WATCHERS);
    assert_int_equal(heard(0, KL_MSG_ROSTER)->roster.watchers, WATCHERS);
    assert_int_equal(heard(0, KL_MSG_ROSTER)->roster.count, PLAYERS);
    assert_int_equal(heard(AT_PEER, KL_MSG_ROSTER)->roster.watchers, WATCHERS);
}

/* Before the game it waits, and is waited for by nobody. */
TEST_WITH(one_who_is_there_before, set_up_watched, tear_down) {
    hello(30, "room", 1, 2, "x");
    on_message = listen_message;
    on_update = listen_update;
    comes(0, 0);
    play(SECOND);
    assert_int_equal(heard(30, KL_MSG_ROSTER)->roster.watchers, 1);
    hello(31, "room", 1, 2, "x");
    give(30, "save");
    ready(30, "a"), ready(31, "a");
    assert_int_equal(the_room()->phase, KL_ROOM_PLAYING);
    assert_null(heard(AT_PEER, KL_MSG_PREPARE));
    play(SECOND);
    assert_non_null(heard(AT_PEER, KL_MSG_PREPARE));
    assert_int_equal(heard(AT_PEER, KL_MSG_DATA)->data.total, 4);
    ready(AT_PEER, "b"); /* other system files than the host's */
    watcher[0].linked = false;
    expect_refusal(AT_PEER, KL_REFUSE_IDENTITY, "system differs");
}

/* A few at a time, and after those who play. */
TEST_WITH(a_client_that_plays_comes_first, set_up_watched, tear_down) {
    start_room(KL_POLICY_BOUNDED);
    play(SECOND);
    for (unsigned i = 0; i < WATCHERS; i++)
        watches(i);
    play(2 * SECOND);
    unsigned after = 0, before = 0;
    for (unsigned n = 0; n < 400; n++) {
        served_count = 0;
        play(STEP_US);
        for (unsigned i = 1; i < served_count; i++) {
            before += served[i - 1] == 'p' && served[i] == 'w';
            after += served[i - 1] == 'w' && served[i] == 'p';
        }
    }
    assert_true(before > 5);
    assert_int_equal(after, 0);
}

/* --- the delay --- */

static uint32_t latest; /* of all frames that a watcher has, how near to the present */

static void note_latest(void) {
    uint32_t ahead = the_room()->lock.next_close - watcher[0].p.participant.lock.stats.next_closed;
    if (ahead < latest) latest = ahead;
}

TEST_WITH(as_much_later_as_the_host_says, set_up_watched, tear_down) {
    start_room(KL_POLICY_BOUNDED);
    play(10 * SECOND);
    struct kl_msg m = {.kind = KL_MSG_COMMAND, .order = {.kind = KL_COMMAND_DELAY, .len = 2, .data = {5}}};
    say(1, &m); /* not the host */
    assert_int_equal(the_room()->watch.delay_s, 0);
    say(0, &m);
    assert_int_equal(the_room()->watch.delay_s, 5);
    watches(0);
    assert_int_equal(heard(AT_PEER, KL_MSG_ROSTER)->roster.delay_s, 5);
    play(6 * SECOND); /* frames that could be seen before he said so have been seen */
    latest = UINT32_MAX;
    on_step = note_latest;
    play(20 * SECOND);
    assert_in_range(latest, 5 * 60 - 1, 5 * 60 + 20);
    assert_in_range(behind(0), 5 * 60 + 10, 5 * 60 + 45);
    assert_in_range(watcher[0].p.participant.lock.stats.stalls, 0, 3);
    say(0, &(struct kl_msg){.kind = KL_MSG_COMMAND, .order = {.kind = KL_COMMAND_DELAY, .len = 2}});
    on_step = NULL;
    play(5 * SECOND);
    assert_in_range(behind(0), 10, 45);
    assert_int_equal(heard(AT_PEER, KL_MSG_ROSTER)->roster.delay_s, 0);
    assert_int_equal(kl_lobby_order_delay(the_room(), 301), KL_E_MALFORMED);
    assert_int_equal(kl_lobby_order_delay(the_room(), 300), KL_OK);
    latest = UINT32_MAX;
    on_step = note_latest;
    play(10 * SECOND); /* frames that it has seen stay seen; it sees no more for now */
    assert_in_range(behind(0), 600, 660);
}

/* Also when the last who played has gone. */
TEST_WITH(they_see_the_end, set_up_watched, tear_down) {
    start_room(KL_POLICY_BOUNDED);
    play(5 * SECOND);
    assert_int_equal(kl_lobby_order_delay(the_room(), 5), KL_OK);
    watches(0);
    play(5 * SECOND);
    for (unsigned i = 0; i < PLAYERS; i++) {
        bye(player[i].peer);
        vanish(i);
    }
    play(4 * SECOND);
    assert_non_null(the_room());
    assert_true(behind(0) > 60);
    play(6 * SECOND);
    assert_int_equal(watcher[0].p.participant.lock.stats.next_closed, the_room()->lock.next_close);
    play(5 * SECOND);
    watcher[0].plays = false;
    play(5 * SECOND);
    expect_refusal(AT_PEER, KL_REFUSE_CLOSED, "all players have left the game");
    assert_int_equal(kl_lobby_rooms(lobby), 0);
}

/* --- seats --- */

TEST_WITH(one_takes_a_seat, set_up_watched, tear_down) {
    start_room(KL_POLICY_BOUNDED);
    play(5 * SECOND);
    comes(0, 1); /* there is none for it */
    play(SECOND / 2);
    load_start(&watcher[0]);
    assert_true(told(AT_PEER, "3 of 3 seats taken: you watch, number 1 in the queue"));
    play(5 * SECOND);
    order(AT_PEER, KL_COMMAND_SEAT, 1);
    assert_int_equal(the_room()->watch.count, 1);
    bye(2);
    vanish(2);
    play(3 * SECOND);
    assert_string_equal(heard(AT_PEER, KL_MSG_NOTICE)->text.text, "your turn: take the seat within 15 s");
    order(AT_PEER, KL_COMMAND_SEAT, 1);
    const struct kl_welcome *w = &heard(AT_PEER, KL_MSG_WELCOME)->welcome;
    assert_int_equal(w->client, 2);
    assert_int_equal(w->seats, 4);
    assert_true(w->seat_time_s > 0);
    play(5 * SECOND);
    assert_int_equal(the_room()->watch.count, 0);
    assert_int_equal(state_of(0, 2), KL_MEMBER_PLAYING);
    assert_int_equal(watcher[0].p.participant.lock.standing, KL_STANDING_IN);
    assert_in_range(behind(0), 0, 30);
    assert_true(presses_lately(2));
    order(AT_PEER, KL_COMMAND_SEAT, 0); /* and back: it watches as a client of the game */
    play(SECOND);
    assert_int_equal(member_of(0, 2)->seats, 0);
}

/* --- hashes --- */

static uint64_t lie; /* the error in a watcher's hashes */

static void report(struct lobby_player *p, const struct kl_frame *f) {
    if (!(f->flags & KL_FRAME_HASH)) return;
    bool watching = p >= watcher && p < watcher + WATCHERS;
    struct kl_msg m = {.kind = KL_MSG_HASH, .hash = {.frame = f->number - 1, .has = KL_HASH_RAM}};
    m.hash.ram = f->number + (watching ? lie : 0);
    if (!p->linked || inbox[p->peer].hung_up) return;
    speak(p->peer, &m);
}

TEST_WITH(its_hashes_count_for_itself_alone, set_up_watched, tear_down) {
    start_room(KL_POLICY_BOUNDED);
    on_frame = report;
    lie = 0;
    play(5 * SECOND);
    watches(0);
    play(12 * SECOND);
    const struct kl_verdict *v = &heard(AT_PEER, KL_MSG_VERDICT)->verdict;
    assert_true(v->differs == 0 && v->complete && v->frame > 400);
    lie = 7;
    for (unsigned time = 1; time <= 3; time++) {
        forget(AT_PEER, KL_MSG_NOTICE);
        forget(AT_PEER, KL_MSG_VERDICT);
        forget(AT_PEER, KL_MSG_PREPARE);
        for (unsigned i = 0; i < 100 && !heard(AT_PEER, KL_MSG_VERDICT); i++)
            play(SECOND / 10);
        v = &heard(AT_PEER, KL_MSG_VERDICT)->verdict;
        assert_int_equal(v->differs, 1);
        assert_true(told(AT_PEER, "this machine is out of sync"));
        if (time == 3) break;
        play(9 * SECOND);                                /* there is no state to be had here */
        assert_non_null(heard(AT_PEER, KL_MSG_PREPARE)); /* it begins anew */
        load_start(&watcher[0]);
        lie = 0;
        play(6 * SECOND);
        assert_int_equal(heard(AT_PEER, KL_MSG_VERDICT)->verdict.differs, 0);
        lie = 7;
    }
    expect_refusal(AT_PEER, KL_REFUSE_DESYNC, "out of sync with the game three times");
    goes(0);
    play(2 * SECOND);
    v = &heard(0, KL_MSG_VERDICT)->verdict; /* those who play have heard nothing of it */
    assert_true(v->differs == 0 && v->healed == 0);
    assert_false(the_room()->heal.verdicts.any_bad);
}

/* Beside one player, the others' links being cut, that one's word is not a proof: the watcher is told, and
 * neither healed nor put out. */
TEST_WITH(the_word_of_one_is_told, set_up_watched, tear_down) {
    start_room(KL_POLICY_BOUNDED);
    on_frame = report;
    lie = 0;
    play(5 * SECOND);
    watches(0);
    play(5 * SECOND);
    cut(1), cut(2);
    play(3 * SECOND); /* labels that three have told are over */
    forget(AT_PEER, KL_MSG_NOTICE);
    lie = 7;
    for (unsigned n = 0; n < 80 && !heard(AT_PEER, KL_MSG_VERDICT)->verdict.differs; n++)
        play(SECOND / 10);
    assert_int_equal(heard(AT_PEER, KL_MSG_VERDICT)->verdict.differs, 1);
    assert_true(told(AT_PEER, "this machine is out of sync"));
    forget(AT_PEER, KL_MSG_PREPARE);
    play(30 * SECOND);
    assert_false(inbox[AT_PEER].hung_up);
    assert_null(heard(AT_PEER, KL_MSG_PREPARE));
    lie = 0;
    play(10 * SECOND);
    assert_int_equal(heard(AT_PEER, KL_MSG_VERDICT)->verdict.differs, 0);
}

/* If the room does nothing about it, the watcher is told and watches on. */
TEST_WITH(out_of_sync_and_ignored, set_up_watched, tear_down) {
    start_room(KL_POLICY_BOUNDED);
    kl_lobby_heal_policy(the_room(), KL_DESYNC_IGNORE, "x", now_us);
    on_frame = report;
    lie = 7;
    play(SECOND);
    watches(0);
    play(20 * SECOND);
    assert_int_equal(heard(AT_PEER, KL_MSG_VERDICT)->verdict.differs, 1);
    assert_false(inbox[AT_PEER].hung_up);
    assert_int_equal(watcher[0].p.participant.lock.stats.next_run > 600, true);
}

/* --- a watcher's words, and limits --- */

static void speaks(unsigned peer, const char *text) {
    struct kl_msg m = {.kind = KL_MSG_COMMAND,
                       .order = {.kind = KL_COMMAND_CHAT, .len = (uint8_t)strlen(text)}};
    memcpy(m.order.data, text, m.order.len);
    say(peer, &m);
}

TEST_WITH(they_talk_and_no_more, set_up_watched, tear_down) {
    start_room(KL_POLICY_BOUNDED);
    play(SECOND);
    watches(0), watches(1);
    play(SECOND);
    speaks(AT_PEER, "hello");
    play(SECOND);
    assert_true(told(0, "p20 (watches): hello"));
    assert_true(told(AT_PEER + 1, "p20 (watches): hello"));
    order(AT_PEER, KL_COMMAND_PAUSE, 1);
    order(AT_PEER, KL_COMMAND_KICK, 1);
    order(AT_PEER, KL_COMMAND_DELAY, 1);
    play(SECOND);
    assert_false(the_room()->lock.paused);
    assert_true(told(AT_PEER, "only players can do that"));
    assert_int_equal(the_room()->watch.delay_s, 0);
    for (unsigned i = 0; i < 1000 && !inbox[AT_PEER].hung_up; i++)
        speaks(AT_PEER, "spam");
    goes(0);
    expect_refusal(AT_PEER, KL_REFUSE_LIMIT, "too many commands");
    say(AT_PEER + 1, &(struct kl_msg){.kind = KL_MSG_SEND});
    goes(1);
    expect_refusal(AT_PEER + 1, KL_REFUSE_PROTOCOL, "not expected now");
    play(SECOND);
    expect_all_at_the_end();
}

TEST_WITH(so_many_and_no_more, set_up_watched, tear_down) {
    char text[KL_TEXT_MAX];
    start_room(KL_POLICY_BOUNDED);
    play(SECOND);
    for (unsigned i = 0; i < WATCHERS; i++)
        comes(i, 0);
    hello(35, "room", 0, PLAYERS, "x");
    expect_refusal(35, KL_REFUSE_FULL, "room room is full: it has 6 watchers");
    assert_int_equal(lobby->watchers, WATCHERS);
    assert_int_equal(kl_lobby_order_member(the_room(), KL_ORDER_KICK, "p20", text, sizeof text, now_us),
                     KL_OK);
    goes(0);
    expect_refusal(AT_PEER, KL_REFUSE_CLOSED, "put out by the relay's operator");
    assert_int_equal(kl_lobby_order_member(the_room(), KL_ORDER_BAN, "p21", text, sizeof text, now_us),
                     KL_OK);
    goes(1);
    hello(36, "room", 0, PLAYERS, "x"); /* from the same address */
    expect_refusal(36, KL_REFUSE_DOOR, "you are banned");
    bye(AT_PEER + 2);
    goes(2);
    assert_int_equal(lobby->watchers, 3);
    lose(AT_PEER + 3);
    goes(3);
    assert_int_equal(lobby->watchers, 2);
}

static void puts_out(unsigned peer, uint8_t kind, const char *name) {
    struct kl_msg m = {.kind = KL_MSG_COMMAND, .order = {.kind = kind, .data = {KL_WATCHER}}};
    m.order.len = (uint8_t)(1 + strlen(name));
    memcpy(m.order.data + 1, name, strlen(name));
    say(peer, &m);
}

/* By name, as they are in no roster. */
TEST_WITH(the_host_puts_one_out, set_up_watched, tear_down) {
    start_room(KL_POLICY_BOUNDED);
    play(SECOND);
    for (unsigned i = 0; i < 3; i++)
        watches(i);
    play(SECOND);
    order(1, KL_COMMAND_WATCHERS, 0); /* not the host */
    assert_false(told(1, "watch:"));
    say(0, &(struct kl_msg){.kind = KL_MSG_COMMAND, .order = {.kind = KL_COMMAND_WATCHERS}});
    assert_true(told(0, "3 watchers: p20, p21, p22"));
    puts_out(1, KL_COMMAND_KICK, "p20");
    assert_int_equal(the_room()->watch.count, 3);
    puts_out(0, KL_COMMAND_KICK, "p2");
    assert_true(told(0, "nobody in this room is called p2"));
    puts_out(0, KL_COMMAND_KICK, "a name of more than 23 characters");
    assert_int_equal(the_room()->watch.count, 3);
    puts_out(0, KL_COMMAND_KICK, "p20");
    goes(0);
    expect_refusal(AT_PEER, KL_REFUSE_CLOSED, "put out by the host p0");
    puts_out(0, KL_COMMAND_BAN, "p21");
    goes(1);
    expect_refusal(AT_PEER + 1, KL_REFUSE_DOOR, "banned by the host p0");
    assert_int_equal(the_room()->watch.count, 1);
    hello(36, "room", 0, PLAYERS, "x"); /* from the same address */
    expect_refusal(36, KL_REFUSE_DOOR, "you are banned");
    play(SECOND);
    expect_all_at_the_end();
}

/* It takes nothing, or says nothing: that is its own affair, up to a point. */
TEST_WITH(a_client_that_is_slow_holds_up_nobody, set_up_watched, tear_down) {
    start_room(KL_POLICY_BOUNDED);
    play(SECOND);
    watches(0), watches(1), watches(2);
    play(SECOND);
    inbox[AT_PEER].pending = 30; /* its link is stuffed: no bulk goes there */
    watcher[1].linked = false;   /* nothing comes from it */
    uint32_t pieces = watcher[0].pieces;
    play(10 * SECOND);
    assert_int_equal(watcher[0].pieces, pieces);
    assert_in_range(behind(2), 10, 45);
    inbox[AT_PEER].pending = 0;
    play(4 * SECOND);
    assert_in_range(behind(0), 10, 45);
    inbox[AT_PEER].pending = 401;
    play(3 * SECOND);
    goes(0), goes(1);
    expect_refusal(AT_PEER, KL_REFUSE_LIMIT, "your machine does not read what the relay sends");
    expect_refusal(AT_PEER + 1, KL_REFUSE_CLOSED, "nothing has come from you");
    expect_all_at_the_end();
}

static size_t no_room_for_one(unsigned peer) {
    return peer == AT_PEER ? 0 : 4000;
}

/* To whom the start data does not get has a minute, and a second more for every 16 KiB. */
TEST_WITH(a_watcher_that_takes_no_start_data_is_put_out, set_up_watched, tear_down) {
    start_room(KL_POLICY_BOUNDED);
    on_bulk_room = no_room_for_one;
    comes(0, 0);
    play(59 * SECOND);
    assert_false(inbox[AT_PEER].hung_up);
    play(SECOND / 2);
    for (unsigned i = 0; i < 8 && !inbox[AT_PEER].hung_up; i++)
        play(SECOND / 4);
    goes(0);
    expect_refusal(AT_PEER, KL_REFUSE_CLOSED, "the room's start data did not reach you in time");
    expect_all_at_the_end();
}

TEST_WITH(malformed_words, set_up_watched, tear_down) {
    static const uint8_t bad[] = {1, 2, 3};
    start_room(KL_POLICY_BOUNDED);
    watches(0);
    for (unsigned i = 0; i < 63; i++)
        kl_lobby_datagram(lobby, AT_PEER, bad, sizeof bad, 0, 0, now_us);
    assert_false(inbox[AT_PEER].hung_up);
    kl_lobby_datagram(lobby, AT_PEER, bad, sizeof bad, 0, 0, now_us);
    goes(0);
    expect_refusal(AT_PEER, KL_REFUSE_PROTOCOL, "malformed input datagrams");
}

/* The relay goes, or the room does: all are told. */
TEST_WITH(all_are_told_of_the_end, set_up_watched, tear_down) {
    start_room(KL_POLICY_BOUNDED);
    watches(0);
    kl_lobby_shut_down(lobby, now_us);
    goes(0);
    expect_refusal(AT_PEER, KL_REFUSE_CLOSED, "the relay is shutting down");
    assert_int_equal(lobby->watchers, 0);
    assert_int_equal(kl_lobby_rooms(lobby), 0);
}
