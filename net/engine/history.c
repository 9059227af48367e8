#include "net/engine/history.h"

#include <string.h>

#include "net/engine/engine.h"

#define LENGTH_BYTES 2

/* --- blocks --- */

void kl_history_init(struct kl_history *h, uint32_t first, uint32_t interval) {
    memset(h, 0, sizeof *h);
    h->first = h->next = h->sealed = first;
    h->intervals = interval;
}

static bool fits(const struct kl_history_block *b) {
    return b && b->used + LENGTH_BYTES + KL_PIECE_BYTES <= KL_HISTORY_BLOCK_BYTES;
}

bool kl_history_wants_block(const struct kl_history *h) {
    return !h->spare && !fits(h->newest);
}

void kl_history_give(struct kl_history *h, void *block) {
    if (!block) return;
    struct kl_history_block *b = block;
    b->next = h->spare;
    h->spare = b;
}

void *kl_history_drop(struct kl_history *h) {
    struct kl_history_block *b = h->oldest ? h->oldest : h->spare;
    if (!b) return NULL;
    if (b == h->spare) {
        h->spare = b->next;
        return b;
    }
    h->oldest = b->next;
    if (!h->oldest) h->newest = NULL;
    h->first = b->end;
    return b;
}

static struct kl_history_block *block_to_fill(struct kl_history *h) {
    if (fits(h->newest)) return h->newest;
    struct kl_history_block *b = h->spare;
    if (!b) return NULL;
    h->spare = b->next;
    b->next = NULL;
    b->first = b->end = h->sealed;
    b->used = b->packed = 0;
    *(h->newest ? &h->newest->next : &h->oldest) = b;
    h->newest = b;
    return b;
}

/* --- frames in --- */

uint8_t kl_history_wants_pads(const struct kl_history *h, const struct kl_frame *f) {
    uint8_t wants = 0;
    for (unsigned s = 0; s < KL_MAX_SEATS; s++)
        if (!kl_pad_neutral(&f->in[s]) || kl_input_has_devices(&f->in[s])) wants |= (uint8_t)(1u << s);
    return wants & (uint8_t)~h->touched;
}

void kl_history_give_pads(struct kl_history *h, unsigned seat, struct kl_pad *pads) {
    memset(pads, 0, KL_PIECE_FRAMES * sizeof *pads);
    h->pad[seat] = pads;
    h->touched |= (uint8_t)(1u << seat);
}

bool kl_history_wants_devices(const struct kl_history *h, const struct kl_frame *f) {
    for (unsigned s = 0; s < KL_MAX_SEATS && !h->devices; s++)
        if (kl_input_has_devices(&f->in[s])) return true;
    return false;
}

void kl_history_give_devices(struct kl_history *h, struct kl_history_devices *devices) {
    memset(devices, 0, sizeof *devices);
    h->devices = devices;
}

/* Of a seat that was touched. */
static struct kl_inputs column_of(const struct kl_history *h, unsigned seat) {
    return (struct kl_inputs){
        .places = KL_PIECE_FRAMES, .pad = h->pad[seat], .devices = h->devices ? h->devices->of[seat] : NULL};
}

/* The open frames, to be written. */
struct open_frames {
    struct kl_frames_from from;
    struct kl_frame_columns columns;
    struct kl_commands set[KL_HISTORY_SETS];
};

static const struct kl_frames_from *open_frames(const struct kl_history *h, struct open_frames *o) {
    o->from = (struct kl_frames_from){.columns = &o->columns, .sets = o->set};
    o->columns.head = h->open;
    o->columns.places = KL_PIECE_FRAMES;
    for (unsigned s = 0; s < KL_MAX_SEATS; s++)
        o->columns.in[s].pad = NULL;
    for (KL_EACH(s, h->touched))
        o->columns.in[s] = column_of(h, s);
    for (unsigned i = 0; i < KL_HISTORY_SETS; i++)
        if (h->set[i].count > 0) kl_packed_set_get(&h->set[i], &o->set[o->from.set_count++]);
    return &o->from;
}

static void keep_frame(struct kl_history *h, const struct kl_frame *f, const struct kl_commands *commands) {
    h->open[f->number % KL_PIECE_FRAMES] = kl_frame_head_of(f);
    for (KL_EACH(s, h->touched)) {
        struct kl_inputs in = column_of(h, s);
        kl_inputs_put(&in, f->number, &f->in[s]);
    }
    if (f->flags & KL_FRAME_COMMANDS) kl_packed_set_put(&h->set[h->sets++ % KL_HISTORY_SETS], commands);
}

