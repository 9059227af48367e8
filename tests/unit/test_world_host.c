/* The host's facts as a core sees them: tests/cores/host_core.c asks in each way, and the answers must be
 * those of every room. runs: working, check, 3 s */
#include "tests/unit/unit.h"

#include <dlfcn.h>
#include <locale.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "core_wrapper/world/pages.h"
#include "core_wrapper/world/world.h"
#include "net/platform/clock.h"
#include "net/platform/dir.h"
#include "net/platform/file.h"
#include "net/platform/library.h"
#include "net/platform/thread.h"

#define EPOCH 946684800u
#define FILES 24 /* in a folder: their chance to come sorted by themselves is nil */

struct one {
    struct kl_world *world;
    void *library;
    struct kl_world_report report;
    void (*look)(const char *what, const char *at, char *out, size_t cap);
};
static struct one a, b;
static char folder[KL_FILE_PATH], other_folder[KL_FILE_PATH], err[512];

/* Its own copy of the library, as two cores are. */
static void begin(struct one *o, const char *copy) {
    char from[KL_FILE_PATH], to[KL_FILE_PATH + 32];
    const char *build = getenv("KL_BUILD");
    snprintf(from, sizeof from, "%s/cores/host_core_libretro.so", build && *build ? build : "build");
    snprintf(to, sizeof to, "%s/%s.so", other_folder, copy);
    if (kl_file_copy(from, to, 0, err, sizeof err) != 0) fail_msg("%s", err);
    assert_non_null(o->world = kl_world_take());
    if (!(o->library = kl_library_open(to, err, sizeof err))) fail_msg("%s", err);
    unlink(to);
    assert_int_equal(kl_world_turn(o->world, o->library, &o->report, err, sizeof err), 0);
    kl_world_start(o->world, EPOCH, 60000000);
    *(void **)&o->look = kl_library_find(o->library, "host_look");
    assert_non_null(o->look);
}

static void make_files(const char *in, unsigned first, unsigned step) {
    char path[KL_FILE_PATH + 32];
    for (unsigned i = 0; i < FILES; i++) {
        snprintf(path, sizeof path, "%s/file-%02u", in, (first + i * step) % FILES);
        assert_int_equal(kl_file_write_whole(path, "x", 1, 0, err, sizeof err), 0);
    }
    snprintf(path, sizeof path, "%s/.hidden", in);
    assert_int_equal(kl_file_write_whole(path, "x", 1, 0, err, sizeof err), 0);
}

static int begin_two(void **state) {
    (void)state;
    dlopen("libstdc++.so.6", RTLD_NOW | RTLD_GLOBAL); /* for the library's weak names */
    setenv("LC_ALL", "C.UTF-8", 1);
    setenv("USER", "somebody", 1);
    setlocale(LC_ALL, "");
    assert_int_equal(kl_dir_make_temporary(folder, sizeof folder, "keylock-test", err, sizeof err), 0);
    assert_int_equal(
        kl_dir_make_temporary(other_folder, sizeof other_folder, "keylock-test", err, sizeof err), 0);
    make_files(folder, 0, 5);
    begin(&a, "a");
    begin(&b, "b");
    return 0;
}
static int end_two(void **state) {
    (void)state;
    struct one *both[] = {&a, &b};
    for (int i = 0; i < 2; i++) {
        if (both[i]->library) kl_library_close(both[i]->library);
        kl_world_release(both[i]->world);
        memset(both[i], 0, sizeof *both[i]);
    }
    kl_dir_remove_tree(folder);
    kl_dir_remove_tree(other_folder);
    return 0;
}

static const char *look(const struct one *o, const char *what, const char *at) {
    static char text[2][8192];
    static unsigned turn;
    char *out = text[turn++ % 2];
    o->look(what, at, out, sizeof text[0]);
    return out;
}

TEST_WITH(facts_are_those_of_every_room, begin_two, end_two) {
    static const char *const facts[][2] = {
        {"process", "4200003 4200002 4200003"},
        {"group", "4200003 4200003 4200003"},
        {"signals", "0 0 0 0"},
        {"processors", "4 4 4 4 0/4 0/4"},
        {"processor", "0 0 0"},
        {"memory", "4096 2048 4096 2048 4096"},
        {"load", "3 0.0 0"},
        {"names", "Linux keylock 6.1.0 1 keylock (none) 4200003"},
        {"variables", "keylock keylock keylock C C UTC0"},
        {"language", "C C none ANSI_X3.4-1968 none . 1 1"},
        {"own-proc", "0"},
    };
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++)
        assert_string_equal(look(&a, facts[i][0], folder), facts[i][1]);
    if (dlsym(RTLD_DEFAULT, "_ZNSt6thread20hardware_concurrencyEv"))
        assert_string_equal(look(&a, "cxx", folder), "4 0");
}

