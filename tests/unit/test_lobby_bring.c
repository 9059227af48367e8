/* test_lobby_bring.c - a relay that was restarted without a journal gets its room back from its clients, who
 * cannot change what was played. PROTOCOL.md §7, tags and tickets. */
#include <malloc.h>

#include "net/engine/command.h"
#include "tests/unit/unit.h"
#include "tests/lib/lobby_bringers.h"

static void clients_bring_it(void **state) {
    (void)state;
    play_and_die(KL_POLICY_BOUNDED);
    uint32_t before = canon_end;
    for (unsigned i = 0; i < PLAYERS; i++)
        show(i, 10 + i);
    pass(200000);
    assert_false(is_asked(0) || is_asked(1) || is_asked(2)); /* others may have more */
    pass(200000);
    unsigned who = 0; /* one of them is asked */
    while (who < PLAYERS && !is_asked(who))
        who++;
    assert_in_range(who, 0, PLAYERS - 1);
    for (unsigned i = 0; i < PLAYERS; i++)
        assert_true(marked(i) <= marked(who));
    expect_want(who, KL_WANT_START, 0);
    bring_all(who);
    for (unsigned i = 0; i < PLAYERS; i++)
        assert_true(i == who || !is_asked(i) || marked(i) > marked(who));
    pass(300000);
    for (unsigned i = 0; i < PLAYERS; i++) {
        assert_non_null(heard(10 + i, KL_MSG_WELCOME));
        assert_null(heard(10 + i, KL_MSG_PREPARE)); /* all go on with what they have */
    }
    play(6 * SECOND);
    expect_all_at_the_end(); /* run_frame() has compared: no frame lost, none changed */
    assert_true(canon_end > before + 3 * 60);
    expect_tags(&player[0], ticket.id);
    assert_int_equal(lobby->bringing, 0);
}

/* Each UPDATE carries the mark of its newest frame: to the frame, what one has run can be proved. */
static void everything_that_was_run_is_marked(void **state) {
    (void)state;
    fixed_spacing = 7;
    play_and_die(KL_POLICY_BOUNDED);
    fixed_spacing = 0;
    for (unsigned i = 0; i < PLAYERS; i++)
        assert_int_equal(marked(i), kl_client_have(&player[i].lock));
    assert_true(marked(0) > player[0].tags_end);
    show(1, 11);
    pass(400000);
    bring_all(1);
    assert_int_equal(the_room()->lock.next_close, kl_client_have(&player[1].lock));
}

static void nothing_is_taken_on_a_clients_word(void **state) {
    (void)state;
    play_and_die(KL_POLICY_BOUNDED);
    return_able(1, 11);
    bring_ticket(1);
    bring_tag(1); /* no mark */
    bring_end(1);
    pass(400000);
    bring_start(1);
    bring_frames(1, 0, canon_end);
    bring_end(1);
    assert_true(player[1].tags_end < canon_end);
    assert_int_equal(the_room()->lock.next_close, player[1].tags_end);
}

/* No unproved frame is taken, from the room's maker or from a player who adds to it, however far they say
 * they have come. */
static void a_claim_that_is_not_made_good(void **state) {
    static const uint32_t far[] = {100000, UINT32_MAX, UINT32_MAX - 50};
    (void)state;
    play_and_die(KL_POLICY_BOUNDED);
    show(0, 10);
    for (unsigned i = 0; i < 3; i++) {
        show_off(1, 20 + i, far[i]);
        pass(400000);
        if (i > 0) break; /* he is no longer asked first */
        expect_want(1, KL_WANT_START, 0);
        bring_start(1);
        forged_frames(1, 0, canon_end);
        bring_end(1);
        expect_refusal(20, KL_REFUSE_SEAT, "frames are missing below your newest tag");
        run();
        assert_int_equal(kl_lobby_rooms(lobby), 0); /* half a room is none */
        assert_int_equal(lobby->start_bytes, 0);
    }
    expect_want(0, KL_WANT_START, 0);
    bring_all(0);
    uint32_t end = marked(0);
    assert_int_equal(the_room()->lock.next_close, end);
    pass(200000);
    expect_want(1, 0, end); /* he says that he has more */
    forged_frames(1, end, end + 60);
    bring_end(1);
    expect_refusal(21, KL_REFUSE_SEAT, "frames are missing below your newest tag");
    assert_int_equal(the_room()->lock.next_close, end);
    show_off(1, 22, far[2]);
    pass(200000);
    expect_want(1, 0, end);
    forged_frames(1, end, end + 60);
    lose(22); /* goes in the middle of it */
    assert_int_equal(the_room()->lock.next_close, end);
}

