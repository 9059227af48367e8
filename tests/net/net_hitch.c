#include "tests/net/net_hitch.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "net/platform/clock.h"
#include "net/platform/thread.h"

#define NAP_US    5000
#define WORTH_US  2000
#define THREADS   64
#define PROCESSES 2

struct delays { /* of one process's threads, so far */
    pid_t pid;
    unsigned count;
    struct {
        int tid;
        uint64_t us;
    } thread[THREADS];
};

static struct kl_mutex lock;
static struct kl_thread thread;
static struct delays watched[PROCESSES];
static uint64_t total_us, due_us; /* due_us: the nap's end */
static bool begun;

/* The thread's delay before; its delay now if it is new. */
static uint64_t before_us(const struct delays *d, int tid, uint64_t now_us) {
    for (unsigned i = 0; i < d->count; i++)
        if (d->thread[i].tid == tid) return d->thread[i].us;
    return now_us;
}

/* The longest that one of the process's threads stood ready since the last look. */
static uint64_t look(struct delays *d) {
    char path[64];
    struct delays now = {.pid = d->pid};
    uint64_t worst_us = 0;
    if (!d->pid) return 0;
    snprintf(path, sizeof path, "/proc/%d/task", (int)d->pid);
    DIR *tasks = opendir(path);
    for (struct dirent *e; tasks && now.count < THREADS && (e = readdir(tasks));) {
        unsigned long long ran, waited;
        char file[128];
        snprintf(file, sizeof file, "%s/%.16s/schedstat", path, e->d_name);
        FILE *f = e->d_name[0] == '.' ? NULL : fopen(file, "r");
        if (!f) continue;
        if (fscanf(f, "%llu %llu", &ran, &waited) == 2) {
            now.thread[now.count].tid = atoi(e->d_name);
            now.thread[now.count].us = waited / 1000;
            uint64_t us = waited / 1000 - before_us(d, atoi(e->d_name), waited / 1000);
            if (us > worst_us) worst_us = us;
            now.count++;
        }
        fclose(f);
    }
    if (tasks) closedir(tasks);
    *d = now;
    return worst_us;
}

/* Adds what was lost until now, which is the nap's end or before. */
static void account(void) {
    uint64_t now_us = kl_now_us(), held_us = 0;
    uint64_t late_us = now_us > due_us ? now_us - due_us : 0;
    for (unsigned i = 0; i < PROCESSES; i++)
        held_us += look(&watched[i]);
    uint64_t lost_us = late_us > held_us ? late_us : held_us;
    if (lost_us > WORTH_US) total_us += lost_us;
    if (due_us < now_us) due_us = now_us;
}

static void watch(void *unused) {
    (void)unused;
    for (;;) {
        kl_mutex_lock(&lock);
        due_us = kl_now_us() + NAP_US;
        kl_mutex_unlock(&lock);
        kl_sleep_us(NAP_US);
        kl_mutex_lock(&lock);
        account();
        kl_mutex_unlock(&lock);
    }
}

void hitch_watch(pid_t program) {
    kl_mutex_lock(&lock);
    watched[0].pid = getpid();
    watched[1] = (struct delays){.pid = program};
    if (!begun) {
        due_us = kl_now_us() + NAP_US;
        begun = kl_thread_start(&thread, "hitch", watch, NULL) == 0;
    }
    kl_mutex_unlock(&lock);
}

uint64_t hitch_us(void) {
    kl_mutex_lock(&lock);
    account();
    uint64_t us = total_us;
    kl_mutex_unlock(&lock);
    return us;
}

void hitch_judge(uint64_t took_us, uint64_t most_us, uint64_t from_us, const char *file, int line) {
    uint64_t still_us = hitch_us() - from_us;
    if (still_us)
        print_message("           %.0f ms, for %.0f ms of it the machine stood still\n",
                      (double)took_us / 1e3, (double)still_us / 1e3);
    if (took_us <= most_us + still_us) return;
    print_error("%.0f ms, expected %.0f at most; the machine stood still for %.0f ms\n",
                (double)took_us / 1e3, (double)most_us / 1e3, (double)still_us / 1e3);
    _fail(file, line);
}
