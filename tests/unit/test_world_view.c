/* The session's view of files: every way of opening, on files that are hidden, missing and present; what is
 * kept of them, and gone back to. The calls are those that a core gets in place of the C library's. */
#include "tests/unit/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#ifndef _WIN32
#include <sys/mman.h>
#endif

#include "core_wrapper/world/view.h"
#include "core_wrapper/world/world_private.h"
#include "tests/lib/probe_core.h"

#define EPOCH 946684800u

static char why[256];
static struct kl_world *world, *other;

static void *hook(const char *name) {
    static const struct kl_hook *const tables[] = {kl_world_file_hooks, kl_world_name_hooks,
                                                   kl_world_stream_hooks, kl_world_folder_hooks};
    for (unsigned i = 0; i < 4; i++)
        for (const struct kl_hook *h = tables[i]; h->name; h++)
            if (!strcmp(h->name, name)) return h->fn[world - kl_world_at];
    fail_msg("no %s", name);
    return NULL;
}
#define c_fopen(path, mode) ((FILE * (*)(const char *, const char *)) hook("fopen"))(path, mode)
#define c_fclose(f)         ((int (*)(FILE *))hook("fclose"))(f)
#define c_open(path, flags) ((int (*)(const char *, int, ...))hook("open"))(path, flags, 0644)
#define c_openat(at, path, flags)                                                                            \
    ((int (*)(int, const char *, int, ...))hook("openat"))(at, path, flags, 0644)
#define c_creat(path)      ((int (*)(const char *, mode_t))hook("creat"))(path, 0644)
#define c_close(fd)        ((int (*)(int))hook("close"))(fd)
#define c_access(path)     ((int (*)(const char *, int))hook("access"))(path, F_OK)
#define c_unlink(path)     ((int (*)(const char *))hook("unlink"))(path)
#define c_rename(from, to) ((int (*)(const char *, const char *))hook("rename"))(from, to)
#define c_mkdir(path)      ((int (*)(const char *, unsigned))hook("mkdir"))(path, 0755)
#ifndef _WIN32 /* Windows has no such calls, or other ones of that name */
#define c_stat(path, st) ((int (*)(const char *, struct stat *))hook("stat"))(path, st)
#define c_fstat(fd, st)  ((int (*)(int, struct stat *))hook("fstat"))(fd, st)
#define c_opendir(path)  ((DIR * (*)(const char *)) hook("opendir"))(path)
#define c_readdir(d)     ((struct dirent * (*)(DIR *)) hook("readdir"))(d)
#define c_rewinddir(d)   ((void (*)(DIR *))hook("rewinddir"))(d)
#define c_closedir(d)    ((int (*)(DIR *))hook("closedir"))(d)
#define c_scandir(path, out)                                                                                 \
    ((int (*)(const char *, struct dirent ***, void *, void *))hook("scandir"))(path, out, NULL, NULL)
#define c_mkstemp(name) ((int (*)(char *))hook("mkstemp"))(name)
#define c_tmpfile()     ((FILE * (*)(void)) hook("tmpfile"))()
#define c_mmap(fd, len)                                                                                      \
    ((void *(*)(void *, size_t, int, int, int, off_t))hook("mmap"))(NULL, len, PROT_READ | PROT_WRITE,       \
                                                                    MAP_SHARED, fd, 0)
#endif

/* A core's calls: on Linux the stream itself sees them. */
#ifdef _WIN32
#define fgetc(f)  ((int (*)(FILE *))hook("fgetc"))(f)
#define rewind(f) ((void (*)(FILE *))hook("rewind"))(f)
#define BYTES     O_BINARY
#else
#define BYTES 0
#endif

/* --- folders --- */

static const char *text_of(FILE *f, int (*close_it)(FILE *)) {
    static char text[8][64];
    static unsigned turn;
    char *t = text[turn++ % 8];
    if (!f) return "(none)";
    t[fread(t, 1, 63, f)] = 0;
    close_it(f);
    return t;
}
static const char *read_real(const char *path) {
    return text_of(fopen(path, "rb"), fclose);
}
/* As the core sees it. */
static const char *seen(const char *name) {
    return text_of(c_fopen(at(name), "rb"), (int (*)(FILE *))hook("fclose"));
}
static void writes(const char *name, const char *mode, const char *text) {
    FILE *f = c_fopen(at(name), mode);
    if (!f) fail_msg("%s by %s: %s", name, mode, strerror(errno));
    fputs(text, f);
    c_fclose(f);
}

