/* The platform's threads: all-zero structs are ready, a waiter is woken or leaves at its deadline, once is
 * once. */
#include "tests/unit/unit.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#ifdef _WIN32
#include <windows.h>
#else
#include <pthread.h>
#include <signal.h>
#endif

#include "net/platform/clock.h"
#include "net/platform/thread.h"
#include "tests/unit/limit.h"

#define THREADS 4
#define ROUNDS  20000

static struct {
    struct kl_mutex mutex;
    struct kl_cond changed;
    unsigned count, waiting;
    bool go;
    char name[16];
} shared;

static int clear(void **state) {
    (void)state;
    memset(&shared, 0, sizeof shared);
    limit_s(20); /* a waiter that nobody wakes waits for ever */
    return 0;
}

TEST_WITH(a_zeroed_lock_is_a_new_one, clear, NULL) {
    static const struct kl_mutex zero_mutex;
#ifdef _WIN32
    static const SRWLOCK mutex = SRWLOCK_INIT;
#else
    static const struct kl_cond zero_cond;
    static const pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    static const pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
    assert_memory_equal(&cond, &zero_cond, sizeof cond);
#endif
    assert_memory_equal(&mutex, &zero_mutex, sizeof mutex);
}

static void in_threads(void (*run)(void *arg), bool done[THREADS]) {
    struct kl_thread t[THREADS];
    for (unsigned i = 0; i < THREADS; i++)
        assert_int_equal(kl_thread_start(&t[i], "test", run, &done[i]), 0);
    for (unsigned i = 0; i < THREADS; i++)
        kl_thread_join(&t[i]);
}

static void count(void *arg) {
    (void)arg;
    for (unsigned i = 0; i < ROUNDS; i++) {
        kl_mutex_lock(&shared.mutex);
        unsigned before = shared.count;
        if (i % 1000 == 0) kl_sleep_us(100); /* so that another thread would come between */
        shared.count = before + 1;
        kl_mutex_unlock(&shared.mutex);
    }
}

TEST_WITH(a_mutex_keeps_threads_apart, clear, NULL) {
    bool done[THREADS];
    in_threads(count, done);
    assert_int_equal(shared.count, THREADS * ROUNDS);
}

static void wait_to_go(void *arg) {
    (void)arg;
    kl_mutex_lock(&shared.mutex);
    shared.waiting++;
    while (!shared.go)
        kl_cond_wait(&shared.changed, &shared.mutex);
    shared.count++;
    kl_mutex_unlock(&shared.mutex);
}

TEST_WITH(all_that_wait_are_woken, clear, NULL) {
    struct kl_thread t[THREADS];
    for (unsigned i = 0; i < THREADS; i++)
        assert_int_equal(kl_thread_start(&t[i], "test", wait_to_go, NULL), 0);
    kl_mutex_lock(&shared.mutex);
    while (shared.waiting < THREADS) { /* until all of them have let go of the mutex */
        kl_mutex_unlock(&shared.mutex);
        kl_sleep_us(1000);
        kl_mutex_lock(&shared.mutex);
    }
    shared.go = true;
    kl_cond_wake(&shared.changed);
    kl_mutex_unlock(&shared.mutex);
    for (unsigned i = 0; i < THREADS; i++)
        kl_thread_join(&t[i]);
    assert_int_equal(shared.count, THREADS);
}

TEST_WITH(a_waiter_leaves_at_its_deadline, clear, NULL) {
    uint64_t until_us = kl_now_us() + 20000;
    kl_mutex_lock(&shared.mutex);
    while (kl_cond_wait_until(&shared.changed, &shared.mutex, until_us)) {
    }
    assert_true(kl_now_us() >= until_us);
    assert_false(kl_cond_wait_until(&shared.changed, &shared.mutex, 0));
    kl_mutex_unlock(&shared.mutex);
}

static void go(void *arg) {
    (void)arg;
    kl_mutex_lock(&shared.mutex);
    shared.go = true;
    kl_cond_wake(&shared.changed);
    kl_mutex_unlock(&shared.mutex);
}

