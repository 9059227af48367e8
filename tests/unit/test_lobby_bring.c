/* test_lobby_bring.c - a relay that was restarted without a journal gets its room back from its clients, who
 * cannot change what was played. PROTOCOL.md §7, tags and tickets. */
#include "lobby_players.h"

static void bring(unsigned peer, struct kl_bring b) {
    static struct kl_msg m;
    m = (struct kl_msg){.kind = KL_MSG_BRING, .bring = b};
    say(peer, &m);
}

static void bring_ticket(unsigned who) {
    const struct player *p = &player[who];
    for (uint32_t at = 0; at < p->ticket_len; at += 1000) {
        struct kl_bring b = {.what = KL_BRING_TICKET, .piece = {.offset = at, .total = p->ticket_len}};
        b.piece.len = (uint16_t)(p->ticket_len - at < 1000 ? p->ticket_len - at : 1000);
        memcpy(b.piece.bytes, p->ticket + at, b.piece.len);
        bring(p->peer, b);
    }
    struct kl_bring start = {.what = KL_BRING_START, .piece = {.total = 4, .len = 4, .bytes = "save"}};
    bring(p->peer, start);
}

static void bring_frames(unsigned who, uint32_t from, uint32_t end) {
    const struct player *p = &player[who];
    struct kl_frames_from at = {.ring = canon, .places = FRAMES};
    struct kl_bring tags = {.what = KL_BRING_TAGS,
                            .tags = {.first = p->tags - 1, .end_frame = p->tags_end, .count = 1}};
    memcpy(tags.tags.tag[0], p->tag[p->tags - 1], KL_TAG_BYTES);
    bring(p->peer, tags);
    while (from < end) {
        struct kl_bring b = {.what = KL_BRING_HISTORY};
        uint32_t count;
        b.past.len =
            (uint16_t)kl_piece_write(&at, from, end - from, b.past.bytes, sizeof b.past.bytes, &count);
        bring(p->peer, b);
        from += count;
    }
}

static void bring_end(unsigned who) {
    bring(player[who].peer, (struct kl_bring){.what = KL_BRING_END});
}

static void return_able(unsigned who, unsigned peer) {
    struct kl_msg m = prepare_return(who, peer);
    m.back.can_bring = true;
    say(peer, &m);
}

static void expect_want(unsigned who, uint8_t what, uint32_t from) {
    const struct kl_msg *m = heard(player[who].peer, KL_MSG_WANT);
    assert_non_null(m);
    assert_int_equal(m->want.what, what);
    assert_int_equal(m->want.from, from);
}

static void forget_newest_tag(struct player *p) {
    p->tags--;
    p->tags_end = 0;
    for (uint32_t i = 0; i < p->tags; i++)
        p->tags_end += canon[p->tags_end].spacing;
}

static void clients_bring_it(void **state) {
    (void)state;
    play_and_die(KL_POLICY_BOUNDED);
    forget_newest_tag(&player[0]);
    uint32_t before = canon_end;
    for (unsigned i = 0; i < PLAYERS; i++)
        return_able(i, 10 + i);
    assert_null(heard(10, KL_MSG_WANT));
    pass(400000);
    unsigned who = 0; /* one of them is asked */
    while (who < PLAYERS && !heard(10 + who, KL_MSG_WANT))
        who++;
    assert_in_range(who, 0, PLAYERS - 1);
    for (unsigned i = 0; i < PLAYERS; i++)
        assert_true(player[i].tags <= player[who].tags);
    expect_want(who, KL_WANT_TICKET | KL_WANT_START, 0);
    bring_ticket(who);
    bring_frames(who, 0, kl_client_have(&player[who].lock));
    assert_null(heard(10, KL_MSG_WELCOME));
    bring_end(who);
    for (unsigned i = 0; i < PLAYERS; i++) { /* who has more brings that too */
        pass(100000);
        if (i == who || !heard(10 + i, KL_MSG_WANT)) continue;
        bring_frames(i, heard(10 + i, KL_MSG_WANT)->want.from, kl_client_have(&player[i].lock));
        bring_end(i);
    }
    pass(100000);
    for (unsigned i = 0; i < PLAYERS; i++) {
        assert_non_null(heard(10 + i, KL_MSG_WELCOME));
        assert_null(heard(10 + i, KL_MSG_PREPARE)); /* all go on with what they have */
    }
    play(6 * SECOND);
    expect_all_at_the_end();
    assert_true(canon_end > before + 3 * 60);
    expect_tags(&player[0], ticket.id);
    assert_int_equal(lobby->bringing, 0);
}

/* Nobody has a newer tag: 120 frames past it are taken, no more. */
static void not_more_on_a_clients_word(void **state) {
    (void)state;
    play_and_die(KL_POLICY_BOUNDED);
    return_able(1, 11);
    pass(400000);
    bring_ticket(1);
    while (player[1].tags_end + 200 > canon_end) /* as if TAGS had been slow */
        forget_newest_tag(&player[1]);
    bring_frames(1, 0, canon_end);
    const struct kl_lobby_room *r = kl_lobby_find(lobby, "room");
    assert_int_equal(r->lock.next_close, player[1].tags_end + 120);
}