/* system/hidden… is out of sight, as another game's files are; system/given is seen as
 * save/.keylock/given. */
static enum kl_sight sight(void *ctx, const char *path, char *out, size_t cap) {
    (void)ctx;
    if (strstr(path, "system/hidden")) return KL_SIGHT_HIDDEN;
    if (!strstr(path, "system/given")) return KL_SIGHT_PLAIN;
    snprintf(out, cap, "%s/save/.keylock/given", dir);
    return KL_SIGHT_GIVEN;
}

static void begin_view(struct kl_world *w, const char *save) {
    char folder[1200], own[1300];
    snprintf(folder, sizeof folder, "%s", at(save));
    snprintf(own, sizeof own, "%s.view", folder);
    assert_int_equal(kl_dir_make(folder, true, err, sizeof err), 0);
    const struct kl_view_folders f = {folder, own, at("system"), at("content"), sight, NULL};
    kl_world_view(w, &f);
}

static int set_up(void **state) {
    if (make_folder(state) != 0) return -1;
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(
            kl_dir_make(at((const char *[]){"system", "content", "save"}[i]), true, err, sizeof err), 0);
    put("system/present", "mine");
    put("system/hidden", "mine");
    put("system/given", "mine");
    put("content/game", "mine");
    put("save/old", "start");
    world = kl_world_take();
#ifdef _WIN32
    assert_int_equal(probe_runtime_turn(world), 0);
#else
    world->real.mmap = mmap; /* as the loader found it for the core */
#endif
    kl_world_start(world, EPOCH, 60000000);
    begin_view(world, "save");
    return 0;
}

static int tear_down(void **state) {
    if (other) kl_world_release(other);
    other = NULL;
    probe_runtime_close();
    kl_world_release(world);
    return remove_folder(state);
}

/* --- opening --- */

enum way { BY_FOPEN, BY_OPEN, BY_OPENAT, BY_CREAT };

/* The text of a file after the core has opened it in this way and written "new", if it could. */
static const char *after(enum way way, const char *mode, int flags, const char *name, bool *opened) {
    static char text[64];
    if (way == BY_FOPEN) {
        FILE *f = c_fopen(at(name), mode);
        *opened = f != NULL;
        if (f && (*mode != 'r' || mode[1] == '+')) fputs("new", f);
        if (f) c_fclose(f);
    } else {
#ifdef _WIN32
        int fd = way == BY_CREAT ? c_creat(at(name)) : c_open(at(name), flags | BYTES);
#else
        int folder = open(dir, O_RDONLY | O_DIRECTORY);
        int fd = way == BY_OPEN    ? c_open(at(name), flags)
                 : way == BY_CREAT ? c_creat(at(name))
                                   : c_openat(folder, name, flags);
        close(folder);
#endif
        *opened = fd >= 0;
        if (fd >= 0 && (way == BY_CREAT || (flags & O_ACCMODE) != O_RDONLY))
            assert_int_equal(write(fd, "new", 3), 3);
        if (fd >= 0) c_close(fd);
    }
    snprintf(text, sizeof text, "%s", seen(name));
    return text;
}