TEST_WITH(a_waiter_with_a_deadline_is_woken_before_it, clear, NULL) {
    struct kl_thread t;
    uint64_t until_us = kl_now_us() + 60000000;
    bool in_time = true;
    kl_mutex_lock(&shared.mutex); /* so that it cannot be before we wait */
    assert_int_equal(kl_thread_start(&t, "test", go, NULL), 0);
    while (!shared.go && in_time)
        in_time = kl_cond_wait_until(&shared.changed, &shared.mutex, until_us);
    kl_mutex_unlock(&shared.mutex);
    kl_thread_join(&t);
    assert_true(in_time);
}

static struct kl_once once;
static atomic_uint onces;

static void run_once(void) {
    kl_sleep_us(10000); /* so that the others come meanwhile */
    onces++;
}
static void call_once(void *arg) {
    kl_once(&once, run_once);
    *(bool *)arg = onces == 1;
}

TEST_WITH(once_is_once_and_all_wait_for_it, clear, NULL) {
    bool done[THREADS] = {0};
    in_threads(call_once, done);
    for (unsigned i = 0; i < THREADS; i++)
        assert_true(done[i]);
}

#ifdef _WIN32
/* In the system since Windows 10; mingw's headers do not have it. */
WINBASEAPI HRESULT WINAPI GetThreadDescription(HANDLE thread, PWSTR *description);

static bool read_name(char out[16]) {
    PWSTR name;
    if (FAILED(GetThreadDescription(GetCurrentThread(), &name))) return false;
    snprintf(out, 16, "%ls", name);
    LocalFree(name);
    return true;
}
static bool takes_signals(void) {
    return false;
}
#else
static bool read_name(char out[16]) {
    return pthread_getname_np(pthread_self(), out, 16) == 0;
}
static bool takes_signals(void) {
    sigset_t mask;
    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    return !sigismember(&mask, SIGTERM) || !sigismember(&mask, SIGALRM);
}
#endif

static bool was_named, took_signals;

static void look_at_itself(void *arg) {
    (void)arg;
    was_named = read_name(shared.name);
    took_signals = takes_signals();
}

TEST_WITH(a_thread_has_its_name_and_takes_no_signal, clear, NULL) {
    struct kl_thread t;
    bool before = takes_signals();
    assert_int_equal(kl_thread_start(&t, "fifteen-letters", look_at_itself, NULL), 0);
    kl_thread_join(&t);
    assert_true(was_named);
    assert_string_equal(shared.name, "fifteen-letters");
    assert_false(took_signals);
    assert_int_equal(takes_signals(), before); /* we still take them */
}

#ifndef _WIN32
static int number_of_waiter;

static void wait_for_the_end(void *arg) {
    (void)arg;
    kl_mutex_lock(&shared.mutex);
    number_of_waiter = kl_thread_number();
    kl_cond_wake(&shared.changed);
    while (number_of_waiter)
        kl_cond_wait(&shared.changed, &shared.mutex);
    kl_mutex_unlock(&shared.mutex);
}

TEST_WITH(a_thread_is_seen_to_sleep_and_to_be_gone, clear, NULL) {
    struct kl_thread t;
    struct kl_thread_seen own = {.sleeps = true}, later, seen = {0};
    assert_true(kl_thread_look(kl_thread_number(), &own));
    assert_false(own.sleeps);
    for (later = own; later.ran_ns < own.ran_ns + 1000000;)
        assert_true(kl_thread_look(kl_thread_number(), &later));
    assert_int_equal(kl_thread_start(&t, "waiter", wait_for_the_end, NULL), 0);
    kl_mutex_lock(&shared.mutex);
    while (!number_of_waiter)
        kl_cond_wait(&shared.changed, &shared.mutex);
    int number = number_of_waiter;
    kl_mutex_unlock(&shared.mutex);
    for (unsigned i = 0; i < 5000 && !seen.sleeps; i++) {
        assert_true(kl_thread_look(number, &seen));
        (void)kl_sleep_us(1000);
    }
    assert_true(seen.sleeps && seen.switches > 0 && seen.ran_ns > 0 && seen.ran_ns < 1000000000);
    kl_mutex_lock(&shared.mutex);
    number_of_waiter = 0;
    kl_cond_wake(&shared.changed);
    kl_mutex_unlock(&shared.mutex);
    kl_thread_join(&t);
    assert_false(kl_thread_look(number, &seen));
}
#endif
