/* Processes that are started and asked: real ones, this program again as `test_platform_process CHILD WORD`.
 * One answers, one hangs, one dies at once, one crashes, one writes garbage, one cuts its answer short. */
#include "tests/unit/unit.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "net/platform/clock.h"
#include "net/platform/dir.h"
#include "net/platform/file.h"
#include "net/platform/process.h"
#include "net/platform/wait.h"

#define LONG_MS  30000 /* never reached if all is well */
#define SHORT_MS 200
#define CHANNEL  3 /* the child's, for the words that are no frames */

static char dir[256], err[512];

static int make_folder(void **state) {
    (void)state;
    return kl_dir_make_temporary(dir, sizeof dir, "keylock-test-process", err, sizeof err);
}
static int remove_folder(void **state) {
    (void)state;
    kl_dir_remove_tree(dir);
    return 0;
}

/* ---- the children ---- */

static void say(const char *text) {
    struct kl_process_part part[] = {{text, strlen(text)}, {"!", 1}};
    if (!kl_process_tell(part, 2)) _exit(9);
}

static void put(const void *bytes, size_t len) {
    if (write(CHANNEL, bytes, len) != (ssize_t)len) _exit(9);
}

static void echo(void) {
    void *bytes;
    size_t len;
    while (kl_process_hear(1 << 26, &bytes, &len)) {
        struct kl_process_part part = {bytes, len};
        if (!kl_process_tell(&part, 1)) _exit(9);
        free(bytes);
    }
    _exit(7);
}

static bool has_open(const char *file) {
    char name[32];
    bool found = false;
    for (int fd = 0; fd < 100; fd++) {
        snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
        found = found || kl_file_links_to(name, file);
    }
    return found;
}

static void limit(void) {
    kl_process_limit_memory(64u << 20);
    kl_process_leave_terminal();
    void *volatile much = malloc(256u << 20);
#ifdef __SANITIZE_ADDRESS__
    much = NULL; /* it knows no limit */
#endif
    say(much ? "memory" : getsid(0) == getpid() ? "no memory, no terminal" : "a terminal");
}

static int be_child(int argc, char **argv) {
    static const uint32_t other[5] = {0x65726f63, 0, 4, 0,
                                      0x74786574}; /* text of a core's, frame by chance */
    static const uint32_t huge[4] = {0x4b4c6d31, 0, 0, 0x7fffffff}, short_one[4] = {0x4b4c6d31, 0, 100, 0};
    const char *word = argv[2];
    alarm(60); /* if the test fails before it ends us */
    if (!strcmp(word, "echo")) echo();
    if (!strcmp(word, "arguments"))
        for (int i = 3; i < argc; i++)
            say(argv[i]);
    if (!strcmp(word, "variable")) say(getenv("KL_TEST") ? getenv("KL_TEST") : "none");
    if (!strcmp(word, "print")) printf("to output\n"), fflush(stdout), fprintf(stderr, "to errors\n");
    if (!strcmp(word, "signals")) say(signal(SIGPIPE, SIG_DFL) == SIG_DFL ? "usual" : "ignored");
    if (!strcmp(word, "crash")) signal(SIGSEGV, SIG_DFL), raise(SIGSEGV);
    if (!strcmp(word, "garbage")) put(other, sizeof other);
    if (!strcmp(word, "huge")) put(huge, sizeof huge);
    if (!strcmp(word, "cut")) put(short_one, sizeof short_one), put("half", 4);
    if (!strcmp(word, "slow")) put(short_one, sizeof short_one), put("half", 4);
    if (!strcmp(word, "open")) say(has_open(argv[3]) ? "open" : "closed");
    if (!strcmp(word, "limits")) limit();
    if (!strcmp(word, "greet")) say("here");
    if (!strcmp(word, "greet") || !strcmp(word, "hang") || !strcmp(word, "slow") || !strcmp(word, "deaf"))
        for (;;)
            pause();
    return 5;
}

/* ---- the parent ---- */

static struct kl_process start(const char *word, const char *more, const char *log, bool printed) {
    const char *arguments[] = {"test_platform_process", "CHILD", word, more, NULL};
    struct kl_process_setup setup = {.arguments = arguments, .log = log, .printed = printed};
    struct kl_process p;
    assert_int_equal(kl_process_start(&p, &setup, err, sizeof err), 0);
    assert_true(p.id > 0);
    return p;
}

