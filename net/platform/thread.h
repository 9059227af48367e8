/* thread.h - threads, mutexes, conditions.
 *
 * All four structs are the caller's memory and must not move while they are in use. One that is all zero is
 * ready: there is nothing to initialise and nothing to free. */
#ifndef KL_PLATFORM_THREAD_H
#define KL_PLATFORM_THREAD_H

#include <stdbool.h>
#include <stdint.h>

struct kl_mutex {
    uint64_t of_system[8];
};
struct kl_cond {
    uint64_t of_system[8];
};
struct kl_once {
    uint32_t done;
};
struct kl_thread {
    void (*run)(void *arg);
    void *arg;
    const char *name;
    uint64_t of_system;
};

/* Not recursive. */
void kl_mutex_lock(struct kl_mutex *m);
void kl_mutex_unlock(struct kl_mutex *m);

/* Waits with the mutex unlocked meanwhile. It may also return without a kl_cond_wake(): look, and wait again.
 */
void kl_cond_wait(struct kl_cond *c, struct kl_mutex *m);
/* The same until kl_now_us() is until_us at the latest. False: that is now. */
bool kl_cond_wait_until(struct kl_cond *c, struct kl_mutex *m, uint64_t until_us);
/* Wakes all that wait. */
void kl_cond_wake(struct kl_cond *c);

/* Runs it in the first call with this once; all others wait until it has ended. It must not call kl_once().
 */
void kl_once(struct kl_once *once, void (*run)(void));

/* Starts a thread. name: at most 15 bytes, borrowed until it ends; debuggers show it. No signal is delivered
 * to it: those are for the threads of the program. 0, or errno's number. Call kl_thread_join(), or leave the
 * thread and t until the program ends. */
int kl_thread_start(struct kl_thread *t, const char *name, void (*run)(void *arg), void *arg);
/* Waits until it has ended. Not from inside it, and once. */
void kl_thread_join(struct kl_thread *t);

#endif
