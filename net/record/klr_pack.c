#include "net/record/klr_pack.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <zstd.h>

#include "net/engine/wire.h"
#include "net/platform/file.h"
#include "net/record/klr.h"
#include "net/record/klr_body.h"

#define LEVEL 9 /* of zstd's */

/* Before each zstd frame: a frame that zstd passes over, of 16 bytes. */
#define SKIPPED       0x184D2A5Bu
#define SKIPPED_BYTES (KL_KLR_CHECK + 8u)
#define BEFORE        (8 + SKIPPED_BYTES)
#define CHECKED_FROM  (8 + KL_KLR_CHECK) /* the lengths and the zstd frame */

static struct kl_klr_place beginning(void) {
    struct kl_klr_place p = kl_klr_begin();
    p.at = 0;
    return p;
}

/* Of the packed frame at p. */
static void check_of(const struct kl_klr_place *p, const uint8_t *bytes, size_t packed,
                     uint8_t check[KL_KLR_CHECK]) {
    kl_klr_check(p, 0, bytes + CHECKED_FROM, BEFORE - CHECKED_FROM + packed, check);
}

/* --- packing --- */

struct packing {
    ZSTD_CCtx *zstd;
    struct kl_klr_place place;
    uint8_t *out;
    size_t cap;
    uint8_t *bare; /* blocks of the next packed frame, without their checks: those say nothing more */
    size_t bare_len;
};

static void add_bare(struct packing *p, const uint8_t *bytes, size_t len) {
    memcpy(p->bare + p->bare_len, bytes, len);
    p->bare_len += len;
}

static bool add_frame(struct packing *p) {
    uint8_t *to = p->out + p->place.at, check[KL_KLR_CHECK];
    if (p->cap - p->place.at < BEFORE) return false;
    size_t packed = ZSTD_compress2(p->zstd, to + BEFORE, p->cap - p->place.at - BEFORE, p->bare, p->bare_len);
    if (ZSTD_isError(packed)) return false;
    struct kl_writer w = kl_writer(to + CHECKED_FROM, BEFORE - CHECKED_FROM);
    kl_write_u32(&w, (uint32_t)packed);
    kl_write_u32(&w, (uint32_t)p->bare_len);
    check_of(&p->place, to, packed, check);
    w = kl_writer(to, CHECKED_FROM);
    kl_write_u32(&w, SKIPPED);
    kl_write_u32(&w, SKIPPED_BYTES);
    kl_write_bytes(&w, check, sizeof check);
    memcpy(p->place.check, check, sizeof check);
    p->place.at += BEFORE + packed;
    p->bare_len = 0;
    return true;
}

/* Of PIECES: a piece is u32 first, u8 count, frames. */
static unsigned count_frames(const struct kl_klr_cursor *c) {
    const uint8_t *piece;
    unsigned frames = 0;
    size_t len;
    struct kl_reader r = kl_reader(c->body, c->body_len);
    while ((piece = kl_klr_read_piece(&r, &len)))
        frames += len > 4 ? piece[4] : 0;
    return frames;
}

/* NULL, or why it cannot be packed. */
static const char *add_all(struct packing *p, const uint8_t *bytes, size_t len) {
    struct kl_klr_cursor c;
    enum kl_klr_next next;
    unsigned frames = 0;
    bool ended = false;
    if (!kl_klr_open(&c, bytes, len)) return "it begins otherwise than a recording";
    add_bare(p, bytes, KL_KLR_MAGIC);
    while ((next = kl_klr_next(&c)) == KL_KLR_BLOCK) {
        ended = c.type == KL_KLR_END;
        add_bare(p, c.body - KL_KLR_BEFORE, KL_KLR_BEFORE + c.body_len);
        if (c.type == KL_KLR_PIECES) frames += count_frames(&c);
        if (frames < KL_KLR_MINUTE_FRAMES && c.place.at < len) continue;
        if (!add_frame(p)) return "no memory to pack it";
        frames = 0;
    }
    if (next != KL_KLR_WHOLE) return "it is damaged";
    return ended ? NULL : "it has no end";
}

static const char *pack(struct packing *p, const uint8_t *bytes, size_t len) {
    const char *why = "no memory to pack it";
    p->place = beginning();
    p->cap = 2 * len + BEFORE; /* no closed recording becomes larger than that */
    p->out = malloc(p->cap);
    p->bare = malloc(len);
    p->zstd = ZSTD_createCCtx();
    if (p->out && p->bare && p->zstd) {
        ZSTD_CCtx_setParameter(p->zstd, ZSTD_c_compressionLevel, LEVEL);
        ZSTD_CCtx_setParameter(p->zstd, ZSTD_c_checksumFlag, 1); /* so that zstd finds damage, too */
        why = add_all(p, bytes, len);
    }
    ZSTD_freeCCtx(p->zstd);
    free(p->bare);
    return why;
}