static const struct row {
    enum way way;
    const char *mode;
    int flags;
    const char *present, *missing; /* text of the file afterwards; NULL: it did not open */
} rows[] = {
    {BY_FOPEN, "rb", 0, "mine", NULL},
    {BY_FOPEN, "r+b", 0, "newe", NULL},
    {BY_FOPEN, "wb", 0, "new", "new"},
    {BY_FOPEN, "w+", 0, "new", "new"},
    {BY_FOPEN, "ab", 0, "minenew", "new"},
    {BY_FOPEN, "a+", 0, "minenew", "new"},
#ifndef _WIN32 /* Windows' older runtime has no such mode */
    {BY_FOPEN, "wx", 0, NULL, "new"},
    {BY_FOPEN, "w+bx", 0, NULL, "new"},
#endif
    {BY_OPEN, "", O_RDONLY, "mine", NULL},
    {BY_OPEN, "", O_RDWR, "newe", NULL},
    {BY_OPEN, "", O_WRONLY | O_TRUNC, "new", NULL},
    {BY_OPEN, "", O_WRONLY | O_APPEND, "minenew", NULL},
    {BY_OPEN, "", O_RDWR | O_CREAT, "newe", "new"},
    {BY_OPEN, "", O_WRONLY | O_CREAT | O_TRUNC, "new", "new"},
    {BY_OPEN, "", O_WRONLY | O_CREAT | O_APPEND, "minenew", "new"},
    {BY_OPEN, "", O_RDWR | O_CREAT | O_EXCL, NULL, "new"},
    {BY_OPEN, "", O_RDONLY | O_CREAT, "mine", ""},
    {BY_OPENAT, "", O_RDONLY, "mine", NULL},
    {BY_OPENAT, "", O_RDWR | O_CREAT, "newe", "new"},
    {BY_OPENAT, "", O_WRONLY | O_CREAT | O_EXCL, NULL, "new"},
    {BY_CREAT, "", 0, "new", "new"},
};

/* Each way on each kind of file, in a view of its own. kind: its name; what the player has stays. */
static void check_ways(const char *name, bool is_present) {
    for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct row *r = &rows[i];
        const char *want = is_present ? r->present : r->missing;
        char before[64];
        bool opened;
        begin_view(world, "save");
        (void)unlink(at("save/.keylock/given"));
        snprintf(before, sizeof before, "%s", read_real(at(name)));
        const char *is = after(r->way, r->mode, r->flags, name, &opened);
        if (opened != (want != NULL))
            fail_msg("row %u of %s: %s", i, name, opened ? "it opened" : "it did not open");
        if (want && strcmp(is, want) != 0)
            fail_msg("row %u of %s: \"%s\", expected \"%s\"", i, name, is, want);
        assert_string_equal(is, want ? want : is_present ? "mine" : "(none)");
        assert_int_equal(c_access(at(name)), want || is_present ? 0 : -1);
        if (strcmp(read_real(at(name)), before) != 0) fail_msg("row %u changed the player's %s", i, name);
    }
}

TEST_WITH(every_way_on_every_file, set_up, tear_down) {
    check_ways("system/present", true);
    check_ways("content/game", true);
    check_ways("system/missing", false);
    check_ways("content/missing", false);
    check_ways("system/hidden", false);
    check_ways("system/given", false); /* nobody has given one */
    check_ways("elsewhere", false);
}

TEST_WITH(in_a_missing_folder_nothing_is_made, set_up, tear_down) {
    assert_null(c_fopen(at("system/none/file"), "wb"));
    assert_int_equal(c_mkdir(at("system/none")), 0);
    writes("system/none/file", "wb", "new");
    assert_string_equal(seen("system/none/file"), "new");
    assert_int_equal(access(at("system/none"), F_OK), -1);
    assert_int_equal(c_mkdir(at("system/none")), -1);
    assert_int_equal(c_mkdir(at("system")), -1);
    assert_null(c_fopen(at("system"), "wb"));
}

TEST_WITH(a_players_file_is_read_as_it_is, set_up, tear_down) {
    bool wrote = true;
    assert_string_equal(seen("system/present"), "mine");
    writes("system/present", "r+b", "X");
    assert_string_equal(seen("system/present"), "Xine");
    assert_string_equal(kl_world_file(world, 0, &wrote), at("system/present"));
    assert_false(wrote); /* its bytes count in the room all the same */
    writes("system/hidden", "wb", "new");
    kl_world_file(world, 1, &wrote);
    assert_true(wrote);
}

