/* The platform's threads: all-zero structs are ready, a waiter is woken or leaves at its deadline, once is
 * once. */
#include "tests/unit/unit.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

#include "net/platform/clock.h"
#include "net/platform/thread.h"

#define THREADS 4
#define ROUNDS  20000

static struct {
    struct kl_mutex mutex;
    struct kl_cond changed;
    unsigned count, waiting;
    bool go, blocked;
    char name[16];
} shared;

static int clear(void **state) {
    (void)state;
    memset(&shared, 0, sizeof shared);
    alarm(20); /* a waiter that nobody wakes waits for ever */
    return 0;
}

static void what_is_all_zero_is_what_the_system_would_make(void **state) {
    (void)state;
    static const struct kl_mutex zero_mutex;
    static const struct kl_cond zero_cond;
    static const pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    static const pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
    assert_memory_equal(&mutex, &zero_mutex, sizeof mutex);
    assert_memory_equal(&cond, &zero_cond, sizeof cond);
}

static void count(void *arg) {
    (void)arg;
    for (unsigned i = 0; i < ROUNDS; i++) {
        kl_mutex_lock(&shared.mutex);
        shared.count++;
        kl_mutex_unlock(&shared.mutex);
    }
}

static void a_mutex_keeps_threads_apart(void **state) {
    (void)state;
    struct kl_thread t[THREADS];
    for (unsigned i = 0; i < THREADS; i++)
        assert_int_equal(kl_thread_start(&t[i], "test", count, NULL), 0);
    for (unsigned i = 0; i < THREADS; i++)
        kl_thread_join(&t[i]);
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

static void all_that_wait_are_woken(void **state) {
    (void)state;
    struct kl_thread t[THREADS];
    for (unsigned i = 0; i < THREADS; i++)
        assert_int_equal(kl_thread_start(&t[i], "test", wait_to_go, NULL), 0);
    kl_mutex_lock(&shared.mutex);
    while (shared.waiting < THREADS) { /* until all of them have let go of the mutex */
        kl_mutex_unlock(&shared.mutex);
        usleep(1000);
        kl_mutex_lock(&shared.mutex);
    }
    shared.go = true;
    kl_cond_wake(&shared.changed);
    kl_mutex_unlock(&shared.mutex);
    for (unsigned i = 0; i < THREADS; i++)
        kl_thread_join(&t[i]);
    assert_int_equal(shared.count, THREADS);
}

static void a_waiter_leaves_at_its_deadline(void **state) {
    (void)state;
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

static void a_waiter_with_a_deadline_is_woken_before_it(void **state) {
    (void)state;
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
    usleep(10000); /* so that the others come meanwhile */
    onces++;
}
static void call_once(void *arg) {
    kl_once(&once, run_once);
    *(bool *)arg = onces == 1;
}

static void once_is_once_and_all_wait_for_it(void **state) {
    (void)state;
    struct kl_thread t[THREADS];
    bool done[THREADS] = {0};
    for (unsigned i = 0; i < THREADS; i++)
        assert_int_equal(kl_thread_start(&t[i], "test", call_once, &done[i]), 0);
    for (unsigned i = 0; i < THREADS; i++)
        kl_thread_join(&t[i]);
    for (unsigned i = 0; i < THREADS; i++)
        assert_true(done[i]);
}

static void look_at_itself(void *arg) {
    sigset_t mask;
    (void)arg;
    pthread_getname_np(pthread_self(), shared.name, sizeof shared.name);
    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    shared.blocked = sigismember(&mask, SIGTERM) && sigismember(&mask, SIGALRM);
}

static void a_thread_has_its_name_and_takes_no_signal(void **state) {
    (void)state;
    struct kl_thread t;
    sigset_t mask;
    assert_int_equal(kl_thread_start(&t, "fifteen-letters", look_at_itself, NULL), 0);
    kl_thread_join(&t);
    assert_string_equal(shared.name, "fifteen-letters");
    assert_true(shared.blocked);
    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    assert_false(sigismember(&mask, SIGTERM)); /* we still take them */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(what_is_all_zero_is_what_the_system_would_make, clear),
        cmocka_unit_test_setup(a_mutex_keeps_threads_apart, clear),
        cmocka_unit_test_setup(all_that_wait_are_woken, clear),
        cmocka_unit_test_setup(a_waiter_leaves_at_its_deadline, clear),
        cmocka_unit_test_setup(a_waiter_with_a_deadline_is_woken_before_it, clear),
        cmocka_unit_test_setup(once_is_once_and_all_wait_for_it, clear),
        cmocka_unit_test_setup(a_thread_has_its_name_and_takes_no_signal, clear),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