static void hears(struct kl_process *p, const char *expected) {
    void *bytes;
    size_t len;
    assert_int_equal(kl_process_answer(p, 1000, LONG_MS, &bytes, &len), KL_PROCESS_OK);
    assert_int_equal(len, strlen(expected));
    assert_string_equal(bytes, expected);
    free(bytes);
}

/* Nothing comes but this result. */
static void fails(struct kl_process *p, enum kl_process_result expected, unsigned timeout_ms) {
    void *bytes = &bytes;
    size_t len;
    assert_int_equal(kl_process_answer(p, 1000, timeout_ms, &bytes, &len), expected);
    assert_null(bytes);
}

static struct kl_process_end end(struct kl_process *p, unsigned grace_ms) {
    struct kl_process_end how;
    long id = p->id;
    kl_process_end(p, grace_ms, &how);
    assert_int_equal(p->id, 0);
    assert_int_equal(p->channel, -1);
    assert_false(kl_process_alive(id)); /* not even as a zombie */
    return how;
}

static void one_that_answers(void **state) {
    (void)state;
    struct kl_process p = start("echo", NULL, NULL, false);
    struct kl_process_part part[] = {{"ab", 2}, {NULL, 0}, {"c", 1}};
    for (unsigned i = 0; i < 100; i++) {
        assert_int_equal(kl_process_send(&p, part, 3, LONG_MS), KL_PROCESS_OK);
        hears(&p, "abc");
    }
    assert_int_equal(kl_process_send(&p, part + 1, 1, LONG_MS), KL_PROCESS_OK);
    hears(&p, "");
    static uint8_t large[20 << 20]; /* more than any pipe holds */
    memset(large, 'x', sizeof large);
    struct kl_process_part big = {large, sizeof large};
    void *bytes;
    size_t len;
    assert_int_equal(kl_process_send(&p, &big, 1, LONG_MS), KL_PROCESS_OK);
    assert_int_equal(kl_process_answer(&p, sizeof large, LONG_MS, &bytes, &len), KL_PROCESS_OK);
    assert_int_equal(len, sizeof large);
    assert_memory_equal(bytes, large, len);
    free(bytes);
    struct kl_process_end how = end(&p, LONG_MS); /* it sees that we have gone */
    assert_false(how.crashed || how.killed);
    assert_int_equal(how.code, 7);
    kl_process_end(&p, 0, &how); /* an empty one */
}

static void what_it_gets(void **state) {
    (void)state;
    char log[300];
    struct kl_process p = start("arguments", "two words, \"quoted\" and $HOME", NULL, false);
    hears(&p, "two words, \"quoted\" and $HOME!");
    fails(&p, KL_PROCESS_ENDED, LONG_MS);
    assert_int_equal(end(&p, LONG_MS).code, 5);
    const char *arguments[] = {"test_platform_process", "CHILD", "variable", NULL},
               *more[] = {"KL_TEST=ours", NULL};
    struct kl_process_setup setup = {.arguments = arguments, .environment = more};
    setenv("KL_TEST", "old", 1);
    assert_int_equal(kl_process_start(&p, &setup, err, sizeof err), 0);
    hears(&p, "ours!");
    end(&p, LONG_MS);
    setup.environment = NULL;
    assert_int_equal(kl_process_start(&p, &setup, err, sizeof err), 0);
    hears(&p, "old!");
    end(&p, LONG_MS);
    snprintf(log, sizeof log, "%s/log", dir);
    p = start("print", NULL, log, false);
    fails(&p, KL_PROCESS_ENDED, LONG_MS);
    end(&p, LONG_MS);
    void *text;
    size_t len;
    assert_int_equal(kl_file_read(log, 1000, 0, &text, &len, err, sizeof err), 0);
    assert_string_equal(text, "to output\nto errors\n");
    free(text);
    signal(SIGPIPE, SIG_IGN);
    p = start("signals", NULL, NULL, false);
    hears(&p, "usual!");
    end(&p, LONG_MS);
    struct kl_file lock;
    snprintf(log, sizeof log, "%s/lock", dir);
    assert_int_equal(kl_file_lock(&lock, log, false, err, sizeof err), 0);
    assert_true(has_open(log));
    p = start("open", log, NULL, false);
    hears(&p, "closed!"); /* the child does not hold our lock */
    end(&p, LONG_MS);
    kl_file_unlock(&lock, log);
}

