#include <stdlib.h>
#include <string.h>

#include "net/engine/lock_relay_return.h"
#include "net/session/past.h"
#include "net/relay/room/lobby_room.h"

void kl_lobby_past_begin(struct kl_lobby_room *r, uint64_t now_us) {
    struct kl_lobby_past *p = &r->past;
    kl_history_init(&p->history, 0, 0);
    kl_tag_key(r->lobby->secret, r->id, p->tag_key);
    kl_mark_key(r->lobby->secret, r->id, p->mark_key);
    p->tags_us = now_us;
    p->ticket_changed = true;
}

void kl_lobby_past_free(struct kl_lobby_room *r) {
    void *block;
    while ((block = kl_history_drop(&r->past.history)))
        free(block);
    r->lobby->history_bytes -= r->past.bytes;
    r->past.bytes = 0;
}

/* --- keeping --- */

static uint64_t most_bytes(const struct kl_lobby_room *r) {
    return r->lobby->limits.history_kib * UINT64_C(1024) * (r->past.on_trial ? 2 : 1);
}

static void *new_block(struct kl_lobby_room *r) {
    struct kl_lobby *l = r->lobby;
    bool fits = r->past.bytes + KL_HISTORY_BLOCK <= most_bytes(r) &&
                l->history_bytes + KL_HISTORY_BLOCK <= KL_HISTORY_BYTES_TOTAL &&
                (r->past.bytes + KL_HISTORY_BLOCK <= KL_HISTORY_LEAST ||
                 kl_lobby_address_has(l, r->maker, KL_HISTORY_BLOCK));
    void *block = fits ? malloc(KL_HISTORY_BLOCK) : NULL;
    if (!block) return NULL;
    r->past.bytes += KL_HISTORY_BLOCK;
    l->history_bytes += KL_HISTORY_BLOCK;
    return block;
}

/* Drops the oldest frames if memory runs out. From then on newcomers begin with a snapshot, or cannot
 * join. */
static void *reuse_oldest(struct kl_lobby_room *r) {
    bool whole = r->past.history.first == 0;
    if (r->past.on_trial) return NULL;
    void *block = kl_history_drop(&r->past.history);
    if (!block) return NULL;
    if (whole)
        kl_lobby_log_room(KL_LOG_INFO, "history_full", r, "frame=%u kib=%llu", r->lock.next_close,
                          (unsigned long long)r->past.bytes / 1024);
    if (r->shot.unfit && kl_lobby_start_is_kept(r)) {
        kl_lobby_start_free(r);
        kl_lobby_notice(r, "nobody can join this room any more: the relay dropped its first frames, and the "
                           "core gives no state");
    }
    return block;
}

void kl_lobby_past_trim(struct kl_lobby_room *r) {
    while (r->past.bytes > most_bytes(r)) {
        void *block = reuse_oldest(r);
        if (!block) return;
        free(block);
        r->past.bytes -= KL_HISTORY_BLOCK;
        r->lobby->history_bytes -= KL_HISTORY_BLOCK;
    }
}

static const uint8_t no_tag[KL_TAG];

const uint8_t *kl_lobby_past_tag_before(const struct kl_lobby_past *p, uint32_t interval) {
    return interval ? p->tag[(interval - 1) % KL_TAGS_KEPT] : no_tag;
}

bool kl_lobby_past_mark(const struct kl_lobby_room *r, uint8_t mark[KL_MARK]) {
    static uint8_t bytes[KL_INTERVAL_BYTES];
    const struct kl_lobby_past *p = &r->past;
    struct kl_mark_of of = {.key = p->mark_key, .room_id = r->id, .end = p->history.next};
    size_t len = kl_history_so_far(&p->history, bytes, sizeof bytes, &of.keyframe);
    bool whole = p->tags && p->tag_end[(p->tags - 1) % KL_TAGS_KEPT] == of.end;
    of.interval = p->tags - whole;
    of.before = kl_lobby_past_tag_before(p, of.interval);
    kl_mark_make(&of, bytes, len, mark);
    return len > 0;
}

