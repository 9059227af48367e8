/* Archives by their members: which of them were read, their checksums by their bytes, and archives that are
 * judged whole instead. */
#include <stdio.h>
#include <stdlib.h>

#include "tests/unit/unit.h"
#include <archive.h>
#include <archive_entry.h>
#include <zlib.h>

#include "core_wrapper/world/archive.h"

#define CAP 65536
static uint8_t file[CAP];

/* --- writing --- */

struct part {
    const char *name, *text;
};
static const struct part usual[] = {
    {"game.prg", "program"}, {"dir/game.gfx", "graphics"}, {"readme.txt", "read me"}};

static size_t put(size_t at, uint64_t v, unsigned bytes) {
    for (unsigned i = 0; i < bytes; i++)
        file[at + i] = (uint8_t)(v >> (8 * i));
    return at + bytes;
}
static size_t put_head(size_t at, const struct part *p, unsigned method, size_t packed) {
    at = put(at, 20, 2);
    at = put(at, 0, 2);
    at = put(at, method, 2);
    at = put(at, 0, 4);
    at = put(at, crc32(0, (const Bytef *)p->text, (uInt)strlen(p->text)), 4);
    at = put(at, packed, 4);
    at = put(at, strlen(p->text), 4);
    at = put(at, strlen(p->name), 2);
    return put(at, 0, 2);
}
static size_t pack(const struct part *p, unsigned method, uint8_t *out) {
    size_t len = strlen(p->text);
    if (method == 0) {
        memcpy(out, p->text, len);
        return len;
    }
    z_stream s = {.next_in = (Bytef *)p->text, .avail_in = (uInt)len, .next_out = out, .avail_out = 1000};
    assert_int_equal(deflateInit2(&s, 9, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
    assert_int_equal(deflate(&s, Z_FINISH), Z_STREAM_END);
    deflateEnd(&s);
    return s.total_out;
}

/* from[i]: where the local header of member i begins; from[count]: the directory. */
static size_t write_zip(const struct part *part, unsigned count, unsigned method, size_t *from) {
    uint8_t packed[16][1000];
    size_t at = 0, len[16];
    memset(file, 0, sizeof file);
    for (unsigned i = 0; i < count; i++) {
        from[i] = at;
        len[i] = pack(&part[i], method, packed[i]);
        at = put_head(put(at, 0x04034b50, 4), &part[i], method, len[i]);
        memcpy(file + at, part[i].name, strlen(part[i].name));
        at += strlen(part[i].name);
        memcpy(file + at, packed[i], len[i]);
        at += len[i];
    }
    from[count] = at;
    for (unsigned i = 0; i < count; i++) {
        at = put_head(put(put(at, 0x02014b50, 4), 20, 2), &part[i], method, len[i]);
        at = put(put(at, 0, 10), from[i], 4);
        memcpy(file + at, part[i].name, strlen(part[i].name));
        at += strlen(part[i].name);
    }
    size_t end = at;
    at = put(put(at, 0x06054b50, 4), 0, 4);
    at = put(put(at, count, 2), count, 2);
    at = put(put(at, end - from[count], 4), from[count], 4);
    return put(at, 0, 2);
}

static size_t write_7z(const struct part *part, unsigned count, const char *compression) {
    struct archive *a = archive_write_new();
    size_t used = 0;
    archive_write_set_format_7zip(a);
    archive_write_set_options(a, compression);
    assert_int_equal(archive_write_open_memory(a, file, sizeof file, &used), ARCHIVE_OK);
    for (unsigned i = 0; i < count; i++) {
        struct archive_entry *e = archive_entry_new();
        archive_entry_set_pathname(e, part[i].name);
        archive_entry_set_size(e, (la_int64_t)strlen(part[i].text));
        archive_entry_set_filetype(e, AE_IFREG);
        assert_int_equal(archive_write_header(a, e), ARCHIVE_OK);
        assert_int_equal(archive_write_data(a, part[i].text, strlen(part[i].text)), strlen(part[i].text));
        archive_entry_free(e);
    }
    assert_int_equal(archive_write_close(a), ARCHIVE_OK);
    archive_write_free(a);
    return used;
}

/* --- reading --- */

static struct kl_archive_member *list;

/* From an allocation of exactly that size, so that a byte read past the end shows under a sanitizer. */
static int lists(size_t len, const struct kl_archive_span *span, unsigned spans) {
    uint8_t *exact = malloc(len + 1);
    free(list);
    memcpy(exact, file, len);
    int count = kl_archive_list(exact, len, span, spans, &list);
    free(exact);
    return count;
}
static int forget(void **state) {
    (void)state;
    free(list);
    list = NULL;
    return 0;
}

TEST_WITH(packing_does_not_count, NULL, forget) {
    size_t from[4];
    struct kl_archive_member stored[3], packed[3];
    assert_int_equal(lists(write_zip(usual, 3, 0, from), &(struct kl_archive_span){0, CAP}, 1), 3);
    memcpy(stored, list, sizeof stored);
    assert_int_equal(lists(write_zip(usual, 3, 8, from), &(struct kl_archive_span){0, CAP}, 1), 3);
    memcpy(packed, list, sizeof packed);
    assert_memory_equal(stored, packed, sizeof stored);
    assert_string_equal(stored[0].name, "game.prg");
    assert_string_equal(stored[1].name, "game.gfx");
    assert_int_equal(stored[0].crc, crc32(0, (const Bytef *)"program", 7));
    assert_int_equal(stored[0].use, KL_ARCHIVE_READ);
    static const char *const ways[] = {"compression=store", "compression=lzma1", "compression=lzma2"};
    for (unsigned i = 0; i < 3; i++) { /* the readme is nobody's code or data */
        assert_int_equal(lists(write_7z(usual, 3, ways[i]), NULL, 0), 2);
        assert_int_equal(list[1].use, KL_ARCHIVE_PERHAPS);
        list[0].use = list[1].use = KL_ARCHIVE_READ;
        assert_memory_equal(list, stored, 2 * sizeof *list);
    }
}

TEST_WITH(parts_that_were_read_count, NULL, forget) {
    size_t from[4], len = write_zip(usual, 3, 8, from);
    struct kl_archive_span one = {from[1] + 5, from[1] + 6},
                           both[] = {{from[0], from[0] + 1}, {from[2], from[3]}};
    assert_int_equal(lists(len, &one, 1), 3);
    assert_int_equal(list[0].use, KL_ARCHIVE_UNREAD);
    assert_int_equal(list[1].use, KL_ARCHIVE_READ);
    assert_int_equal(list[2].use, KL_ARCHIVE_UNREAD);
    assert_int_equal(lists(len, both, 2), 3);
    assert_int_equal(list[0].use, KL_ARCHIVE_READ);
    assert_int_equal(list[1].use, KL_ARCHIVE_UNREAD);
    assert_int_equal(list[2].use, KL_ARCHIVE_READ);
    assert_int_equal(lists(len, both, 0), 3);
    assert_int_equal(list[0].use, KL_ARCHIVE_UNREAD);
    assert_int_equal(lists(len, NULL, 0), 2); /* nobody knows */
    assert_int_equal(list[0].use, KL_ARCHIVE_PERHAPS);
}

/* The directory may state anything. */
TEST_WITH(stated_checksums_do_not_count, NULL, forget) {
    size_t from[4], len = write_zip(usual, 3, 0, from);
    struct kl_archive_span all = {0, from[3]};
    assert_int_equal(lists(len, &all, 1), 3);
    uint32_t crc = list[0].crc, hash = list[0].hash;
    file[from[0] + 30 + strlen(usual[0].name)] ^= 1;
    assert_int_equal(lists(len, &all, 1), 3);
    assert_int_not_equal(list[0].crc, crc);
    assert_int_not_equal(list[0].hash, hash);
}

/* Two readers could see different members in such a zip. */
TEST_WITH(doubtful_zips_are_none, NULL, forget) {
    size_t from[4], len = write_zip(usual, 3, 8, from);
    struct kl_archive_span all = {0, from[3]};
    const struct {
        size_t at;
        uint8_t byte;
    } changes[] = {
        {from[1] + 8, 0},                       /* the local header's method */
        {from[1] + 14, file[from[1] + 14] ^ 1}, /* its checksum */
        {from[1], 0},                           /* its signature */
        {from[3] + 8, 1},                       /* encrypted, as the directory says */
        {len - 6, 0xff},                        /* the directory's place */
        {len - 12, 4},                          /* the number of members */
        {from[3] + 42, 1},                      /* the place of the first */
    };
    for (unsigned i = 0; i < sizeof changes / sizeof *changes; i++) {
        uint8_t was = file[changes[i].at];
        file[changes[i].at] = changes[i].byte;
        assert_int_equal(lists(len, &all, 1), -1);
        file[changes[i].at] = was;
    }
    assert_int_equal(lists(len, &all, 1), 3);
}

/* Bytes between members may be what another reader takes for a member. */
TEST_WITH(reads_beside_members_are_doubtful, NULL, forget) {
    static const struct part one[] = {{"a", "aaaa"}, {"b", "bbbb"}};
    size_t from[3], len = write_zip(one, 2, 0, from);
    memmove(file + from[1] + 10, file + from[1], len - from[1]); /* a gap of 10 bytes */
    len += 10;
    put(len - 6, from[2] + 10, 4);
    put(from[2] + 10 + 46 + 1 + 42, from[1] + 10, 4);
    struct kl_archive_span before = {0, from[1]}, gap = {0, from[1] + 1};
    assert_int_equal(lists(len, &before, 1), 2);
    assert_int_equal(lists(len, &gap, 1), -1);
}

TEST_WITH(every_cut_is_taken_or_refused, NULL, forget) {
    size_t from[4], len = write_zip(usual, 3, 8, from);
    for (size_t cut = 0; cut < len; cut++)
        assert_int_equal(lists(cut, NULL, 0), -1);
    len = write_7z(usual, 3, "compression=lzma1");
    for (size_t cut = 0; cut < len; cut++)
        assert_int_equal(lists(cut, NULL, 0), -1);
}

TEST_WITH(a_7z_that_is_damaged_is_none, NULL, forget) {
    size_t len = write_7z(usual, 3, "compression=store");
    file[32] ^= 1; /* the first byte of the first member; its stated checksum is the old one */
    assert_int_equal(lists(len, NULL, 0), -1);
}
