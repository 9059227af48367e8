/* Full blocks of a room's history, packed by zstd. The parts of their pieces are sorted first, for zstd finds
 * more in them that way: what all pieces say about intervals, then the inputs of their first seat, and so
 * on. */
#include <stdlib.h>
#include <string.h>

#include <zstd.h>

#include "net/relay/room/lobby_room.h"

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
        struct kl_writer w;
        size_t len = AROUND - 2;
        for (unsigned part = 0; part < PARTS; part++)
            len += p->len[part][i];
        kl_writer_init(&w, p->bytes + at, AROUND);
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

void kl_lobby_past_free_block(struct kl_lobby_room *r, struct kl_history_block *b) {
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

const uint8_t *kl_lobby_past_unpack(void *lobby, const struct kl_history_block *b) {
    struct kl_lobby_packer *p = ((struct kl_lobby *)lobby)->packer;
    if (p->of == b) return p->bytes;
    p->of = NULL;
    size_t len = ZSTD_decompressDCtx(p->out, p->sorted, sizeof p->sorted, b->bytes, b->packed);
    if (ZSTD_isError(len)) return NULL;
    unsort(p, b->first);
    p->of = b;
    return p->bytes;
}

void kl_lobby_past_pack(struct kl_lobby_room *r) {
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
    kl_lobby_past_free_block(r, b);
}
