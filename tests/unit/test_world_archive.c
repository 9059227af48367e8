/* The files of a core: which parts of an archive it has read, and the host's small files in place of a
 * machine's own. */
#include "tests/unit/folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core_wrapper/start/savedir.h"
#include "core_wrapper/world/world_private.h"
#include "tests/lib/probe_core.h"

/* Two stored members, "a" with 200 bytes and "b" with 100; the directory is at DIRECTORY. */
#define A         0
#define A_DATA    31
#define B         231
#define B_DATA    262
#define DIRECTORY 362
#define LEN       (DIRECTORY + 2 * 47 + 22)
static uint8_t zip[LEN];
static char path[300];
static struct kl_world *world;
static struct kl_gifts gifts;

static void *hook(const char *name) {
    static const struct kl_hook *const tables[] = {kl_world_file_hooks, kl_world_name_hooks,
                                                   kl_world_stream_hooks};
    for (unsigned i = 0; i < 3; i++)
        for (const struct kl_hook *h = tables[i]; h->name; h++)
            if (!strcmp(h->name, name)) return h->fn[world - kl_world_at];
    fail_msg("no %s", name);
    return NULL;
}

/* A core's calls: on Linux the stream itself sees them. */
#ifdef _WIN32
#define fseek(f, to, whence) ((int (*)(FILE *, long, int))hook("fseek"))(f, to, whence)
#define fgetc(f)             ((int (*)(FILE *))hook("fgetc"))(f)
#define ungetc(c, f)         ((int (*)(int, FILE *))hook("ungetc"))(c, f)
#define fclose(f)            ((int (*)(FILE *))hook("fclose"))(f)
#else
#define setvbuf(f, buffer, mode, size)                                                                       \
    ((int (*)(FILE *, char *, int, size_t))hook("setvbuf"))(f, buffer, mode, size)
#endif

static FILE *open_it(const char *file) {
    FILE *(*fn)(const char *, const char *) = (FILE * (*)(const char *, const char *)) hook("fopen");
    return fn(file, "rb");
}

static void put_number(size_t to, uint32_t v, unsigned bytes) {
    for (unsigned i = 0; i < bytes; i++)
        zip[to + i] = (uint8_t)(v >> (8 * i));
}
static void put_member(unsigned i, char name, size_t from, unsigned len) {
    size_t entry = DIRECTORY + 47u * i;
    put_number(from, 0x04034b50, 4);
    put_number(from + 18, len, 4);
    put_number(from + 22, len, 4);
    put_number(from + 26, 1, 2);
    zip[from + 30] = (uint8_t)name;
    put_number(entry, 0x02014b50, 4);
    put_number(entry + 20, len, 4);
    put_number(entry + 24, len, 4);
    put_number(entry + 28, 1, 2);
    put_number(entry + 42, (uint32_t)from, 4);
    zip[entry + 46] = (uint8_t)name;
}

static void write_file(const char *name, const void *bytes, size_t len) {
    assert_int_equal(kl_file_write_whole(at(name), bytes, len, KL_FILE_QUICK, err, sizeof err), 0);
}

static int begin(void **state) {
    if (make_folder(state) != 0) return -1;
    snprintf(path, sizeof path, "%s/set.zip", dir);
    memset(zip, 0, sizeof zip);
    put_member(0, 'a', A, 200);
    put_member(1, 'b', B, 100);
    size_t end = LEN - 22;
    put_number(end, 0x06054b50, 4);
    put_number(end + 8, 2, 2);
    put_number(end + 10, 2, 2);
    put_number(end + 12, 2 * 47, 4);
    put_number(end + 16, DIRECTORY, 4);
    write_file("set.zip", zip, sizeof zip);
    world = kl_world_take();
    return world ? probe_runtime_turn(world) : -1;
}
static int finish(void **state) {
    probe_runtime_close();
    kl_world_release(world);
    return remove_folder(state);
}

static void take(FILE *f, long from, size_t len) {
    uint8_t out[LEN];
    assert_int_equal(fseek(f, from, SEEK_SET), 0);
    size_t (*fn)(void *, size_t, size_t, FILE *) = (size_t(*)(void *, size_t, size_t, FILE *))hook("fread");
    assert_int_equal(fn(out, 1, len, f), len);
    assert_memory_equal(out, zip + from, len);
}
static void has_read(uint64_t from, uint64_t to) {
    unsigned count;
    const struct kl_archive_span *s = kl_world_archive_read(world, path, &count);
    assert_non_null(s);
    assert_int_equal(count, 1);
    assert_int_equal(s->from, from);
    assert_int_equal(s->to, to);
}