/* Two who have other frames past what a third has: the relay knows its own. */
static void of_two_that_differ_the_relays_own_count(void **state) {
    (void)state;
    play_and_die(KL_POLICY_BOUNDED);
    uint32_t whole = marked(0), early = whole - 40;
    struct kl_lobby_room *r = make_again(); /* as from a journal that ended early */
    adopt(r, early);
    uint8_t mark[KL_MARK], after[KL_MARK];
    assert_true(kl_lobby_past_mark(r, mark));
    uint64_t bytes = r->past.bytes;
    struct kl_msg m = prepare_return(2, 12);
    m.back.can_bring = true, m.back.have = UINT32_MAX; /* he says */
    say(12, &m);
    return_able(1, 11);
    pass(200000);
    expect_want(2, 0, early);
    claim(2, early + 30);
    forged_frames(2, early, early + 30);
    expect_refusal(12, KL_REFUSE_SEAT, "not what this relay saw played");
    assert_int_equal(r->lock.next_close, early);
    assert_true(kl_lobby_past_mark(r, after));
    assert_memory_equal(mark, after, sizeof mark);
    assert_int_equal(r->past.bytes, bytes);
    assert_int_equal(lobby->history_bytes, bytes);
    pass(200000);
    expect_want(1, 0, early);
    bring_all(1);
    assert_int_equal(r->lock.next_close, marked(1));
    assert_null(r->reopening.trial);
}

/* Of blocks in use; no more than 0 where a sanitizer has the heap, which finds for itself what is left
 * behind. */
static size_t heap_bytes(void) {
    struct mallinfo2 m = mallinfo2();
    return m.uordblks + m.hblkhd;
}

/* However much was added on trial: all of it goes again. */
static void a_long_trial_leaves_nothing(void **state) {
    (void)state;
    kl_lobby_destroy(lobby);
    open_lobby(&(struct kl_lobby_limits){.peers = PEERS, .rooms = 2, .seats = 4, .history_kib = 256});
    start_room(KL_POLICY_BOUNDED);
    lobby->room[0]->shot.unfit = true; /* no commands among its frames: those here bring none */
    for (unsigned i = 0; i < PLAYERS; i++)
        player[i].mashes = true;
    play(50 * SECOND);
    open_ticket(&player[1], &ticket);
    new_relay();
    play(SECOND);
    lobby->limits.history_kib = 256;
    struct kl_lobby_room *r = make_again();
    adopt(r, 100);
    uint64_t bytes = lobby->history_bytes;
    size_t heap = 0;
    for (unsigned i = 0; i < 2; i++) {
        struct kl_msg m = prepare_return(2, 12 + i);
        m.back.can_bring = true, m.back.have = UINT32_MAX;
        say(12 + i, &m);
        pass(200000);
        claim(2, 100 + 1500);
        forged_frames(2, r->lock.next_close, 100 + 1000 + i * 500);
        lose(12 + i);
        assert_int_equal(r->lock.next_close, 100);
        assert_int_equal(lobby->history_bytes, bytes);
        assert_int_equal(r->past.history.first, 0);
        if (i == 0) heap = heap_bytes();
    }
    assert_in_range(heap_bytes(), 0, heap + KL_HISTORY_BLOCK / 2);
    lobby->limits.history_kib = 64; /* more than a trial may take: it ends, and not at the past's cost */
    struct kl_msg m = prepare_return(2, 14);
    m.back.can_bring = true, m.back.have = UINT32_MAX;
    say(14, &m);
    pass(200000);
    claim(2, canon_end);
    forged_frames(2, 100, canon_end);
    expect_refusal(14, KL_REFUSE_SEAT, "frames that do not follow");
    assert_int_equal(lobby->history_bytes, bytes);
    assert_int_equal(r->past.history.first, 0);
    lobby->limits.history_kib = 256;
    return_able(1, 11);
    pass(200000);
    bring_all(1); /* the whole game: more than the room may keep */
    assert_int_equal(r->lock.next_close, marked(1));
    assert_in_range(lobby->history_bytes, 1, 256 * 1024);
}

