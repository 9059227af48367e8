#include "net/relay/heal/unpack.h"

#include <stdlib.h>
#include <string.h>

#include <sodium.h>
#include <zstd.h>

#include "net/engine/msg.h"

#define HASH  32
#define LEVEL 3 /* zstd's level, the same as a giver's of a whole snapshot */

/* --- a whole snapshot --- */

struct kl_unpack {
    ZSTD_DCtx *zstd;
    crypto_generichash_state hash;
    uint32_t bytes, out, at; /* wanted, come out so far; packed bytes used */
    bool ended, failed;      /* the frame has */
    bool dry;                /* zstd has used up the bytes so far; calling it again would be an error */
    uint8_t buf[65536];
};

struct kl_unpack *kl_unpack_begin(uint32_t bytes) {
    struct kl_unpack *u = malloc(sizeof *u);
    if (!u) return NULL;
    memset(u, 0, offsetof(struct kl_unpack, buf));
    u->bytes = bytes;
    crypto_generichash_init(&u->hash, NULL, 0, HASH);
    u->zstd = ZSTD_createDCtx();
    if (u->zstd && !ZSTD_isError(ZSTD_DCtx_setParameter(u->zstd, ZSTD_d_windowLogMax, KL_UNPACK_WINDOW_LOG)))
        return u;
    kl_unpack_free(u);
    return NULL;
}

void kl_unpack_free(struct kl_unpack *u) {
    if (!u) return;
    ZSTD_freeDCtx(u->zstd);
    free(u);
}

/* One buffer. False: nothing came of it. */
static bool some(struct kl_unpack *u, const uint8_t *packed, uint32_t len) {
    ZSTD_inBuffer in = {packed, len, u->at};
    ZSTD_outBuffer out = {u->buf, sizeof u->buf, 0};
    if (u->ended || u->failed || (u->dry && u->at == len)) return false;
    size_t left = ZSTD_decompressStream(u->zstd, &out, &in);
    bool moved = in.pos > u->at || out.pos > 0;
    u->at = (uint32_t)in.pos;
    u->failed = ZSTD_isError(left) || out.pos > u->bytes - u->out;
    if (u->failed) return false;
    crypto_generichash_update(&u->hash, u->buf, out.pos);
    u->out += (uint32_t)out.pos;
    u->ended = left == 0;
    u->dry = !moved;
    return moved;
}

bool kl_unpack_step(struct kl_unpack *u, const uint8_t *packed, uint32_t len) {
    uint32_t before = u->out;
    while (u->out - before < KL_UNPACK_STEP)
        if (!some(u, packed, len)) return false;
    return true;
}

uint64_t kl_unpack_done(const struct kl_unpack *u) {
    return (uint64_t)u->out + u->at;
}

bool kl_unpack_failed(const struct kl_unpack *u) {
    return u->failed;
}

bool kl_unpack_good(struct kl_unpack *u, uint32_t len, const uint8_t hash[32]) {
    uint8_t got[HASH];
    if (u->failed || !u->ended || u->at != len || u->out != u->bytes) return false;
    crypto_generichash_final(&u->hash, got, sizeof got);
    return sodium_memcmp(got, hash, sizeof got) == 0;
}

/* --- a difference --- */

struct kl_rebase {
    ZSTD_DCtx *old, *slices;
    ZSTD_CCtx *whole;
    crypto_generichash_state hash;
    ZSTD_inBuffer base;
    uint32_t base_left, left; /* bytes that the base, and ours, still have, unpacked */
    uint32_t at;              /* bytes of the slices used */
    uint32_t got;             /* of the slice that comes just now */
    bool begun, failed;       /* that slice is */
    ZSTD_outBuffer out;
    uint8_t was[KL_SNAPSHOT_SLICE], is[KL_SNAPSHOT_SLICE + 1]; /* one more shows that there is too much */
};

static uint32_t slice_of(uint32_t left) {
    return left < KL_SNAPSHOT_SLICE ? left : KL_SNAPSHOT_SLICE;
}