/* As FBNeo does: the end of the file in one piece, the directory, a member; a buffer of its own wish. */
TEST_WITH(only_what_is_asked_for_counts, begin, finish) {
    static char buffer[65536];
    unsigned count;
    FILE *f = open_it(path);
    assert_non_null(f);
    assert_int_equal(setvbuf(f, buffer, _IOFBF, sizeof buffer), 0);
    assert_int_equal(fseek(f, 0, SEEK_END), 0);
    assert_int_equal(ftell(f), LEN);
    take(f, 20, LEN - 20);
    take(f, DIRECTORY, 47);
    take(f, DIRECTORY + 47, 47);
    take(f, B, 30);
    assert_int_equal(fgetc(f), 'b');
    take(f, B_DATA, 100);
    assert_null(kl_world_archive_read(world, path, &count)); /* it may read on */
    fclose(f);
    has_read(B, DIRECTORY);
    f = open_it(path); /* a reader that looks for the end, and finds no member of its own */
    take(f, 0, LEN);
    take(f, DIRECTORY, 47);
    fclose(f);
    has_read(B, DIRECTORY);
}

TEST_WITH(a_reader_without_directory_reads_all_that_it_reads, begin, finish) {
    FILE *f = open_it(path);
    take(f, 0, 300);
    fclose(f);
    has_read(0, 300);
}

/* Also if one of its pieces happens to begin where the directory does. */
TEST_WITH(a_reader_in_pieces_reads_all, begin, finish) {
    FILE *f = open_it(path);
    take(f, 0, DIRECTORY);
    take(f, DIRECTORY, 47);
    fclose(f);
    has_read(0, DIRECTORY);
    kl_world_files_clear(world);
    f = open_it(path); /* byte by byte */
    for (unsigned i = 0; i < LEN; i++)
        assert_int_equal(fgetc(f), zip[i]);
    assert_int_equal(fgetc(f), EOF);
    fclose(f);
    has_read(0, DIRECTORY);
}

TEST_WITH(the_end_of_a_stream_shows, begin, finish) {
    uint8_t out[LEN];
    size_t (*fn)(void *, size_t, size_t, FILE *) = (size_t(*)(void *, size_t, size_t, FILE *))hook("fread");
    FILE *f = open_it(path);
    assert_int_equal(fn(out, 100, 1000, f), LEN / 100);
    assert_true(feof(f));
    assert_int_equal(fseek(f, 0, SEEK_SET), 0);
    assert_false(feof(f));
    assert_int_equal(ungetc('x', f), 'x');
    fseek(f, 10, SEEK_SET);
    assert_int_equal(ungetc('x', f), 'x');
    assert_int_equal(fn(out, 1, 2, f), 2);
    assert_int_equal(out[0], 'x');
    assert_int_equal(out[1], zip[10]);
    fclose(f);
}

TEST_WITH(other_ways_of_reading_are_unknown, begin, finish) {
    unsigned count;
    int (*no)(FILE *) = (int (*)(FILE *))hook("fileno");
    int (*open_fd)(const char *, int, ...) = (int (*)(const char *, int, ...))hook("open");
    FILE *f = open_it(path);
    int fd = no(f);
    struct stat s;
    assert_int_equal(fstat(fd, &s), 0);
    assert_int_equal(s.st_size, LEN);
    fclose(f);
    assert_null(kl_world_archive_read(world, path, &count));
    kl_world_files_clear(world);
    f = open_it(path);
    take(f, DIRECTORY, 47);
    fclose(f);
    assert_non_null(kl_world_archive_read(world, path, &count));
    assert_int_equal(count, 0);
#ifdef _WIN32 /* by a call that is not replaced */
    kl_world_files_clear(world);
    f = open_it(path);
    take(f, DIRECTORY, 47);
    assert_int_equal(fread(&s, 1, 10, f), 10);
    fclose(f);
    assert_null(kl_world_archive_read(world, path, &count));
    kl_world_files_clear(world);
    f = open_it(path);
    take(f, DIRECTORY, 47);
    fclose(f);
    assert_non_null(kl_world_archive_read(world, path, &count));
#endif
    fd = open_fd(path, O_RDONLY);
    assert_true(fd >= 0);
    close(fd);
    assert_null(kl_world_archive_read(world, path, &count));
}

