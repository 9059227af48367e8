#include <stdlib.h>
#include <string.h>

#include "net/engine/lock_relay_return.h"
#include "net/relay/room/lobby_room.h"

void kl_lobby_past_begin(struct kl_lobby_room *r, uint64_t now_us) {
    struct kl_lobby_past *p = &r->past;
    kl_history_init(&p->history, 0, 0);
    p->history.unpack = kl_lobby_past_unpack;
    p->history.ctx = r->lobby;
    p->digest = (struct kl_digest){0};
    p->kept_next = 0;
    p->ticket_us = now_us;
    p->ticket_changed = true;
}

void kl_lobby_past_free(struct kl_lobby_room *r) {
    void *block;
    while ((block = kl_history_drop(&r->past.history)))
        kl_lobby_past_free_block(r, block);
    kl_lobby_memory_past_free(r);
}

/* --- keeping --- */

static void *new_block(struct kl_lobby_room *r) {
    struct kl_lobby *l = r->lobby;
    const unsigned share = KL_HISTORY_BYTES_TOTAL / (l->shards ? l->shards->count : 1);
    bool fits =
        r->past.bytes + KL_HISTORY_BLOCK <= (r->lobby->limits.history_kib * UINT64_C(1024)) &&
        l->history_bytes + KL_HISTORY_BLOCK <= share &&
        (r->past.bytes + KL_HISTORY_BLOCK <= KL_HISTORY_LEAST || kl_lobby_maker_has(r, KL_HISTORY_BLOCK));
    void *block = fits ? malloc(KL_HISTORY_BLOCK) : NULL;
    if (!block) return NULL;
    r->past.bytes += KL_HISTORY_BLOCK;
    l->history_bytes += KL_HISTORY_BLOCK;
    return block;
}

/* Drops the oldest frames if memory runs out. From then on newcomers begin with a snapshot, or cannot
 * join. False: there are none. */
static bool drop_oldest(struct kl_lobby_room *r) {
    bool whole = r->past.history.first == 0;
    void *block = kl_history_drop(&r->past.history);
    if (!block) return false;
    if (whole)
        kl_lobby_log_room(KL_LOG_INFO, "history_full", r, "frame=%u kib=%llu", r->lock.next_close,
                          (unsigned long long)r->past.bytes / 1024);
    if (r->snapshot.unfit && kl_lobby_start_is_kept(r)) {
        kl_lobby_start_free(r);
        kl_lobby_notice(r, "nobody can join this room any more: the relay dropped its first frames, and the "
                           "core gives no state");
    }
    kl_lobby_past_free_block(r, block);
    return true;
}

static void make_place(struct kl_lobby_room *r) {
    struct kl_history *h = &r->past.history;
    if (!kl_history_wants_block(h)) return;
    void *block;
    do
        block = new_block(r);
    while (!block && drop_oldest(r));
    kl_history_give(h, block);
}

/* False: there is no memory for it. */
static bool make_place_for(struct kl_lobby_room *r, const struct kl_frame *f) {
    struct kl_history *h = &r->past.history;
    if (kl_history_wants_pads(h, f) || kl_history_wants_devices(h, f)) return kl_lobby_memory_past(r, f);
    make_place(r);
    return !kl_history_wants_block(h);
}

void kl_lobby_past_keep(struct kl_lobby_room *r, const struct kl_frame *f) {
    struct kl_lobby_past *p = &r->past;
    if (p->broken) return;
    struct kl_commands set;
    const struct kl_commands *commands =
        f->flags & KL_FRAME_COMMANDS ? kl_lock_commands(&r->lock, f->number, &set) : NULL;
    const struct kl_history_block *newest = p->history.newest;
    int result;
    do
        result = kl_history_append(&p->history, f, commands);
    while (result == KL_E_SPACE && make_place_for(r, f));
    if (p->history.newest != newest) kl_lobby_past_pack(r);
    if (result == 1) {
        uint8_t bytes[KL_INTERVAL_BYTES];
        struct kl_digest c = p->digest;
        kl_digest_next(&c, r->id, bytes, kl_history_interval(&p->history, bytes, sizeof bytes),
                       p->history.next);
        kl_lobby_past_adopt_digest(r, &c);
    }
    if (result >= 0) return;
    p->broken = true;
    kl_lobby_log_room(KL_LOG_ERROR, "history_broken", r, "frame=%u error=%d", f->number, result);
}

bool kl_lobby_past_adopt(struct kl_lobby_room *r, const uint8_t *piece, size_t len, uint32_t intervals) {
    struct kl_lobby_past *p = &r->past;
    make_place(r);
    const struct kl_history_block *newest = p->history.newest;
    bool adopted = kl_history_adopt(&p->history, piece, len, intervals) == KL_OK;
    if (p->history.newest != newest) kl_lobby_past_pack(r);
    return adopted;
}

void kl_lobby_past_adopt_digest(struct kl_lobby_room *r, const struct kl_digest *c) {
    struct kl_lobby_past *p = &r->past;
    bool first = c->intervals / KL_DIGESTS_APART > p->digest.intervals / KL_DIGESTS_APART;
    struct kl_digest *place = first ? kl_lobby_memory_digest(r) : NULL;
    if (place) *place = *c;
    p->digest = *c;
}

