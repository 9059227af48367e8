/* Files as a program uses them, on each system: read, written whole, copied, linked, locked. Each error names
 * the path, and the file that was there is there still. */
#include "tests/unit/folder.h"

#include <errno.h>

#include "net/platform/clock.h"
#include "net/platform/process.h"

#define LONG_MS 30000 /* never reached if all is well */

TEST_WITH(reading, make_folder, remove_folder) {
    put("a", "abc");
    put("empty", "");
    put("lines", "a\r\nb\x1a\n");
    has("a", "abc");
    has("empty", "");
    has("lines", "a\r\nb\x1a\n"); /* bytes, never text */
    refuses("none", 10, 0, KL_FILE_ABSENT, "No such file");
    refuses("no/such", 10, 0, KL_FILE_ABSENT, "No such file");
    refuses("a", 2, 0, -1, "expected at most 2 bytes, found 3");
    refuses("", 10, 0, -1, "a plain file was expected");
    void *bytes = NULL;
    size_t len;
    open_to_others("a");
    refuses("a", 10, KL_FILE_PRIVATE, -1, "it may be read by others: expected");
    assert_int_equal(kl_file_read(DISK_DEVICE, 10, 0, &bytes, &len, err, sizeof err), -1);
    says("a plain file was expected", DISK_DEVICE);
}

TEST_WITH(mapping, make_folder, remove_folder) {
    const void *bytes;
    size_t len;
    put("a", "abc");
    put("empty", "");
    assert_int_equal(kl_file_map(at("a"), &bytes, &len), 0);
    assert_int_equal(len, 3);
    assert_memory_equal(bytes, "abc", 3);
    kl_file_unmap(bytes, len);
    assert_int_equal(kl_file_map(at("empty"), &bytes, &len), 0);
    assert_int_equal(len, 0);
    kl_file_unmap(bytes, len);
    assert_int_equal(kl_file_map(at("none"), &bytes, &len), -1);
    assert_int_equal(kl_file_map(dir, &bytes, &len), -1);
}

TEST_WITH(streams, make_folder, remove_folder) {
    char text[16] = "";
    FILE *f = kl_file_stream(at("\u30b2\u30fc\u30e0 \u0130\u015f"), "w");
    assert_non_null(f);
    assert_true(fputs("a\nb\x1a", f) >= 0 && fclose(f) == 0);
    has("\u30b2\u30fc\u30e0 \u0130\u015f", "a\nb\x1a");
    assert_non_null(f = kl_file_stream(at("\u30b2\u30fc\u30e0 \u0130\u015f"), "r+"));
    assert_int_equal(fread(text, 1, 3, f), 3);
    assert_string_equal(text, "a\nb");
    assert_int_equal(fseek(f, 0, SEEK_SET), 0);
    assert_true(fputs("c", f) >= 0 && fclose(f) == 0);
    has("\u30b2\u30fc\u30e0 \u0130\u015f", "c\nb\x1a");
    assert_non_null(f = kl_file_stream(at("\u30b2\u30fc\u30e0 \u0130\u015f"), "w+"));
    fclose(f);
    has("\u30b2\u30fc\u30e0 \u0130\u015f", "");
    errno = 0;
    assert_null(kl_file_stream(at("none"), "r"));
    assert_int_equal(errno, ENOENT);
    assert_null(kl_file_stream(at("no/such"), "w"));
    assert_null(kl_file_stream(at("none"), "r+"));
}

TEST_WITH(paths_in_ascii, make_folder, remove_folder) {
    char path[1024], small[8];
    put("plain", "abc");
    assert_true(kl_file_ascii_path(path, sizeof path, at("plain")));
    assert_string_equal(path, at("plain"));
    assert_false(kl_file_ascii_path(small, sizeof small, at("plain")));
    assert_int_equal(kl_dir_make(at("\u30b2\u30fc\u30e0 \u0130"), true, err, sizeof err), 0);
    assert_int_equal(
        kl_file_write_whole(at("\u30b2\u30fc\u30e0 \u0130/\u015f x.nes"), "found", 5, 0, err, sizeof err), 0);
    assert_true(kl_file_ascii_path(path, sizeof path, at("\u30b2\u30fc\u30e0 \u0130/\u015f x.nes")));
    void *bytes;
    size_t len;
    assert_int_equal(kl_file_read(path, 10, 0, &bytes, &len, err, sizeof err), 0); /* the same file */
    assert_string_equal(bytes, "found");
    free(bytes);
#ifdef _WIN32
    for (const char *c = path; *c; c++)
        assert_true((unsigned char)*c < 0x80);
    assert_false(kl_file_ascii_path(path, sizeof path, at("none \u015f")));
#endif
}

