#include "core_wrapper/world/archive.h"

#include <archive.h>
#include <archive_entry.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <xxhash.h>
#include <zlib.h>

#include "net/platform/library.h"
#include "net/platform/thread.h"

#define PIECE 65536

struct list {
    struct kl_archive_member *member;
    unsigned count;
    uint64_t bytes; /* unpacked so far */
};

bool kl_archive_is(const char *path) {
    const char *dot = strrchr(path, '.');
    return dot && (!strcasecmp(dot, ".zip") || !strcasecmp(dot, ".7z"));
}

/* --- members --- */

static struct kl_archive_member *add(struct list *l, const char *name, size_t len, char use) {
    if (l->count == KL_ARCHIVE_MEMBERS) return NULL;
    struct kl_archive_member *m = &l->member[l->count++];
    size_t from = len; /* without folders */
    while (from && name[from - 1] != '/' && name[from - 1] != '\\' && len - from < KL_ARCHIVE_NAME - 1)
        from--;
    *m = (struct kl_archive_member){.use = use};
    for (size_t i = from; i < len; i++) {
        bool plain = name[i] > ' ' && name[i] < 0x7f && !strchr("()=?\"", name[i]);
        m->name[i - from] = plain ? name[i] : '_';
    }
    return m;
}

/* No core takes code or data from these. */
static bool is_harmless(const char *name, size_t len) {
    static const char *const ends[] = {".txt", ".nfo",  ".diz", ".md",  ".htm", ".html", ".pdf", ".url",
                                       ".jpg", ".jpeg", ".png", ".gif", ".bmp", ".ico",  ".xml"};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        size_t n = strlen(ends[i]);
        if (len > n && !strncasecmp(name + len - n, ends[i], n)) return true;
    }
    return false;
}

struct sums {
    XXH3_state_t *xxh;
    uLong crc;
    uint64_t bytes;
};
static bool begin_sums(struct sums *s) {
    *s = (struct sums){.xxh = XXH3_createState(), .crc = crc32(0, NULL, 0)};
    return s->xxh && XXH3_64bits_reset(s->xxh) == XXH_OK;
}
static void add_sums(struct sums *s, const uint8_t *bytes, size_t len) {
    XXH3_64bits_update(s->xxh, bytes, len);
    s->crc = crc32_z(s->crc, bytes, len);
    s->bytes += len;
}
static void end_sums(struct sums *s, struct kl_archive_member *m) {
    m->crc = (uint32_t)s->crc;
    m->hash = s->xxh ? (uint32_t)XXH3_64bits_digest(s->xxh) : 0;
    XXH3_freeState(s->xxh);
}

/* --- zip (APPNOTE.TXT 4.3.7, 4.3.12, 4.3.16): no zip64, one disk, stored or deflated --- */

struct zip {
    const uint8_t *bytes;
    size_t len, directory; /* offset of the directory */
    unsigned count;
};
struct entry {
    const char *name; /* in the directory, without a NUL */
    uint32_t crc, packed, size, at;
    unsigned flags, method, name_len;
    size_t from, data, to,
        slack; /* from the local header to the end of the data; of the descriptor behind it */
};

static uint32_t le(const uint8_t *p, unsigned bytes) {
    uint32_t v = 0;
    for (unsigned i = 0; i < bytes; i++)
        v |= (uint32_t)p[i] << (8 * i);
    return v;
}

/* The end record is the last one within the last 64 KiB and 22 bytes, as all readers look for it. */
static bool find_directory(struct zip *z) {
    size_t stop = z->len > 65557 ? z->len - 65557 : 0;
    for (size_t at = z->len < 22 ? 0 : z->len - 22; z->len >= 22; at--) {
        const uint8_t *end = z->bytes + at;
        if (le(end, 4) == 0x06054b50) {
            z->count = le(end + 10, 2);
            z->directory = le(end + 16, 4);
            bool whole = (uint64_t)z->directory + le(end + 12, 4) == at;
            return whole && !le(end + 4, 4) && le(end + 8, 2) == z->count && z->count <= KL_ARCHIVE_MEMBERS;
        }
        if (at == stop) break;
    }
    return false;
}

size_t kl_archive_directory(const uint8_t *bytes, size_t len) {
    struct zip z = {.bytes = bytes, .len = len};
    return find_directory(&z) ? z.directory : 0;
}

/* The entry at `at` of the directory, and the place of its data. If directory and local header differ, some
 * readers believe the one and some the other: such a zip is none. Returns the next entry's offset; 0:
 * damaged. */