static void tag_interval(struct kl_lobby_room *r) {
    struct kl_lobby_past *p = &r->past;
    uint8_t bytes[KL_INTERVAL_BYTES];
    struct kl_tag t;
    uint32_t i = p->history.intervals - 1, length = p->last_spacing;
    uint8_t *tag = p->tag[i % KL_TAGS_KEPT];
    size_t len = kl_history_interval(&p->history, bytes, sizeof bytes);
    kl_tag_begin(&t, p->tag_key, kl_lobby_past_tag_before(p, i), r->id, i, p->history.next - length);
    kl_tag_add(&t, bytes, len);
    kl_tag_end(&t, tag);
    p->tag_end[i % KL_TAGS_KEPT] = p->history.next;
    p->tags = i + 1;
}

static void make_place(struct kl_lobby_room *r) {
    struct kl_history *h = &r->past.history;
    if (!kl_history_wants_block(h)) return;
    void *block = new_block(r);
    kl_history_give(h, block ? block : reuse_oldest(r));
}

void kl_lobby_past_keep(struct kl_lobby_room *r, const struct kl_frame *f) {
    struct kl_lobby_past *p = &r->past;
    if (p->broken) return;
    make_place(r);
    struct kl_commands set;
    const struct kl_commands *commands =
        f->flags & KL_FRAME_COMMANDS ? kl_lock_commands(&r->lock, f->number, &set) : NULL;
    int result = kl_history_append(&p->history, f, commands);
    p->last_spacing = f->spacing;
    if (result == 1) tag_interval(r);
    if (result >= 0) return;
    p->broken = true;
    kl_lobby_log_room(KL_LOG_ERROR, "history_broken", r, "frame=%u error=%d", f->number, result);
}

bool kl_lobby_past_adopt(struct kl_lobby_room *r, const uint8_t *piece, size_t len, uint32_t intervals) {
    struct kl_lobby_past *p = &r->past;
    make_place(r);
    return kl_history_adopt(&p->history, piece, len, intervals) == KL_OK;
}

void kl_lobby_past_adopt_tag(struct kl_lobby_room *r, uint32_t i, const uint8_t tag[KL_TAG], uint32_t end) {
    struct kl_lobby_past *p = &r->past;
    memcpy(p->tag[i % KL_TAGS_KEPT], tag, KL_TAG);
    p->tag_end[i % KL_TAGS_KEPT] = end;
    p->tags = i + 1;
}

/* --- returning members --- */

bool kl_lobby_past_reaches(const struct kl_lobby_room *r, uint32_t from) {
    if (from > r->lock.next_close || from < r->lock.begin) return false;
    uint32_t near = r->past.broken ? KL_NEAR_FRAMES : KL_KEPT_FRAMES / 4; /* as the room lets it */
    bool by_update = from + near >= r->lock.next_close;
    return by_update || (!r->past.broken && from >= r->past.history.first);
}

#define DIGEST_MAX 4096 /* frames past the newest tag that are looked at for one RETURN */

/* The digest that this client must have, computed from our frames. False if we do not keep them any more. */
static bool digest_of(const struct kl_lobby_past *p, const struct kl_return *b, uint8_t out[16]) {
    static struct kl_history_cursor c;
    struct kl_digest d;
    struct kl_frame f;
    uint32_t last = b->tags - 1;
    bool known = b->tags <= p->tags && b->tags + KL_TAGS_KEPT >= p->tags;
    uint32_t from = b->tags && known ? p->tag_end[last % KL_TAGS_KEPT] : 0;
    if (!known || b->have < from || b->have > p->history.next || b->have - from > DIGEST_MAX) return false;
    kl_digest_begin(&d, b->tags ? p->tag[last % KL_TAGS_KEPT] : NULL);
    kl_history_seek(&c, &p->history, from);
    while (from < b->have && kl_history_next(&c, &f)) {
        kl_digest_frame(&d, &f, f.flags & KL_FRAME_COMMANDS ? &c.frames.commands : NULL);
        from++;
    }
    kl_digest_end(&d, out);
    return from == b->have;
}

bool kl_lobby_past_same(const struct kl_lobby_room *r, const struct kl_return *b) {
    uint8_t ours[16];
    if (!r->past.reopened) return true; /* its frames came from here, and nothing was lost since */
    return digest_of(&r->past, b, ours) && memcmp(ours, b->digest, sizeof ours) == 0;
}

void kl_lobby_past_returned(struct kl_lobby_room *r, unsigned member, uint32_t tags) {
    struct kl_lobby_member *m = &r->member[member];
    m->tags_told = tags < r->past.tags ? tags : r->past.tags;
    m->ticket_told = m->ticket_sent = 0;
}