/* --- returning members --- */

bool kl_lobby_past_reaches(const struct kl_lobby_room *r, uint32_t from) {
    if (from > r->lock.next_close) return false;
    uint32_t near = r->past.broken ? KL_NEAR_FRAMES : KL_KEPT_FRAMES / 4; /* as the room lets it */
    bool by_update = from + near >= r->lock.next_close;
    return by_update || (!r->past.broken && from >= r->past.history.first);
}

#define WALK (KL_DIGESTS_APART + KL_KEPT_FRAMES) /* intervals: a journal's marks are so far apart */

/* Frames of one interval, for its digest. */
struct interval {
    struct kl_frame frame[KL_SPACING_MAX];
    struct kl_commands commands;
    uint32_t first, next;
};

/* Reads on to the interval's last frame, or to `end`. False: a frame is missing. */
static bool read_interval(struct kl_history_cursor *c, uint32_t end, struct interval *t) {
    t->first = t->next = c->at;
    for (struct kl_frame f; t->next < end && kl_history_next(c, &f);) {
        t->frame[f.number % KL_SPACING_MAX] = f;
        if (f.flags & KL_FRAME_COMMANDS) t->commands = c->frames.commands;
        t->next = f.number + 1;
        if (t->next == f.keyframe + f.spacing) break;
    }
    return t->next > t->first || end == t->first;
}

static size_t code_interval(const struct interval *t, uint8_t bytes[KL_INTERVAL_BYTES]) {
    struct kl_frames_from from = {
        .ring = t->frame, .places = KL_SPACING_MAX, .sets = &t->commands, .set_count = 1, .for_digest = true};
    struct kl_writer w;
    kl_writer_init(&w, bytes, KL_INTERVAL_BYTES);
    if (t->next > t->first) kl_frames_write(&w, &from, t->first, t->next - t->first);
    return w.failed ? 0 : (size_t)(w.at - bytes);
}

/* The newest kept digest of no more intervals. */
static struct kl_digest kept_digest(const struct kl_lobby_past *p, uint32_t intervals) {
    struct kl_digest best = {0};
    if (p->digest.intervals <= intervals) return p->digest;
    for (unsigned i = 0; i < p->keeps && i < p->kept_next; i++)
        if (p->kept[i].intervals > best.intervals && p->kept[i].intervals <= intervals) best = p->kept[i];
    return best;
}

bool kl_lobby_past_digest(const struct kl_lobby_room *r, uint32_t intervals, struct kl_digest *out) {
    static struct kl_history_cursor c;
    static struct interval t;
    static uint8_t bytes[KL_INTERVAL_BYTES];
    const struct kl_lobby_past *p = &r->past;
    *out = kept_digest(p, intervals);
    if (intervals > p->digest.intervals || intervals - out->intervals > WALK) return false;
    kl_history_seek(&c, &p->history, out->end);
    while (out->intervals < intervals) {
        if (!read_interval(&c, p->history.next, &t)) return false;
        kl_digest_next(out, r->id, bytes, code_interval(&t, bytes), t.next);
    }
    return true;
}

/* The digest of the frames [from->end, have), which are less than an interval. False: they are not here. */
static bool open_digest(const struct kl_lobby_room *r, const struct kl_digest *from, uint32_t have,
                        uint8_t out[KL_DIGEST]) {
    static struct kl_history_cursor c;
    static struct interval t;
    static uint8_t bytes[KL_INTERVAL_BYTES];
    if (have < from->end || have > r->past.history.next) return false;
    kl_history_seek(&c, &r->past.history, from->end);
    if (!read_interval(&c, have, &t) || t.next != have) return false;
    kl_digest_open(from, r->id, bytes, code_interval(&t, bytes), out);
    return true;
}

/* kl_record_facts.state */
static uint32_t newest_state(const struct kl_lobby_room *r, const struct kl_return *b) {
    struct kl_digest d;
    for (unsigned i = b->states; i > 0; i--) {
        bool known = kl_lobby_past_digest(r, b->state[i - 1].intervals, &d);
        bool same = kl_record_match(known ? d.digest : NULL, b->state[i - 1].digest) == KL_RECORD_SAME;
        if (same && d.end < r->lock.next_close) return d.end;
    }
    return 0;
}

struct kl_record_facts kl_lobby_past_facts(const struct kl_lobby_room *r, const struct kl_return *b) {
    struct kl_record_facts f = {.end = r->lock.next_close,
                                .complete = !r->past.reopened, /* all frames came from here */
                                .fresh = b->fresh,
                                .have = b->have};
    if (f.fresh || f.complete) return f;
    struct kl_digest d;
    uint8_t open[KL_DIGEST];
    bool known = kl_lobby_past_digest(r, b->intervals, &d),
         reads = known && open_digest(r, &d, b->have, open);
    enum kl_record_match whole = kl_record_match(known ? d.digest : NULL, b->digest);
    f.match = whole == KL_RECORD_SAME ? kl_record_match(reads ? open : NULL, b->open) : whole;
    if (f.match != KL_RECORD_SAME) f.state = newest_state(r, b);
    return f;
}