static void text_that_it_prints(void **state) {
    (void)state;
    char said[64], little[6];
    struct kl_process p = start("print", NULL, NULL, true);
    assert_int_equal(kl_process_read_text(&p, said, sizeof said, LONG_MS), KL_PROCESS_OK);
    assert_string_equal(said, "to output\nto errors\n");
    end(&p, LONG_MS);
    p = start("print", NULL, NULL, true);
    assert_int_equal(kl_process_read_text(&p, little, sizeof little, LONG_MS), KL_PROCESS_OK);
    assert_string_equal(little, "to ou");
    end(&p, LONG_MS);
    p = start("hang", NULL, NULL, true);
    assert_int_equal(kl_process_read_text(&p, said, sizeof said, SHORT_MS), KL_PROCESS_LATE);
    assert_true(end(&p, 0).killed);
}

static void one_that_hangs(void **state) {
    (void)state;
    struct kl_process p = start("hang", NULL, NULL, false);
    uint64_t from_us = kl_now_us();
    fails(&p, KL_PROCESS_LATE, SHORT_MS);
    assert_in_range(kl_now_us() - from_us, SHORT_MS * 1000, LONG_MS * 1000);
    assert_true(end(&p, SHORT_MS).killed);
    p = start("slow", NULL, NULL, false); /* within its answer */
    fails(&p, KL_PROCESS_LATE, SHORT_MS);
    assert_true(end(&p, 0).killed);
}

/* A request larger than what fits into the channel is not written for ever. */
static void one_that_does_not_listen(void **state) {
    (void)state;
    static uint8_t large[20 << 20];
    struct kl_process_part part = {large, sizeof large};
    struct kl_process p = start("deaf", NULL, NULL, false);
    assert_int_equal(kl_process_send(&p, &part, 1, SHORT_MS), KL_PROCESS_LATE);
    assert_true(end(&p, 0).killed);
}

static void one_that_dies_at_once(void **state) {
    (void)state;
    signal(SIGPIPE, SIG_DFL);
    struct kl_process p = start("nothing", NULL, NULL, false);
    fails(&p, KL_PROCESS_ENDED, LONG_MS);
    struct kl_process_end how = end(&p, LONG_MS);
    assert_false(how.crashed || how.killed);
    assert_int_equal(how.code, 5);
    p = start("nothing", NULL, NULL, false);
    static uint8_t large[1 << 20];
    struct kl_process_part part = {large, sizeof large}; /* and is written to: no signal ends us */
    assert_int_equal(kl_process_send(&p, &part, 1, LONG_MS), KL_PROCESS_ENDED);
    end(&p, LONG_MS);
}

static void one_that_crashes(void **state) {
    (void)state;
    struct kl_process p = start("crash", NULL, NULL, false);
    fails(&p, KL_PROCESS_ENDED, LONG_MS);
    struct kl_process_end how = end(&p, LONG_MS);
    assert_true(how.crashed && !how.killed);
    assert_string_equal(how.why, "Segmentation fault");
}

static void garbage(void **state) {
    (void)state;
    static const char *const words[] = {"garbage", "huge"};
    for (unsigned i = 0; i < COUNT(words); i++) {
        struct kl_process p = start(words[i], NULL, NULL, false);
        fails(&p, KL_PROCESS_GARBAGE, LONG_MS);
        end(&p, 0);
    }
    struct kl_process p = start("cut", NULL, NULL, false);
    fails(&p, KL_PROCESS_ENDED, LONG_MS);
    end(&p, LONG_MS);
    p = start("arguments", "more than is allowed", NULL, false);
    void *bytes;
    size_t len;
    assert_int_equal(kl_process_answer(&p, 5, LONG_MS, &bytes, &len), KL_PROCESS_GARBAGE);
    end(&p, LONG_MS);
}

