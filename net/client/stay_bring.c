/* A restarted relay asks its clients for its rooms: ticket, start data, the newest tag, frames.
 * net/PROTOCOL.md §7, tags and tickets. */
#include <string.h>

#include "net/client/stay_parts.h"

enum { STEP_TICKET, STEP_START, STEP_TAGS, STEP_MARK, STEP_FRAMES, STEP_END, STEP_DONE };

bool kl_stay_can_bring(const struct kl_stay *s) {
    return s->ticket_len > 0 && s->start && s->past.next > s->past.first;
}

/* Offset 0 begins a new one; the old one is good until the new one is whole. */
void kl_stay_take_ticket(struct kl_stay *s, const struct kl_piece *p) {
    if (p->offset == 0) s->ticket_coming = 0;
    if (p->offset != s->ticket_coming || p->total > sizeof s->ticket_new) return;
    memcpy(s->ticket_new + p->offset, p->bytes, p->len);
    s->ticket_coming += p->len;
    if (s->ticket_coming < p->total) return;
    memcpy(s->ticket, s->ticket_new, p->total);
    s->ticket_len = p->total;
}

void kl_stay_take_want(struct kl_stay *s, const struct kl_want *w) {
    s->bring = (struct kl_stay_bring){.active = true, .what = w->what, .from = w->from};
}

static void cut_piece(struct kl_piece *p, const uint8_t *bytes, size_t total, uint32_t offset) {
    size_t len = total - offset < KL_BULK_MAX ? total - offset : KL_BULK_MAX;
    p->offset = offset;
    p->total = (uint32_t)total;
    p->len = (uint16_t)len;
    if (len) memcpy(p->bytes, bytes + offset, len);
}

/* True if a piece of these bytes was made; the step is over with the last. */
static bool make_piece(struct kl_stay_bring *b, struct kl_msg *m, uint8_t what, const uint8_t *bytes,
                       size_t total) {
    m->bring.what = what;
    cut_piece(&m->bring.piece, bytes, total, b->offset);
    b->offset += m->bring.piece.len;
    if (b->offset < total) return true;
    b->offset = 0;
    b->step++;
    return true;
}

static bool make_tags(struct kl_stay_bring *b, struct kl_msg *m, const struct kl_stay_tags *newest) {
    b->step++;
    if (!newest) return false;
    m->bring.what = KL_BRING_TAGS;
    m->bring.tags = (struct kl_tags){.first = newest->count - 1, .end_frame = newest->end_frame, .count = 1};
    memcpy(m->bring.tags.tag[0], newest->tag, KL_TAG_BYTES);
    return true;
}

/* Frames that were received and not yet taken are not brought. */
static bool make_mark(struct kl_stay_bring *b, struct kl_msg *m, const struct kl_stay *s) {
    b->step++;
    m->bring.what = KL_BRING_MARK;
    m->bring.mark.end = kl_client_mark(&s->lock, s->past.next, m->bring.mark.mark);
    return m->bring.mark.end > 0;
}

static bool make_frames(struct kl_stay_bring *b, struct kl_msg *m, const struct kl_history *h) {
    uint32_t end = b->from;
    size_t len = b->from < h->next
                     ? kl_history_read(h, b->from, m->bring.past.bytes, sizeof m->bring.past.bytes, &end)
                     : 0;
    if (len == 0) {
        b->step++;
        return false;
    }
    m->bring.what = KL_BRING_HISTORY;
    m->bring.past.len = (uint16_t)len;
    b->from = end;
    return true;
}

/* False if this step has nothing (more). */
static bool next_of(struct kl_stay *s, struct kl_msg *m) {
    struct kl_stay_bring *b = &s->bring;
    switch (b->step) {
    case STEP_TICKET:
        if ((b->what & KL_WANT_TICKET) && s->ticket_len > 0)
            return make_piece(b, m, KL_BRING_TICKET, s->ticket, s->ticket_len);
        break;
    case STEP_START:
        if (b->what & KL_WANT_START) return make_piece(b, m, KL_BRING_START, s->start, s->start_len);
        break;
    case STEP_TAGS: return make_tags(b, m, kl_stay_newest_tag(s));
    case STEP_MARK: return make_mark(b, m, s);
    case STEP_FRAMES: return make_frames(b, m, &s->past);
    default:
        m->bring.what = KL_BRING_END;
        b->step++;
        return true;
    }
    b->step++;
    return false;
}

bool kl_stay_next_brought(struct kl_stay *s, struct kl_msg *m) {
    while (s->bring.active) {
        *m = (struct kl_msg){.kind = KL_MSG_BRING};
        bool some = next_of(s, m);
        s->bring.active = s->bring.step != STEP_DONE;
        if (some) return true;
    }
    return false;
}
