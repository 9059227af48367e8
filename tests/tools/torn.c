/* torn FILE - a recording's bytes are torn at every byte of a megabyte, and one bit of them turned at
 * 10,000 places: the reader finds it every time, and names the block, or in the packed form the packed frame.
 * Reading all of an hour's match takes some 50 ms. So its reader of blocks goes on from the last whole block,
 * or of the packed form the unpacker reads; at each ALL-th place all is read, and its words are compared. Two
 * processes share the work. Prints what was looked at; exit status 1 at the first place that is not found. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core_wrapper/record/recording.h"
#include "net/engine/wire.h"
#include "net/platform/clock.h"
#include "net/platform/file.h"
#include "net/record/klr_pack.h"

#define TEAR_MAX (1u << 20) /* bytes of the file that are torn */
#define PACKED   251        /* bytes between two tears of the packed form */
#define ALL      1021       /* and between two, of either form, after which all is read */
#define ALL_BITS 20
#define BITS     10000
#define JOBS     2

/* A part that is good or bad as a whole: a block, or a packed frame. */
struct part {
    uint64_t end;
};
struct form {
    const char *name, *named; /* "block %u at byte " */
    uint8_t *bytes;
    size_t len;
    bool packed;
    struct part *part;
    unsigned parts;
};

static _Noreturn void die(const char *why) {
    fprintf(stderr, "torn: %s\n", why);
    exit(1);
}

static void add_part(struct form *f, uint64_t end) {
    if (f->parts % 1024 == 0) f->part = realloc(f->part, (f->parts + 1024) * sizeof *f->part);
    if (!f->part) die("out of memory");
    f->part[f->parts++].end = end;
}

static void find_parts(struct form *f) {
    struct kl_klr_cursor c;
    struct kl_reader r;
    if (f->packed)
        for (uint64_t at = 0; at < f->len; add_part(f, at)) {
            kl_reader_init(&r, f->bytes + at + 16, 4);
            at += 24 + kl_read_u32(&r);
        }
    else
        for (kl_klr_open(&c, f->bytes, f->len); kl_klr_next(&c) == KL_KLR_BLOCK;)
            add_part(f, c.place.at);
    if (!f->parts || f->part[f->parts - 1].end != f->len) die("expected a whole recording");
}