/* Hooks whose answers this machine could give, too; all others are missed by the tests beside this. */
TEST_WITH(report_lists_each, begin_two, end_two) {
    static const char *const names[] = {"sched_getcpu", "getcpu",  "getdomainname", "getauxval", "localeconv",
                                        "strcoll",      "strxfrm", "opendir",       "alphasort"};
    char padded[sizeof a.report.turned + 2], word[64];
    snprintf(padded, sizeof padded, " %s ", a.report.turned);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(word, sizeof word, " %s ", names[i]);
        if (!strstr(padded, word)) fail_msg("%s is not among what was turned:%s", names[i], padded);
    }
}

TEST_WITH(chance_is_the_worlds, begin_two, end_two) {
    char first[256];
    snprintf(first, sizeof first, "%s", look(&a, "chance", folder));
    assert_string_equal(look(&b, "chance", folder), first);
    assert_string_not_equal(look(&b, "chance", folder), first);
    for (const char *word = first; (word = strchr(word, ' ')); word++)
        assert_memory_not_equal(first, word + 1, 8); /* each opening has numbers of its own */
    assert_memory_not_equal(first, "00000000", 8);
}

/* "file-00 file-01 …", each with this behind it. */
static void in_order(const char *ends, char *out, size_t cap) {
    size_t used = 0;
    for (unsigned i = 0; i < FILES; i++)
        used += (size_t)snprintf(out + used, cap - used, "file-%02u%s ", i, ends);
}

TEST_WITH(folders_come_sorted, begin_two, end_two) {
    static char want[2048], text[2300];
    in_order("", want, sizeof want);
    snprintf(text, sizeof text, ". .. .hidden %s", want);
    assert_string_equal(look(&a, "readdir_r", folder), text);
    assert_string_equal(look(&a, "place", folder), ".hidden . ");
    assert_string_equal(look(&a, "scandir", folder), want);
    assert_string_equal(look(&a, "alphasort", folder), want);
    assert_string_equal(look(&a, "glob", folder), want);
    const char *base = strrchr(folder, '/') + 1;
    snprintf(text, sizeof text, "%s .hidden %s", base, want);
    assert_string_equal(look(&a, "ftw", folder), text);
    assert_string_equal(look(&a, "fts", folder), text);
    if (dlsym(RTLD_DEFAULT, "_ZNSt6thread20hardware_concurrencyEv")) {
        snprintf(text, sizeof text, ".hidden %s", want);
        assert_string_equal(look(&a, "iterator", folder), text);
        assert_string_equal(look(&b, "iterator", folder), text);
    }
    in_order(":0:1", want, sizeof want);
    snprintf(text, sizeof text, "%s:1:0 .hidden:0:1 %s", base, want);
    assert_string_equal(look(&a, "nftw", folder), text);
}

TEST_WITH(entries_are_equal_in_equal_folders, begin_two, end_two) {
    char first[8192];
    snprintf(first, sizeof first, "%s", look(&a, "readdir", folder));
    assert_non_null(strstr(first, "file-23:"));
    make_files(other_folder, 3, 7);
    assert_string_equal(look(&b, "readdir", other_folder), first);
    assert_string_equal(look(&a, "readdir", "/nonexistent"), "");
}

TEST_WITH(temporary_names_are_equal, begin_two, end_two) {
    char first[512];
    snprintf(first, sizeof first, "%s", look(&a, "temporaries", folder));
    assert_memory_equal(first, "1 /", 3);
    assert_string_equal(look(&b, "temporaries", other_folder), first);
    assert_non_null(strstr(first, "/tmp/4200003"));
}

/* Two cores of one process, both with the same number. */
TEST_WITH(names_with_the_number_are_apart, begin_two, end_two) {
    char path[KL_FILE_PATH + 32], mine[64], theirs[64];
    snprintf(mine, sizeof mine, "%s", look(&a, "own-names", folder));
    snprintf(theirs, sizeof theirs, "%s", look(&b, "own-names", folder));
    assert_string_equal(look(&a, "own-names-go", folder), "0 0");
    assert_string_equal(look(&b, "own-names-go", folder), "0 0");
    assert_string_equal(mine, "1 1 1");
    assert_string_equal(theirs, "1 1 1");
    snprintf(path, sizeof path, "%s/core.4200003", folder);
    assert_int_equal(access(path, F_OK), -1);
}

TEST_WITH(what_is_left_is_listed, begin_two, end_two) {
    setenv("KL_TEST_OWN", "1", 1);
    assert_null(strstr(a.report.left, "/proc"));
    assert_string_equal(look(&a, "left", folder), "1 1 1");
    assert_non_null(strstr(a.report.left, "$KL_TEST_OWN (the player's own)"));
    assert_non_null(strstr(a.report.left, "/proc/cpuinfo (the host's)"));
    assert_non_null(strstr(a.report.left, "getuid (the player's own)"));
}

