#include "net/platform/page.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define STACK_BYTES 65536

static bool (*opens_page)(uint8_t *at);
static struct sigaction before;
static uint8_t *stack; /* of the signal, if the thread had none */

size_t kl_page_bytes(void) {
    return (size_t)sysconf(_SC_PAGESIZE);
}

uint8_t *kl_page_reserve(size_t bytes, char *why, size_t why_len) {
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at != MAP_FAILED) return at;
    snprintf(why, why_len, "%s", strerror(errno));
    return NULL;
}

void kl_page_release(uint8_t *at, size_t bytes) {
    if (at) munmap(at, bytes);
}

bool kl_page_protect(uint8_t *at, size_t bytes, bool writable) {
    return mprotect(at, bytes, writable ? PROT_READ | PROT_WRITE : PROT_READ) == 0;
}

bool kl_page_is_plain(const void *at, int protect, int flags) {
    return !at && protect == (PROT_READ | PROT_WRITE) && (flags & MAP_PRIVATE) && (flags & MAP_ANONYMOUS);
}

static void on_fault(int sig, siginfo_t *info, void *context) {
    int saved = errno;
    if (opens_page && opens_page(info->si_addr)) {
        errno = saved;
        return;
    }
    if (before.sa_flags & SA_SIGINFO)
        before.sa_sigaction(sig, info, context);
    else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN)
        before.sa_handler(sig);
    else
        signal(sig, SIG_DFL); /* the instruction comes again, and ends the process as ever */
}

/* Code may run on a stack that is protected itself (libco). */
static bool take_stack(void) {
    stack_t now;
    if (sigaltstack(NULL, &now) != 0) return false;
    if (!(now.ss_flags & SS_DISABLE)) return true;
    if (!stack) stack = malloc(STACK_BYTES);
    now = (stack_t){.ss_sp = stack, .ss_size = STACK_BYTES};
    return stack && sigaltstack(&now, NULL) == 0;
}

bool kl_page_watch(bool (*opens)(uint8_t *at)) {
    struct sigaction act = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};
    if (!take_stack() || sigaction(SIGSEGV, &act, &before) != 0) return false;
    opens_page = opens;
    return true;
}

bool kl_page_unwatched(void) {
    struct sigaction now;
    bool ours =
        sigaction(SIGSEGV, NULL, &now) == 0 && now.sa_flags & SA_SIGINFO && now.sa_sigaction == on_fault;
    return !opens_page || !ours;
}

void kl_page_unwatch(void) {
    if (!kl_page_unwatched()) sigaction(SIGSEGV, &before, NULL);
    opens_page = NULL;
    /* Of another thread's it stays: that one may still have it. */
    stack_t now;
    if (!stack || sigaltstack(NULL, &now) != 0 || now.ss_sp != stack) return;
    now = (stack_t){.ss_flags = SS_DISABLE};
    sigaltstack(&now, NULL);
    free(stack);
    stack = NULL;
}
