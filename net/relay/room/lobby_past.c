#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "net/engine/lock_relay_return.h"
#include "net/relay/room/lobby_room.h"

/* --- packed blocks --- */

/* Full blocks of a room's history, packed by zstd. The parts of their pieces are sorted first, for zstd finds
 * more in them that way: what all pieces say about intervals, then the inputs of their first seat, and so
 * on. */

#define LEVEL      3
#define BYTES      KL_HISTORY_BLOCK_BYTES
#define PARTS      (1 + KL_MAX_SEATS)
#define AROUND     7            /* u16 length; u32 first frame, u8 frames */
#define PIECES_MAX (BYTES / 11) /* the shortest has one interval and no inputs */
#define SORTED_MAX (sizeof(unsigned) + PIECES_MAX * (1 + 2 * PARTS) + BYTES)

/* One for all rooms. */
struct kl_lobby_packer {
    ZSTD_CCtx *in;
    ZSTD_DCtx *out;
    const struct kl_history_block *of; /* its pieces are in `bytes`; NULL: of none */
    uint8_t bytes[BYTES];
    uint8_t sorted[SORTED_MAX], packed[SORTED_MAX];
    /* pieces: the frames of each, its parts' lengths, and its next part in a block's bytes */
    unsigned pieces;
    uint8_t frames[PIECES_MAX];
    uint16_t len[PARTS][PIECES_MAX], at[PIECES_MAX];
};

/* --- sorting --- */

/* The parts of one piece; false: they cannot be told apart. */
static bool find_parts(struct kl_lobby_packer *p, const uint8_t *piece, size_t len, uint32_t first) {
    struct kl_frames f;
    if (p->pieces == PIECES_MAX || kl_piece_open(&f, piece, len) != KL_OK || f.first != first) return false;
    const uint8_t *from = piece + AROUND - 2;
    for (unsigned i = 0; i < PARTS; i++) {
        const uint8_t *to = i < f.streams.count ? f.streams.reader[i].at : piece + len;
        p->len[i][p->pieces] = (uint16_t)(to - from);
        from = to;
    }
    p->frames[p->pieces++] = (uint8_t)f.count;
    return true;
}

/* All bytes but those around a piece's parts, part by part: from a block's bytes, or back into them. Returns
 * the end of the sorted ones. */
static uint8_t *move_parts(struct kl_lobby_packer *p, uint8_t *sorted, const uint8_t *from, uint8_t *to) {
    for (unsigned part = 0; part < PARTS; part++)
        for (unsigned i = 0; i < p->pieces; i++) {
            size_t len = p->len[part][i];
            memcpy(from ? sorted : to + p->at[i], from ? from + p->at[i] : sorted, len);
            p->at[i] = (uint16_t)(p->at[i] + len);
            sorted += len;
        }
    return sorted;
}

/* Into p->sorted. Returns the length; 0: it cannot be. */
static size_t sort(struct kl_lobby_packer *p, const struct kl_history_block *b) {
    uint32_t first = b->first;
    p->pieces = 0;
    for (uint32_t at = 0; at < b->used;) {
        size_t len = b->bytes[at] | (size_t)b->bytes[at + 1] << 8;
        if (!find_parts(p, b->bytes + at + 2, len, first)) return 0;
        p->at[p->pieces - 1] = (uint16_t)(at + AROUND);
        first += p->frames[p->pieces - 1];
        at += 2 + (uint32_t)len;
    }
    uint8_t *w = p->sorted;
    memcpy(w, &p->pieces, sizeof p->pieces);
    memcpy(w += sizeof p->pieces, p->frames, p->pieces);
    w += p->pieces;
    for (unsigned part = 0; part < PARTS; part++, w += 2 * p->pieces)
        memcpy(w, p->len[part], 2 * p->pieces);
    return (size_t)(move_parts(p, w, b->bytes, NULL) - p->sorted);
}

/* Back into p->bytes. */
static void unsort(struct kl_lobby_packer *p, uint32_t first) {
    uint8_t *r = p->sorted;
    size_t at = 0;
    memcpy(&p->pieces, r, sizeof p->pieces);
    memcpy(p->frames, r += sizeof p->pieces, p->pieces);
    r += p->pieces;
    for (unsigned part = 0; part < PARTS; part++, r += 2 * p->pieces)
        memcpy(p->len[part], r, 2 * p->pieces);
    for (unsigned i = 0; i < p->pieces; i++) {
        size_t len = AROUND - 2;
        for (unsigned part = 0; part < PARTS; part++)
            len += p->len[part][i];
        struct kl_writer w = kl_writer(p->bytes + at, AROUND);
        kl_write_u16(&w, (uint16_t)len);
        kl_write_u32(&w, first);
        kl_write_u8(&w, p->frames[i]);
        p->at[i] = (uint16_t)(at + AROUND);
        at += 2 + len;
        first += p->frames[i];
    }
    move_parts(p, r, NULL, p->bytes);
}

