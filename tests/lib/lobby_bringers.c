#include "tests/lib/lobby_bringers.h"

#include "tests/unit/unit.h"

void bring(unsigned peer, struct kl_bring b) {
    static struct kl_msg m;
    m = (struct kl_msg){.kind = KL_MSG_BRING, .bring = b};
    if (!inbox[peer].hung_up) say(peer, &m);
}

void bring_end(unsigned who) {
    bring(player[who].peer, (struct kl_bring){.what = KL_BRING_END});
}

void bring_ticket(unsigned who) {
    const struct player *p = &player[who];
    for (uint32_t at = 0; at < p->ticket_len; at += 1000) {
        struct kl_bring b = {.what = KL_BRING_TICKET, .piece = {.offset = at, .total = p->ticket_len}};
        b.piece.len = (uint16_t)(p->ticket_len - at < 1000 ? p->ticket_len - at : 1000);
        memcpy(b.piece.bytes, p->ticket + at, b.piece.len);
        bring(p->peer, b);
    }
}

void bring_start(unsigned who) {
    bring(player[who].peer,
          (struct kl_bring){.what = KL_BRING_START, .piece = {.total = 4, .len = 4, .bytes = "save"}});
}

void bring_tag(unsigned who) {
    const struct player *p = &player[who];
    struct kl_bring b = {.what = KL_BRING_TAGS,
                         .tags = {.first = p->tags - 1, .end_frame = p->tags_end, .count = 1}};
    memcpy(b.tags.tag[0], p->tag[p->tags - 1], KL_TAG_BYTES);
    bring(p->peer, b);
}

uint32_t marked(unsigned who) {
    uint8_t mark[KL_MARK_BYTES];
    return kl_client_mark(&player[who].lock, kl_client_have(&player[who].lock), mark);
}

void bring_mark(unsigned who) {
    struct kl_bring b = {.what = KL_BRING_MARK};
    b.mark.end = kl_client_mark(&player[who].lock, kl_client_have(&player[who].lock), b.mark.mark);
    assert_true(b.mark.end > 0);
    bring(player[who].peer, b);
}

void claim(unsigned who, uint32_t end) {
    bring(player[who].peer, (struct kl_bring){.what = KL_BRING_MARK, .mark = {.end = end, .mark = {7}}});
}

void bring_frames(unsigned who, uint32_t from, uint32_t end) {
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

void forged_frames(unsigned who, uint32_t from, uint32_t end) {
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

void expect_want(unsigned who, uint8_t what, uint32_t from) {
    const struct kl_msg *m = heard(player[who].peer, KL_MSG_WANT);
    assert_non_null(m);
    assert_int_equal(m->want.what, what);
    assert_int_equal(m->want.from, from);
}

bool is_asked(unsigned who) {
    const struct kl_msg *m = heard(player[who].peer, KL_MSG_WANT);
    return m && m->want.from != UINT32_MAX;
}

void return_able(unsigned who, unsigned peer) {
    struct kl_msg m = prepare_return(who, peer);
    m.back.can_bring = true;
    say(peer, &m);
}

void show(unsigned who, unsigned peer) {
    return_able(who, peer);
    expect_want(who, KL_WANT_TICKET, UINT32_MAX);
    bring_ticket(who);
    bring_tag(who);
    bring_mark(who);
    bring_end(who);
}

void show_off(unsigned who, unsigned peer, uint32_t end) {
    return_able(who, peer);
    bring_ticket(who);
    claim(who, end);
    bring_end(who);
}

void bring_all(unsigned who) {
    const struct kl_msg *m = heard(player[who].peer, KL_MSG_WANT);
    assert_true(is_asked(who));
    if (m->want.what & KL_WANT_START) bring_start(who);
    bring_tag(who);
    bring_mark(who);
    bring_frames(who, m->want.from, kl_client_have(&player[who].lock));
    bring_end(who);
}

void seal_ticket(unsigned who) {
    static uint8_t body[KL_TICKET_BODY_MAX];
    int len = kl_lobby_ticket_encode(&ticket, body, sizeof body);
    assert_true(len > 0);
    len = kl_ticket_seal(secret, body, (size_t)len, player[who].ticket);
    player[who].ticket_len = (uint32_t)len;
}