int kl_klr_pack(const char *path, char *err, size_t err_len) {
    struct packing p = {0};
    void *bytes;
    size_t len;
    if (kl_file_read(path, KL_KLR_PACK_MAX, 0, &bytes, &len, err, err_len) != 0) return -1;
    const char *why = NULL;
    int result = 0;
    if (!kl_klr_is_packed(bytes, len)) {
        why = pack(&p, bytes, len);
        if (!why) result = kl_file_write_whole(path, p.out, p.place.at, 0, err, err_len);
    }
    free(p.out);
    free(bytes);
    if (!why) return result;
    snprintf(err, err_len, "cannot pack %s: %s", path, why);
    return -1;
}

/* --- unpacking --- */

bool kl_klr_is_packed(const uint8_t *bytes, size_t len) {
    struct kl_reader r = kl_reader(bytes, len);
    return kl_read_u32(&r) == SKIPPED && kl_read_u32(&r) == SKIPPED_BYTES && !r.failed;
}

/* The lengths of the packed frame there; its damage, or "". */
static const char *look_at(const struct kl_klr_place *p, const uint8_t *bytes, uint64_t left,
                           uint32_t *packed, uint32_t *unpacked) {
    uint8_t check[KL_KLR_CHECK];
    if (left < BEFORE) return "the file ends within it";
    if (!kl_klr_is_packed(bytes, BEFORE)) return "its check is wrong";
    struct kl_reader r = kl_reader(bytes + CHECKED_FROM, BEFORE - CHECKED_FROM);
    *packed = kl_read_u32(&r);
    *unpacked = kl_read_u32(&r);
    if (*packed > left - BEFORE) return "the file ends within it";
    check_of(p, bytes, *packed, check);
    return memcmp(check, bytes + 8, sizeof check) == 0 ? "" : "its check is wrong";
}

/* Makes room for the blocks of so many bytes, with their checks. */
static bool grow(struct kl_klr_unpacked *u, uint32_t bytes) {
    uint8_t *more = realloc(u->bytes, u->len + bytes + bytes / KL_KLR_BEFORE * KL_KLR_CHECK + 1);
    if (more) u->bytes = more;
    return more != NULL;
}

static void put(struct kl_klr_unpacked *u, const void *bytes, size_t len) {
    memcpy(u->bytes + u->len, bytes, len);
    u->len += len;
}

/* Blocks with their checks, the first of the file at `end`, which moves. False: they are not whole. */
static bool put_blocks(struct kl_klr_unpacked *u, struct kl_klr_place *end, const uint8_t *bare, size_t len) {
    struct kl_reader r = kl_reader(bare, len);
    if (u->frames == 0) {
        const uint8_t *magic = kl_read_bytes(&r, KL_KLR_MAGIC);
        if (!magic) return false;
        put(u, magic, KL_KLR_MAGIC);
    }
    while (kl_reader_left(&r)) {
        uint32_t body_len = kl_read_u32(&r);
        uint8_t type = kl_read_u8(&r);
        const uint8_t *body = kl_read_bytes(&r, body_len);
        if (!body) return false;
        struct kl_klr_around a = kl_klr_around(end, type, body, body_len);
        put(u, a.before, sizeof a.before);
        put(u, body, body_len);
        put(u, a.check, sizeof a.check);
    }
    return true;
}

static int too_large(const char *name, size_t most, uint64_t bytes, char *err, size_t err_len) {
    snprintf(err, err_len, "%s: expected a recording of %zu bytes at most, unpacked; got %" PRIu64, name,
             most, bytes);
    return -1;
}

int kl_klr_unpack_most(struct kl_klr_unpacked *u, size_t most, const uint8_t *packed, size_t len,
                       const char *name, char *err, size_t err_len) {
    struct kl_klr_place p = beginning(), end = kl_klr_begin();
    uint32_t from = 0, to = 0;
    uint8_t *bare;
    *u = (struct kl_klr_unpacked){.damage = ""};
    for (; p.at < len; u->frames++) {
        const uint8_t *bytes = packed + p.at;
        u->damage = look_at(&p, bytes, len - p.at, &from, &to);
        if (*u->damage) break;
        if (to > most - u->len) return too_large(name, most, (uint64_t)u->len + to, err, err_len);
        bare = malloc((size_t)to + 1);
        if (!bare || !grow(u, to)) {
            free(bare);
            snprintf(err, err_len, "%s: no memory to unpack it", name);
            return -1;
        }
        size_t before = u->len;
        bool good = ZSTD_decompress(bare, to, bytes + BEFORE, from) == to && put_blocks(u, &end, bare, to);
        free(bare);
        if (!good) {
            u->len = before;
            u->damage = "it does not unpack to the blocks that it should have";
            break;
        }
        if (u->len > most) return too_large(name, most, u->len, err, err_len); /* with the checks */
        memcpy(p.check, bytes + 8, sizeof p.check);
        p.at += BEFORE + (uint64_t)from;
    }
    u->at = p.at;
    return 0;
}

int kl_klr_unpack(struct kl_klr_unpacked *u, const uint8_t *packed, size_t len, const char *name, char *err,
                  size_t err_len) {
    return kl_klr_unpack_most(u, KL_KLR_BYTES_MAX, packed, len, name, err, err_len);
}