/* --- blocks --- */

uint64_t kl_lobby_past_block_bytes(const struct kl_history_block *b) {
    return b->packed ? sizeof *b + b->packed : KL_HISTORY_BLOCK;
}

static void count(struct kl_lobby_room *r, uint64_t more, uint64_t less) {
    r->past.bytes += more - less;
    r->lobby->history_bytes += more - less;
}

/* Frees a block that has left the history. */
static void free_block(struct kl_lobby_room *r, struct kl_history_block *b) {
    struct kl_lobby_packer *p = r->lobby->packer;
    if (p && p->of == b) p->of = NULL;
    count(r, 0, kl_lobby_past_block_bytes(b));
    free(b);
}

void kl_lobby_past_end(struct kl_lobby *l) {
    if (!l->packer) return;
    ZSTD_freeCCtx(l->packer->in);
    ZSTD_freeDCtx(l->packer->out);
    free(l->packer);
}

static bool begin(struct kl_lobby *l) {
    if (l->packer) return true;
    l->packer = calloc(1, sizeof *l->packer);
    if (!l->packer) return false;
    l->packer->in = ZSTD_createCCtx();
    l->packer->out = ZSTD_createDCtx();
    if (l->packer->in && l->packer->out) return true;
    kl_lobby_past_end(l);
    l->packer = NULL;
    return false;
}

/* The pieces of a packed block, good until the next call: kl_history.unpack. */
static const uint8_t *unpack_past(void *lobby, const struct kl_history_block *b) {
    struct kl_lobby_packer *p = ((struct kl_lobby *)lobby)->packer;
    if (p->of == b) return p->bytes;
    p->of = NULL;
    size_t len = ZSTD_decompressDCtx(p->out, p->sorted, sizeof p->sorted, b->bytes, b->packed);
    if (ZSTD_isError(len)) return NULL;
    unsort(p, b->first);
    p->of = b;
    return p->bytes;
}

/* Packs the block before the newest one, which has just begun. Without memory it stays as it is. */
static void pack_past(struct kl_lobby_room *r) {
    struct kl_history_block **at = &r->past.history.oldest, *b;
    while ((b = *at) && b->next != r->past.history.newest)
        at = &b->next;
    if (!b || b->packed) return;
    if (!begin(r->lobby)) return;
    struct kl_lobby_packer *p = r->lobby->packer;
    size_t sorted = sort(p, b), len = 0;
    if (sorted) len = ZSTD_compressCCtx(p->in, p->packed, sizeof p->packed, p->sorted, sorted, LEVEL);
    if (!sorted || ZSTD_isError(len) || len >= BYTES) return;
    struct kl_history_block *packed = malloc(sizeof *b + len);
    if (!packed) return;
    packed->next = b->next;
    packed->first = b->first;
    packed->end = b->end;
    packed->used = b->used;
    packed->packed = (uint32_t)len;
    memcpy(packed->bytes, p->packed, len);
    *at = packed;
    count(r, kl_lobby_past_block_bytes(packed), 0);
    free_block(r, b);
}

/* --- the past --- */

void kl_lobby_past_begin(struct kl_lobby_room *r, uint64_t now_us) {
    struct kl_lobby_past *p = &r->past;
    kl_history_init(&p->history, 0, 0);
    p->history.unpack = unpack_past;
    p->history.ctx = r->lobby;
    p->digest = (struct kl_digest){0};
    p->kept_next = 0;
    p->ticket_us = now_us;
    p->ticket_changed = true;
}

void kl_lobby_past_free(struct kl_lobby_room *r) {
    void *block;
    while ((block = kl_history_drop(&r->past.history)))
        free_block(r, block);
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
    free_block(r, block);
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
    if (p->history.newest != newest) pack_past(r);
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
    if (p->history.newest != newest) pack_past(r);
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
    struct kl_writer w = kl_writer(bytes, KL_INTERVAL_BYTES);
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
