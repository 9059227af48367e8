/* test_lobby_bring.c - a relay that was restarted without a journal gets its room back from its clients, who
 * cannot change what was played, nor bring back what has been changed since. PROTOCOL.md §7, tags and
 * tickets. */
#include "lobby_players.h"

#include "net/engine/command.h"

static void bring(unsigned peer, struct kl_bring b) {
    static struct kl_msg m;
    m = (struct kl_msg){.kind = KL_MSG_BRING, .bring = b};
    if (!inbox[peer].hung_up) say(peer, &m);
}

static void bring_end(unsigned who) {
    bring(player[who].peer, (struct kl_bring){.what = KL_BRING_END});
}

static void bring_ticket(unsigned who) {
    const struct player *p = &player[who];
    for (uint32_t at = 0; at < p->ticket_len; at += 1000) {
        struct kl_bring b = {.what = KL_BRING_TICKET, .piece = {.offset = at, .total = p->ticket_len}};
        b.piece.len = (uint16_t)(p->ticket_len - at < 1000 ? p->ticket_len - at : 1000);
        memcpy(b.piece.bytes, p->ticket + at, b.piece.len);
        bring(p->peer, b);
    }
}

static void bring_start(unsigned who) {
    bring(player[who].peer,
          (struct kl_bring){.what = KL_BRING_START, .piece = {.total = 4, .len = 4, .bytes = "save"}});
}

static void bring_tag(unsigned who) {
    const struct player *p = &player[who];
    struct kl_bring b = {.what = KL_BRING_TAGS,
                         .tags = {.first = p->tags - 1, .end_frame = p->tags_end, .count = 1}};
    memcpy(b.tags.tag[0], p->tag[p->tags - 1], KL_TAG_BYTES);
    bring(p->peer, b);
}

static uint32_t marked(unsigned who) {
    uint8_t mark[KL_MARK_BYTES];
    return kl_client_mark(&player[who].lock, kl_client_have(&player[who].lock), mark);
}

static void bring_mark(unsigned who) {
    struct kl_bring b = {.what = KL_BRING_MARK};
    b.mark.end = kl_client_mark(&player[who].lock, kl_client_have(&player[who].lock), b.mark.mark);
    assert_true(b.mark.end > 0);
    bring(player[who].peer, b);
}

/* A mark that the relay never made. */
static void claim(unsigned who, uint32_t end) {
    bring(player[who].peer, (struct kl_bring){.what = KL_BRING_MARK, .mark = {.end = end, .mark = {7}}});
}

static void bring_frames(unsigned who, uint32_t from, uint32_t end) {
    struct kl_frames_from at = {.ring = canon, .places = FRAMES};
    while (from < end) {
        struct kl_bring b = {.what = KL_BRING_HISTORY};
        uint32_t count;
        b.past.len =
            (uint16_t)kl_piece_write(&at, from, end - from, b.past.bytes, sizeof b.past.bytes, &count);
        bring(player[who].peer, b);
        from += count;
    }
}

static void forged_frames(unsigned who, uint32_t from, uint32_t end) {
    for (uint32_t f = canon_end; f < end; f++) { /* never played */
        canon[f] = canon[f - 1];
        canon[f].number = canon[f].keyframe = f;
        canon[f].spacing = 1;
        canon[f].flags = KL_FRAME_KEY;
        for (unsigned i = 0; i < 4; i++)
            canon[f].in[1].stick[i] = canon[f].in[2].stick[i] = (int16_t)(f * 7919 * (i + 1));
    }
    for (uint32_t f = from; f < end; f++)
        canon[f].in[0].joypad ^= 1;
    bring_frames(who, from, end);
    for (uint32_t f = from; f < end; f++)
        canon[f].in[0].joypad ^= 1;
}

static void expect_want(unsigned who, uint8_t what, uint32_t from) {
    const struct kl_msg *m = heard(player[who].peer, KL_MSG_WANT);
    assert_non_null(m);
    assert_int_equal(m->want.what, what);
    assert_int_equal(m->want.from, from);
}