/* Parts that end at or below this byte. */
static unsigned parts_below(const struct form *f, uint64_t at) {
    unsigned lo = 0, hi = f->parts;
    while (lo < hi) {
        unsigned mid = (lo + hi) / 2;
        if (f->part[mid].end <= at)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

/* The reader stops before that part, and names it. between: the bytes end behind a part, so all of them are
 * good. */
static void expect(const struct form *f, const char *what, uint64_t place, size_t len, unsigned part,
                   bool between) {
    static struct kl_recording r;
    char err[1024], named[80];
    uint8_t *copy = malloc(len + 1); /* of this size: a sanitizer sees a read beyond it */
    if (!copy) die("out of memory");
    memcpy(copy, f->bytes, len);
    int result = kl_recording_parse(&r, copy, len, "torn", err, sizeof err);
    unsigned whole = f->packed ? r.packed_frames : r.blocks;
    snprintf(named, sizeof named, f->named, f->packed ? part + 1 : part);
    bool good = result == 0 && whole == part && !r.ended &&
                (between ? !*r.damage : !strncmp(r.damage, named, strlen(named)));
    if (!good) {
        fprintf(stderr, "torn: %s, %s %llu: expected \"%s\", got \"%s\" (%d, %u whole)\n", f->name, what,
                (unsigned long long)place, between ? "" : named, r.damage, result, whole);
        exit(1);
    }
    kl_recording_free(&r);
}

static void tear(const struct form *f, size_t len) {
    unsigned part = parts_below(f, len);
    uint64_t end = part ? f->part[part - 1].end : f->packed ? 0 : KL_KLR_MAGIC;
    expect(f, "torn at", len, len, part, len == end);
}

/* --- without the frames in the blocks --- */

static void unpack(const struct form *f, size_t len, unsigned part, bool between) {
    struct kl_klr_unpacked u;
    char err[1024];
    if (kl_klr_unpack(&u, f->bytes, len, "torn", err, sizeof err) != 0) die(err);
    if (u.frames != part || !*u.damage != between || u.at != (part ? f->part[part - 1].end : 0))
        die("a packed frame is not found");
    free(u.bytes);
}

/* The block that begins at c, with these bytes of the file, or changed. */
static void next_block(struct kl_klr_cursor c, size_t len, enum kl_klr_next expected) {
    uint64_t from = c.place.at;
    c.len = len;
    enum kl_klr_next is = kl_klr_next(&c);
    bool long_ago = expected == KL_KLR_DAMAGED && is == KL_KLR_TORN; /* of a length that is turned */
    if ((is != expected && !long_ago) || c.place.at != from) die("a block is not found");
}

static void tear_blocks(const struct form *f, size_t most) {
    struct kl_klr_cursor c;
    kl_klr_open(&c, f->bytes, f->len);
    for (size_t from = c.place.at; from < most; from = c.place.at) {
        struct kl_klr_cursor here = c;
        if (kl_klr_next(&c) != KL_KLR_BLOCK) die("expected a whole recording");
        next_block(here, from, KL_KLR_WHOLE);
        for (size_t len = from + 1; len < c.place.at && len < most; len++)
            next_block(here, len, KL_KLR_TORN);
    }
}

static void turn(struct form *f, uint64_t bit, bool all, struct kl_klr_cursor *c) {
    unsigned part = parts_below(f, bit / 8);
    while (!f->packed && part && c->place.at < f->part[part - 1].end)
        if (kl_klr_next(c) != KL_KLR_BLOCK) die("expected a whole recording");
    f->bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
    if (f->packed)
        unpack(f, f->len, part, false);
    else
        next_block(*c, f->len, KL_KLR_DAMAGED);
    if (all) expect(f, "bit", bit, f->len, part, false);
    f->bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
}

/* Without the first eight bytes it is no recording, or a packed one's length is not known. */
static void work(struct form *f, unsigned job) {
    size_t most = f->len < TEAR_MAX ? f->len : TEAR_MAX;
    struct kl_klr_cursor c;
    if (!f->packed) tear_blocks(f, most);
    for (size_t len = 24 + job * PACKED; f->packed && len < most; len += JOBS * PACKED) {
        unsigned part = parts_below(f, len);
        unpack(f, len, part, part && f->part[part - 1].end == len);
    }
    for (size_t len = KL_KLR_MAGIC + job * ALL; len < most; len += JOBS * ALL)
        tear(f, len);
    kl_klr_open(&c, f->bytes, f->len);
    for (uint64_t i = job; i < BITS; i += JOBS)
        turn(f, 8 * KL_KLR_MAGIC + i * (8 * (uint64_t)f->len - 8 * KL_KLR_MAGIC) / BITS + i % 8,
             i / JOBS % ALL_BITS == 0, &c);
}

static void look(struct form *f) {
    uint64_t begun_us = kl_now_us();
    int failed = 0;
    find_parts(f);
    for (unsigned job = 0; job < JOBS; job++) {
        pid_t child = fork();
        if (child < 0) die("cannot fork");
        if (child) continue;
        work(f, job);
        _exit(0);
    }
    for (int status, job = 0; job < JOBS; job++)
        if (wait(&status) < 0 || status) failed++;
    if (failed) exit(1);
    printf(
        "%s: %zu bytes in %u parts, torn at every %sbyte of %zu, a bit turned at %d places: found and named, "
        "%.0f s\n",
        f->name, f->len, f->parts, f->packed ? "251st " : "", f->len < TEAR_MAX ? f->len : (size_t)TEAR_MAX,
        BITS, (double)(kl_now_us() - begun_us) / 1e6);
    fflush(stdout);
}

int main(int argc, char **argv) {
    static struct kl_klr_unpacked u;
    static struct form packed = {.name = "packed",
                                 .named = "in the packed frame %u, minute ",
                                 .packed = true},
                       flat = {.name = "unpacked", .named = "block %u at byte "};
    char err[1024];
    if (argc != 2) die("expected a packed recording");
    if (kl_file_read(argv[1], KL_KLR_BYTES_MAX, 0, (void **)&packed.bytes, &packed.len, err, sizeof err) != 0)
        die(err);
    if (!kl_klr_is_packed(packed.bytes, packed.len)) die("expected a packed recording");
    if (kl_klr_unpack(&u, packed.bytes, packed.len, argv[1], err, sizeof err) != 0 || *u.damage)
        die("it is damaged");
    flat.bytes = u.bytes;
    flat.len = u.len;
    look(&flat);
    look(&packed);
    return 0;
}