TEST_WITH(writing_keeps_rights, make_folder, remove_folder) {
    assert_int_equal(save("usual", "1", 0), 0);
    open_to_others("usual");
    assert_int_equal(save("usual", "22", 0), 0);
    has("usual", "22");
    assert_false(is_private("usual"));
    assert_int_equal(save("private", "1", KL_FILE_PRIVATE), 0);
    assert_true(is_private("private"));
    assert_int_equal(save("private", "22", 0), 0); /* one that is there keeps them */
    assert_true(is_private("private"));
    open_to_others("private");
    assert_int_equal(save("private", "22", KL_FILE_PRIVATE), 0); /* but for a private one */
    assert_true(is_private("private"));
    assert_int_equal(save("private", "333", KL_FILE_PRIVATE | KL_FILE_KEEP), KL_FILE_KEPT);
    has("private", "22");
    assert_int_equal(save("fresh", "4", KL_FILE_PRIVATE | KL_FILE_KEEP), 0);
    has("fresh", "4");
    has_names(3);
}

TEST_WITH(a_missing_folder_is_named, make_folder, remove_folder) {
    assert_int_equal(save("no/such", "x", 0), -1);
    says("cannot write", at("no/such"));
    put("file", "abc");
    assert_int_equal(save("file/below", "x", 0), -1);
    says(DISK_NO_DIRECTORY, at("file/below"));
    assert_int_equal(kl_dir_make_new(at("dir"), err, sizeof err), 0);
    assert_int_equal(save("dir", "x", 0), -1); /* a folder is not replaced */
    says("cannot write", at("dir"));
    has("file", "abc");
    has_names(2);
}

/* --- other processes --- */

static struct kl_process start(const char *word, const char *more) {
    const char *arguments[] = {"test_platform_file", "CHILD", word, dir, more, NULL};
    struct kl_process_setup setup = {.arguments = arguments};
    struct kl_process p;
    if (kl_process_start(&p, &setup, err, sizeof err) != 0) fail_msg("%s", err);
    return p;
}

static void hears(struct kl_process *p, const char *expected) {
    void *bytes;
    size_t len;
    assert_int_equal(kl_process_answer(p, 1000, LONG_MS, &bytes, &len), KL_PROCESS_OK);
    assert_string_equal(bytes, expected);
    free(bytes);
}

static void say(const char *text) {
    kl_process_tell(&(struct kl_process_part){text, strlen(text)}, 1);
}

static char text[2][200000];
static void make_texts(void) {
    memset(text[0], 'a', sizeof text[0]);
    memset(text[1], 'b', sizeof text[1]);
}

static void write_for_ever(unsigned until_told) {
    for (unsigned i = 0;; i++) {
        if (kl_file_write_whole(at("a"), text[i & 1], sizeof text[0], KL_FILE_QUICK, err, sizeof err) != 0)
            exit(1);
        if (i == until_told) say("ready");
    }
}

static int hand_down(void) {
    char path[KL_FILE_PATH];
    void *ignored;
    size_t len;
    say(kl_file_hand_down("abc", 3, path, sizeof path, err, sizeof err) == 0 ? path : err);
    while (!kl_process_hear(10, &ignored, &len)) /* a parent that says nothing kills it */
        kl_sleep_us(1000000);
    return 0;
}

static int be_child(int argc, char **argv) {
    struct kl_file lock;
    limit_s(40);
    if (argc < 4) return 2;
    snprintf(dir, sizeof dir, "%s", argv[3]);
    make_texts();
    if (!strcmp(argv[2], "write")) write_for_ever((unsigned)atoi(argv[4]));
    if (!strcmp(argv[2], "hand down")) return hand_down();
    if (kl_file_lock(&lock, at("lock"), false, err, sizeof err) != 0) return 1;
    say("locked");
    for (;;)
        kl_sleep_us(1000000);
}

