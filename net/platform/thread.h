/* thread.h - threads, mutexes, conditions.
 *
 * All four structs are the caller's memory and must not move while in use. A zeroed struct is ready for use;
 * none needs freeing. */
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

/* Waits with the mutex unlocked meanwhile. May return without a kl_cond_wake(): check the condition and wait
 * again. */
void kl_cond_wait(struct kl_cond *c, struct kl_mutex *m);
/* As kl_cond_wait(), until kl_now_us() reaches until_us at the latest. False: that time has come. */
bool kl_cond_wait_until(struct kl_cond *c, struct kl_mutex *m, uint64_t until_us);
/* Wakes all waiting threads. */
void kl_cond_wake(struct kl_cond *c);

/* The first call with this `once` runs `run`; all other calls wait until it has ended. `run` must not call
 * kl_once(). */
void kl_once(struct kl_once *once, void (*run)(void));

/* Starts a thread. name: at most 15 bytes, borrowed until it ends; debuggers show it. The thread receives no
 * signals; the program's own threads do. 0, or an errno. Call kl_thread_join(), or leave the thread and t
 * until the program ends. Windows: the library of the caller stays loaded until it is joined. */
int kl_thread_start(struct kl_thread *t, const char *name, void (*run)(void *arg), void *arg);
/* Waits until the thread has ended. Call it once, from another thread. */
void kl_thread_join(struct kl_thread *t);

/* The system's number of this thread. */
int kl_thread_number(void);
struct kl_thread_seen {
    bool sleeps;       /* it waits for something */
    uint64_t switches; /* how often it has left a processor */
    uint64_t ran_ns;   /* time that it has had of processors */
};
/* Looks at the thread of this process with that number. False: there is none, or, as on Windows, the system
 * does not tell. */
bool kl_thread_look(int number, struct kl_thread_seen *seen);

#endif