static bool is_asked(unsigned who) {
    const struct kl_msg *m = heard(player[who].peer, KL_MSG_WANT);
    return m && m->want.from != UINT32_MAX;
}

static void return_able(unsigned who, unsigned peer) {
    struct kl_msg m = prepare_return(who, peer);
    m.back.can_bring = true;
    say(peer, &m);
}

static void show(unsigned who, unsigned peer) {
    return_able(who, peer);
    expect_want(who, KL_WANT_TICKET, UINT32_MAX);
    bring_ticket(who);
    bring_tag(who);
    bring_mark(who);
    bring_end(who);
}

/* Ticket and a mark of his own making. */
static void show_off(unsigned who, unsigned peer, uint32_t end) {
    return_able(who, peer);
    bring_ticket(who);
    claim(who, end);
    bring_end(who);
}

static void bring_all(unsigned who) {
    const struct kl_msg *m = heard(player[who].peer, KL_MSG_WANT);
    assert_true(is_asked(who));
    if (m->want.what & KL_WANT_START) bring_start(who);
    bring_tag(who);
    bring_mark(who);
    bring_frames(who, m->want.from, kl_client_have(&player[who].lock));
    bring_end(who);
}

static struct kl_lobby_room *room(void) {
    return kl_lobby_find(lobby, "room");
}

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

/* Who is about to show may have a newer ticket, or more. */
static void who_is_showing_is_waited_for(void **state) {
    (void)state;
    play_and_die(KL_POLICY_BOUNDED);
    show(0, 10), show(1, 11);
    pass(400000);
    unsigned who = is_asked(0) ? 0 : 1;
    bring_all(who);
    return_able(2, 12);
    pass(SECOND);
    assert_null(heard(10 + who, KL_MSG_WELCOME));
    bring_ticket(2), bring_mark(2), bring_end(2);
    for (unsigned i = 0; i < 3; i++) {
        pass(200000);
        if (i != who && is_asked(i)) bring_all(i);
    }
    assert_non_null(heard(10 + who, KL_MSG_WELCOME));
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
    assert_int_equal(room()->lock.next_close, kl_client_have(&player[1].lock));
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
    assert_int_equal(room()->lock.next_close, player[1].tags_end);
}

/* … neither from him who makes the room nor from him who adds to it, however far he says that he has come. */
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
    assert_int_equal(room()->lock.next_close, end);
    pass(200000);
    expect_want(1, 0, end); /* he says that he has more */
    forged_frames(1, end, end + 60);
    bring_end(1);
    expect_refusal(21, KL_REFUSE_SEAT, "frames are missing below your newest tag");
    assert_int_equal(room()->lock.next_close, end);
    show_off(1, 22, far[2]);
    pass(200000);
    expect_want(1, 0, end);
    forged_frames(1, end, end + 60);
    lose(22); /* goes in the middle of it */
    assert_int_equal(room()->lock.next_close, end);
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
    assert_null(r->trial);
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
    }
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
    show(1, 11);
    pass(400000);
    expect_want(1, KL_WANT_START, 0);
    connect_peer(30); /* a good ticket in the hands of somebody else */
    struct kl_msg m = a_return(5, 30, "room", player[1].token);
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