/* A reader at any moment finds the old text or the new one; a writer that is killed leaves the old one. */
TEST_WITH(a_killed_writer_leaves_the_file_whole, make_folder, remove_folder) {
    char round_text[16];
    make_texts();
    for (unsigned round = 0; round < 10; round++) {
        snprintf(round_text, sizeof round_text, "%u", round);
        struct kl_process child = start("write", round_text);
        struct kl_process_end how;
        hears(&child, "ready");
        kl_process_end(&child, 0, &how);
        assert_true(how.killed);
        void *bytes;
        size_t len;
        assert_int_equal(kl_file_read(at("a"), 1 << 20, 0, &bytes, &len, err, sizeof err), 0);
        assert_int_equal(len, sizeof text[0]);
        assert_memory_equal(bytes, text[((const char *)bytes)[0] == 'b'], len);
        free(bytes);
    }
}

/* One process has it; it is free as soon as that process is killed. */
TEST_WITH(locking, make_folder, remove_folder) {
    struct kl_file lock;
    struct kl_process child = start("lock", NULL);
    hears(&child, "locked");
    assert_int_equal(kl_file_lock(&lock, at("lock"), false, err, sizeof err), KL_FILE_KEPT);
    assert_int_equal(lock.handle, -1);
    kl_process_end(&child, 0, NULL);
    assert_int_equal(kl_file_lock(&lock, at("lock"), true, err, sizeof err), 0);
    assert_true(is_private("lock"));
    kl_file_unlock(&lock, at("lock"));
    has_names(0);
    assert_int_equal(kl_file_lock(&lock, at("no/lock"), true, err, sizeof err), -1);
    says("cannot lock", at("no/lock"));
}

TEST_WITH(copies, make_folder, remove_folder) {
    put("a", "abc");
    assert_int_equal(kl_file_copy(at("a"), at("b"), 0, err, sizeof err), 0);
    has("b", "abc");
    assert_int_equal(kl_file_copy(at("a"), at("b"), 0, err, sizeof err), KL_FILE_KEPT);
    put("c", "abd");
    assert_false(kl_file_equal(at("a"), at("c")));
    assert_false(kl_file_equal(at("a"), at("none")));
    assert_int_equal(kl_file_copy(at("none"), at("c"), 0, err, sizeof err), -1);
    says("cannot read", at("none"));
    has("c", "abd");
    assert_int_equal(kl_file_copy(at("a"), at("c"), KL_FILE_PROGRAM, err, sizeof err), 0);
    assert_true(kl_file_equal(at("a"), at("c")));
}

TEST_WITH(no_link_leads_out, make_folder, remove_folder) {
    assert_int_equal(kl_dir_make_new(at("outside"), err, sizeof err), 0);
    assert_int_equal(below("one"), 0);
    assert_int_equal(below("a/b/c"), 0);
    has("a/b/c", "x");
    assert_true(is_private("a/b/c"));
    assert_int_equal(below("one"), -1); /* nothing is overwritten */
    says("File exists", "one");
    assert_int_equal(below("one/below"), -1);
    says("cannot make a folder for", "one/below");
    assert_true(disk_link_folder(at("outside"), dir, "l"));
    assert_true(kl_dir_exists(at("l")));
    assert_int_equal(below("l/c"), -1);
    says("cannot", "l/c");
    assert_int_equal(kl_file_kind_here(at("outside/c")), KL_FILE_IS_NONE);
    disk_unlink_folder(dir, "l");
#ifdef _WIN32
    static const char *const bad[] = {"con", "a/NUL.txt", "x:y", "a/b ", "c.", "a/com1/b", "lpt9", "tab\tb"};
    for (unsigned i = 0; i < COUNT(bad); i++) {
        assert_int_equal(below(bad[i]), -1);
        says("Windows has no file of the name", bad[i]);
    }
#endif
}