/* However much a stranger says that he has: the room is its members', and nobody waits for him. */
static void strangers_add_nothing(void **state) {
    (void)state;
    play_and_die(KL_POLICY_BOUNDED);
    for (unsigned i = 0; i < 8; i++) {
        connect_peer(20 + i);
        struct kl_msg m = a_return(5, 20 + i, "room", player[1].token);
        m.back.can_bring = true;
        m.back.have = m.back.tags = UINT32_MAX;
        say(20 + i, &m);
    }
    connect_peer(29); /* somebody else's key, of which he has only heard: he is not even asked */
    struct kl_msg m = prepare_return(0, 29);
    m.back.can_bring = true;
    m.back.signature[5] ^= 1;
    say(29, &m);
    assert_null(heard(29, KL_MSG_WANT));
    expect_refusal(29, KL_REFUSE_SEAT, "keeps no seat for you");
    show(1, 11);
    pass(400000);
    expect_want(1, KL_WANT_START, 0);
    connect_peer(30); /* a good ticket in the hands of somebody else */
    m = a_return(5, 30, "room", player[1].token);
    m.back.can_bring = true, m.back.have = 100;
    say(30, &m);
    struct player thief = player[1];
    player[1].peer = 30;
    bring_ticket(1);
    player[1] = thief;
    expect_refusal(30, KL_REFUSE_SEAT, "of another room or of others' seats");
    bring_all(1);
    pass(4 * SECOND);
    for (unsigned i = 0; i < 8; i++)
        expect_refusal(20 + i, KL_REFUSE_SEAT, "nothing more came");
    assert_non_null(heard(11, KL_MSG_WELCOME));
}

static void played_frames_cannot_be_rewritten(void **state) {
    (void)state;
    play_and_die(KL_POLICY_BOUNDED);
    show(1, 11);
    pass(400000);
    expect_want(1, KL_WANT_START, 0);
    show(2, 12);
    bring_start(1);
    bring_frames(1, 0, 300);
    forged_frames(1, 300, 301);
    bring_frames(1, 301, canon_end);
    expect_refusal(11, KL_REFUSE_SEAT, "not what this relay saw played");
    player[1].linked = player[1].plays = false;
    pass(400000); /* an honest one is asked instead */
    expect_want(2, KL_WANT_START, 0);
    bring_all(2);
    pass(2 * SECOND);
    assert_null(heard(12, KL_MSG_WELCOME)); /* others may have more */
    pass(2 * SECOND);
    assert_non_null(heard(12, KL_MSG_WELCOME));
    assert_true(member_of(12, 1) && state_of(12, 1) == KL_MEMBER_AWAY);
}

/* A client's frames begin at frame 300, so the relay gives the ticket a base; then the relay dies. */
static void get_a_base(bool swapped) {
    struct kl_msg swap = {.kind = KL_MSG_COMMAND,
                          .order = {.kind = KL_COMMAND_SWAP, .len = 2, .data = {0, 1}}};
    start_room(KL_POLICY_BOUNDED);
    play(6 * SECOND);
    if (swapped) say(player[0].peer, &swap);
    play(SECOND);
    the_room()->member[1].way.begins = 300;
    play(1300 * 1000);
    open_ticket(&player[1], &ticket);
    assert_true(ticket.base.keyframe > 350);
    assert_int_equal(ticket.base.rules.plays[0], swapped);
    new_relay();
    play(SECOND);
}

static void return_with(unsigned who, unsigned peer, uint32_t first) {
    struct kl_msg m = prepare_return(who, peer);
    m.back.can_bring = true;
    m.back.first = first;
    say(peer, &m);
    bring_ticket(who);
}

static void show_from(unsigned who, unsigned peer, uint32_t first) {
    return_with(who, peer, first);
    bring_tag(who);
    bring_mark(who);
    bring_end(who);
}

static void nobody_has_frame_0_any_more(void **state) {
    (void)state;
    get_a_base(true);
    uint32_t base = ticket.base.keyframe, before = canon_end;
    show_from(1, 11, 300);
    pass(400000);
    expect_want(1, KL_WANT_START, base);
    bring_all(1);
    const struct kl_lobby_room *r = the_room();
    assert_int_equal(r->lock.next_close, marked(1));
    assert_true(r->lock.begin == base && r->past.history.first == base && r->lock.plays[0] == 1);
    assert_true(kl_lobby_past_reaches(r, base));
    assert_false(kl_lobby_past_reaches(r, base - 1)); /* also not by UPDATE */
    show_from(0, 10, 300), show_from(2, 12, base);
    play(6 * SECOND);
    expect_all_at_the_end(); /* run_frame() has compared: no frame lost, none changed */
    assert_true(canon_end > before + 3 * 60);
    open_ticket(&player[0], &ticket);
    assert_true(ticket.base.keyframe == base); /* good for the next time */
}

