/* The world that a core sees: tests/cores/probe_core.c looks at it and shows what it saw in its RAM. */
#include "tests/unit/folder.h"

#include "tests/lib/probe_core.h"
#include "core_wrapper/world/world.h"
#include "net/platform/clock.h"

#include <time.h>

#define EPOCH 946684800u
#ifdef _WIN32
#define STEP_NS 100 /* of the performance counter */
#else
#define STEP_NS 1
#endif

static struct kl_core core;
static struct kl_world *world;
static struct kl_world_report report;

static void open_turned(uint64_t epoch_s) {
    world = kl_world_take();
    assert_non_null(world);
    probe_set("TZ", "JST-9");
    if (kl_core_open(&core, probe_core_path(), err, sizeof(err)) != 0) fail_msg("%s", err);
    assert_int_equal(kl_world_turn(world, core.handle, &report, err, sizeof(err)), 0);
    kl_world_start(world, epoch_s, 60000000);
    assert_true(probe_core_start(&core));
}

static const struct seen *run(uint32_t frame) {
    kl_world_frame(world, frame);
    core.run();
    return probe_core_seen(&core);
}

static int close_core(void **state) {
    (void)state;
    kl_core_close(&core);
    kl_world_release(world);
    kl_options_free(&probe_options);
    probe_set("PROBE_CORE", NULL);
    return 0;
}

TEST_WITH(report_names_what_was_turned, NULL, close_core) {
    open_turned(EPOCH);
#ifdef _WIN32
    const char *const wanted[] = {"_time64",
                                  "_localtime64",
                                  "_mktime64",
                                  "GetSystemTimeAsFileTime",
                                  "QueryPerformanceCounter",
                                  "WaitForSingleObject",
                                  "rand",
                                  "srand",
                                  "fopen",
                                  "_open"};
    const char *left = "NtQueryPerformanceCounter (";
#else
    const char *const wanted[] = {
        "time", "gettimeofday", "clock_gettime", "localtime", "mktime",
        "rand", "srand",        "fopen",         "open",      "pthread_cond_timedwait"};
    const char *left = "syscall (";
#endif
    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
        char padded[1100], word[64];
        snprintf(padded, sizeof(padded), " %s ", report.turned);
        snprintf(word, sizeof(word), " %s ", wanted[i]);
        if (!strstr(padded, word)) fail_msg("%s is not among what was turned: %s", wanted[i], report.turned);
    }
    assert_non_null(strstr(report.left, left));
    assert_true(report.rand);
#ifdef _WIN32 /* winpthreads asks for this one while it runs */
    assert_null(strstr(report.turned, "GetSystemTimePreciseAsFileTime"));
    run(0);
    assert_non_null(strstr(report.turned, "GetSystemTimePreciseAsFileTime"));
#endif
}

TEST_WITH(clocks_follow_frames, NULL, close_core) {
    open_turned(EPOCH);
    const struct seen *s = run(0);
    assert_int_equal(s->time_s, EPOCH);
    assert_int_equal(s->real_ns, EPOCH * 1000000000LL);
    assert_int_equal(s->mono_ns, 0);
    s = run(90);
    assert_int_equal(s->time_s, EPOCH + 1);
    assert_int_equal(s->real_ns, EPOCH * 1000000000LL + 1500000000);
    assert_int_equal(s->mono_ns, 1500000000);
}

TEST_WITH(our_own_clock_stays, NULL, close_core) {
    open_turned(EPOCH);
    assert_true(time(NULL) > 1600000000);
    assert_true(kl_wall_us() > 1600000000000000);
#ifndef _WIN32
    assert_string_equal(getenv("TZ"), "JST-9");
#endif
}

TEST_WITH(calendar_is_utc, NULL, close_core) {
    const int64_t moments[] = {0,          951782399,  951782400,  1078012799,
                               1709164800, 2147483647, 4102444799, 68169600};
    for (size_t i = 0; i < sizeof(moments) / sizeof(moments[0]); i++) {
        time_t t = moments[i];
        open_turned((uint64_t)t);
        const struct seen *s = run(0);
        const struct tm *tm = gmtime(&t);
        assert_int_equal(s->hour, tm->tm_hour);
        assert_int_equal(s->year, tm->tm_year);
        assert_int_equal(s->utc_offset, 0);
        assert_int_equal(s->made_s, t); /* mktime(localtime(t)) */
        close_core(NULL);
    }
}

static uint32_t first_random(uint64_t epoch_s) {
    open_turned(epoch_s);
    uint32_t r = run(0)->random;
    close_core(NULL);
    return r;
}

TEST_WITH(chance_comes_from_the_epoch, NULL, close_core) {
    uint32_t one = first_random(EPOCH);
    srand(1);
    assert_int_equal(first_random(EPOCH), one);
    assert_int_not_equal(first_random(EPOCH + 1), one);
}

TEST_WITH(timed_wait_times_out_soon, NULL, close_core) {
    open_turned(EPOCH); /* decades behind the real clock */
    uint64_t before_us = kl_now_us();
    assert_int_equal(run(0)->timeouts, 1);
    assert_in_range(kl_now_us() - before_us, 0, 900000);
    close_core(NULL);
    open_turned(4000000000u); /* decades ahead: it must not wait for them */
    assert_int_equal(run(0)->timeouts, 1);
}

TEST_WITH(a_core_that_spins_goes_on, NULL, close_core) {
    probe_set("PROBE_CORE", "spin");
    open_turned(EPOCH);
    run(0);
    assert_int_equal(run(1)->mono_ns, 16666666 / STEP_NS * STEP_NS); /* the spinning leaves nothing behind */
}

TEST_WITH(files_are_noted, make_folder, close_core) {
    bool wrote = true;
    put("probe.bios", "seven b");
    probe_system_dir = dir;
    kl_world_files_clear(world);
    open_turned(EPOCH);
    assert_int_equal(probe_core_seen(&core)->bios_bytes, 7);
    assert_int_equal(kl_world_files(world), 2);
    assert_string_equal(kl_world_file(world, 0, &wrote), at("probe.bios"));
    assert_false(wrote);
    assert_string_equal(kl_world_file(world, 1, &wrote), at("probe.second")); /* looked for in vain */
    assert_null(kl_world_file(world, 2, &wrote));
    kl_world_note_file(world, at("probe.bios"), true);
    assert_int_equal(kl_world_files(world), 2);
    kl_world_file(world, 0, &wrote);
    assert_true(wrote);
    kl_world_files_clear(world);
    assert_int_equal(kl_world_files(world), 0);
    remove_folder(NULL);
    probe_system_dir = "/nonexistent";
}

int main(void) {
#ifndef _WIN32
    alarm(60); /* a clock that stands still, or a wait for decades, shows as a hang */
#endif
    return run_all_tests(NULL, NULL);
}