static size_t read_entry(const struct zip *z, size_t at, struct entry *e) {
    if (at > z->len || z->len - at < 46 || le(z->bytes + at, 4) != 0x02014b50) return 0;
    const uint8_t *h = z->bytes + at;
    *e = (struct entry){.name = (const char *)h + 46,
                        .flags = le(h + 8, 2),
                        .method = le(h + 10, 2),
                        .crc = le(h + 16, 4),
                        .packed = le(h + 20, 4),
                        .size = le(h + 24, 4),
                        .name_len = le(h + 28, 2),
                        .from = le(h + 42, 4)};
    size_t more = (size_t)e->name_len + le(h + 30, 2) + le(h + 32, 2);
    if (z->len - at - 46 < more || e->from > z->directory || z->directory - e->from < 30) return 0;
    const uint8_t *local = z->bytes + e->from;
    e->data = e->from + 30 + le(local + 26, 2) + le(local + 28, 2);
    if (le(local, 4) != 0x04034b50 || e->data > z->directory || z->directory - e->data < e->packed) return 0;
    e->to = e->data + e->packed;
    bool described = e->flags & 8;
    e->slack = described && z->directory - e->to >= 16 ? 16 : 0;
    bool same = le(local + 8, 2) == e->method && le(local + 6, 2) == e->flags &&
                (described || (le(local + 14, 4) == e->crc && le(local + 18, 4) == e->packed &&
                               le(local + 22, 4) == e->size));
    return same ? at + 46 + more : 0;
}

static bool was_read(const struct entry *e, const struct kl_archive_span *span, unsigned spans) {
    for (unsigned i = 0; i < spans; i++)
        if (span[i].from < e->to && span[i].to > e->from) return true;
    return false;
}

static bool inflate_entry(const struct zip *z, const struct entry *e, struct sums *sums) {
    static uint8_t out[PIECE]; /* under the mutex of kl_archive_list() */
    z_stream s = {.next_in = (Bytef *)z->bytes + e->data, .avail_in = e->packed};
    if (inflateInit2(&s, -MAX_WBITS) != Z_OK) return false;
    int r = Z_OK;
    while (r == Z_OK && sums->bytes <= e->size) {
        s.next_out = out;
        s.avail_out = sizeof out;
        r = inflate(&s, Z_NO_FLUSH);
        add_sums(sums, out, sizeof out - s.avail_out);
    }
    inflateEnd(&s);
    return r == Z_STREAM_END && sums->bytes == e->size;
}

static bool unpack_zip(const struct zip *z, const struct entry *e, struct kl_archive_member *m) {
    struct sums sums;
    bool encrypted = e->flags & 1, good = begin_sums(&sums) && !encrypted;
    if (good && e->method == 0 && e->packed == e->size)
        add_sums(&sums, z->bytes + e->data, e->packed);
    else
        good = good && e->method == 8 && inflate_entry(z, e, &sums);
    end_sums(&sums, m);
    return good;
}

/* The end of a member that holds the byte `at`, and what describes it; `at` itself if there is none. */
static uint64_t end_at(const struct entry *entry, unsigned count, uint64_t at) {
    uint64_t end = at;
    for (unsigned i = 0; i < count; i++)
        if (entry[i].from <= at && entry[i].to + entry[i].slack > end) end = entry[i].to + entry[i].slack;
    return end;
}

/* False: some byte that was read is no member's, so the reader sees other members than we do. */
static bool all_are_members(const struct zip *z, const struct entry *entry,
                            const struct kl_archive_span *span, unsigned spans) {
    for (unsigned i = 0; i < spans; i++) {
        uint64_t at = span[i].from, stop = span[i].to < z->directory ? span[i].to : z->directory;
        while (at < stop) {
            uint64_t next = end_at(entry, z->count, at);
            if (next == at) return false;
            at = next;
        }
    }
    return true;
}

static bool add_entry(const struct zip *z, const struct entry *e, char use, struct list *l) {
    if (e->name_len && e->name[e->name_len - 1] == '/' && !e->size) return true;
    if (use == KL_ARCHIVE_PERHAPS && is_harmless(e->name, e->name_len)) return true;
    l->bytes += e->size;
    struct kl_archive_member *m = l->bytes > KL_ARCHIVE_BYTES ? NULL : add(l, e->name, e->name_len, use);
    if (!m) return false;
    if (unpack_zip(z, e, m)) return true;
    l->count--;
    return use == KL_ARCHIVE_UNREAD; /* damaged, or packed in another way; nobody reads it */
}

