#include "net/relay/heal/unpack.h"

#include <stdlib.h>
#include <string.h>

#include <sodium.h>
#include <zstd.h>

#define HASH 32

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
