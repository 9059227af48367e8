/* Checksums of files by a thread, what a room compares of them, and the files that a set names. sums.h,
 * identity.h. */
#include "tests/unit/folder.h"

#include <xxhash.h>

#include "core_wrapper/start/identity.h"
#include "core_wrapper/start/sums.h"
#include "net/platform/clock.h"

static struct kl_sums sums;

static int end(void **state) {
    kl_sums_close(&sums);
    kl_sums_close(&sums);
    return remove_folder(state);
}

TEST_WITH(a_sum_comes_and_follows_the_file, make_folder, end) {
    struct kl_sum sum = {0};
    put("a", "abc");
    assert_true(kl_sums_idle(&sums, 0)); /* nobody has asked */
    assert_int_equal(kl_sums_wait(&sums, at("a"), &sum), KL_SUM_KNOWN);
    assert_true(sum.hash == XXH3_64bits("abc", 3) && sum.bytes == 3 && sum.members == 0);
    assert_int_equal(kl_sums_get(&sums, at("a"), &sum), KL_SUM_KNOWN); /* not read again */
    put("a", "abcd");
    assert_int_equal(kl_sums_wait(&sums, at("a"), &sum), KL_SUM_KNOWN);
    assert_true(sum.hash == XXH3_64bits("abcd", 4));
    assert_int_equal(kl_sums_wait(&sums, at("b"), &sum), KL_SUM_MISSING);
    assert_int_equal(kl_sums_wait(&sums, dir, &sum), KL_SUM_MISSING);
    put("b", ""); /* it has come */
    assert_int_equal(kl_sums_wait(&sums, at("b"), &sum), KL_SUM_KNOWN);
    assert_int_equal(sum.bytes, 0);
}

/* A large file: the caller is not held up, sees progress, and may end it all in the middle. On Windows a file
 * with a hole is written in full. */
TEST_WITH(a_large_file_is_read_beside, make_folder, end) {
#ifdef _WIN32
    skip();
#endif
    struct kl_sum sum;
    uint64_t done, all, size = UINT64_C(64) << 30, from_us = kl_now_us();
    FILE *f = fopen(at("large"), "wb");
    assert_non_null(f);
    assert_int_equal(fseeko(f, (off_t)size - 1, SEEK_SET), 0); /* holes */
    if (fputc(0, f) == EOF || fclose(f) != 0) skip();
    assert_int_equal(kl_sums_get(&sums, at("large"), &sum), KL_SUM_BUSY);
    do {
        assert_int_equal(kl_sums_get(&sums, at("large"), &sum), KL_SUM_BUSY);
        kl_sums_progress(&sums, &done, &all);
        assert_true(all == size && kl_now_us() - from_us < 30000000);
    } while (!done);
    assert_false(kl_sums_idle(&sums, 0));
    kl_sums_close(&sums);
}

/* --- the facts --- */

static const char *value_of(const struct kl_facts *f, const char *key) {
    for (unsigned i = 0; i < f->count; i++)
        if (!strcmp(f->fact[i].key, key)) return f->fact[i].value;
    return NULL;
}

static void compute(struct kl_facts *f, const char *set, struct kl_world *w) {
    struct kl_content c = {.count = 1};
    char path[1024];
    snprintf(path, sizeof path, "%s", at(set));
    c.item[0].path = path;
    f->count = 0;
    kl_identity_ask_content(&c, &sums);
    kl_identity_files(f, w, NULL, &c, &sums);
}

TEST_WITH(files_that_a_set_names_are_facts, make_folder, end) {
    struct kl_facts room, you;
    char why[1024];
    struct kl_world *w = kl_world_take();
    put("game.m3u", "d1.cue\nd2.bin\n");
    put("d1.cue", "FILE \"d1.bin\" BINARY\n");
    put("d1.bin", "one");
    put("d2.bin", "two");
    compute(&room, "game.m3u", w);
    assert_int_equal(room.count, 3);
    assert_non_null(value_of(&room, "file d1.cue"));
    kl_world_note_file(w, at("d2.bin"), false); /* the core has opened it: it is the same fact */
    compute(&you, "game.m3u", w);
    assert_int_equal(kl_facts_differ(&room, &you, why, sizeof why), 0);
    put("d2.bin", "TWO");
    compute(&you, "game.m3u", w);
    assert_int_equal(kl_facts_differ(&room, &you, why, sizeof why), 1);
    assert_non_null(strstr(why, "file d2.bin differs: room has xxh3 "));
    assert_int_equal(kl_file_remove(at("d2.bin"), err, sizeof err), 0);
    compute(&you, "game.m3u", w);
    assert_string_equal(value_of(&you, "file d2.bin"), "missing (game.m3u names it)");
    assert_int_equal(kl_facts_differ(&room, &you, why, sizeof why), 1);
    assert_non_null(strstr(why, ", you have missing (game.m3u names it)"));
    kl_world_release(w);
}

