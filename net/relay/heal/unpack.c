#include "net/relay/heal/unpack.h"

#include <stdlib.h>
#include <string.h>

#include <sodium.h>
#include <zstd.h>

#include "net/engine/msg.h"

#define HASH  32
#define LEVEL 3 /* zstd's level, the same as a giver's of a whole snapshot */

#define PACKING_COSTS 5 /* times as much as unpacking */

/* A difference: each slice is unpacked, hashed, and packed again. */
struct slices {
    ZSTD_DCtx *old;
    ZSTD_CCtx *whole;
    ZSTD_inBuffer base;
    uint32_t base_left; /* bytes that the base still has, unpacked */
    uint32_t got;       /* of the slice that comes just now */
    bool begun;         /* that slice is */
    ZSTD_outBuffer out;
    uint8_t was[KL_SNAPSHOT_SLICE], is[KL_SNAPSHOT_SLICE + 1]; /* one more shows that there is too much */
};

struct kl_unpack {
    ZSTD_DCtx *zstd;
    crypto_generichash_state hash;
    uint32_t bytes, out, at; /* wanted, come out so far; packed bytes used */
    bool ended, failed;      /* the frame has */
    bool dry;                /* zstd has used up the bytes so far; calling it again would be an error */
    struct slices *slices;   /* NULL: it comes whole */
    uint8_t buf[65536];
};

static ZSTD_DCtx *new_unpacker(void) {
    ZSTD_DCtx *zstd = ZSTD_createDCtx();
    if (zstd && !ZSTD_isError(ZSTD_DCtx_setParameter(zstd, ZSTD_d_windowLogMax, KL_UNPACK_WINDOW_LOG)))
        return zstd;
    ZSTD_freeDCtx(zstd);
    return NULL;
}

struct kl_unpack *kl_unpack_begin(uint32_t bytes) {
    struct kl_unpack *u = malloc(sizeof *u);
    if (!u) return NULL;
    memset(u, 0, offsetof(struct kl_unpack, buf));
    u->bytes = bytes;
    crypto_generichash_init(&u->hash, NULL, 0, HASH);
    u->zstd = new_unpacker();
    if (u->zstd) return u;
    kl_unpack_free(u);
    return NULL;
}

static bool set_up(struct slices *s, uint32_t bytes) {
    s->old = new_unpacker();
    s->whole = ZSTD_createCCtx();
    if (!s->old || !s->whole) return false;
    size_t bad = ZSTD_CCtx_setParameter(s->whole, ZSTD_c_compressionLevel, LEVEL);
    if (!ZSTD_isError(bad)) bad = ZSTD_CCtx_setParameter(s->whole, ZSTD_c_windowLog, KL_UNPACK_WINDOW_LOG);
    if (!ZSTD_isError(bad)) bad = ZSTD_CCtx_setPledgedSrcSize(s->whole, bytes);
    return !ZSTD_isError(bad);
}

struct kl_unpack *kl_unpack_begin_slices(const uint8_t *base, uint32_t base_len, uint32_t base_bytes,
                                         uint32_t bytes, uint8_t *out, uint32_t cap) {
    struct kl_unpack *u = kl_unpack_begin(bytes);
    struct slices *s = u ? malloc(sizeof *s) : NULL;
    if (s) {
        memset(s, 0, offsetof(struct slices, was));
        s->base = (ZSTD_inBuffer){base, base_len, 0};
        s->base_left = base_bytes;
        s->out = (ZSTD_outBuffer){out, cap, 0};
        u->slices = s;
        if (set_up(s, bytes)) return u;
    }
    kl_unpack_free(u);
    return NULL;
}

void kl_unpack_free(struct kl_unpack *u) {
    if (!u) return;
    if (u->slices) {
        ZSTD_freeDCtx(u->slices->old);
        ZSTD_freeCCtx(u->slices->whole);
        free(u->slices);
    }
    ZSTD_freeDCtx(u->zstd);
    free(u);
}

/* --- a whole snapshot --- */

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

/* --- a difference --- */

static uint32_t slice_of(uint32_t left) {
    return left < KL_SNAPSHOT_SLICE ? left : KL_SNAPSHOT_SLICE;
}

/* Unpacks the base's slice, the dictionary of the next frame. Past the base's end there is none. */
static bool begin_slice(struct kl_unpack *u, struct slices *s) {
    ZSTD_outBuffer was = {s->was, slice_of(s->base_left), 0};
    while (was.pos < was.size) {
        size_t before = was.pos;
        if (ZSTD_isError(ZSTD_decompressStream(s->old, &was, &s->base)) || was.pos == before) return false;
    }
    s->base_left -= (uint32_t)was.size;
    s->got = 0;
    s->begun = true;
    return was.size == 0 || !ZSTD_isError(ZSTD_DCtx_refPrefix(u->zstd, s->was, was.size));
}

static bool end_slice(struct kl_unpack *u, struct slices *s) {
    ZSTD_inBuffer in = {s->is, s->got, 0};
    u->out += s->got;
    u->ended = u->out == u->bytes;
    s->begun = false;
    crypto_generichash_update(&u->hash, s->is, s->got);
    size_t more = ZSTD_compressStream2(s->whole, &s->out, &in, u->ended ? ZSTD_e_end : ZSTD_e_continue);
    return !ZSTD_isError(more) && in.pos == in.size && (!u->ended || more == 0);
}

/* A slice's bytes, as far as they are here. True: it is whole. */
static bool slice_comes(struct kl_unpack *u, struct slices *s, const uint8_t *packed, uint32_t len) {
    uint32_t wanted = slice_of(u->bytes - u->out);
    ZSTD_inBuffer in = {packed, len, u->at};
    ZSTD_outBuffer is = {s->is, wanted + 1, s->got};
    size_t more = ZSTD_decompressStream(u->zstd, &is, &in);
    u->at = (uint32_t)in.pos;
    s->got = (uint32_t)is.pos;
    u->failed = ZSTD_isError(more) || s->got > wanted || (more == 0 && s->got < wanted);
    return !u->failed && more == 0;
}

/* --- both --- */

bool kl_unpack_step(struct kl_unpack *u, const uint8_t *packed, uint32_t len) {
    uint32_t before = u->out;
    if (u->slices) {
        struct slices *s = u->slices;
        if (u->failed || u->ended || u->at == len) return false;
        if (!s->begun && !begin_slice(u, s)) u->failed = true;
        if (u->failed || !slice_comes(u, s, packed, len)) return false;
        u->failed = !end_slice(u, s);
        return !u->failed;
    }
    while (u->out - before < KL_UNPACK_STEP)
        if (!some(u, packed, len)) return false;
    return true;
}

uint64_t kl_unpack_done(const struct kl_unpack *u) {
    return u->slices ? (uint64_t)u->out * PACKING_COSTS : (uint64_t)u->out + u->at;
}

bool kl_unpack_failed(const struct kl_unpack *u) {
    return u->failed;
}

uint32_t kl_unpack_good(struct kl_unpack *u, uint32_t len, const uint8_t hash[32]) {
    uint8_t got[HASH];
    if (u->failed || !u->ended || u->at != len || u->out != u->bytes) return 0;
    crypto_generichash_final(&u->hash, got, sizeof got);
    if (sodium_memcmp(got, hash, sizeof got) != 0) return 0;
    return u->slices ? (uint32_t)u->slices->out.pos : len;
}
