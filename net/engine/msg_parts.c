#include "net/engine/msg_parts.h"

#include <string.h>

void kl_write_facts(struct kl_writer *w, const struct kl_facts *f) {
    kl_write_u8(w, f->count);
    for (unsigned i = 0; i < f->count && i < KL_FACTS_MAX; i++) {
        kl_write_string(w, f->fact[i].key);
        kl_write_string(w, f->fact[i].value);
    }
}

uint8_t kl_read_count(struct kl_reader *r, unsigned max) {
    uint8_t n = kl_read_u8(r);
    if (n > max) r->failed = true;
    return r->failed ? 0 : n;
}

bool kl_read_bool(struct kl_reader *r) {
    return kl_read_count(r, 1) == 1;
}

void kl_read_facts(struct kl_reader *r, struct kl_facts *f) {
    f->count = kl_read_count(r, KL_FACTS_MAX);
    for (unsigned i = 0; i < f->count; i++) {
        kl_read_string(r, f->fact[i].key, sizeof f->fact[i].key);
        kl_read_string(r, f->fact[i].value, sizeof f->fact[i].value);
    }
}

void kl_write_params(struct kl_writer *w, const struct kl_params *p) {
    kl_write_u8(w, p->policy);
    kl_write_u8(w, (uint8_t)(p->subframes | p->clocked << 1 | p->half_steps << 2));
    kl_write_u8(w, p->players);
    kl_write_u8(w, p->spacing_fixed);
    kl_write_u8(w, p->lead_max);
    kl_write_u16(w, p->wait_budget_ms);
    kl_write_u16(w, p->hash_every);
    kl_write_u32(w, p->fps_uhz);
    kl_write_u8(w, p->desync);
}

void kl_read_params(struct kl_reader *r, struct kl_params *p) {
    p->policy = kl_read_count(r, KL_POLICY_OPTIMISTIC);
    uint8_t flags = kl_read_count(r, 7);
    p->subframes = flags & 1;
    p->clocked = flags & 2;
    p->half_steps = flags & 4;
    p->players = kl_read_count(r, KL_MAX_SEATS);
    p->spacing_fixed = kl_read_count(r, KL_SPACING_MAX);
    p->lead_max = kl_read_count(r, KL_SPACING_MAX);
    p->wait_budget_ms = kl_read_u16(r);
    p->hash_every = kl_read_u16(r);
    p->fps_uhz = kl_read_u32(r);
    p->desync = kl_read_count(r, KL_DESYNC_IGNORE);
    if (p->players < 1 || p->fps_uhz < KL_FPS_MIN || p->fps_uhz > KL_FPS_MAX) r->failed = true;
}

void kl_read_into(struct kl_reader *r, uint8_t *out, size_t len) {
    const uint8_t *p = kl_read_bytes(r, len);
    if (p) memcpy(out, p, len);
}

/* --- bulk --- */

/* Reads the rest of the message: least..KL_BULK_MAX bytes. */
static uint16_t read_rest(struct kl_reader *r, size_t least, uint8_t out[KL_BULK_MAX]) {
    size_t len = kl_reader_left(r);
    if (len < least || len > KL_BULK_MAX) r->failed = true;
    kl_read_into(r, out, len);
    return r->failed ? 0 : (uint16_t)len;
}

void kl_write_piece(struct kl_writer *w, const struct kl_piece *p) {
    kl_write_u32(w, p->offset);
    kl_write_u32(w, p->total);
    kl_write_bytes(w, p->bytes, p->len);
}

static void read_piece(struct kl_reader *r, struct kl_piece *p) {
    p->offset = kl_read_u32(r);
    p->total = kl_read_u32(r);
    p->len = read_rest(r, p->total > 0, p->bytes);
    if (p->offset > p->total || p->len > p->total - p->offset) r->failed = true;
}

void kl_read_ticket(struct kl_reader *r, struct kl_piece *p) {
    read_piece(r, p);
    if (p->total < 1 || p->total > KL_TICKET_TOTAL_MAX) r->failed = true;
}

/* --- snapshots --- */

void kl_write_state(struct kl_writer *w, const struct kl_state_said *s) {
    kl_write_u32(w, s->keyframe);
    kl_write_u8(w, s->has);
    kl_write_u32(w, s->bytes);
    kl_write_bytes(w, s->hash, sizeof s->hash);
}

void kl_read_state(struct kl_reader *r, struct kl_state_said *s) {
    s->keyframe = kl_read_u32(r);
    s->has = kl_read_bool(r);
    s->bytes = kl_read_u32(r);
    kl_read_into(r, s->hash, sizeof s->hash);
    if (s->has != (s->bytes > 0) || s->bytes > KL_SNAPSHOT_MAX) r->failed = true;
}

void kl_write_shot(struct kl_writer *w, const struct kl_shot_piece *p) {
    kl_write_u32(w, p->keyframe);
    kl_write_piece(w, &p->piece);
}

static void read_packed(struct kl_reader *r, struct kl_piece *p) {
    read_piece(r, p);
    if (p->total < 1 || p->total > KL_SNAPSHOT_MAX) r->failed = true;
}