/* Two threads, of which the second begins where the first ends. */
TEST_WITH(threads_come_to_rest, begin_two, end_two) {
    assert_true(kl_world_rest(a.world));
    look(&a, "work-begins", "200000");
    assert_true(kl_world_rest(a.world));
    assert_string_equal(look(&a, "work-done", ""), "400000");
    assert_true(kl_world_rest(a.world));
    look(&a, "work-ends", "");
    assert_true(kl_world_rest(a.world));
    assert_null(strstr(a.report.left, "threads"));
}

static atomic_bool hog_ends;
static void hog(void *arg) {
    (void)arg;
    while (!atomic_load(&hog_ends)) {
    }
}
/* The core's threads have the nice value of this one. */
static void begin_nicely(void *arg) {
    (void)arg;
    assert_int_equal(setpriority(PRIO_PROCESS, (id_t)kl_thread_number(), 10), 0);
    look(&a, "work-begins", "10000000");
}
/* One processor, and others on it: the threads get a twentieth of it. */
TEST_WITH(a_starved_thread_is_waited_for, begin_two, end_two) {
    struct kl_thread hogs[2], nice;
    cpu_set_t all, one;
    assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
    CPU_ZERO(&one);
    for (int cpu = 0; cpu < CPU_SETSIZE && !CPU_COUNT(&one); cpu++)
        if (CPU_ISSET(cpu, &all)) CPU_SET(cpu, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    atomic_store(&hog_ends, false);
    for (int i = 0; i < 2; i++)
        assert_int_equal(kl_thread_start(&hogs[i], "hog", hog, NULL), 0);
    assert_int_equal(kl_thread_start(&nice, "nice", begin_nicely, NULL), 0);
    kl_thread_join(&nice);
    uint64_t since_us = kl_now_us();
    bool rests = kl_world_rest(a.world);
    uint64_t took_us = kl_now_us() - since_us;
    atomic_store(&hog_ends, true);
    for (int i = 0; i < 2; i++)
        kl_thread_join(&hogs[i]);
    assert_int_equal(sched_setaffinity(0, sizeof all, &all), 0);
    print_message("waited for %llu ms\n", (unsigned long long)took_us / 1000);
    assert_true(rests);
    assert_string_equal(look(&a, "work-done", ""), "20000000");
    look(&a, "work-ends", "");
}

TEST_WITH(thread_without_rest_is_named, begin_two, end_two) {
    look(&a, "work-begins", "4000000000");
    assert_false(kl_world_rest(a.world));
    assert_non_null(strstr(a.report.left, "threads (one works on long after a frame)"));
    assert_false(kl_world_rest(a.world));
    look(&a, "work-ends", "");
}

TEST_WITH(instructions_are_listed, begin_two, end_two) {
#if defined(__x86_64__)
    static const char *const names[] = {"rdrand (", "rdtscp (", "rdtsc ("};
#elif defined(__aarch64__)
    static const char *const names[] = {"cntvct_el0 ("};
#endif
#if defined(__x86_64__) || defined(__aarch64__)
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_non_null(strstr(a.report.left, names[i]));
#endif
    assert_null(strstr(a.report.left, "rdseed"));
}

TEST_WITH(the_cxx_library_has_its_heap_back, begin_two, end_two) {
    char *(*demangle)(const char *, char *, size_t *, int *);
    size_t len = 2;
    int status;
    *(void **)&demangle = dlsym(RTLD_DEFAULT, "__cxa_demangle");
    if (!demangle) skip();
    struct kl_pages *pages = kl_pages_take(a.world, a.library, err, sizeof err);
    assert_non_null(pages);
    kl_pages_release(pages);
    char *name = demangle("_Z4wordi", malloc(len), &len, &status); /* in a larger memory */
    assert_string_equal(name, "word(int)");
    free(name);
}

TEST(names_stand_without_reasons) {
    char out[64];
    const char *left = "syscall (may ask) $HOME (the player's own) /proc/cpuinfo (the host's) rdtsc (may)";
    assert_string_equal(kl_world_left_names(left, out, sizeof out), "/proc/cpuinfo, rdtsc, syscall, $HOME");
    assert_string_equal(kl_world_left_names(left, out, 24), "/proc/cpuinfo, rdtsc");
    assert_string_equal(kl_world_left_names(left, out, 10), "");
    assert_string_equal(kl_world_left_names("", out, sizeof out), "");
    assert_string_equal(kl_world_left_names("cut (in the mid", out, sizeof out), "cut");
}