/* Of many tracks some are folded; the one that is missing is not. */
TEST_WITH(a_missing_file_is_never_folded, make_folder, end) {
    struct kl_facts f;
    char text[2048] = "", name[32];
    struct kl_world *w = kl_world_take();
    for (unsigned i = 0; i < 40; i++) {
        snprintf(name, sizeof name, "t%02u.bin", i);
        snprintf(text + strlen(text), sizeof text - strlen(text), "FILE %s BINARY\n", name);
        if (i != 39) put(name, name);
    }
    put("game.cue", text);
    compute(&f, "game.cue", w);
    assert_non_null(value_of(&f, "more files"));
    assert_string_equal(value_of(&f, "file t39.bin"), "missing (game.cue names it)");
    kl_world_release(w);
}

/* --- a disk --- */

TEST_WITH(an_image_is_summed_with_its_tracks, make_folder, end) {
    char name[KL_FACT_KEY_MAX];
    struct kl_sum first, other;
    put("d.cue", "FILE \"d.bin\" BINARY\n");
    put("d.bin", "one");
    while (kl_identity_image(at("d.cue"), &sums, name, &first) == KL_SUM_BUSY)
        ;
    assert_int_equal(kl_identity_image(at("d.cue"), &sums, name, &first), KL_SUM_KNOWN);
    assert_string_equal(name, "d.cue");
    put("d.bin", "ONE");
    while (kl_identity_image(at("d.cue"), &sums, name, &other) == KL_SUM_BUSY)
        ;
    assert_int_equal(kl_identity_image(at("d.cue"), &sums, name, &other), KL_SUM_KNOWN);
    assert_true(first.hash != other.hash && first.bytes == other.bytes);
    assert_int_equal(kl_file_remove(at("d.bin"), err, sizeof err), 0);
    assert_int_equal(kl_identity_image(at("d.cue"), &sums, name, &other), KL_SUM_MISSING);
    assert_string_equal(name, "d.bin");
}

/* --- the text --- */

static char names[4096];

static bool join(void *ctx, unsigned index, const char *name) {
    (void)ctx;
    snprintf(names + strlen(names), sizeof names - strlen(names), "%u:%s;", index, name);
    return true;
}

static void parses(const char *kind, const char *text, const char *expected) {
    names[0] = 0;
    kl_filelist_parse(kind, text, strlen(text), join, NULL);
    assert_string_equal(names, expected);
}

TEST(names_of_each_kind) {
    parses("m3u", "#EXTM3U\r\ndisk 1.cue\r\n\r\n  disk 2.chd \n\"disk 3.zip\"\nlast.adf|Save disk",
           "0:disk 1.cue;1:disk 2.chd;2:disk 3.zip;3:last.adf;");
    parses("M3U", "\xef\xbb\xbfone.cue", "0:one.cue;");
    parses(
        "cue",
        "CATALOG 0123\nFILE \"track 01.bin\" BINARY\n  TRACK 01 MODE2/2352\nfile two.wav WAVE\nREM FILE no\n",
        "0:track 01.bin;1:two.wav;");
    parses("toc", "CD_ROM\nTRACK AUDIO\nAUDIOFILE \"a.wav\" 0\nDATAFILE \"b.bin\"\n", "0:a.wav;1:b.bin;");
    parses("gdi", "3\n1 0 4 2352 track01.bin 0\n2 756 0 2352 \"track 02.raw\" 0\n3 45000 4 2352\n",
           "0:track01.bin;1:track 02.raw;");
    parses("iso", "FILE \"a.bin\" BINARY\n", "");
    parses("cue", "FILE \"no end", "0:no end;");
    parses("cue", "FILE\nFILE \"\" BINARY\nFILE", "");
}