/* Its channel is readable when it has ended, and it shares our output. */
static void one_that_runs_beside(void **state) {
    (void)state;
    char path[300];
    struct kl_process p;
    assert_int_equal(kl_process_own_path(path, sizeof path), 0);
    const char *code[] = {"test_platform_process", "CHILD", "nothing", NULL};
    assert_int_equal(kl_process_run(&p, path, code, err, sizeof err), 0);
    assert_int_equal(kl_wait_for(&p.channel, 1, kl_now_us() + LONG_MS * 1000), 1);
    assert_int_equal(end(&p, LONG_MS).code, 5);
    const char *hang[] = {"test_platform_process", "CHILD", "hang", NULL};
    assert_int_equal(kl_process_run(&p, path, hang, err, sizeof err), 0);
    assert_int_equal(kl_wait_for(&p.channel, 1, kl_now_us()), 0);
    kl_process_ask_end(&p);
    assert_int_equal(kl_wait_for(&p.channel, 1, kl_now_us() + LONG_MS * 1000), 1);
    struct kl_process_end how = end(&p, LONG_MS);
    assert_true(how.crashed);
    assert_string_equal(how.why, "Terminated");
    assert_int_equal(kl_process_run(&p, "/no/such/program", hang, err, sizeof err), -1);
    assert_string_equal(err, "cannot start /no/such/program: No such file or directory");
    kl_process_ask_end(&p); /* none */
}

static void one_with_limits(void **state) {
    (void)state;
    struct kl_process p = start("limits", NULL, NULL, false);
    hears(&p, "no memory, no terminal!");
    assert_int_equal(end(&p, LONG_MS).code, 5);
}

static void no_such_program(void **state) {
    (void)state;
    const char *arguments[] = {"x", NULL};
    struct kl_process_setup setup = {.program = "/no/such/program", .arguments = arguments};
    struct kl_process p;
    assert_int_equal(kl_process_start(&p, &setup, err, sizeof err), -1);
    assert_string_equal(err, "cannot start /no/such/program: No such file or directory");
    assert_int_equal(p.id, 0);
    assert_int_equal(kl_process_become("/no/such/program", arguments, err, sizeof err), -1);
    assert_non_null(strstr(err, "/no/such/program"));
}

static void itself_and_others(void **state) {
    (void)state;
    char path[300];
    assert_int_equal(kl_process_own_path(path, sizeof path), 0);
    assert_non_null(strstr(path, "test_platform_process"));
    assert_true(kl_process_alive(kl_process_self()));
    assert_false(kl_process_alive(0));
    const char *arguments[] = {"test_platform_process", "CHILD", "greet", NULL},
               *more[] = {"KL_TEST=found", NULL};
    struct kl_process_setup setup = {.program = path, .arguments = arguments, .environment = more};
    struct kl_process p;
    assert_int_equal(kl_process_start(&p, &setup, err, sizeof err), 0);
    hears(&p, "here!"); /* it has begun */
    assert_true(kl_process_alive(p.id));
    const char *slash = strrchr(path, '/');
    char name[16];
    snprintf(name, sizeof name, "%s", slash + 1); /* the system keeps so much of it */
    assert_true(kl_process_runs(name, "KL_TEST=found"));
    assert_false(kl_process_runs(name, "KL_TEST=other"));
    assert_false(kl_process_runs("no such name", "KL_TEST=found"));
    end(&p, 0);
    assert_false(kl_process_runs(name, "KL_TEST=found"));
}

/* The last: a stop is noted for good. */
static void a_stop_ends_the_waiting(void **state) {
    (void)state;
    struct kl_process p = start("hang", NULL, NULL, false);
    assert_false(kl_process_stopped());
    kl_process_catch_stop();
    raise(SIGINT);
    assert_true(kl_process_stopped());
    fails(&p, KL_PROCESS_STOPPED, LONG_MS);
    assert_true(end(&p, 0).killed);
}

#define T(test) cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)
int main(int argc, char **argv) {
    if (argc > 2 && !strcmp(argv[1], "CHILD")) return be_child(argc, argv);
    const struct CMUnitTest tests[] = {
        T(one_that_answers),         T(what_it_gets),          T(text_that_it_prints), T(one_that_hangs),
        T(one_that_does_not_listen), T(one_that_dies_at_once), T(one_that_crashes),    T(garbage),
        T(one_that_runs_beside),     T(one_with_limits),       T(no_such_program),     T(itself_and_others),
        T(a_stop_ends_the_waiting),
    };
    return cmocka_run_group_tests_name("platform_process", tests, NULL, NULL);
}