TEST_WITH(files_are_moved_and_removed, set_up, tear_down) {
    assert_int_equal(c_unlink(at("system/present")), 0);
    assert_string_equal(seen("system/present"), "(none)");
    assert_int_equal(c_unlink(at("system/present")), -1);
    assert_int_equal(c_unlink(at("system/missing")), -1);
    writes("system/made", "wb", "new");
    assert_int_equal(c_rename(at("system/made"), at("system/present")), 0);
    assert_string_equal(seen("system/present"), "new");
    assert_string_equal(seen("system/made"), "(none)");
    assert_int_equal(c_rename(at("system/missing"), at("content/game")), -1);
    assert_string_equal(seen("content/game"), "mine");
    assert_int_equal(c_rename(at("content/game"), at("system/moved")), 0);
    assert_string_equal(seen("system/moved"), "mine");
    assert_string_equal(seen("content/game"), "(none)");
    assert_string_equal(read_real(at("content/game")), "mine");
    assert_string_equal(read_real(at("system/present")), "mine");
}

#ifndef _WIN32
/* As the core lists it: "a b ". */
static const char *listed(const char *name) {
    static char text[2][512];
    static unsigned turn;
    char *t = text[turn++ % 2];
    DIR *d = c_opendir(at(name));
    *t = 0;
    for (struct dirent *e; d && (e = c_readdir(d));)
        if (*e->d_name != '.') strcat(strcat(t, e->d_name), " ");
    if (d) c_closedir(d);
    return t;
}

/* A folder has the player's entries and the session's, each once. */
TEST_WITH(a_list_is_of_both_folders, set_up, tear_down) {
    struct dirent **list;
    assert_string_equal(listed("system"), "present ");
    writes("system/new", "wb", "x");
    writes("system/hidden", "wb", "x");
    writes("system/present", "ab", "x");
    assert_string_equal(listed("system"), "hidden new present ");
    assert_int_equal(c_unlink(at("system/present")), 0);
    assert_string_equal(listed("system"), "hidden new ");
    assert_int_equal(mkdir(at("system/sub"), 0755), 0);
    put("system/sub/theirs", "x");
    writes("system/sub/ours", "wb", "x");
    assert_string_equal(listed("system/sub"), "ours theirs ");
    assert_int_equal(c_scandir(at("system/sub"), &list), 4); /* with the dots */
    assert_string_equal(list[2]->d_name, "ours");
    for (unsigned i = 0; i < 4; i++)
        free(list[i]);
    free(list);
    DIR *d = c_opendir(at("system/sub"));
    for (unsigned i = 0; i < 4; i++)
        assert_non_null(c_readdir(d));
    assert_null(c_readdir(d));
    writes("system/sub/later", "wb", "x");
    c_rewinddir(d);
    for (unsigned i = 0; i < 5; i++)
        assert_non_null(c_readdir(d));
    assert_null(c_readdir(d));
    c_closedir(d);
}

TEST_WITH(temporary_files_are_the_rooms, set_up, tear_down) {
    char one[2][64] = {"/tmp/kl-viewXXXXXX", "/tmp/kl-viewXXXXXX"};
    for (unsigned i = 0; i < 2; i++) {
        begin_view(world, "save");
        kl_world_start(world, EPOCH, 60000000);
        int fd = c_mkstemp(one[i]);
        assert_true(fd >= 0);
        assert_int_equal(c_access(one[i]), 0);
        assert_int_equal(access(one[i], F_OK), -1);
        c_close(fd);
    }
    assert_string_equal(one[0], one[1]);
}

/* /tmp is the temporary folder for whoever writes it down, also where TMPDIR is another one. */
TEST_WITH(tmp_is_the_temporary_folder, set_up, tear_down) {
    struct kl_fileset *k;
    const char *was = getenv("TMPDIR");
    char before[KL_FILE_PATH];
    snprintf(before, sizeof before, "%s", was ? was : "");
    setenv("TMPDIR", at("system"), 1);
    begin_view(world, "save");
    if (was)
        setenv("TMPDIR", before, 1);
    else
        unsetenv("TMPDIR");
    c_close(c_open("/tmp/kl-view-42", O_CREAT | O_WRONLY));
    assert_int_equal(kl_world_files_keep(world, &k, why, sizeof why), 0);
    assert_int_equal(k->files, 1);
    assert_string_equal(k->file[0].name, "temp/kl-view-42");
    assert_false(k->file[0].local);
    kl_fileset_free(k);
}

