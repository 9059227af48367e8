#include "net/platform/thread.h"

#include <assert.h>
#include <errno.h>
#include <process.h>
#include <stddef.h>
#include <windows.h>

#include "net/platform/clock.h"
#include "net/platform/windows/handle.h"

#define NAME_CHARS  16
#define STACK_BYTES (8u << 20) /* address space of a thread's stack, as on Linux: rundll32's own is small */

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

/* --- conditions --- */

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

/* --- once, and threads --- */

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

/* The program or library that this code is in. how: 0 keeps it loaded for one use more. */
static HMODULE own_library(DWORD how) {
    HMODULE ours = NULL;
    (void)GetModuleHandleExW(GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | how, (LPCWSTR)(uintptr_t)begin, &ours);
    return ours;
}
static void use_library_less(void) {
    FreeLibrary(own_library(GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT));
}

/* Each thread keeps its library loaded until it is joined: a library that is being unloaded can join none,
 * for both would wait for the loader's lock. */
int kl_thread_start(struct kl_thread *t, const char *name, void (*run)(void *arg), void *arg) {
    *t = (struct kl_thread){.run = run, .arg = arg, .name = name};
    (void)own_library(0);
    t->of_system = _beginthreadex(NULL, STACK_BYTES, begin, t, STACK_SIZE_PARAM_IS_A_RESERVATION, NULL);
    if (t->of_system) return 0;
    int why = errno;
    use_library_less();
    return why;
}

void kl_thread_join(struct kl_thread *t) {
    HANDLE thread = (HANDLE)(uintptr_t)t->of_system;
    WaitForSingleObject(thread, INFINITE);
    CloseHandle(thread);
    use_library_less();
}

int kl_thread_number(void) {
    return (int)GetCurrentThreadId();
}

bool kl_thread_look(int number, struct kl_thread_seen *seen) {
    return (void)number, (void)seen, false;
}