TEST_WITH(looking, make_folder, remove_folder) {
    char real[300], joined[20];
    put("a", "abc");
    assert_int_equal(
        kl_file_write_whole(at("program" DISK_PROGRAM), "#!", 2, KL_FILE_PROGRAM, err, sizeof err), 0);
    assert_int_equal(kl_file_kind(at("none")), KL_FILE_IS_NONE);
    assert_int_equal(kl_file_kind(at("a")), KL_FILE_IS_PLAIN);
    assert_int_equal(kl_file_kind_here(at("a")), KL_FILE_IS_PLAIN);
    assert_int_equal(kl_file_kind(dir), KL_FILE_IS_DIR);
    assert_int_equal(kl_file_kind(DISK_DEVICE), KL_FILE_IS_OTHER);
    assert_int_equal(kl_file_write_whole(DISK_DEVICE, "abc", 3, 0, err, sizeof err), 0); /* and stays one */
    assert_int_equal(kl_file_kind(DISK_DEVICE), KL_FILE_IS_OTHER);
    assert_true(kl_file_readable(at("a")) && !kl_file_readable(at("none")));
    assert_true(kl_file_runnable(at("program" DISK_PROGRAM)) && !kl_file_runnable(at("a")) &&
                !kl_file_runnable(dir));
    assert_true(kl_file_is_ours(at("a")) && !kl_file_is_ours(at("none")));
    assert_true(kl_file_real(at("a"), real, sizeof real));
    assert_string_equal(real, at("a"));
    assert_false(kl_file_real(at("a"), real, strlen(at("a"))));
    assert_false(kl_file_real(at("none"), real, sizeof real));
    assert_int_equal(errno, ENOENT);
    assert_int_equal(kl_file_join(joined, sizeof joined, "/a", "b", err, sizeof err), 0);
    assert_string_equal(joined, "/a/b");
    assert_int_equal(kl_file_join(joined, 4, "/a", "b", err, sizeof err), -1);
    assert_non_null(strstr(err, "/a"));
    assert_int_equal(kl_file_join(joined, sizeof joined, "", "b", err, sizeof err), -1);
}

/* Also under names outside the code page, and onto a file that is there. */
TEST_WITH(renaming, make_folder, remove_folder) {
    char from[1024];
    assert_int_equal(save("old \u30b2", "abc", 0), 0);
    assert_int_equal(save("new \u0130", "x", 0), 0);
    snprintf(from, sizeof from, "%s", at("old \u30b2"));
    assert_true(kl_file_rename(from, at("new \u0130")));
    has("new \u0130", "abc");
    assert_int_equal(kl_file_kind(from), KL_FILE_IS_NONE);
    errno = 0;
    assert_false(kl_file_rename(from, at("new \u0130")));
    assert_int_equal(errno, ENOENT);
    has("new \u0130", "abc");
}

/* On Windows without the right to make links, one is a second name of the file. */
TEST_WITH(linking, make_folder, remove_folder) {
    put("a", "abc");
    assert_int_equal(kl_file_link("a", at("second"), err, sizeof err), 0);
    has("second", "abc");
    assert_true(kl_file_links_to(at("second"), "a"));
    assert_false(kl_file_links_to(at("second"), "ab"));
    assert_false(kl_file_links_to(at("a"), "a"));
    assert_int_equal(kl_file_link("a", at("second"), err, sizeof err), -1);
    says("File exists", at("second"));
    assert_int_equal(kl_file_remove(at("second"), err, sizeof err), 0);
    assert_int_equal(kl_file_remove(at("second"), err, sizeof err), KL_FILE_ABSENT);
    has("a", "abc");
    put("b", "b");
    char target[1024];
    snprintf(target, sizeof target, "%s", at("b"));
    assert_int_equal(kl_file_link(target, at("third"), err, sizeof err), 0);
    assert_true(kl_file_links_to(at("third"), target));
    assert_int_equal(kl_file_remove(dir, err, sizeof err), -1);
    says("cannot remove", dir);
    disk_forbid_writing(at("b"), true);
    assert_int_equal(kl_file_remove(at("b"), err, sizeof err),
                     0); /* it is protected from writing, its folder is not */
}