/* As many of the open frames as a piece holds go into a block. */
static int seal(struct kl_history *h) {
    struct kl_history_block *b = block_to_fill(h);
    if (!b) return KL_E_SPACE;
    struct open_frames open;
    uint32_t count;
    uint8_t *at = b->bytes + b->used;
    size_t len = kl_piece_write(open_frames(h, &open), h->sealed, h->next - h->sealed, at + LENGTH_BYTES,
                                KL_PIECE_BYTES, &count);
    if (len == 0) return KL_E_MALFORMED; /* cannot be: kl_history_append() has seen that there are commands */
    at[0] = (uint8_t)len;
    at[1] = (uint8_t)(len >> 8);
    b->used += LENGTH_BYTES + (uint32_t)len;
    h->sealed += count;
    b->end = h->sealed;
    return KL_OK;
}

static const struct kl_frame_head *last_frame(const struct kl_history *h) {
    return h->begun ? &h->open[(h->next - 1) % KL_PIECE_FRAMES] : NULL;
}

/* True if the frame cannot follow the last one. */
static bool out_of_order(const struct kl_history *h, const struct kl_frame *f) {
    const struct kl_frame_head *last = last_frame(h);
    bool key = f->number == f->keyframe;
    if (f->number != h->next || f->number - f->keyframe >= f->spacing || f->spacing > KL_SPACING_MAX)
        return true;
    if (!last || h->next == last->keyframe + last->spacing) return !key;
    return f->keyframe != last->keyframe || f->spacing != last->spacing;
}

/* The place of the next commands has some of an open frame. */
static bool sets_full(const struct kl_history *h) {
    const struct kl_packed_set *oldest = &h->set[h->sets % KL_HISTORY_SETS];
    return oldest->count > 0 && oldest->keyframe >= h->sealed;
}

int kl_history_append(struct kl_history *h, const struct kl_frame *f, const struct kl_commands *commands) {
    if (out_of_order(h, f)) return KL_E_WINDOW;
    bool marked = f->flags & KL_FRAME_COMMANDS;
    if (marked && (!commands || commands->count == 0 || commands->keyframe != f->number))
        return KL_E_MALFORMED;
    if (kl_history_wants_pads(h, f) || kl_history_wants_devices(h, f)) return KL_E_SPACE;
    while (h->next - h->sealed == KL_PIECE_FRAMES || (marked && sets_full(h))) {
        int result = seal(h);
        if (result != KL_OK) return result;
    }
    keep_frame(h, f, commands);
    h->next++;
    h->begun = true;
    if (h->next < f->keyframe + f->spacing) return 0;
    h->intervals++;
    return 1;
}

size_t kl_history_so_far(const struct kl_history *h, uint8_t *buf, size_t cap, uint32_t *keyframe) {
    const struct kl_frame_head *last = last_frame(h);
    struct open_frames open;
    if (!last) return 0;
    open_frames(h, &open);
    open.from.for_digest = true;
    *keyframe = last->keyframe;
    struct kl_writer w = kl_writer(buf, cap);
    kl_frames_write(&w, &open.from, last->keyframe, h->next - last->keyframe);
    return w.failed ? 0 : (size_t)(w.at - buf);
}

size_t kl_history_interval(const struct kl_history *h, uint8_t *buf, size_t cap) {
    const struct kl_frame_head *last = last_frame(h);
    uint32_t keyframe;
    if (!last || h->next != last->keyframe + last->spacing) return 0;
    return kl_history_so_far(h, buf, cap, &keyframe);
}

/* --- frames out --- */

static size_t length_at(const uint8_t *at) {
    return at[0] | (size_t)at[1] << 8;
}

int kl_history_adopt(struct kl_history *h, const uint8_t *piece, size_t len, uint32_t intervals) {
    if (len < 5 || len > KL_PIECE_BYTES) return KL_E_MALFORMED;
    if (kl_u32_at(piece) != h->next || h->sealed != h->next) return KL_E_WINDOW;
    struct kl_history_block *b = block_to_fill(h);
    if (!b) return KL_E_SPACE;
    uint8_t *at = b->bytes + b->used;
    at[0] = (uint8_t)len;
    at[1] = (uint8_t)(len >> 8);
    memcpy(at + LENGTH_BYTES, piece, len);
    b->used += LENGTH_BYTES + (uint32_t)len;
    b->end = h->sealed = h->next += piece[4];
    h->intervals += intervals;
    h->begun = false;
    return KL_OK;
}