/* A core that is unloaded may leave streams open. */
TEST_WITH(a_stream_outlives_the_list, begin, finish) {
    unsigned count;
    FILE *f = open_it(path);
    kl_world_files_clear(world);
    take(f, DIRECTORY, 47);
    take(f, A, 100);
    fclose(f);
    assert_null(kl_world_archive_read(world, path, &count));
}

/* --- the host's small files --- */

TEST(the_table_names_files) {
    assert_true(kl_gifts_is("/x/fbneo/hiscore.dat"));
    assert_true(kl_gifts_is("/x/fbneo/cheats/duel.ini"));
    assert_true(kl_gifts_is("/x/fbneo//blend//duel.bld"));
    assert_false(kl_gifts_is("/x/fbneo/duel.ini"));
    assert_false(kl_gifts_is("/x/fbneo/cheats/duel.zip"));
    assert_false(kl_gifts_is("/x/fbneo/cheats/.ini"));
    assert_false(kl_gifts_is("/x/fbneo/my-hiscore.dat"));
    assert_false(kl_gifts_is("/x/neogeo.zip"));
    assert_false(kl_gifts_is(""));
}

TEST(a_host_gives_no_other_file) {
    static const uint8_t bytes[1];
    const struct {
        const char *path;
        size_t len;
        bool may;
    } given[] = {
        {".keylock/hiscore.dat", KL_GIFT_BYTES, true},
        {".keylock/hiscore.dat", KL_GIFT_BYTES + 1, false},
        {".keylock/cheats.ini", 1, true},
        {".keylock/blend.bld", 1, true},
        {".keylock/neogeo.zip", 1, false},
        {".keylock/none", 0, false},
        {".keylock/cheats.ini/x", 1, false},
        {".keylock", 1, false},
        {"fbneo/duel.nv", KL_GIFT_BYTES + 1, true},
    };
    for (unsigned i = 0; i < sizeof given / sizeof *given; i++) {
        struct kl_start_file f = {.bytes = bytes, .len = given[i].len};
        strcpy(f.path, given[i].path);
        if (kl_gifts_may_write(&f) != given[i].may) fail_msg("%s of %zu bytes", f.path, f.len);
    }
}

static void reads(const char *name, const char *text) {
    char got[32] = "";
    FILE *f = open_it(at(name));
    if (f) {
        got[fread(got, 1, sizeof got - 1, f)] = 0;
        fclose(f);
    }
    assert_string_equal(got, text);
}

TEST_WITH(a_room_has_the_hosts_files, begin, finish) {
    int (*may)(const char *, int) = (int (*)(const char *, int))hook("access");
    assert_int_equal(kl_dir_make(at("system"), true, err, sizeof err), 0);
    assert_int_equal(kl_dir_make(at("save/.keylock"), true, err, sizeof err), 0);
    put("system/hiscore.dat", "mine");
    reads("system/hiscore.dat", "mine");
    kl_gifts_view(&gifts, world, at("system"), at("save"), "duel", NULL, true);
    reads("system/hiscore.dat", "");
    assert_int_equal(may(at("system/hiscore.dat"), R_OK), -1);
    put("save/.keylock/cheats.ini", "theirs"); /* this machine has no such folder */
    reads("system/cheats/duel.ini", "theirs");
    assert_int_equal(may(at("system/cheats/duel.ini"), R_OK), 0);
    reads("system/cheats/brawl.ini", "");
    kl_world_view(world, NULL);
    reads("system/hiscore.dat", "mine");
    reads("system/cheats/duel.ini", "");
}

TEST_WITH(the_host_gives_what_its_core_looked_at, begin, finish) {
    static uint8_t bytes[KL_GIFT_BYTES + 1];
    struct kl_savefiles *s = calloc(1, sizeof *s);
    assert_int_equal(kl_dir_make(at("cheats"), true, err, sizeof err), 0);
    put("cheats/duel.ini", "cheat");
    write_file("hiscore.dat", bytes, sizeof bytes);
    kl_gifts_collect(s, world, dir, "duel");
    assert_int_equal(s->count, 0);
    reads("cheats/duel.ini", "cheat");
    fclose(open_it(at("hiscore.dat")));
    kl_gifts_collect(s, world, dir, "brawl");
    assert_int_equal(s->count, 0);
    kl_gifts_collect(s, world, dir, "duel");
    assert_int_equal(s->count, 1); /* the other is too large */
    assert_string_equal(s->file[0].path, ".keylock/cheats.ini");
    assert_int_equal(s->file[0].len, 5);
    kl_savefiles_free(s);
    free(s);
}