/* No code page holds both names. */
TEST_WITH(names_of_many_people, make_folder, remove_folder) {
    static const char *const names[] = {"\u30b2\u30fc\u30e0 \u30bb\u30fc\u30d6.srm",
                                        "\u0130stanbul \u011f\u015f\u0131.srm", "\U0001f3ae.srm"};
    struct kl_dir_list list;
    char real[400];
    for (unsigned i = 0; i < COUNT(names); i++) {
        assert_int_equal(save(names[i], "1", 0), 0);
        assert_int_equal(save(names[i], "new", 0), 0);
        has(names[i], "new");
        assert_int_equal(kl_file_write_below(dir, at(names[i]) + strlen(dir) + 1, "x", 1, err, sizeof err),
                         -1);
        says("File exists", names[i]);
        assert_true(kl_file_real(at(names[i]), real, sizeof real));
        assert_string_equal(real, at(names[i]));
    }
    assert_int_equal(kl_dir_list(&list, dir, ".srm", err, sizeof err), 0);
    assert_int_equal(list.count, COUNT(names));
    assert_string_equal(list.name[0], names[1]); /* in the order of bytes */
    assert_string_equal(list.name[1], names[0]);
    assert_string_equal(list.name[2], names[2]);
    kl_dir_list_free(&list);
    for (unsigned i = 0; i < COUNT(names); i++)
        assert_int_equal(kl_file_remove(at(names[i]), err, sizeof err), 0);
    has_names(0);
#ifdef _WIN32
    assert_int_equal(save("\xff\xfe", "x", 0), -1);
    says("the name is not valid UTF-8", dir);
    assert_int_equal(kl_file_kind(at("\xc3(")), KL_FILE_IS_NONE);
#endif
}

/* Windows's own limit is 260 characters. */
TEST_WITH(a_path_may_be_long, make_folder, remove_folder) {
    char name[700] = "", folder[700], got[4];
    struct kl_file f;
    struct kl_file_part part = {"ab", 2};
    for (unsigned i = 0; i < 9; i++)
        strcat(name, "\u30d5\u30a9\u30eb\u30c0 with a name that is long/");
    snprintf(folder, sizeof folder, "%s", at(name));
    assert_int_equal(kl_dir_make(folder, true, err, sizeof err), 0);
    assert_true(kl_dir_exists(folder) && kl_dir_writable(folder) && !kl_dir_others_write(folder));
    strcat(name, "file");
    assert_true(strlen(at(name)) > 300 /* and more than 260 characters */);
    assert_int_equal(save(name, "abc", 0), 0);
    assert_int_equal(save(name, "new", KL_FILE_PRIVATE), 0);
    has(name, "new");
    assert_int_equal(kl_file_kind(at(name)), KL_FILE_IS_PLAIN);
    char whole[1024];
    assert_int_equal(kl_file_join(whole, sizeof whole, folder, "log", err, sizeof err), 0);
    assert_int_equal(kl_file_open(&f, whole, true, got, sizeof got), 0);
    assert_int_equal(kl_file_append(&f, 0, &part, 1, got, sizeof got), 0);
    kl_file_close(&f);
    assert_int_equal(kl_file_copy(at(name), whole, 0, err, sizeof err), 0);
    assert_int_equal(kl_file_remove(whole, err, sizeof err), 0);
    assert_int_equal(kl_file_write_below(folder, "x/y", "x", 1, err, sizeof err), 0);
    struct kl_dir_list list;
    assert_int_equal(kl_dir_list(&list, folder, "", err, sizeof err), 0);
    assert_int_equal(list.count, 2);
    kl_dir_list_free(&list);
}

TEST_WITH(paths_are_absolute_or_not, make_folder, remove_folder) {
    char path[] = "C:\\a\\b";
    kl_file_use_slashes(path);
    assert_false(kl_file_is_absolute("") || kl_file_is_absolute("a") || kl_file_is_absolute("./a"));
#ifdef _WIN32
    assert_string_equal(path, "C:/a/b");
    assert_true(kl_file_is_absolute("C:/a") && kl_file_is_absolute("C:\\a") &&
                kl_file_is_absolute("\\\\s\\a"));
    assert_false(kl_file_is_absolute("/a") || kl_file_is_absolute("C:a") || kl_file_is_absolute("C:"));
#else
    assert_string_equal(path, "C:\\a\\b"); /* a name */
    assert_true(kl_file_is_absolute("/a"));
#endif
}

