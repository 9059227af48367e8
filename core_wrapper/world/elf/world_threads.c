/* The core's own threads: known by their start, and brought to rest before anything of the core is read. */
#include "core_wrapper/world/world_private.h"

#include <stdlib.h>
#include <string.h>

#include "net/platform/clock.h"
#include "net/platform/dir.h"

/* A thread that works longer after a frame is not waited for again. Its own time of processors counts: on a
 * busy machine a thread that gets none must not be given up, while another machine waits for it. */
#define WORK_NS 1000000000u
#define WAIT_US 20000000 /* for a thread that gets no processor, or waits for a disk */
#define STEP_US 20
#define READS   2 /* a thread that wakes another and sleeps itself shows in two readings */
#define TASKS   "/proc/self/task"

/* --- the threads of this core --- */

static void note_thread(struct kl_world *w, int tid) {
    struct kl_world_threads *t = &w->threads;
    kl_mutex_lock(&t->lock);
    if (t->count < KL_WORLD_THREADS) t->at[t->count++] = (struct kl_world_thread){.number = tid};
    kl_mutex_unlock(&t->lock);
}

struct start {
    struct kl_world *world;
    void *(*run)(void *);
    void *arg;
};

/* One that ends by pthread_exit() is missed when it is looked at. */
static void *run_thread(void *given) {
    struct start s = *(struct start *)given;
    free(given);
    note_thread(s.world, kl_thread_number());
    atomic_fetch_sub(&s.world->threads.starting, 1);
    void *result = s.run(s.arg);
    /* The system may give the number of an ended thread to one of somebody else's. */
    int tid = kl_thread_number();
    struct kl_world_threads *t = &s.world->threads;
    kl_mutex_lock(&t->lock);
    for (unsigned i = 0; i < t->count; i++)
        if (t->at[i].number == tid) t->at[i--] = t->at[--t->count];
    kl_mutex_unlock(&t->lock);
    return result;
}

static int v_pthread_create(struct kl_world *w, void *thread, const void *attr, void *(*run)(void *),
                            void *arg) {
    struct start *s = malloc(sizeof *s);
    if (!s) return w->real.pthread_create(thread, attr, run, arg);
    *s = (struct start){w, run, arg};
    atomic_fetch_add(&w->threads.starting, 1);
    int failed = w->real.pthread_create(thread, attr, run_thread, s);
    if (!failed) return 0;
    atomic_fetch_sub(&w->threads.starting, 1);
    free(s);
    return failed;
}
KL_TURNED(int, v_pthread_create, (void *thread, const void *attr, void *(*run)(void *), void *arg), thread,
          attr, run, arg)

/* std::thread begins its thread inside libstdc++, out of sight: the new one is that which was not there. */
static void v_cxx_thread(struct kl_world *w, void *self, void *state, void (*depend)(void)) {
    struct kl_dir_list before, after;
    (void)kl_dir_list(&before, TASKS, "", NULL, 0);
    w->real.cxx_thread(self, state, depend);
    (void)kl_dir_list(&after, TASKS, "", NULL, 0);
    for (unsigned i = 0; i < after.count; i++) {
        bool old = false;
        for (unsigned k = 0; k < before.count && !old; k++)
            old = strcmp(before.name[k], after.name[i]) == 0;
        if (!old) note_thread(w, atoi(after.name[i]));
    }
    kl_dir_list_free(&before);
    kl_dir_list_free(&after);
}
KL_TURNED(void, v_cxx_thread, (void *self, void *state, void (*depend)(void)), self, state, depend)

const struct kl_hook kl_world_thread_hooks[] = {
    KL_HOOK_REAL("pthread_create", v_pthread_create, KL_REAL(pthread_create)),
    KL_HOOK_REAL("_ZNSt6thread15_M_start_threadESt10unique_ptrINS_6_StateESt14default_deleteIS1_EEPFvvE",
                 v_cxx_thread, KL_REAL(cxx_thread)),
    KL_HOOK_END,
};

/* --- their rest --- */

/* Of one look at all threads. */
struct look {
    bool all_sleep;
    uint64_t switches; /* of all, if all sleep */
    uint64_t work_ns;  /* since the wait began, of one that does not sleep */
};

/* begins: the wait does. */
static struct look look_at_all(struct kl_world *w, bool begins) {
    struct kl_world_threads *t = &w->threads;
    struct look all = {.all_sleep = atomic_load(&t->starting) == 0};
    struct kl_thread_seen seen;
    kl_mutex_lock(&t->lock);
    for (unsigned i = 0; i < t->count; i++) {
        struct kl_world_thread *at = &t->at[i];
        if (!kl_thread_look(at->number, &seen)) {
            t->at[i--] = t->at[--t->count];
            continue;
        }
        if (begins) at->since_ns = seen.ran_ns;
        uint64_t work_ns = seen.ran_ns > at->since_ns ? seen.ran_ns - at->since_ns : 0;
        all.switches += seen.switches;
        if (!seen.sleeps) all.all_sleep = false;
        if (!seen.sleeps && work_ns > all.work_ns) all.work_ns = work_ns;
    }
    kl_mutex_unlock(&t->lock);
    return all;
}

static bool give_up(struct kl_world *w, const char *why) {
    w->threads.restless = true;
    kl_world_leaves(w, "threads", why);
    return false;
}

bool kl_world_rest(struct kl_world *w) {
    struct kl_world_threads *t = &w->threads;
    if (t->restless || (!t->count && atomic_load(&t->starting) == 0)) return !t->restless;
    uint64_t since_us = kl_now_us(), before = 0;
    unsigned same = 0;
    for (bool begins = true;; begins = false) {
        struct look all = look_at_all(w, begins);
        same = !all.all_sleep ? 0 : same && all.switches == before ? same + 1 : 1;
        before = all.switches;
        if (same == READS) return true;
        if (all.work_ns >= WORK_NS) return give_up(w, "one works on long after a frame");
        if (kl_now_us() - since_us >= WAIT_US) return give_up(w, "one gets no processor after a frame");
        if (!all.all_sleep) (void)kl_sleep_us(STEP_US);
    }
}
