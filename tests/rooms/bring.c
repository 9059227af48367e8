#include "tests/rooms/rooms.h"

#include "net/engine/frames.h"

/* Everything is here from frame 0 on, and the relay's word on it. */
bool can_bring(const struct client *c) {
    return c->ticket_len && c->tags_put && c->load == LOADED && !c->strayed;
}

static void say(struct client *c, const struct kl_bring *b) {
    static struct kl_msg m;
    m = (struct kl_msg){.kind = KL_MSG_BRING, .bring = *b};
    client_say(c, &m);
}

static void bring_ticket(struct client *c) {
    for (uint32_t at = 0; at < c->ticket_len; at += 1000) {
        uint32_t left = c->ticket_len - at;
        struct kl_bring b = {.what = KL_BRING_TICKET, .piece = {.offset = at, .total = c->ticket_len}};
        b.piece.len = (uint16_t)(left < 1000 ? left : 1000);
        memcpy(b.piece.bytes, c->ticket + at, b.piece.len);
        say(c, &b);
    }
}

static void bring_proofs(struct client *c) {
    const uint8_t *tag;
    uint32_t count, end = client_newest_tag(c, &tag, &count);
    if (tag) {
        struct kl_bring b = {.what = KL_BRING_TAGS,
                             .tags = {.first = count - 1, .end_frame = end, .count = 1}};
        memcpy(b.tags.tag[0], tag, KL_TAG_BYTES);
        say(c, &b);
    }
    struct kl_bring b = {.what = KL_BRING_MARK};
    b.mark.end = kl_client_mark(&c->lock, c->machine.next, b.mark.mark);
    if (b.mark.end) say(c, &b);
}

static void bring_frames(struct client *c, uint32_t from) {
    struct kl_frames_from at = {.ring = canon, .places = FRAMES};
    while (from < c->machine.next) {
        static struct kl_commands sets[64];
        uint32_t count, most = c->machine.next - from;
        at.sets = sets;
        at.set_count = 0;
        if (most > 64) most = 64;
        for (uint32_t f = from; f < from + most; f++)
            if (canon_commands(f)) sets[at.set_count++] = *canon_commands(f);
        struct kl_bring b = {.what = KL_BRING_HISTORY};
        b.past.len = (uint16_t)kl_piece_write(&at, from, most, b.past.bytes, sizeof b.past.bytes, &count);
        say(c, &b);
        from += count;
    }
}

void bring(struct client *c, const struct kl_want *w) {
    static const struct kl_bring start = {.what = KL_BRING_START,
                                          .piece = {.total = 4, .len = 4, .bytes = START_TEXT}};
    if (w->what & KL_WANT_TICKET) bring_ticket(c);
    if (w->what & KL_WANT_START) say(c, &start);
    bring_proofs(c);
    bring_frames(c, w->from);
    say(c, &(struct kl_bring){.what = KL_BRING_END});
}
