/* Processes that are started and asked: real ones, this program again as `test_platform_process CHILD WORD`.
 * One answers, one hangs, one dies at once, one crashes, one writes garbage, one cuts its answer short.
 * runs: working, check, 3 s */
#include "tests/unit/folder.h"

#include <signal.h>
#include <unistd.h>

#ifdef _WIN32
#include <windows.h>

#include "net/platform/windows/disk.h"
#endif

#include "net/platform/clock.h"
#include "net/platform/process.h"
#include "net/platform/library.h"
#include "net/platform/socket.h"
#include "net/platform/wait.h"
#include "tests/unit/built.h"
#include "tests/unit/process_child.h"

#define LONG_MS  30000 /* never reached if all is well */
#define SHORT_MS 200

/* How the child finds that file, if it holds it open: by its handle on Windows, by its path elsewhere. */
#ifdef _WIN32
static void name_open(char *out, size_t cap, const struct kl_file *file, const char *path) {
    (void)path;
    snprintf(out, cap, "%d", file->handle);
    assert_true(
        SetHandleInformation((HANDLE)(intptr_t)file->handle, HANDLE_FLAG_INHERIT, HANDLE_FLAG_INHERIT));
}
#else
static void name_open(char *out, size_t cap, const struct kl_file *file, const char *path) {
    (void)file;
    snprintf(out, cap, "%s", path);
}
#endif

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