static bool count(void *ctx, unsigned index, const char *name) {
    (void)index, (void)name;
    ++*(unsigned *)ctx;
    return true;
}

TEST(nonsense_is_bounded) {
    static char text[KL_FILELIST_BYTES];
    unsigned n = 0;
    for (size_t i = 0; i < sizeof text; i += 2)
        memcpy(text + i, "a\n", 2);
    kl_filelist_parse("m3u", text, sizeof text, count, &n);
    assert_int_equal(n, KL_FILELIST_FILES);
    n = 0;
    memset(text, 'a', sizeof text); /* a name longer than any */
    kl_filelist_parse("m3u", text, sizeof text, count, &n);
    memset(text, 0, sizeof text);
    kl_filelist_parse("m3u", text, sizeof text, count, &n);
    kl_filelist_parse("m3u", text, 0, count, &n);
    assert_int_equal(n, 0);
}

/* --- files --- */

#ifdef _WIN32
#define SUB "sub" /* its folders take a name in any case */
#else
#define SUB "SUB"
#endif

static void lists(const char *set, const char *expected) {
    struct kl_filelist l = {0};
    names[0] = 0;
    kl_filelist_add(&l, at(set));
    for (unsigned i = 0; i < l.count; i++) {
        assert_memory_equal(l.path[i], dir, strlen(dir));
        join(NULL, i, l.path[i] + strlen(dir) + 1);
    }
    assert_string_equal(names, expected);
    kl_filelist_free(&l);
    assert_int_equal(l.count, 0);
}

TEST_WITH(a_set_names_files_that_name_others, make_folder, remove_folder) {
    put("game.m3u", "d1.cue\nd2.ccd\nlost.cue\nd1.cue\n");
    put("d1.cue", "FILE \"d1.bin\" BINARY\nFILE \"sub\\d1.wav\" WAVE\n");
    put("d2.ccd", "[CloneCD]\n");
    put("d2.img", "x");
    put("d2.SUB", "x");
    lists("game.m3u", "0:d1.cue;1:d1.bin;2:sub/d1.wav;3:d2.ccd;4:d2.img;5:d2." SUB ";6:lost.cue;");
    lists("d1.bin", "");
    lists("nothing.m3u", "");
}

TEST_WITH(a_circle_ends, make_folder, remove_folder) {
    put("a.m3u", "b.m3u\n");
    put("b.m3u", "a.m3u\nb.m3u\n");
    lists("a.m3u", "0:b.m3u;1:a.m3u;");
}

TEST_WITH(a_disk_by_its_number, make_folder, remove_folder) {
    char path[1024];
    put("game.m3u", "# two\nd1.cue\nd2.cue\n");
    assert_true(kl_filelist_disk(at("game.m3u"), 1, path, sizeof path));
    assert_string_equal(path, at("d2.cue"));
    assert_false(kl_filelist_disk(at("game.m3u"), 2, path, sizeof path));
    put("d1.cue", "FILE \"d1.bin\" BINARY\n");
    assert_false(kl_filelist_disk(at("d1.cue"), 0, path, sizeof path));
}

/* --- chd --- */

static void put_chd(const char *name, unsigned own, unsigned parent) {
    uint8_t head[124] = "MComprHD";
    head[11] = sizeof head;
    head[15] = 5;
    if (own) memset(head + 84, (int)own, 20);
    if (parent) memset(head + 104, (int)parent, 20);
    FILE *f = fopen(at(name), "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(head, 1, sizeof head, f), sizeof head);
    fclose(f);
}

TEST_WITH(the_parent_of_a_chd, make_folder, remove_folder) {
    put_chd("child.chd", 1, 2);
    put_chd("other.chd", 3, 0);
    lists("child.chd", "");
    put_chd("parent.chd", 2, 0);
    put("short.chd", "MComprHD");
    lists("child.chd", "0:parent.chd;");
    lists("other.chd", "");
    put_chd("self.chd", 7, 7);
    lists("self.chd", "0:self.chd;");
}
