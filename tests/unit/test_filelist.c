/* The files that a set names. sums.h. */
#include "tests/unit/folder.h"

#include "core_wrapper/start/sums.h"

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