TEST_WITH(one_that_answers, make_folder, remove_folder) {
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

#define AWKWARD "two words, \"quoted\" and \\\"$HOME\" C:\\dir\\ \u3042\u0130 %PATH%\\\\"

TEST_WITH(a_child_gets_its_arguments_and_environment, make_folder, remove_folder) {
    char log[300];
    struct kl_process p = start("arguments", AWKWARD, NULL, false);
    hears(&p, AWKWARD "!");
    fails(&p, KL_PROCESS_ENDED, LONG_MS);
    assert_int_equal(end(&p, LONG_MS).code, 5);
    const char *arguments[] = {"test_platform_process", "CHILD", "variable", NULL},
               *more[] = {"KL_TEST=ours \u3042", NULL};
    struct kl_process_setup setup = {.arguments = arguments, .environment = more};
    kl_environment_set("KL_TEST", "old");
    assert_int_equal(kl_process_start(&p, &setup, err, sizeof err), 0);
    hears(&p, "ours \u3042!");
    end(&p, LONG_MS);
    setup.environment = NULL;
    assert_int_equal(kl_process_start(&p, &setup, err, sizeof err), 0);
    hears(&p, "old!");
    end(&p, LONG_MS);
    snprintf(log, sizeof log, "%s/log", dir);
    p = start("print", NULL, log, false);
    fails(&p, KL_PROCESS_ENDED, LONG_MS);
    end(&p, LONG_MS);
    has("log", "to output\nto errors\n");
#ifndef _WIN32
    signal(SIGPIPE, SIG_IGN);
    p = start("signals", NULL, NULL, false);
    hears(&p, "usual!");
    end(&p, LONG_MS);
#endif
}

TEST_WITH(a_child_does_not_hold_our_lock, make_folder, remove_folder) {
    char path[300], open[300];
    struct kl_file lock;
    snprintf(path, sizeof path, "%s/lock", dir);
    assert_int_equal(kl_file_lock(&lock, path, false, err, sizeof err), 0);
    name_open(open, sizeof open, &lock, path);
    assert_true(has_open(open));
    struct kl_process p = start("open", open, NULL, false);
    hears(&p, "closed!");
    end(&p, LONG_MS);
    kl_file_unlock(&lock, path);
}

TEST_WITH(text_that_it_prints, make_folder, remove_folder) {
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

TEST_WITH(one_that_hangs, make_folder, remove_folder) {
    struct kl_process p = start("hang", NULL, NULL, false);
    assert_false(kl_process_gone(&p));
    uint64_t from_us = kl_now_us();
    fails(&p, KL_PROCESS_LATE, SHORT_MS);
    assert_in_range(kl_now_us() - from_us, SHORT_MS * 1000, LONG_MS * 1000);
    assert_true(end(&p, SHORT_MS).killed);
    p = start("slow", NULL, NULL, false); /* within its answer */
    fails(&p, KL_PROCESS_LATE, SHORT_MS);
    assert_true(end(&p, 0).killed);
}

/* A request larger than what fits into the channel is not written for ever. */
TEST_WITH(one_that_does_not_listen, make_folder, remove_folder) {
    static uint8_t large[20 << 20];
    struct kl_process_part part = {large, sizeof large};
    struct kl_process p = start("deaf", NULL, NULL, false);
    assert_int_equal(kl_process_send(&p, &part, 1, SHORT_MS), KL_PROCESS_LATE);
    assert_true(end(&p, 0).killed);
}

TEST_WITH(one_that_dies_at_once, make_folder, remove_folder) {
#ifndef _WIN32
    signal(SIGPIPE, SIG_DFL);
#endif
    struct kl_process p = start("nothing", NULL, NULL, false), none = {.channel = -1};
    fails(&p, KL_PROCESS_ENDED, LONG_MS);
    assert_true(kl_process_gone(&p) && kl_process_gone(&none));
    struct kl_process_end how = end(&p, LONG_MS);
    assert_false(how.crashed || how.killed);
    assert_int_equal(how.code, 5);
    p = start("nothing", NULL, NULL, false);
    static uint8_t large[20 << 20];
    struct kl_process_part part = {large, sizeof large}; /* and is written to: no signal ends us */
    assert_int_equal(kl_process_send(&p, &part, 1, LONG_MS), KL_PROCESS_ENDED);
    end(&p, LONG_MS);
}

TEST_WITH(one_that_crashes, make_folder, remove_folder) {
    struct kl_process p = start("crash", NULL, NULL, false);
    fails(&p, KL_PROCESS_ENDED, LONG_MS);
    struct kl_process_end how = end(&p, LONG_MS);
    assert_true(how.crashed && !how.killed);
    assert_string_equal(how.why, "Segmentation fault");
    p = start("abort", NULL, NULL, false);
    fails(&p, KL_PROCESS_ENDED, LONG_MS);
    how = end(&p, LONG_MS);
    assert_true(how.crashed && !how.killed);
    assert_string_equal(how.why, "Aborted");
}

#ifndef __SANITIZE_ADDRESS__ /* its own handlers say more */
TEST_WITH(a_crash_prints_a_line, make_folder, remove_folder) {
    static const char *const words[] = {"caught crash", "caught abort"}, *const why[] = {"Segmentation fault",
                                                                                         "Aborted"};
    for (unsigned i = 0; i < COUNT(words); i++) {
        char said[64];
        struct kl_process p = start(words[i], NULL, NULL, true);
        assert_int_equal(kl_process_read_text(&p, said, sizeof said, LONG_MS), KL_PROCESS_OK);
        if (!strstr(said, "a line before the crash\n")) fail_msg("the line was expected, \"%s\" came", said);
        struct kl_process_end how = end(&p, LONG_MS);
        assert_true(how.crashed);
        assert_string_equal(how.why, why[i]);
    }
}
#endif

TEST_WITH(garbage, make_folder, remove_folder) {
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
TEST_WITH(one_that_runs_beside, make_folder, remove_folder) {
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
    kl_process_ask_end(&p); /* none */
}

/* It listens, and ends in its own way. */
TEST_WITH(one_that_is_asked_to_end, make_folder, remove_folder) {
    struct kl_process p = start("end when asked", NULL, NULL, false);
    hears(&p, "here!");
    kl_process_ask_end(&p);
    fails(&p, KL_PROCESS_ENDED, LONG_MS);
    struct kl_process_end how = end(&p, LONG_MS);
    assert_false(how.crashed || how.killed);
    assert_int_equal(how.code, 5);
}

/* It is asked, and killed, in its old place. */
TEST_WITH(one_that_becomes_another, make_folder, remove_folder) {
    struct kl_process p = start("become", "nothing", NULL, false);
    fails(&p, KL_PROCESS_ENDED, LONG_MS);
    assert_int_equal(end(&p, LONG_MS).code, 5);
    p = start("become", "end when asked", NULL, false);
    hears(&p, "here!");
    kl_process_ask_end(&p);
    fails(&p, KL_PROCESS_ENDED, LONG_MS);
    struct kl_process_end how = end(&p, LONG_MS);
    assert_false(how.crashed || how.killed);
    assert_int_equal(how.code, 5);
    p = start("become", "number", NULL, false);
    void *text;
    size_t len;
    assert_int_equal(kl_process_answer(&p, 100, LONG_MS, &text, &len), KL_PROCESS_OK);
    long number = strtol(text, NULL, 10);
    free(text);
    assert_true(kl_process_alive(number));
    assert_true(end(&p, 0).killed);
    for (unsigned i = 0; i < LONG_MS && kl_process_alive(number); i++)
        kl_sleep_us(1000);
    assert_false(kl_process_alive(number));
}

TEST_WITH(one_with_limits, make_folder, remove_folder) {
    struct kl_process p = start("limits", NULL, NULL, false);
    hears(&p, "no memory, no terminal!");
    assert_int_equal(end(&p, LONG_MS).code, 5);
}

TEST_WITH(no_such_program, make_folder, remove_folder) {
    const char *arguments[] = {"x", NULL};
    struct kl_process_setup setup = {.program = "/no/such/program", .arguments = arguments};
    struct kl_process p;
    assert_int_equal(kl_process_start(&p, &setup, err, sizeof err), -1);
    assert_string_equal(err, "cannot start /no/such/program: No such file or directory");
    assert_int_equal(p.id, 0);
    assert_int_equal(kl_process_run(&p, "/no/such/program", arguments, err, sizeof err), -1);
    assert_non_null(strstr(err, "/no/such/program"));
    assert_int_equal(kl_process_become("/no/such/program", arguments, err, sizeof err), -1);
    assert_non_null(strstr(err, "/no/such/program"));
}

TEST_WITH(itself_and_others, make_folder, remove_folder) {
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
#ifdef _WIN32
    assert_true(kl_process_runs("test_platform_process", "KL_TEST=found"));
    assert_true(kl_process_runs(slash + 1, "KL_TEST=found"));
#else
    char name[16];
    snprintf(name, sizeof name, "%s", slash + 1); /* the system keeps so much of it */
    assert_true(kl_process_runs(name, "KL_TEST=found"));
    assert_false(kl_process_runs(name, "KL_TEST=other"));
#endif
    assert_false(kl_process_runs("no such name", "KL_TEST=found"));
    end(&p, 0);
#ifndef _WIN32
    assert_false(kl_process_runs(name, "KL_TEST=found"));
#endif
}

/* The wrapper, which measures cores; its children are itself once more. The core's states hold addresses of
 * its own variables, which make the mask. */
TEST_WITH(a_library_is_a_program, make_folder, remove_folder) {
    char wrapper[KL_FILE_PATH], core[KL_FILE_PATH], away[400], home[300], kept[700];
    struct kl_dir_list found;
    struct kl_process p;
    void *text;
    size_t len;
    assert_true(built_file(wrapper, sizeof wrapper, "keylock_libretro" KL_LIBRARY_ENDING));
    assert_true(built_file(core, sizeof core, "cores/video_core_libretro" KL_LIBRARY_ENDING));
    snprintf(away, sizeof away, "%s/a folder \u3042", dir);
    assert_int_equal(kl_dir_make(away, false, err, sizeof err), 0);
    snprintf(away + strlen(away), sizeof away - strlen(away), "/wrapper" KL_LIBRARY_ENDING);
    assert_int_equal(kl_file_copy(wrapper, away, 0, err, sizeof err), 0);
    snprintf(home, sizeof home, "XDG_STATE_HOME=%s", dir);
    const char *arguments[] = {"keylock", "probe", "--learn", "--core", core, "--content", core, NULL},
               *more[] = {home, "VIDEO_CORE=addresses", NULL};
    struct kl_process_setup setup = {.library = away, .arguments = arguments, .environment = more};
    assert_int_equal(kl_process_start(&p, &setup, err, sizeof err), 0);
    assert_int_equal(end(&p, LONG_MS).code, 0);
    snprintf(kept, sizeof kept, "%s/keylock/profiles", dir);
    assert_int_equal(kl_dir_list(&found, kept, ".json", err, sizeof err), 0);
    assert_int_equal(found.count, 1);
    snprintf(kept, sizeof kept, "%s/keylock/profiles/%s", dir, found.name[0]);
    assert_int_equal(kl_file_read(kept, 1 << 20, 0, &text, &len, err, sizeof err), 0);
    assert_non_null(strstr(text, "\"mask\":[[62")); /* behind the machine's 6,224 bytes */
    free(text);
    kl_dir_list_free(&found);
}

TEST_WITH(one_on_the_path, make_folder, remove_folder) {
    char own[300], path[700], found[300], cut[8];
    assert_int_equal(kl_process_own_path(own, sizeof own), 0);
    char *slash = strrchr(own, '/');
#ifdef _WIN32
    snprintf(path, sizeof path, "C:\\no such folder;;\"%.*s\"", (int)(slash - own), own);
#else
    snprintf(path, sizeof path, "/no such folder::%.*s", (int)(slash - own), own);
#endif
    kl_environment_set("PATH", path);
    assert_true(kl_process_find("test_platform_process", found, sizeof found));
    assert_string_equal(found, own);
    assert_true(kl_process_find(slash + 1, found, sizeof found));
    assert_string_equal(found, own);
    assert_false(kl_process_find("test_platform_process", cut, sizeof cut));
    assert_false(kl_process_find("no such program", found, sizeof found));
    kl_environment_set("PATH", "");
    assert_false(kl_process_find("test_platform_process", found, sizeof found));
}

#ifdef _WIN32
#define CRASH      SIGFPE
#define CRASH_NAME "SIGFPE"
#else
#define CRASH      SIGTRAP /* the sanitizers handle the others */
#define CRASH_NAME "SIGTRAP"
#endif

static void on_signal(int number) {
    (void)number;
}

TEST_WITH(its_handlers_of_crashes, make_folder, remove_folder) {
    char names[200];
    kl_process_crash_handlers(names, sizeof names);
    assert_null(strstr(names, CRASH_NAME));
    void (*before)(int) = signal(CRASH, on_signal);
    kl_process_crash_handlers(names, sizeof names);
    assert_non_null(strstr(names, CRASH_NAME));
    signal(CRASH, before);
    kl_process_crash_handlers(names, sizeof names);
    assert_null(strstr(names, CRASH_NAME));
}

#ifdef _WIN32
/* Taken apart by the system itself. */
TEST_WITH(arguments_survive_the_command_line, make_folder, remove_folder) {
    static const char *const arguments[] = {"a.exe", "",       " ",     "a b",          "\"", "\\",    "\\\\",
                                            "\\\"",  "a\\\\b", "a b\\", "a\\\"b c\\\\", "\t", AWKWARD, NULL};
    int count;
    wchar_t *line = kl_command_line(NULL, arguments), **taken = CommandLineToArgvW(line, &count);
    assert_int_equal(count, COUNT(arguments) - 1);
    for (int i = 0; i < count; i++) {
        char text[200];
        assert_true(WideCharToMultiByte(CP_UTF8, 0, taken[i], -1, text, sizeof text, NULL, NULL) > 0);
        assert_string_equal(text, arguments[i]);
    }
    LocalFree(taken);
    free(line);
}
#endif

/* The last: a stop is noted for good. */
TEST_WITH(a_stop_ends_the_waiting, make_folder, remove_folder) {
    struct kl_process p = start("hang", NULL, NULL, false);
    assert_false(kl_process_stopped());
    kl_process_catch_stop();
    raise(SIGINT);
    assert_true(kl_process_stopped());
    fails(&p, KL_PROCESS_STOPPED, LONG_MS);
    assert_true(end(&p, 0).killed);
}

int main(int argc, char **argv) {
    kl_process_begin(&argc, &argv);
    if (argc > 2 && !strcmp(argv[1], "CHILD")) return be_child(argc, argv);
    return run_all_tests(NULL, NULL);
}
