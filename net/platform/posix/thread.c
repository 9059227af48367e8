#include "net/platform/thread.h"

#include <assert.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* PTHREAD_*_INITIALIZER is all zero in glibc and musl (tests/unit/test_platform_thread.c checks it). */
static_assert(sizeof(pthread_mutex_t) <= sizeof(struct kl_mutex), "kl_mutex");
static_assert(sizeof(pthread_cond_t) <= sizeof(struct kl_cond), "kl_cond");
static_assert(sizeof(pthread_t) <= sizeof(uint64_t), "kl_thread");

static pthread_mutex_t *mutex(struct kl_mutex *m) {
    return (pthread_mutex_t *)(void *)m->of_system;
}
static pthread_cond_t *cond(struct kl_cond *c) {
    return (pthread_cond_t *)(void *)c->of_system;
}

void kl_mutex_lock(struct kl_mutex *m) {
    pthread_mutex_lock(mutex(m));
}
void kl_mutex_unlock(struct kl_mutex *m) {
    pthread_mutex_unlock(mutex(m));
}

void kl_cond_wait(struct kl_cond *c, struct kl_mutex *m) {
    pthread_cond_wait(cond(c), mutex(m));
}

bool kl_cond_wait_until(struct kl_cond *c, struct kl_mutex *m, uint64_t until_us) {
    struct timespec t = {.tv_sec = (time_t)(until_us / 1000000),
                         .tv_nsec = (long)(until_us % 1000000) * 1000};
    return pthread_cond_clockwait(cond(c), mutex(m), CLOCK_MONOTONIC, &t) == 0;
}

void kl_cond_wake(struct kl_cond *c) {
    pthread_cond_broadcast(cond(c));
}

void kl_once(struct kl_once *once, void (*run)(void)) {
    static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;
    if (__atomic_load_n(&once->done, __ATOMIC_ACQUIRE)) return;
    pthread_mutex_lock(&one_at_a_time);
    if (!once->done) {
        run();
        __atomic_store_n(&once->done, 1, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&one_at_a_time);
}

static void *begin(void *arg) {
    struct kl_thread *t = arg;
    pthread_setname_np(pthread_self(), t->name);
    t->run(t->arg);
    return NULL;
}

int kl_thread_start(struct kl_thread *t, const char *name, void (*run)(void *arg), void *arg) {
    sigset_t all, before;
    pthread_t thread;
    *t = (struct kl_thread){.run = run, .arg = arg, .name = name};
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int failed = pthread_create(&thread, NULL, begin, t);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!failed) t->of_system = (uint64_t)thread;
    return failed;
}

void kl_thread_join(struct kl_thread *t) {
    pthread_join((pthread_t)t->of_system, NULL);
}

int kl_thread_number(void) {
    return gettid();
}

/* Of a text of lines NAME:<tab>VALUE; 0 without such a line. */
static uint64_t read_line(const char *text, const char *name) {
    const char *at = strstr(text, name);
    return at ? strtoull(at + strlen(name), NULL, 10) : 0;
}

bool kl_thread_look(int number, struct kl_thread_seen *seen) {
    struct timespec ran;
    char path[64], text[4096];
    snprintf(path, sizeof path, "/proc/self/task/%d/status", number);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return false;
    ssize_t n = read(fd, text, sizeof text - 1);
    close(fd);
    if (n <= 0) return false;
    text[n] = '\0';
    seen->sleeps = strstr(text, "\nState:\tS") != NULL;
    seen->switches =
        read_line(text, "\nvoluntary_ctxt_switches:") + read_line(text, "\nnonvoluntary_ctxt_switches:");
    /* Linux's number of that thread's clock, which pthread_getcpuclockid() gives only for a pthread_t */
    if (clock_gettime((clockid_t)(~(unsigned)number << 3 | 6), &ran) != 0) return false;
    seen->ran_ns = (uint64_t)ran.tv_sec * 1000000000 + (uint64_t)ran.tv_nsec;
    return true;
}