TEST_WITH(names_of_every_system, make_folder, remove_folder) {
    static const char *const good[] = {"a",       ".hidden", "a b.c", "\u3042.srm", "\u0130\u015f.srm",
                                       "console", "com",     "com10", "lpt1a",      "a.nul"},
                             *const bad[] = {"",     ".",        "..",        "a/b",     "a\\b",
                                             "a:b",  "a?",       "a*",        "a\"b",    "a|b",
                                             "<a",   "a>",       "a\n",       "a\x01",   "a.",
                                             "a ",   "con",      "NUL",       "nul.txt", "Aux .srm",
                                             "com1", "LPT9.x.y", "COM\u00b2", "conin$"};
    for (unsigned i = 0; i < COUNT(good); i++)
        if (!kl_file_name_portable(good[i])) fail_msg("\"%s\" was expected to be portable", good[i]);
    for (unsigned i = 0; i < COUNT(bad); i++)
        if (kl_file_name_portable(bad[i])) fail_msg("\"%s\" was expected not to be portable", bad[i]);
}

TEST_WITH(appending, make_folder, remove_folder) {
    struct kl_file f, second;
    const struct kl_file_part part[3] = {{"ab", 2}, {"", 0}, {"cd", 2}};
    char why[128] = "";
    uint8_t *bytes = NULL;
    uint64_t cap = 0, len;
    assert_int_equal(kl_file_open(&f, at("j"), false, why, sizeof why), KL_FILE_ABSENT);
    assert_int_equal(kl_file_open(&f, at("j"), true, why, sizeof why), 0);
    assert_int_equal(kl_file_open(&second, at("j"), true, why, sizeof why), -1);
    assert_string_equal(why, "File exists");
    assert_int_equal(second.handle, -1);
    assert_int_equal(kl_file_append(&f, 0, part, 3, why, sizeof why), 0);
    assert_int_equal(kl_file_append(&f, 4, part, 3, why, sizeof why), 0);
    has("j", "abcdabcd");
    assert_int_equal(kl_file_cut(&f, 5, why, sizeof why), 0);
    assert_int_equal(kl_file_read_open(&f, &bytes, &cap, &len, why, sizeof why), 0);
    assert_int_equal(len, 5);
    assert_memory_equal(bytes, "abcda", 5);
    free(bytes);
    kl_file_close(&f);
    kl_file_close(&f); /* harmless */
    open_to_others("j");
    assert_int_equal(kl_file_open(&f, at("j"), false, why, sizeof why), -1);
    assert_non_null(strstr(why, "others"));
}

TEST_WITH(bytes_are_handed_down, make_folder, remove_folder) {
    char path[KL_FILE_PATH];
    void *bytes;
    size_t len;
    assert_int_equal(kl_file_hand_down("abcd", 4, path, sizeof path, err, sizeof err), 0);
    assert_int_equal(kl_file_read(path, 10, 0, &bytes, &len, err, sizeof err), 0);
    assert_string_equal(bytes, "abcd");
    free(bytes);
}

#ifdef _WIN32
/* Linux's are in memory. */
TEST_WITH(nothing_handed_down_stays, make_folder, remove_folder) {
    void *name, *bytes;
    size_t len;
    char path[KL_FILE_PATH];
    struct kl_process child = start("hand down", NULL);
    assert_int_equal(kl_process_answer(&child, 1000, LONG_MS, &name, &len), KL_PROCESS_OK);
    assert_int_equal(kl_file_read(name, 10, KL_FILE_PRIVATE, &bytes, &len, err, sizeof err), 0);
    assert_string_equal(bytes, "abc");
    free(bytes);
    assert_int_equal(kl_process_send(&child, &(struct kl_process_part){"go", 2}, 1, LONG_MS), KL_PROCESS_OK);
    kl_process_end(&child, LONG_MS, NULL);
    assert_int_equal(kl_file_kind(name), KL_FILE_IS_NONE);
    free(name);
    child = start("hand down", NULL); /* it is killed: the next one that hands down removes what it left */
    assert_int_equal(kl_process_answer(&child, 1000, LONG_MS, &name, &len), KL_PROCESS_OK);
    kl_process_end(&child, 0, NULL);
    assert_int_equal(kl_file_kind(name), KL_FILE_IS_PLAIN);
    assert_int_equal(kl_file_hand_down("abcd", 4, path, sizeof path, err, sizeof err), 0);
    assert_int_equal(kl_file_kind(name), KL_FILE_IS_NONE);
    free(name);
}
#endif

int main(int argc, char **argv) {
    kl_process_begin(&argc, &argv);
    if (argc > 2 && !strcmp(argv[1], "CHILD")) return be_child(argc, argv);
    return run_all_tests(NULL, NULL);
}