/* --- dates --- */

TEST_WITH(dates_are_the_rooms, set_up, tear_down) {
    struct stat st, again;
    assert_int_equal(c_stat(at("system/present"), &st), 0);
    assert_int_equal(st.st_mtim.tv_sec, EPOCH);
    assert_int_equal(st.st_size, 4);
    kl_world_frame(world, 600);
    int fd = c_open(at("system/present"), O_RDWR);
    assert_int_equal(c_fstat(fd, &again), 0);
    assert_int_equal(again.st_mtim.tv_sec, EPOCH + 10);
    assert_int_equal(again.st_ino, st.st_ino);
    c_close(fd);
    assert_int_equal(c_stat(at("system/hidden"), &st), -1);
    assert_int_equal(c_stat(at("save/old"), &st), 0);
    assert_int_equal(st.st_mtim.tv_sec, EPOCH);
    assert_int_not_equal(st.st_ino, again.st_ino);
}

#endif

/* --- keeping and going back --- */

static struct kl_fileset *keep(void) {
    struct kl_fileset *k;
    if (kl_world_files_keep(world, &k, why, sizeof why) != 0) fail_msg("%s", why);
    return k;
}
static void go_back(struct kl_fileset *k) {
    assert_true(kl_world_files_back(world, k, true));
    kl_fileset_free(k);
}

TEST_WITH(who_writes_nothing_keeps_nothing, set_up, tear_down) {
    seen("system/present");
    assert_null(keep());
}

TEST_WITH(files_go_back, set_up, tear_down) {
    writes("save/card", "ab", "one");
    writes("save/old", "wb", "second");
    writes("system/present", "r+b", "X");
    struct kl_fileset *k = keep();
    assert_int_equal(k->files, 3);
    writes("save/card", "ab", "two");
    writes("save/late", "wb", "late");
    c_unlink(at("save/old"));
    c_unlink(at("system/present"));
    struct kl_fileset *later = keep();
    assert_string_equal(kl_fileset_differs(k, later), "save/card");
    assert_int_not_equal(kl_fileset_hash(k), kl_fileset_hash(later));
    go_back(k);
    assert_string_equal(seen("save/card"), "one");
    assert_string_equal(seen("save/old"), "second");
    assert_string_equal(seen("system/present"), "Xine");
    assert_string_equal(seen("save/late"), "(none)");
    go_back(later);
    assert_string_equal(seen("save/card"), "onetwo");
    assert_string_equal(seen("save/old"), "(none)");
    assert_string_equal(seen("system/present"), "(none)");
    assert_string_equal(seen("save/late"), "late");
    go_back(NULL);
    assert_string_equal(seen("save/card"), "(none)");
    assert_string_equal(seen("save/old"), "start");
    assert_string_equal(seen("system/present"), "mine");
    assert_null(keep());
}

TEST_WITH(a_file_that_has_not_changed_is_shared, set_up, tear_down) {
    writes("save/card", "ab", "one");
    struct kl_fileset *a = keep(), *b = keep();
    assert_ptr_equal(a->file[0].blob, b->file[0].blob);
    writes("save/card", "r+b", "two"); /* of the same length, at once */
    struct kl_fileset *c = keep();
    assert_ptr_not_equal(b->file[0].blob, c->file[0].blob);
    kl_fileset_free(a);
    kl_fileset_free(b);
    kl_fileset_free(c);
}

