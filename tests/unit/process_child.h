/* process_child.h - the children of test_platform_process: itself again, as `PROGRAM CHILD WORD [MORE]`. */
#ifndef TEST_PROCESS_CHILD_H
#define TEST_PROCESS_CHILD_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef _WIN32
#include <windows.h>
#endif

#include "net/platform/clock.h"
#include "net/platform/process.h"
#include "net/platform/file.h"
#include "net/platform/socket.h"
#include "tests/unit/limit.h"

static void say(const char *text) {
    struct kl_process_part part[] = {{text, strlen(text)}, {"!", 1}};
    if (!kl_process_tell(part, 2)) _exit(9);
}

static void send_raw(const void *bytes, size_t len) {
    if (!kl_socket_send(kl_process_parent(), NULL, bytes, len)) _exit(9);
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

#ifdef _WIN32
/* Wine does not keep a process from memory. */
static bool is_wine(void) {
    return GetProcAddress(GetModuleHandleW(L"ntdll.dll"), "wine_get_version") != NULL;
}

static const char *limits(void) {
    kl_process_limit_memory(64u << 20);
    void *volatile much = is_wine() ? NULL : malloc(256u << 20);
    bool terminal = GetConsoleWindow() != NULL;
    kl_process_leave_terminal();
    return much ? "memory" : terminal && GetConsoleWindow() ? "a terminal" : "no memory, no terminal";
}

/* A number of ours means nothing in the child. */
static bool has_open(const char *handle) {
    DWORD flags;
    return GetHandleInformation((HANDLE)(intptr_t)atoi(handle), &flags) && flags;
}
#else
static bool has_open(const char *file) {
    char name[32];
    bool found = false;
    for (int fd = 0; fd < 100; fd++) {
        snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
        found = found || kl_file_links_to(name, file);
    }
    return found;
}

static const char *limits(void) {
    kl_process_limit_memory(64u << 20);
    kl_process_leave_terminal();
    void *volatile much = malloc(256u << 20);
#ifdef __SANITIZE_ADDRESS__
    much = NULL; /* it knows no limit */
#endif
    return much ? "memory" : getsid(0) == getpid() ? "no memory, no terminal" : "a terminal";
}
#endif

static void crash(void) {
    volatile uintptr_t nowhere = 16;
    *(volatile char *)nowhere = 1;
}

static void become(const char *word) {
    char path[300], why[512];
    const char *arguments[] = {"test_platform_process", "CHILD", word, NULL};
    if (kl_process_own_path(path, sizeof path) == 0) kl_process_become(path, arguments, why, sizeof why);
    say(why);
}

static void wait_for_ever(void) {
    for (;;)
        kl_sleep_us(1000000);
}

static int be_child(int argc, char **argv) {
    static const uint32_t other[5] = {0x65726f63, 0, 4, 0,
                                      0x74786574}; /* text of a core's, frame by chance */
    static const uint32_t huge[4] = {0x4b4c6d31, 0, 0, 0x7fffffff}, short_one[4] = {0x4b4c6d31, 0, 100, 0};
    const char *word = argv[2];
    limit_s(60); /* if the test fails before it ends us */
    if (!strcmp(word, "echo")) echo();
    if (!strcmp(word, "arguments"))
        for (int i = 3; i < argc; i++)
            say(argv[i]);
    if (!strcmp(word, "variable"))
        say(kl_environment_get("KL_TEST") ? kl_environment_get("KL_TEST") : "none");
    if (!strcmp(word, "print")) printf("to output\n"), fflush(stdout), fprintf(stderr, "to errors\n");
#ifndef _WIN32
    if (!strcmp(word, "signals")) say(signal(SIGPIPE, SIG_DFL) == SIG_DFL ? "usual" : "ignored");
#endif
    if (!strcmp(word, "crash")) signal(SIGSEGV, SIG_DFL), crash(); /* a sanitizer handles it */
    if (!strcmp(word, "caught crash")) kl_process_catch_crashes("a line before the crash\n"), crash();
    if (!strcmp(word, "caught abort")) kl_process_catch_crashes("a line before the crash\n"), abort();
    if (!strcmp(word, "abort")) abort();
    if (!strcmp(word, "garbage")) send_raw(other, sizeof other);
    if (!strcmp(word, "huge")) send_raw(huge, sizeof huge);
    if (!strcmp(word, "cut")) send_raw(short_one, sizeof short_one), send_raw("half", 4);
    if (!strcmp(word, "slow")) send_raw(short_one, sizeof short_one), send_raw("half", 4);
    if (!strcmp(word, "open")) say(has_open(argv[3]) ? "open" : "closed");
    if (!strcmp(word, "limits")) say(limits());
    if (!strcmp(word, "greet")) say("here");
    if (!strcmp(word, "become")) become(argv[3]);
    if (!strcmp(word, "number")) {
        char number[24];
        snprintf(number, sizeof number, "%ld", kl_process_self());
        say(number);
        wait_for_ever();
    }
    if (!strcmp(word, "greet") || !strcmp(word, "hang") || !strcmp(word, "slow") || !strcmp(word, "deaf"))
        wait_for_ever();
    if (!strcmp(word, "end when asked")) {
        kl_process_catch_stop();
        say("here");
        while (!kl_process_stopped())
            kl_sleep_us(1000);
    }
    return 5;
}

#endif