/* The relay's tags hold from the base on, too. */
static void a_base_is_no_way_to_lie(void **state) {
    (void)state;
    get_a_base(false);
    uint32_t base = ticket.base.keyframe;
    show_from(1, 11, base + 1); /* begins too late */
    return_with(2, 12, 300);
    struct kl_bring b = {.what = KL_BRING_TAGS,
                         .tags = {.first = ticket.base.interval - 1, .end_frame = base, .count = 1}};
    memcpy(b.tags.tag[0], player[2].tag[ticket.base.interval - 1], KL_TAG_BYTES);
    bring(12, b); /* and this one ends too early */
    bring_end(2);
    pass(400000);
    assert_false(is_asked(1) || is_asked(2));
    pass(6 * SECOND);
    expect_refusal(11, KL_REFUSE_SEAT, "no seat is kept");
    show_from(1, 13, 300);
    pass(400000);
    expect_want(1, KL_WANT_START, base);
    bring_start(1);
    bring_frames(1, base, base + 20);
    forged_frames(1, base + 20, base + 21);
    bring_frames(1, base + 21, canon_end);
    expect_refusal(13, KL_REFUSE_SEAT, "not what this relay saw played");
    ticket.member[1].seats = 0; /* a watcher brings no state that counts */
    ticket.number++;
    seal_ticket(1);
    show_from(1, 14, 300);
    pass(6 * SECOND);
    assert_false(is_asked(1));
    run();
    assert_int_equal(kl_lobby_rooms(lobby), 0);
    assert_int_equal(lobby->history_bytes, 0);
}

static void frame_0_comes_before_more_frames(void **state) {
    (void)state;
    get_a_base(false);
    show_from(1, 11, 300);
    return_with(2, 12, 0);
    bring_tag(2); /* without a mark: less than the other */
    bring_end(2);
    pass(400000);
    assert_false(is_asked(1));
    expect_want(2, KL_WANT_START, 0);
    bring_start(2);
    bring_tag(2);
    bring_frames(2, 0, canon_end);
    bring_end(2);
    assert_int_equal(the_room()->lock.next_close, player[2].tags_end);
    pass(200000);
    expect_want(1, 0, player[2].tags_end); /* the rest is the other's */
    bring_all(1);
    assert_int_equal(the_room()->lock.next_close, marked(1));
    assert_true(the_room()->lock.begin == 0 && the_room()->past.history.first == 0);
}

/* The room goes on before the base of its ticket: the frames there will be others. */
static void a_base_that_is_lost(void **state) {
    (void)state;
    get_a_base(false);
    struct kl_lobby_room *r = make_again();
    adopt(r, ticket.base.keyframe);
    assert_int_equal(kl_lobby_again_open(r, 0, now_us), KL_OK);
    assert_int_equal(r->past.base.keyframe, 0);
}

static void a_ticket_of_another_room(void **state) {
    (void)state;
    play_and_die(KL_POLICY_BOUNDED);
    snprintf(ticket.name, sizeof ticket.name, "other");
    seal_ticket(1);
    return_able(1, 11);
    bring_ticket(1);
    expect_refusal(11, KL_REFUSE_SEAT, "of another room or of others' seats");
}

static void missing_parts_and_parts_out_of_turn_are_refused(void **state) {
    (void)state;
    play_and_die(KL_POLICY_BOUNDED);
    show(1, 11);
    pass(400000);
    bring_start(1);
    bring_frames(1, 0, 200); /* not as far as its tag */
    bring_end(1);
    expect_refusal(11, KL_REFUSE_SEAT, "frames are missing below your newest tag");
    run();
    assert_int_equal(kl_lobby_rooms(lobby), 0);
    return_able(1, 12);
    bring_end(1);
    expect_refusal(12, KL_REFUSE_SEAT, "your ticket is missing");
    return_able(1, 13);
    bring_frames(1, 0, 10);
    expect_refusal(13, KL_REFUSE_SEAT, "nobody asked for frames yet");
    return_able(1, 14);
    player[1].ticket[50] ^= 1;
    bring_ticket(1);
    expect_refusal(14, KL_REFUSE_SEAT, "your ticket is not of this relay");
    player[1].ticket[50] ^= 1;
    show(1, 15);
    bring_start(1);
    expect_refusal(15, KL_REFUSE_SEAT, "nobody asked you");
    show(1, 16);
    pass(400000);
    bring_start(1);
    bring_frames(1, 0, 100);
    claim(1, 5000);
    expect_refusal(16, KL_REFUSE_SEAT, "the newest tag comes before the frames");
    show(1, 17);
    pass(400000);
    bring_start(1);
    bring_frames(1, 0, 200);
    lose(17);
    run();
    assert_int_equal(kl_lobby_rooms(lobby), 0); /* half a room is none */
    assert_int_equal(lobby->bringing, 0);
    assert_int_equal(lobby->start_bytes, 0);
    assert_int_equal(lobby->history_bytes, 0);
}