/* In this block, which holds the frame. */
static size_t read_block(const struct kl_history *h, const struct kl_history_block *b, uint32_t from,
                         uint8_t *buf, size_t cap, uint32_t *end) {
    const uint8_t *at = b->packed ? h->unpack(h->ctx, b) : b->bytes;
    if (!at) return 0;
    const uint8_t *const behind = at + b->used;
    while (at < behind && kl_u32_at(at + LENGTH_BYTES) + at[LENGTH_BYTES + 4] <= from)
        at += LENGTH_BYTES + length_at(at);
    size_t len = at < behind ? length_at(at) : 0;
    if (!len || len > cap) return 0;
    memcpy(buf, at + LENGTH_BYTES, len);
    *end = kl_u32_at(buf) + buf[4];
    return len;
}

size_t kl_history_read(const struct kl_history *h, uint32_t from, uint8_t *buf, size_t cap, uint32_t *end) {
    if (from < h->first || from >= h->next) return 0;
    if (from >= h->sealed) {
        struct open_frames open;
        uint32_t count;
        size_t len = kl_piece_write(open_frames(h, &open), from, h->next - from, buf, cap, &count);
        *end = from + count;
        return len;
    }
    const struct kl_history_block *b = from >= h->newest->first ? h->newest : h->oldest;
    while (from >= b->end)
        b = b->next;
    return read_block(h, b, from, buf, cap, end);
}

/* --- cutting --- */

/* Drops all blocks after the one that holds the frame, or ends there. Gives that one. */
static struct kl_history_block *last_block(struct kl_history *h, uint32_t frame) {
    struct kl_history_block *b = h->oldest;
    while (b->end < frame && b->next)
        b = b->next;
    for (struct kl_history_block *after = b->next; after;) {
        struct kl_history_block *next = after->next;
        kl_history_give(h, after);
        after = next;
    }
    b->next = NULL;
    h->newest = b;
    return b;
}

/* The piece that holds the frame is opened again, up to the frame; later pieces go. */
static void unseal(struct kl_history *h, uint32_t frame) {
    struct kl_history_block *b = last_block(h, frame);
    struct kl_frames frames;
    struct kl_frame f;
    uint32_t used = 0;
    const uint8_t *at = b->bytes;
    while (used < b->used && kl_u32_at(at + LENGTH_BYTES) + at[LENGTH_BYTES + 4] <= frame) {
        used += LENGTH_BYTES + (uint32_t)length_at(at);
        at = b->bytes + used;
    }
    bool opens = used < b->used;
    h->sealed = opens ? kl_u32_at(at + LENGTH_BYTES) : b->end;
    if (opens && kl_piece_open(&frames, at + LENGTH_BYTES, length_at(at)) == KL_OK)
        while (kl_frames_next(&frames, &f) && f.number < frame)
            keep_frame(h, &f, &frames.commands);
    b->used = used;
    b->end = h->sealed;
}

void kl_history_cut(struct kl_history *h, uint32_t keyframe, uint32_t interval) {
    for (unsigned i = 0; i < KL_HISTORY_SETS; i++)
        if (h->set[i].keyframe >= keyframe || keyframe < h->sealed) h->set[i].count = 0;
    if (keyframe < h->sealed) unseal(h, keyframe);
    h->next = keyframe;
    h->intervals = interval;
    h->begun = false;
}

void kl_history_seek(struct kl_history_cursor *c, const struct kl_history *h, uint32_t from) {
    c->history = h;
    c->at = from;
    c->open = false;
}

bool kl_history_next(struct kl_history_cursor *c, struct kl_frame *out) {
    while (c->open && kl_frames_next(&c->frames, out)) {
        if (out->number != c->at) continue; /* the piece begins before frame c->at */
        c->at++;
        return true;
    }
    uint32_t end;
    size_t len = kl_history_read(c->history, c->at, c->buf, sizeof c->buf, &end);
    c->open = len > 0 && kl_piece_open(&c->frames, c->buf, len) == KL_OK;
    return c->open && kl_history_next(c, out);
}
