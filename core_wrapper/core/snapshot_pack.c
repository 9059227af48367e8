#include "core_wrapper/core/snapshot_pack.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "net/engine/msg.h"

#define LEVEL 3 /* of zstd's */

static ZSTD_CCtx *packer(void) {
    ZSTD_CCtx *zstd = ZSTD_createCCtx();
    if (!zstd) return NULL;
    ZSTD_CCtx_setParameter(zstd, ZSTD_c_compressionLevel, LEVEL);
    ZSTD_CCtx_setParameter(zstd, ZSTD_c_windowLog, KL_SNAPSHOT_WINDOW_LOG);
    return zstd;
}

uint8_t *kl_snapshot_pack(const uint8_t *bytes, size_t len, size_t *packed_len) {
    size_t bound = ZSTD_compressBound(len);
    uint8_t *packed = malloc(bound);
    ZSTD_CCtx *zstd = packer();
    size_t n = packed && zstd ? ZSTD_compress2(zstd, packed, bound, bytes, len) : 0;
    ZSTD_freeCCtx(zstd);
    if (n && !ZSTD_isError(n)) {
        *packed_len = n;
        return packed;
    }
    free(packed);
    return NULL;
}

static size_t slice_of(size_t at, size_t len) {
    size_t left = at < len ? len - at : 0;
    return left < KL_SNAPSHOT_SLICE ? left : KL_SNAPSHOT_SLICE;
}

uint8_t *kl_snapshot_pack_against(const uint8_t *base, size_t base_len, const uint8_t *bytes, size_t len,
                                  size_t *packed_len) {
    size_t bound = (len / KL_SNAPSHOT_SLICE + 1) * ZSTD_compressBound(KL_SNAPSHOT_SLICE), n = 0;
    uint8_t *packed = malloc(bound);
    ZSTD_CCtx *zstd = packer();
    bool good = packed && zstd;
    for (size_t at = 0; good && at < len; at += KL_SNAPSHOT_SLICE) {
        size_t of_base = slice_of(at, base_len);
        if (of_base) ZSTD_CCtx_refPrefix(zstd, base + at, of_base); /* for this frame only */
        size_t got = ZSTD_compress2(zstd, packed + n, bound - n, bytes + at, slice_of(at, len));
        good = !ZSTD_isError(got);
        n += good ? got : 0;
    }
    ZSTD_freeCCtx(zstd);
    if (good) {
        *packed_len = n;
        return packed;
    }
    free(packed);
    return NULL;
}

uint8_t *kl_snapshot_unpack(const uint8_t *packed, size_t len, uint32_t bytes, const uint8_t hash[32]) {
    uint8_t is[KL_SNAPSHOT_HASH];
    if (bytes == 0 || bytes > KL_SNAPSHOT_MAX) return NULL;
    uint8_t *out = malloc(bytes);
    if (!out) return NULL;
    size_t n = ZSTD_decompress(out, bytes, packed, len);
    if (!ZSTD_isError(n) && n == bytes) {
        crypto_generichash(is, sizeof is, out, bytes, NULL, 0);
        if (memcmp(is, hash, sizeof is) == 0) return out;
    }
    free(out);
    return NULL;
}