/* However much a stranger says that he has: the room is its members'. */
static void strangers_add_nothing(void **state) {
    (void)state;
    play_and_die(KL_POLICY_BOUNDED);
    return_able(1, 11);
    pass(400000);
    connect_peer(15);
    struct kl_msg m = a_return(5, 15, "room", player[1].token);
    m.back.can_bring = true;
    m.back.have = m.back.tags = UINT32_MAX;
    say(15, &m);
    bring_ticket(1);
    bring_frames(1, 0, player[1].tags_end);
    bring_end(1);
    pass(1500000);
    assert_null(heard(15, KL_MSG_WANT));
    assert_non_null(heard(11, KL_MSG_WELCOME));
}

static void what_was_played_cannot_be_rewritten(void **state) {
    (void)state;
    play_and_die(KL_POLICY_BOUNDED);
    return_able(1, 11);
    pass(400000);
    expect_want(1, KL_WANT_TICKET | KL_WANT_START, 0);
    return_able(2, 12);
    bring_ticket(1);
    canon[300].in[0].joypad ^= 1;
    struct kl_bring b = {.what = KL_BRING_TAGS,
                         .tags = {.first = player[1].tags - 1, .end_frame = player[1].tags_end, .count = 1}};
    memcpy(b.tags.tag[0], player[1].tag[player[1].tags - 1], KL_TAG_BYTES);
    bring(11, b);
    struct kl_frames_from at = {.ring = canon, .places = FRAMES};
    for (uint32_t from = 0, count; from < canon_end && !inbox[11].hung_up; from += count) {
        b = (struct kl_bring){.what = KL_BRING_HISTORY};
        b.past.len =
            (uint16_t)kl_piece_write(&at, from, canon_end - from, b.past.bytes, sizeof b.past.bytes, &count);
        bring(11, b);
    }
    canon[300].in[0].joypad ^= 1;
    expect_refusal(11, KL_REFUSE_SEAT, "not what this relay saw played");
    player[1].linked = player[1].plays = false;
    pass(400000); /* an honest one is asked instead */
    expect_want(2, KL_WANT_TICKET | KL_WANT_START, 0);
    bring_ticket(2);
    bring_frames(2, 0, kl_client_have(&player[2].lock));
    bring_end(2);
    pass(1500000); /* the others are not waited for */
    assert_non_null(heard(12, KL_MSG_WELCOME));
    assert_true(member_of(12, 1) && state_of(12, 1) == KL_MEMBER_AWAY);
}

static void what_is_missing_or_out_of_turn(void **state) {
    (void)state;
    play_and_die(KL_POLICY_BOUNDED);
    return_able(1, 11);
    pass(400000);
    bring_ticket(1);
    bring_frames(1, 0, 200); /* not as far as its tag */
    bring_end(1);
    expect_refusal(11, KL_REFUSE_SEAT, "frames are missing below your newest tag");
    run();
    assert_int_equal(kl_lobby_rooms(lobby), 0);
    return_able(1, 12);
    pass(400000);
    bring_frames(1, 0, 100);
    expect_refusal(12, KL_REFUSE_SEAT, "the ticket is missing");
    return_able(1, 13);
    pass(400000);
    player[1].ticket[50] ^= 1;
    struct kl_bring b = {.what = KL_BRING_TICKET, .piece.total = player[1].ticket_len};
    b.piece.len = (uint16_t)player[1].ticket_len;
    memcpy(b.piece.bytes, player[1].ticket, b.piece.len);
    bring(13, b);
    expect_refusal(13, KL_REFUSE_SEAT, "your ticket is not of this relay");
    player[1].ticket[50] ^= 1;
    return_able(1, 14);
    bring_end(1);
    expect_refusal(14, KL_REFUSE_SEAT, "nobody asked you");
    connect_peer(15); /* a good ticket in the hands of somebody else */
    struct kl_msg m = a_return(5, 15, "room", player[1].token);
    m.back.can_bring = true, m.back.have = 100;
    say(15, &m);
    pass(400000);
    memcpy(b.piece.bytes, player[1].ticket, b.piece.len);
    bring(15, b);
    expect_refusal(15, KL_REFUSE_SEAT, "of another room or of others' seats");
    return_able(1, 16);
    pass(400000);
    bring_ticket(1);
    pass(11 * SECOND);
    expect_refusal(16, KL_REFUSE_SEAT, "nothing more came");
    return_able(1, 17);
    pass(400000);
    bring_ticket(1);
    bring_frames(1, 0, 200);
    lose(17);
    run();
    assert_int_equal(kl_lobby_rooms(lobby), 0); /* half a room is none */
    assert_int_equal(lobby->bringing, 0);
    assert_int_equal(lobby->start_bytes, 0);
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
    return_able(1, 11);
    pass(400000);
    bring_ticket(1);
    bring_frames(1, 0, kl_client_have(&player[1].lock));
    bring_end(1);
    pass(1500000);
    assert_non_null(heard(13, KL_MSG_WELCOME));
    assert_non_null(heard(11, KL_MSG_WELCOME));
}

int main(void) {
#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        T(clients_bring_it),
        T(not_more_on_a_clients_word),
        T(strangers_add_nothing),
        T(what_was_played_cannot_be_rewritten),
        T(what_is_missing_or_out_of_turn),
        T(who_can_bring_nothing_waits_a_little),
    };
    return cmocka_run_group_tests_name("lobby_bring", tests, NULL, NULL);
}