/* Bytes that are still in a stream's buffer count, and so does its place. */
TEST_WITH(open_files_go_back, set_up, tear_down) {
    char text[8] = "";
    FILE *f = c_fopen(at("save/card"), "w+b");
    int fd = c_open(at("save/log"), O_RDWR | O_CREAT | O_APPEND | BYTES);
    fputs("one", f);
    assert_int_equal(write(fd, "1", 1), 1);
    kl_world_files_settle(world);
    assert_string_equal(seen("save/card"), "one");
    fputs("two", f);
    struct kl_fileset *k = keep();
    fputs("three", f);
    assert_int_equal(write(fd, "2", 1), 1);
    assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
    go_back(k);
    assert_int_equal(ftell(f), 6);
    assert_int_equal(lseek(fd, 0, SEEK_CUR), 1);
    assert_string_equal(seen("save/card"), "onetwo");
    assert_string_equal(seen("save/log"), "1");
    fputs("3", f);
    rewind(f);
    assert_int_equal(fread(text, 1, 7, f), 7);
    assert_string_equal(text, "onetwo3");
    c_fclose(f);
    c_close(fd);
}

TEST_WITH(what_a_stream_has_read_beforehand_goes, set_up, tear_down) {
    writes("save/card", "wb", "abcdef");
    FILE *f = c_fopen(at("save/card"), "rb");
    assert_int_equal(fgetc(f), 'a');
    struct kl_fileset *k = keep();
    writes("save/card", "wb", "ABCDEF");
    kl_world_files_settle(world);
    assert_int_equal(fgetc(f), 'B');
    go_back(k);
    assert_int_equal(fgetc(f), 'b');
    c_fclose(f);
}

#ifndef _WIN32
TEST_WITH(a_file_without_a_name_goes_back, set_up, tear_down) {
    FILE *f = c_tmpfile();
    assert_non_null(f);
    fputs("one", f);
    struct kl_fileset *k = keep();
    assert_int_equal(k->files, 1);
    fputs("two", f);
    go_back(k);
    assert_int_equal(ftell(f), 3);
    fseek(f, 0, SEEK_END);
    assert_int_equal(ftell(f), 3);
    c_fclose(f);
    k = keep();
    assert_null(k);
}

TEST_WITH(a_mapped_file_goes_back, set_up, tear_down) {
    writes("save/card", "wb", "abcdef");
    int fd = c_open(at("save/card"), O_RDWR);
    char *map = c_mmap(fd, 6);
    assert_true(map != MAP_FAILED);
    struct kl_fileset *k = keep();
    map[0] = 'X';
    struct kl_fileset *later = keep();
    go_back(k);
    assert_memory_equal(map, "abcdef", 6);
    go_back(later);
    assert_memory_equal(map, "Xbcdef", 6);
    munmap(map, 6);
    c_close(fd);
}

#endif

TEST_WITH(another_machine_gets_the_files, set_up, tear_down) {
    char path[KL_FILE_PATH];
    writes("save/card", "wb", "one");
    writes("system/present", "r+b", "X");
    writes("elsewhere", "wb", "of this machine");
    struct kl_fileset *k = keep();
    other = kl_world_take();
    begin_view(other, "shown");
    assert_true(kl_world_files_back(other, k, false));
    assert_true(kl_world_file_at(other, "save/card", path));
    assert_string_equal(path, at("shown/card"));
    assert_string_equal(read_real(path), "one");
    assert_true(kl_world_file_at(other, "system/present", path));
    assert_string_equal(read_real(path), "Xine");
    kl_fileset_free(k);
}

/* Its core has not opened what the other's has. */
TEST_WITH(a_machine_without_the_open_file_says_so, set_up, tear_down) {
    FILE *f = c_fopen(at("save/card"), "wb");
    fputs("one", f);
    struct kl_fileset *k = keep();
    other = kl_world_take();
    begin_view(other, "shown");
    assert_false(kl_world_files_back(other, k, false));
    kl_fileset_free(k);
    c_fclose(f);
}

TEST_WITH(too_much_is_not_kept, set_up, tear_down) {
    struct kl_fileset *k;
    static char much[KL_FILESET_BYTES];
    FILE *f = c_fopen(at("save/card"), "wb");
    fwrite(much, 1, sizeof much, f);
    c_fclose(f);
    k = keep();
    kl_fileset_free(k);
    writes("save/more", "wb", "1");
    assert_int_equal(kl_world_files_keep(world, &k, why, sizeof why), -1);
    assert_null(k);
    assert_int_equal(c_unlink(at("save/more")), 0);
    k = keep();
    kl_fileset_free(k);
}