static void start_data_on_its_way_is_counted(void **state) {
    (void)state;
    play_and_die(KL_POLICY_BOUNDED);
    show(1, 11);
    pass(400000);
    bring_start(1);
    assert_int_equal(lobby->start_bytes, 4);
    lobby->limits.mib_per_address = 1;
    assert_true(kl_lobby_address_has(lobby, "192.0.2.1:9", 1048576 - 4));
    assert_false(kl_lobby_address_has(lobby, "192.0.2.1:9", 1048576 - 3));
    assert_true(kl_lobby_address_has(lobby, "192.0.2.2:9", 1048576));
    lose(11);
    assert_int_equal(lobby->start_bytes, 0);
    assert_int_equal(lobby->client[11].bringing_bytes, 0);
    assert_true(kl_lobby_address_has(lobby, "192.0.2.1:9", 1048576));
    lobby->limits.mib_per_address = 64;
    show(2, 12);
    lobby->start_bytes = KL_START_BYTES_TOTAL - 3; /* others have it all */
    pass(400000);
    bring_start(2);
    expect_refusal(12, KL_REFUSE_SEAT, "no memory for the start data");
    assert_int_equal(lobby->start_bytes, KL_START_BYTES_TOTAL - 3);
    lobby->start_bytes = 0;
    address_of_peers = "192.0.2.7:1";
    lobby->limits.mib_per_address = 0;
    hello(20, "other", 1, 1, "x"); /* a room alone has more */
    show(1, 14);
    pass(400000);
    bring_start(1);
    expect_refusal(14, KL_REFUSE_SEAT, "the rooms of your address have no memory left");
    lobby->limits.mib_per_address = 64;
    show(0, 13);
    pass(400000);
    bring_all(0);
    assert_int_equal(lobby->start_bytes, 4); /* the room's */
    assert_int_equal(lobby->client[13].bringing_bytes, 0);
}

static void rooms_that_are_brought_count(void **state) {
    (void)state;
    play_and_die(KL_POLICY_BOUNDED);
    lobby->limits.rooms_per_address = 1;
    hello(30, "other", 1, 2, "x");
    show(1, 11);
    pass(400000);
    bring_all(1);
    expect_refusal(11, KL_REFUSE_SEAT, "this relay gives no more rooms to your address");
    address_of_peers = "192.0.2.7:1";
    show(1, 12);
    pass(400000);
    bring_all(1);
    assert_int_equal(kl_lobby_rooms(lobby), 2);
    hello(31, "third", 1, 2, "x");
    expect_refusal(31, KL_REFUSE_LIMIT, "this relay");
}

static void a_room_without_seats_is_none(void **state) {
    (void)state;
    play_and_die(KL_POLICY_BOUNDED);
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++)
        ticket.member[i].seats = 0;
    seal_ticket(1);
    show(1, 11);
    pass(400000);
    bring_all(1);
    expect_refusal(11, KL_REFUSE_SEAT, "nobody has a seat in this room any more");
    struct kl_lobby_room *r = make_again(); /* from a journal */
    adopt(r, canon_end);
    struct kl_msg m = prepare_return(1, 12);
    say(12, &m);
    pass(2 * SECOND);
    assert_int_equal(kl_lobby_rooms(lobby), 0);
}

int main(void) {
#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        T(clients_bring_it),
        T(everything_that_was_run_is_marked),
        T(nothing_is_taken_on_a_clients_word),
        T(a_claim_that_is_not_made_good),
        T(of_two_that_differ_the_relays_own_count),
        T(a_long_trial_leaves_nothing),
        T(strangers_add_nothing),
        T(played_frames_cannot_be_rewritten),
        T(nobody_has_frame_0_any_more),
        T(a_base_is_no_way_to_lie),
        T(frame_0_comes_before_more_frames),
        T(a_base_that_is_lost),
        T(a_ticket_of_another_room),
        T(missing_parts_and_parts_out_of_turn_are_refused),
        T(start_data_on_its_way_is_counted),
        T(rooms_that_are_brought_count),
        T(a_room_without_seats_is_none),
    };
    return cmocka_run_group_tests_name("lobby_bring", tests, NULL, NULL);
}