static bool set_up(struct kl_rebase *u) {
    u->old = ZSTD_createDCtx();
    u->slices = ZSTD_createDCtx();
    u->whole = ZSTD_createCCtx();
    if (!u->old || !u->slices || !u->whole) return false;
    size_t bad = ZSTD_DCtx_setParameter(u->old, ZSTD_d_windowLogMax, KL_UNPACK_WINDOW_LOG);
    if (!ZSTD_isError(bad))
        bad = ZSTD_DCtx_setParameter(u->slices, ZSTD_d_windowLogMax, KL_UNPACK_WINDOW_LOG);
    if (!ZSTD_isError(bad)) bad = ZSTD_CCtx_setParameter(u->whole, ZSTD_c_compressionLevel, LEVEL);
    if (!ZSTD_isError(bad)) bad = ZSTD_CCtx_setParameter(u->whole, ZSTD_c_windowLog, KL_UNPACK_WINDOW_LOG);
    if (!ZSTD_isError(bad)) bad = ZSTD_CCtx_setPledgedSrcSize(u->whole, u->left);
    return !ZSTD_isError(bad);
}

struct kl_rebase *kl_rebase_begin(const uint8_t *base, uint32_t base_len, uint32_t base_bytes, uint32_t bytes,
                                  uint8_t *out, uint32_t cap) {
    struct kl_rebase *u = malloc(sizeof *u);
    if (!u) return NULL;
    memset(u, 0, offsetof(struct kl_rebase, was));
    u->base = (ZSTD_inBuffer){base, base_len, 0};
    u->base_left = base_bytes;
    u->left = bytes;
    u->out = (ZSTD_outBuffer){out, cap, 0};
    crypto_generichash_init(&u->hash, NULL, 0, HASH);
    if (set_up(u)) return u;
    kl_rebase_free(u);
    return NULL;
}

void kl_rebase_free(struct kl_rebase *u) {
    if (!u) return;
    ZSTD_freeDCtx(u->old);
    ZSTD_freeDCtx(u->slices);
    ZSTD_freeCCtx(u->whole);
    free(u);
}

/* Unpacks the base's slice, the dictionary of the next frame. Past the base's end there is none. */
static bool begin_slice(struct kl_rebase *u) {
    ZSTD_outBuffer was = {u->was, slice_of(u->base_left), 0};
    while (was.pos < was.size) {
        size_t before = was.pos;
        if (ZSTD_isError(ZSTD_decompressStream(u->old, &was, &u->base)) || was.pos == before) return false;
    }
    u->base_left -= (uint32_t)was.size;
    u->got = 0;
    u->begun = true;
    return was.size == 0 || !ZSTD_isError(ZSTD_DCtx_refPrefix(u->slices, u->was, was.size));
}

static bool end_slice(struct kl_rebase *u) {
    ZSTD_inBuffer in = {u->is, u->got, 0};
    u->left -= u->got;
    u->begun = false;
    crypto_generichash_update(&u->hash, u->is, u->got);
    size_t more = ZSTD_compressStream2(u->whole, &u->out, &in, u->left ? ZSTD_e_continue : ZSTD_e_end);
    return !ZSTD_isError(more) && in.pos == in.size && (u->left || more == 0);
}

/* A slice's bytes, as far as they are here. True: it is whole. */
static bool slice_comes(struct kl_rebase *u, const uint8_t *slices, uint32_t len) {
    ZSTD_inBuffer in = {slices, len, u->at};
    ZSTD_outBuffer is = {u->is, slice_of(u->left) + 1, u->got};
    size_t more = ZSTD_decompressStream(u->slices, &is, &in);
    u->at = (uint32_t)in.pos;
    u->got = (uint32_t)is.pos;
    u->failed = ZSTD_isError(more) || u->got > slice_of(u->left) || (more == 0 && u->got < slice_of(u->left));
    return !u->failed && more == 0;
}

bool kl_rebase_step(struct kl_rebase *u, const uint8_t *slices, uint32_t len) {
    if (u->failed || u->left == 0 || u->at == len) return false;
    if (!u->begun && !begin_slice(u)) u->failed = true;
    if (u->failed || !slice_comes(u, slices, len)) return false;
    u->failed = !end_slice(u);
    return !u->failed;
}

uint32_t kl_rebase_left(const struct kl_rebase *u) {
    return u->left;
}

bool kl_rebase_failed(const struct kl_rebase *u) {
    return u->failed;
}

uint32_t kl_rebase_good(struct kl_rebase *u, uint32_t len, const uint8_t hash[32]) {
    uint8_t is[HASH];
    if (u->failed || u->left || u->at != len) return 0;
    crypto_generichash_final(&u->hash, is, sizeof is);
    return sodium_memcmp(is, hash, sizeof is) == 0 ? (uint32_t)u->out.pos : 0;
}