void kl_read_shot(struct kl_reader *r, struct kl_shot_piece *p) {
    p->keyframe = kl_read_u32(r);
    read_packed(r, &p->piece);
}

void kl_write_give(struct kl_writer *w, const struct kl_shot_piece *p) {
    kl_write_u32(w, p->keyframe);
    kl_write_u8(w, p->based);
    kl_write_piece(w, &p->piece);
}

void kl_read_give(struct kl_reader *r, struct kl_shot_piece *p) {
    p->keyframe = kl_read_u32(r);
    p->based = kl_read_bool(r);
    read_packed(r, &p->piece);
}

void kl_write_ask(struct kl_writer *w, const struct kl_ask *a) {
    kl_write_u32(w, a->keyframe);
    kl_write_u8(w, a->based);
    if (!a->based) return;
    kl_write_u32(w, a->base);
    kl_write_bytes(w, a->hash, sizeof a->hash);
}

void kl_read_ask(struct kl_reader *r, struct kl_ask *a) {
    a->keyframe = kl_read_u32(r);
    a->based = kl_read_bool(r);
    if (!a->based) return;
    a->base = kl_read_u32(r);
    kl_read_into(r, a->hash, sizeof a->hash);
}

void kl_write_offer(struct kl_writer *w, const struct kl_offer *o) {
    kl_write_u32(w, o->keyframe);
    kl_write_u32(w, o->interval);
    kl_write_u8(w, o->begin);
    kl_write_u32(w, o->bytes);
    kl_write_u32(w, o->packed);
    kl_write_bytes(w, o->hash, sizeof o->hash);
}

void kl_read_offer(struct kl_reader *r, struct kl_offer *o) {
    o->keyframe = kl_read_u32(r);
    o->interval = kl_read_u32(r);
    o->begin = kl_read_bool(r);
    o->bytes = kl_read_u32(r);
    o->packed = kl_read_u32(r);
    kl_read_into(r, o->hash, sizeof o->hash);
    if (o->bytes < 1 || o->bytes > KL_SNAPSHOT_MAX || o->packed < 1 || o->packed > KL_SNAPSHOT_MAX)
        r->failed = true;
    if (o->interval > o->keyframe || (o->keyframe > 0 && o->interval == 0)) r->failed = true;
}

void kl_write_healed(struct kl_writer *w, const struct kl_healed *h) {
    kl_write_u32(w, h->keyframe);
    kl_write_u32(w, h->next);
    kl_write_u8(w, h->how);
}

void kl_read_healed(struct kl_reader *r, struct kl_healed *h) {
    h->keyframe = kl_read_u32(r);
    h->next = kl_read_u32(r);
    h->how = kl_read_count(r, KL_HEALED_NOT);
}

void kl_read_past(struct kl_reader *r, struct kl_past *p) {
    struct kl_frames frames;
    size_t len = kl_reader_left(r);
    if (len > KL_PIECE_BYTES) r->failed = true;
    kl_read_into(r, p->bytes, len);
    if (r->failed || kl_piece_open(&frames, p->bytes, len) != KL_OK) r->failed = true;
    p->len = r->failed ? 0 : (uint16_t)len;
}

void kl_write_tags(struct kl_writer *w, const struct kl_tags *t) {
    kl_write_u32(w, t->first);
    kl_write_u32(w, t->end_frame);
    kl_write_u8(w, t->count);
    for (unsigned i = 0; i < t->count && i < KL_TAGS_MAX; i++)
        kl_write_bytes(w, t->tag[i], KL_TAG_BYTES);
}

void kl_read_tags(struct kl_reader *r, struct kl_tags *t) {
    t->first = kl_read_u32(r);
    t->end_frame = kl_read_u32(r);
    t->count = kl_read_count(r, KL_TAGS_MAX);
    if (t->count == 0) r->failed = true;
    for (unsigned i = 0; i < t->count; i++)
        kl_read_into(r, t->tag[i], KL_TAG_BYTES);
}

void kl_write_bring(struct kl_writer *w, const struct kl_bring *b) {
    kl_write_u8(w, b->what);
    switch (b->what) {
    case KL_BRING_HISTORY: kl_write_bytes(w, b->past.bytes, b->past.len); break;
    case KL_BRING_TAGS: kl_write_tags(w, &b->tags); break;
    case KL_BRING_MARK:
        kl_write_u32(w, b->mark.end);
        kl_write_bytes(w, b->mark.mark, sizeof b->mark.mark);
        break;
    case KL_BRING_END: break;
    default: kl_write_piece(w, &b->piece); break;
    }
}

void kl_read_bring(struct kl_reader *r, struct kl_bring *b) {
    b->what = kl_read_count(r, KL_BRING_MARK);
    switch (b->what) {
    case KL_BRING_TICKET: kl_read_ticket(r, &b->piece); break;
    case KL_BRING_START: read_piece(r, &b->piece); break;
    case KL_BRING_HISTORY: kl_read_past(r, &b->past); break;
    case KL_BRING_TAGS: kl_read_tags(r, &b->tags); break;
    case KL_BRING_MARK:
        b->mark.end = kl_read_u32(r);
        kl_read_into(r, b->mark.mark, sizeof b->mark.mark);
        break;
    default: break;
    }
}