static bool list_zip(const struct zip *z, const struct kl_archive_span *span, unsigned spans,
                     struct list *l) {
    struct entry *entry = calloc(z->count + 1, sizeof *entry);
    size_t at = z->directory;
    bool good = entry != NULL;
    for (unsigned i = 0; good && i < z->count; i++)
        good = (at = read_entry(z, at, &entry[i])) != 0;
    for (unsigned i = 0; good && i < z->count; i++) {
        char use = !span                              ? KL_ARCHIVE_PERHAPS
                   : was_read(&entry[i], span, spans) ? KL_ARCHIVE_READ
                                                      : KL_ARCHIVE_UNREAD;
        good = add_entry(z, &entry[i], use, l);
    }
    good = good && (!span || all_are_members(z, entry, span, spans));
    free(entry);
    return good;
}

/* --- 7z, by libarchive --- */

/* libarchive draws in a dozen libraries, for a kind of archive that most players never open. */
/* clang-format off */
#define CALLS(CALL)                                                                                          \
    CALL(read_new) CALL(read_support_format_7zip) CALL(read_open_memory) CALL(read_next_header)              \
    CALL(read_data) CALL(read_free) CALL(entry_pathname) CALL(entry_size) CALL(entry_filetype)
/* clang-format on */
#define FIELD(name) __typeof__(archive_##name) *name;
static struct { CALLS(FIELD) } la;

#ifdef _WIN32 /* it is linked, for no system brings it */
static bool has_libarchive(void) {
#define LINKED(name) la.name = archive_##name;
    CALLS(LINKED)
    return true;
}
#else
static bool has_libarchive(void) {
#define WANT(name) {"archive_" #name, (void **)&la.name},
    static const struct kl_library_symbol want[] = {CALLS(WANT)};
    char ignored[256];
    return la.entry_filetype ||
           kl_library_load("libarchive.so.13", want, sizeof want / sizeof *want, ignored, sizeof ignored);
}
#endif

static bool unpack_7z(struct archive *a, struct list *l, struct kl_archive_member *m) {
    static uint8_t out[PIECE];
    struct sums sums;
    la_ssize_t n;
    if (!begin_sums(&sums)) return false;
    while ((n = la.read_data(a, out, sizeof out)) > 0 && l->bytes <= KL_ARCHIVE_BYTES) {
        add_sums(&sums, out, (size_t)n);
        l->bytes += (uint64_t)n;
    }
    end_sums(&sums, m);
    return n == 0;
}

static bool list_7z(const uint8_t *bytes, size_t len, struct list *l) {
    struct archive_entry *e;
    struct archive *a = has_libarchive() ? la.read_new() : NULL;
    if (!a) return false;
    bool good =
        la.read_support_format_7zip(a) == ARCHIVE_OK && la.read_open_memory(a, bytes, len) == ARCHIVE_OK;
    int r = ARCHIVE_EOF;
    while (good && ((r = la.read_next_header(a, &e)) == ARCHIVE_OK || r == ARCHIVE_WARN)) {
        const char *name = la.entry_pathname(e); /* NULL: not in this language's letters */
        if (!name) name = "?";
        if (la.entry_filetype(e) != AE_IFREG || is_harmless(name, strlen(name))) continue;
        struct kl_archive_member *m = add(l, name, strlen(name), KL_ARCHIVE_PERHAPS);
        good = m && unpack_7z(a, l, m);
    }
    la.read_free(a);
    return good && r == ARCHIVE_EOF;
}

/* --- both --- */

int kl_archive_list(const uint8_t *bytes, size_t len, const struct kl_archive_span *span, unsigned spans,
                    struct kl_archive_member **out) {
    static const uint8_t magic_7z[6] = {'7', 'z', 0xbc, 0xaf, 0x27, 0x1c};
    static struct kl_mutex one_at_a_time; /* the core's thread, and the one that sums files up */
    struct list l = {.member = calloc(KL_ARCHIVE_MEMBERS, sizeof *l.member)};
    struct zip z = {.bytes = bytes, .len = len};
    bool good;
    *out = NULL;
    if (!l.member) return -1;
    kl_mutex_lock(&one_at_a_time);
    if (len >= sizeof magic_7z && !memcmp(bytes, magic_7z, sizeof magic_7z))
        good = list_7z(bytes, len, &l);
    else
        good = find_directory(&z) && list_zip(&z, span, spans, &l);
    kl_mutex_unlock(&one_at_a_time);
    if (!good) {
        free(l.member);
        return -1;
    }
    *out = l.member;
    return (int)l.count;
}
