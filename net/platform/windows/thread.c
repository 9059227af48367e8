#include "net/platform/thread.h"

#include <assert.h>
#include <errno.h>
#include <process.h>
#include <stddef.h>
#include <windows.h>

#include "net/platform/clock.h"
#include "net/platform/windows/handle.h"

#define NAME_CHARS 16

/* In the system since Windows 10 version 1607; mingw's library has it, its headers do not. */
WINBASEAPI HRESULT WINAPI SetThreadDescription(HANDLE thread, PCWSTR description);

/* SRWLOCK_INIT is all zero, by its documentation. */
static_assert(sizeof(SRWLOCK) <= sizeof(struct kl_mutex), "kl_mutex");

static SRWLOCK *lock_of(struct kl_mutex *m) {
    return (SRWLOCK *)(void *)m->of_system;
}

void kl_mutex_lock(struct kl_mutex *m) {
    AcquireSRWLockExclusive(lock_of(m));
}
void kl_mutex_unlock(struct kl_mutex *m) {
    ReleaseSRWLockExclusive(lock_of(m));
}

/* ---- conditions ---- */

/* The system's conditions end a wait with its tick of up to 15.6 ms. So a condition is a list of the waiting
 * threads, and each thread waits for an event of its own, or for a precise timer. */
struct waiter {
    struct waiter *next;
    HANDLE woken;
};
struct condition {
    SRWLOCK lock;
    struct waiter *first;
};
static_assert(sizeof(struct condition) <= sizeof(struct kl_cond), "kl_cond");

static struct condition *condition(struct kl_cond *c) {
    return (struct condition *)(void *)c->of_system;
}

static void add_waiter(struct condition *c, struct waiter *w) {
    AcquireSRWLockExclusive(&c->lock);
    w->next = c->first;
    c->first = w;
    ReleaseSRWLockExclusive(&c->lock);
}

/* Afterwards no other thread uses w. */
static void remove_waiter(struct condition *c, struct waiter *w) {
    AcquireSRWLockExclusive(&c->lock);
    struct waiter **at = &c->first;
    while (*at != w)
        at = &(*at)->next;
    *at = w->next;
    ReleaseSRWLockExclusive(&c->lock);
}

bool kl_cond_wait_until(struct kl_cond *c, struct kl_mutex *m, uint64_t until_us) {
    struct waiter w = {.woken = CreateEventW(NULL, TRUE, FALSE, NULL)};
    if (!w.woken) { /* no memory: the caller checks its condition a millisecond later */
        kl_mutex_unlock(m);
        Sleep(1);
        kl_mutex_lock(m);
        return until_us == UINT64_MAX || kl_now_us() < until_us;
    }
    add_waiter(condition(c), &w);
    kl_mutex_unlock(m);
    bool woken = kl_handle_wait(w.woken, until_us);
    remove_waiter(condition(c), &w);
    CloseHandle(w.woken);
    kl_mutex_lock(m);
    return woken;
}

void kl_cond_wait(struct kl_cond *c, struct kl_mutex *m) {
    kl_cond_wait_until(c, m, UINT64_MAX);
}

void kl_cond_wake(struct kl_cond *c) {
    AcquireSRWLockExclusive(&condition(c)->lock);
    for (struct waiter *w = condition(c)->first; w; w = w->next)
        SetEvent(w->woken);
    ReleaseSRWLockExclusive(&condition(c)->lock);
}

/* ---- once, and threads ---- */

void kl_once(struct kl_once *once, void (*run)(void)) {
    static SRWLOCK one_at_a_time = SRWLOCK_INIT;
    if (__atomic_load_n(&once->done, __ATOMIC_ACQUIRE)) return;
    AcquireSRWLockExclusive(&one_at_a_time);
    if (!once->done) {
        run();
        __atomic_store_n(&once->done, 1, __ATOMIC_RELEASE);
    }
    ReleaseSRWLockExclusive(&one_at_a_time);
}

static unsigned __stdcall begin(void *arg) {
    struct kl_thread *t = arg;
    WCHAR name[NAME_CHARS];
    if (MultiByteToWideChar(CP_UTF8, 0, t->name, -1, name, NAME_CHARS) > 0)
        SetThreadDescription(GetCurrentThread(), name);
    t->run(t->arg);
    return 0;
}

int kl_thread_start(struct kl_thread *t, const char *name, void (*run)(void *arg), void *arg) {
    *t = (struct kl_thread){.run = run, .arg = arg, .name = name};
    uintptr_t thread = _beginthreadex(NULL, 0, begin, t, 0, NULL);
    if (!thread) return errno;
    t->of_system = thread;
    return 0;
}

void kl_thread_join(struct kl_thread *t) {
    HANDLE thread = (HANDLE)(uintptr_t)t->of_system;
    WaitForSingleObject(thread, INFINITE);
    CloseHandle(thread);
}
