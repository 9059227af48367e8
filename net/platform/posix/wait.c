#include "net/platform/wait.h"

#include <assert.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "net/platform/clock.h"

uint32_t kl_wait_for(const int *what, unsigned count, uint64_t until_us) {
    struct pollfd p[KL_WAIT_MAX];
    uint64_t now_us = until_us == KL_WAIT_FOREVER ? 0 : kl_now_us();
    uint64_t left_us = until_us > now_us ? until_us - now_us : 0;
    struct timespec left = {.tv_sec = (time_t)(left_us / 1000000),
                            .tv_nsec = (long)(left_us % 1000000) * 1000};
    uint32_t readable = 0;
    assert(count <= KL_WAIT_MAX);
    for (unsigned i = 0; i < count; i++)
        p[i] = (struct pollfd){.fd = what[i], .events = POLLIN};
    if (ppoll(p, count, until_us == KL_WAIT_FOREVER ? NULL : &left, NULL) <= 0) return 0;
    for (unsigned i = 0; i < count; i++)
        readable |= p[i].revents ? 1U << i : 0;
    return readable;
}

int kl_wake_open(void) {
    return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
}

/* A failed write is harmless: a full eventfd is readable, too. */
void kl_wake(int w) {
    (void)eventfd_write(w, 1);
}

void kl_wake_clear(int w) {
    eventfd_t ignored;
    (void)eventfd_read(w, &ignored);
}

int kl_wake_at_quit(void) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    /* A shell starts background jobs with SIGINT ignored, and signalfd never sees ignored signals. */
    signal(SIGTERM, SIG_DFL);
    signal(SIGINT, SIG_DFL);
    sigprocmask(SIG_BLOCK, &set, NULL);
    return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

enum kl_quit kl_wake_quit(int w, char name[KL_QUIT_NAME]) {
    struct signalfd_siginfo info;
    bool came = read(w, &info, sizeof info) == sizeof info;
    snprintf(name, KL_QUIT_NAME, "%s", came ? strsignal((int)info.ssi_signo) : "none");
    if (!came) return KL_QUIT_NONE;
    return info.ssi_signo == SIGINT ? KL_QUIT_KEY : KL_QUIT_SERVICE;
}