static void what_was_played_cannot_be_rewritten(void **state) {
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

static void seal_ticket(unsigned who) {
    static uint8_t body[KL_TICKET_BODY_MAX];
    int len = kl_lobby_ticket_encode(&ticket, body, sizeof body);
    assert_true(len > 0);
    len = kl_ticket_seal(secret, body, (size_t)len, player[who].ticket);
    player[who].ticket_len = (uint32_t)len;
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

static void what_is_missing_or_out_of_turn(void **state) {
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

/* Who dawdles is waited for once, and not long; what he says a second time counts after the others' word. */
static void who_dawdles_is_put_off(void **state) {
    (void)state;
    play_and_die(KL_POLICY_BOUNDED);
    show(0, 10);
    show_off(2, 12, 100000);
    pass(400000);
    assert_true(is_asked(2) && !is_asked(0));
    pass(3 * SECOND);
    expect_refusal(12, KL_REFUSE_SEAT, "nothing more came");
    pass(100000);
    assert_true(is_asked(0));
    lose(10);
    show_off(2, 13, 200000);
    show(1, 14);
    pass(400000);
    assert_true(is_asked(1) && !is_asked(2));
    bring_all(1);
    assert_int_equal(room()->lock.next_close, marked(1));
}

/* … and who does bring something, but slowly, is waited for 8 s where it goes without him. He is a member all
 * the same. */
static void who_is_slow_is_put_off(void **state) {
    (void)state;
    start_room(KL_POLICY_BOUNDED);
    for (unsigned i = 0; i < PLAYERS; i++)
        player[i].mashes = true;
    play(30 * SECOND);
    new_relay();
    play(SECOND);
    uint32_t end = canon_end;
    show_off(2, 12, 100000);
    show(0, 10);
    pass(400000);
    assert_true(is_asked(2) && !is_asked(0));
    bring_start(2);
    forged_frames(2, 0, end); /* enough to be let go on for 30 s */
    pass(15 * SECOND / 2);
    assert_true(!is_asked(0));
    pass(SECOND);
    expect_want(0, KL_WANT_START, 0);
    bring_all(0);
    assert_int_equal(room()->lock.next_close, marked(0));
    forged_frames(2, end, end + 100);
    pass(4 * SECOND);
    assert_int_equal(room()->lock.next_close, marked(0));
    assert_non_null(heard(10, KL_MSG_WELCOME));
    assert_false(inbox[12].hung_up || heard(12, KL_MSG_WELCOME));
    bring_end(2);
    pass(100000);
    assert_non_null(heard(12, KL_MSG_WELCOME));
    assert_int_equal(lobby->bringing, 0);
}

/* The same with what he would add to a room that is there. */
static void who_adds_slowly_is_put_off(void **state) {
    (void)state;
    start_room(KL_POLICY_BOUNDED);
    for (unsigned i = 0; i < PLAYERS; i++)
        player[i].mashes = true;
    play(10 * SECOND);
    new_relay();
    play(SECOND);
    uint32_t end = canon_end;
    show(0, 10);
    pass(400000);
    bring_all(0);
    show_off(2, 12, 100000);
    pass(200000);
    expect_want(2, 0, marked(0));
    forged_frames(2, marked(0), end + 8000);
    pass(15 * SECOND / 2);
    assert_null(heard(10, KL_MSG_WELCOME));
    pass(SECOND);
    assert_false(inbox[12].hung_up);
    assert_non_null(heard(10, KL_MSG_WELCOME));
    assert_int_equal(room()->lock.next_close, marked(0));
}

static void where_nobody_else_could_the_slow_one_goes_on(void **state) {
    (void)state;
    start_room(KL_POLICY_BOUNDED);
    for (unsigned i = 0; i < PLAYERS; i++)
        player[i].mashes = true;
    play(30 * SECOND);
    new_relay();
    play(SECOND);
    show(1, 11);
    pass(400000);
    bring_start(1);
    bring_tag(1);
    bring_mark(1);
    bring_frames(1, 0, canon_end - 60);
    pass(10 * SECOND);
    bring_frames(1, canon_end - 60, canon_end);
    bring_end(1);
    pass(100000);
    assert_int_equal(room()->lock.next_close, marked(1));
}

/* --- who was quicker than all members ----------------------------------------------------------------------
 */

static void expect_the_old_game(void) {
    struct kl_msg m = prepare_return(2, 12); /* has nothing to bring */
    say(12, &m);
    show(1, 11);
    pass(400000);
    assert_false(inbox[20].hung_up);
    expect_want(1, KL_WANT_START, 0);
    bring_all(1);
    expect_refusal(20, KL_REFUSE_CLOSED, "has come back; choose another name");
    assert_int_equal(kl_lobby_rooms(lobby), 1);
    pass(4 * SECOND);
    assert_memory_equal(room()->id, ticket.id, sizeof ticket.id);
    assert_non_null(heard(11, KL_MSG_WELCOME));
    assert_non_null(heard(12, KL_MSG_WELCOME));
}

static void a_strangers_room_gives_way(void **state) {
    (void)state;
    play_and_die(KL_POLICY_BOUNDED);
    hello(20, "room", 1, 2, "other");
    assert_non_null(heard(20, KL_MSG_WELCOME));
    expect_the_old_game();
}

static void a_strangers_game_that_has_just_begun_too(void **state) {
    (void)state;
    play_and_die(KL_POLICY_BOUNDED);
    hello(20, "room", 1, 1, "other");
    give(20, "other");
    ready(20, "a");
    run();
    assert_int_equal(room()->phase, KL_ROOM_PLAYING);
    expect_the_old_game();
}

static void his_own_members_are_at_home_there(void **state) {
    (void)state;
    play_and_die(KL_POLICY_BOUNDED);
    hello(20, "room", 1, 2, "other");
    uint8_t token[KL_TOKEN_BYTES];
    memcpy(token, heard(20, KL_MSG_WELCOME)->welcome.token, sizeof token);
    lose(20);
    connect_peer(21);
    struct kl_msg m = a_return(20, 21, "room", token);
    say(21, &m);
    assert_non_null(heard(21, KL_MSG_WELCOME));
}

/* 30 s after the relay's start nobody has to go. */
static void who_comes_too_late_finds_another_game(void **state) {
    (void)state;
    play_and_die(KL_POLICY_BOUNDED);
    pass(31 * SECOND);
    hello(20, "room", 1, 2, "other");
    return_able(1, 11);
    expect_refusal(11, KL_REFUSE_SEAT, "is another game by now");
    assert_non_null(heard(20, KL_MSG_WELCOME));
    assert_false(inbox[20].hung_up);
    assert_int_equal(lobby->bringing, 0);
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
    lobby->limits.mib_per_address = 1;
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

/* --- old tickets ------------------------------------------------------------------------------------------
 */

static void keep_ticket(unsigned who, struct player *old) {
    memcpy(old->ticket, player[who].ticket, sizeof old->ticket);
    old->ticket_len = player[who].ticket_len;
}

/* Player 2 is banned and 1 is made host; then the relay dies. old: 2's ticket, of before. */
static void ban_and_die(struct player *old) {
    start_room(KL_POLICY_BOUNDED);
    play(5 * SECOND);
    keep_ticket(2, old);
    order(0, KL_COMMAND_BAN, 2);
    expect_refusal(2, KL_REFUSE_DOOR, "banned");
    player[2].linked = player[2].plays = false;
    order(0, KL_COMMAND_HOST, 1);
    play(5 * SECOND);
    open_ticket(&player[1], &ticket);
    new_relay();
    play(SECOND); /* nobody there */
    memcpy(player[2].ticket, old->ticket, sizeof old->ticket);
    player[2].ticket_len = old->ticket_len;
}

static void expect_the_newest(unsigned bans) {
    const struct kl_lobby_room *r = room();
    assert_non_null(r);
    assert_int_equal(r->bans, bans);
    assert_int_equal(r->host, 1);
    assert_false(r->member[2].here);
    assert_int_equal(kl_lobby_members(lobby), 2);
}

/* Of all that are shown before it is made … */
static void the_newest_ticket_counts(void **state) {
    static struct player old;
    (void)state;
    ban_and_die(&old);
    show_off(2, 9, 100000); /* the first; claims the most, and knows another past */
    show(1, 11);
    show(0, 10);
    pass(400000);
    assert_false(is_asked(2));
    bring_all(is_asked(0) ? 0 : 1);
    expect_the_newest(1);
    pass(300000);
    expect_refusal(9, KL_REFUSE_SEAT, "no seat");
    assert_non_null(heard(11, KL_MSG_WELCOME));
    assert_true(heard(11, KL_MSG_WELCOME)->welcome.host);
}

/* … and where he was quicker than all others. */
static void a_newer_ticket_comes_too_late_for_the_making(void **state) {
    static struct player old;
    (void)state;
    ban_and_die(&old);
    show(2, 12);
    pass(400000);
    bring_all(2);
    assert_true(room()->member[2].here);
    assert_int_equal(room()->host, 0);
    show(1, 11);
    expect_the_newest(1);
    pass(200000);
    expect_want(1, 0, marked(2));
    bring_all(1);
    show(0, 10);
    pass(200000);
    if (is_asked(0)) bring_all(0);
    pass(200000);
    expect_the_newest(1);
    expect_refusal(12, KL_REFUSE_SEAT, "no seat");
    assert_non_null(heard(10, KL_MSG_WELCOME));
    play(3 * SECOND);
    assert_int_equal(player[1].lock.standing, KL_STANDING_IN);
}

/* … and even where he has the whole room to himself already. */
static void a_newer_ticket_counts_after_the_opening(void **state) {
    static struct player old;
    (void)state;
    ban_and_die(&old);
    show(2, 12);
    pass(400000);
    bring_all(2);
    pass(4 * SECOND);
    assert_int_equal(room()->phase, KL_ROOM_PLAYING);
    assert_non_null(heard(12, KL_MSG_WELCOME));
    room()->ban[room()->bans++] = (struct kl_lobby_ban){.host = "192.0.2.66"}; /* meanwhile */
    show(1, 11);
    expect_the_newest(2);
    expect_refusal(12, KL_REFUSE_SEAT, "no longer in this room");
    pass(200000);
    assert_non_null(heard(11, KL_MSG_WELCOME));
    assert_true(heard(11, KL_MSG_WELCOME)->welcome.host);
    show(0, 10); /* it has no newer one */
    pass(200000);
    expect_the_newest(2);
    assert_non_null(heard(10, KL_MSG_WELCOME));
    lose(10);
    pass(31 * SECOND);
    connect_peer(13);
    struct kl_msg m = a_return(0, 13, "room", heard(10, KL_MSG_WELCOME)->welcome.token);
    m.back.can_bring = true;
    say(13, &m);
    assert_null(heard(13, KL_MSG_WANT)); /* by now the room is what it is */
    assert_non_null(heard(13, KL_MSG_WELCOME));
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

static void who_can_bring_nothing_waits_a_little(void **state) {
    (void)state;
    play_and_die(KL_POLICY_BOUNDED);
    struct kl_msg m = prepare_return(2, 12);
    say(12, &m);
    pass(4 * SECOND);
    assert_null(heard(12, KL_MSG_REFUSE));
    pass(2 * SECOND);
    expect_refusal(12, KL_REFUSE_SEAT, "no seat");
    m = prepare_return(2, 13);
    say(13, &m);
    show(1, 11);
    pass(400000);
    bring_all(1);
    pass(3 * SECOND);
    assert_non_null(heard(13, KL_MSG_WELCOME));
    assert_non_null(heard(11, KL_MSG_WELCOME));
}

int main(void) {
#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        T(clients_bring_it),
        T(who_is_showing_is_waited_for),
        T(everything_that_was_run_is_marked),
        T(nothing_is_taken_on_a_clients_word),
        T(a_claim_that_is_not_made_good),
        T(of_two_that_differ_the_relays_own_count),
        T(a_long_trial_leaves_nothing),
        T(strangers_add_nothing),
        T(what_was_played_cannot_be_rewritten),
        T(a_ticket_of_another_room),
        T(what_is_missing_or_out_of_turn),
        T(who_dawdles_is_put_off),
        T(who_is_slow_is_put_off),
        T(who_adds_slowly_is_put_off),
        T(where_nobody_else_could_the_slow_one_goes_on),
        T(a_strangers_room_gives_way),
        T(a_strangers_game_that_has_just_begun_too),
        T(his_own_members_are_at_home_there),
        T(who_comes_too_late_finds_another_game),
        T(start_data_on_its_way_is_counted),
        T(rooms_that_are_brought_count),
        T(the_newest_ticket_counts),
        T(a_newer_ticket_comes_too_late_for_the_making),
        T(a_newer_ticket_counts_after_the_opening),
        T(a_room_without_seats_is_none),
        T(who_can_bring_nothing_waits_a_little),
    };
    return cmocka_run_group_tests_name("lobby_bring", tests, NULL, NULL);
}
