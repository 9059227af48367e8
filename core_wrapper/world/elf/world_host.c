/* The calls by which a core asks for facts of its process and machine: one answer in every room. */
#include "core_wrapper/world/world_private.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <unistd.h>

#define PAGE_BYTES ((long)sysconf(_SC_PAGESIZE)) /* the host's: cores map memory by it */

/* --- the process ---
 *
 * Calls that take a process or a thread get the real one for ours. */

static int v_getpid(void) {
    return KL_HOST_PID;
}
static int v_getppid(void) {
    return KL_HOST_PID - 1;
}
/* Session and group of processes: 0 is the caller. */
static int v_group_of(int pid) {
    if (pid == 0 || pid == KL_HOST_PID) return KL_HOST_PID;
    errno = ESRCH;
    return -1;
}

/* Threads count from the process's number on, in the order in which they ask. */
static int v_gettid(struct kl_world *w) {
    static _Thread_local struct {
        unsigned life;
        int number;
    } own[KL_WORLDS];
    struct kl_world_host *h = &w->host;
    size_t at = (size_t)(w - kl_world_at);
    if (own[at].life == h->life) return own[at].number;
    unsigned n = atomic_fetch_add(&h->threads, 1);
    if (n < KL_HOST_THREADS) h->tid[n] = gettid();
    own[at].life = h->life;
    own[at].number = KL_HOST_PID + (int)n;
    return own[at].number;
}
KL_TURNED(int, v_gettid, (void))

static int real_thread(const struct kl_world *w, int number) {
    int n = number - KL_HOST_PID;
    bool known = n >= 0 && n < KL_HOST_THREADS && w->host.tid[n];
    return known ? w->host.tid[n] : number == KL_HOST_PID ? getpid() : number;
}
static int real_process(int pid) {
    return pid == KL_HOST_PID ? getpid() : pid == KL_HOST_PID - 1 ? getppid() : pid;
}

static int v_kill(int pid, int number) {
    return kill(pid == -KL_HOST_PID ? -getpgrp() : real_process(pid), number);
}
static int v_killpg(int group, int number) {
    return killpg(group == KL_HOST_PID ? getpgrp() : group, number);
}
static int v_tgkill(struct kl_world *w, int pid, int thread, int number) {
    return tgkill(real_process(pid), real_thread(w, thread), number);
}
KL_TURNED(int, v_tgkill, (int pid, int thread, int number), pid, thread, number)
static int v_getpriority(struct kl_world *w, int which, unsigned who) {
    return getpriority((__priority_which_t)which, (id_t)real_thread(w, (int)who));
}
KL_TURNED(int, v_getpriority, (int which, unsigned who), which, who)
static int v_setpriority(struct kl_world *w, int which, unsigned who, int value) {
    return setpriority((__priority_which_t)which, (id_t)real_thread(w, (int)who), value);
}
KL_TURNED(int, v_setpriority, (int which, unsigned who, int value), which, who, value)

/* --- processors and memory --- */

static int v_processors(void) {
    return KL_HOST_PROCESSORS;
}
static int v_zero(void) {
    return 0;
}
/* A set of processors is a field of bits, of any whole length; that each machine has these is not asked. */
static int give_processors(size_t bytes, void *set) {
    if (!bytes) return EINVAL;
    memset(set, 0, bytes);
    *(uint8_t *)set = (1 << KL_HOST_PROCESSORS) - 1;
    return 0;
}
static int v_sched_getaffinity(int pid, size_t bytes, void *set) {
    (void)pid;
    errno = give_processors(bytes, set);
    return errno ? -1 : 0;
}
static int v_pthread_getaffinity_np(uintptr_t thread, size_t bytes, void *set) {
    (void)thread;
    return give_processors(bytes, set);
}
static int v_getcpu(unsigned *processor, unsigned *node) {
    if (processor) *processor = 0;
    if (node) *node = 0;
    return 0;
}

static long v_phys_pages(void) {
    return (long)(KL_HOST_MEMORY / (uint64_t)PAGE_BYTES);
}
static long v_avphys_pages(void) {
    return v_phys_pages() / 2;
}
static long v_sysconf(int name) {
    switch (name) {
    case _SC_NPROCESSORS_CONF:
    case _SC_NPROCESSORS_ONLN: return KL_HOST_PROCESSORS;
    case _SC_PHYS_PAGES: return v_phys_pages();
    case _SC_AVPHYS_PAGES: return v_avphys_pages();
    default: /* sizes of caches: unknown */
        return name >= _SC_LEVEL1_ICACHE_SIZE && name <= _SC_LEVEL4_CACHE_LINESIZE ? 0 : sysconf(name);
    }
}

static int v_sysinfo(struct kl_world *w, struct sysinfo *out) {
    memset(out, 0, sizeof *out);
    out->uptime = (long)(kl_world_read_ns(w) / KL_NS_PER_S);
    out->totalram = KL_HOST_MEMORY;
    out->freeram = KL_HOST_MEMORY / 2;
    out->procs = 1;
    out->mem_unit = 1;
    return 0;
}
KL_TURNED(int, v_sysinfo, (struct sysinfo * out), out)
static int v_getloadavg(double *out, int n) {
    if (n > 3) n = 3;
    for (int i = 0; i < n; i++)
        out[i] = 0;
    return n;
}

/* 16 bytes of chance stand behind AT_RANDOM. The features of the processor stay: cores choose code by
 * them. */
static unsigned long v_getauxval(struct kl_world *w, unsigned long kind) {
    if (kind == AT_RANDOM) {
        uint64_t *chance = w->host.at_random;
        kl_world_draw_bytes(w, chance, sizeof w->host.at_random);
        return (unsigned long)chance;
    }
    if (kind == AT_UID || kind == AT_EUID || kind == AT_GID || kind == AT_EGID)
        kl_world_leaves(w, "getauxval", KL_PLAYER_REASON);
    else if (kind != AT_PAGESZ && kind != AT_CLKTCK && kind != AT_SECURE)
        kl_world_leaves(w, "getauxval", "the host's processor, or an address");
    return getauxval(kind);
}
KL_TURNED(unsigned long, v_getauxval, (unsigned long kind), kind)

/* --- names --- */

/* The kind of processor is the host's: it goes with the core's own code. */
static int v_uname(struct utsname *out) {
    if (uname(out) != 0) return -1;
    strcpy(out->sysname, "Linux");
    strcpy(out->nodename, KL_HOST_NAME);
    strcpy(out->release, "6.1.0");
    strcpy(out->version, "1");
    strcpy(out->domainname, "(none)");
    return 0;
}
static int give_name(char *out, size_t cap, const char *name) {
    if (cap > strlen(name)) {
        strcpy(out, name);
        return 0;
    }
    errno = ENAMETOOLONG;
    return -1;
}
static int v_gethostname(char *out, size_t cap) {
    return give_name(out, cap, KL_HOST_NAME);
}
static int v_getdomainname(char *out, size_t cap) {
    return give_name(out, cap, "(none)");
}
static long v_gethostid(void) {
    return KL_HOST_PID;
}

/* --- devices of chance, and names with the process's number --- */

#define CHANCE_BYTES (64u << 10) /* in one opening; a core that reads on finds the end */

static bool is_chance(const char *path) {
    static const char *const names[] = {"urandom", "random", "srandom", "arandom", "hwrng"};
    char real[KL_FILE_PATH];
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
    bool called = false;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        called = called || strcmp(base, names[i]) == 0;
    return called && (strncmp(path, "/dev/", 5) == 0 ||
                      (kl_file_real(path, real, sizeof real) && strncmp(real, "/dev/", 5) == 0));
}

/* A file in memory with the world's chance, which any call can open. It is kept until the call has opened it:
 * the last KL_HOST_CHANCES are. False: the machine has no such files. */
static bool make_chance(struct kl_world *w, char out[KL_FILE_PATH]) {
    uint64_t bytes[512], seed = kl_world_draw(w);
    int fd = (int)syscall(SYS_memfd_create, "keylock-chance", 1u /* closed by exec */);
    if (fd < 0) return false;
    for (unsigned done = 0; done < CHANCE_BYTES; done += sizeof bytes) {
        for (size_t i = 0; i < sizeof bytes / sizeof *bytes; i++)
            bytes[i] = kl_world_mix(seed += KL_CHANCE_STEP);
        if (write(fd, bytes, sizeof bytes) != sizeof bytes) break;
    }
    unsigned at = atomic_fetch_add(&w->host.chances, 1) % KL_HOST_CHANCES;
    int before = atomic_exchange(&w->host.chance[at], fd);
    if (before > 0) close(before);
    snprintf(out, KL_FILE_PATH, "/proc/self/fd/%d", fd);
    return true;
}

bool kl_world_host_path(struct kl_world *w, const char *path, char out[KL_FILE_PATH]) {
    return kl_world_own_name(w, path, (unsigned long)getpid(), out) ||
           (is_chance(path) && make_chance(w, out));
}

/* Names of shared memory and semaphores are of the whole machine, as names of files are. */
#define NAMED(R, f, PARAMS, ...)                                                                             \
    static R v_##f PARAMS {                                                                                  \
        char other[KL_FILE_PATH];                                                                            \
        name = kl_world_host_path(w, name, other) ? other : name;                                            \
        return w->real.f(__VA_ARGS__);                                                                       \
    }
NAMED(int, shm_open, (struct kl_world * w, const char *name, int flags, unsigned mode), name, flags, mode)
KL_TURNED(int, v_shm_open, (const char *name, int flags, unsigned mode), name, flags, mode)
NAMED(int, shm_unlink, (struct kl_world * w, const char *name), name)
KL_TURNED(int, v_shm_unlink, (const char *name), name)
NAMED(void *, sem_open, (struct kl_world * w, const char *name, int flags, unsigned mode, unsigned value),
      name, flags, mode, value)
KL_TURNED(void *, v_sem_open, (const char *name, int flags, unsigned mode, unsigned value), name, flags, mode,
          value)
NAMED(int, sem_unlink, (struct kl_world * w, const char *name), name)
KL_TURNED(int, v_sem_unlink, (const char *name), name)

void kl_world_host_begin(struct kl_world *w) {
    static unsigned lives;
    memset(w->host.tid, 0, sizeof w->host.tid);
    atomic_store(&w->host.threads, 0);
    w->host.life = ++lives;
}
void kl_world_host_end(struct kl_world *w) {
    for (unsigned i = 0; i < KL_HOST_CHANCES; i++) {
        int fd = atomic_exchange(&w->host.chance[i], 0);
        if (fd > 0) close(fd);
    }
}

const struct kl_hook kl_world_host_hooks[] = {
    KL_HOOK_SAME("getpid", v_getpid),
    KL_HOOK_SAME("getppid", v_getppid),
    KL_HOOK_SAME("getpgrp", v_getpid),
    KL_HOOK_SAME("getpgid", v_group_of),
    KL_HOOK_SAME("getsid", v_group_of),
    KL_HOOK("gettid", v_gettid),
    KL_HOOK_SAME("kill", v_kill),
    KL_HOOK_SAME("killpg", v_killpg),
    KL_HOOK("tgkill", v_tgkill),
    KL_HOOK("getpriority", v_getpriority),
    KL_HOOK("setpriority", v_setpriority),
    KL_HOOK_SAME("get_nprocs", v_processors),
    KL_HOOK_SAME("get_nprocs_conf", v_processors),
    KL_HOOK_SAME("_ZNSt6thread20hardware_concurrencyEv", v_processors),
    KL_HOOK_SAME("omp_get_num_procs", v_processors),
    KL_HOOK_SAME("SDL_GetCPUCount", v_processors),
    KL_HOOK_SAME("g_get_num_processors", v_processors),
    KL_HOOK_SAME("sched_getcpu", v_zero),
    KL_HOOK_SAME("getcpu", v_getcpu),
    KL_HOOK_SAME("sched_getaffinity", v_sched_getaffinity),
    KL_HOOK_SAME("pthread_getaffinity_np", v_pthread_getaffinity_np),
    KL_HOOK_SAME("sched_setaffinity", v_zero),
    KL_HOOK_SAME("pthread_setaffinity_np", v_zero),
    KL_HOOK_SAME("pthread_attr_setaffinity_np", v_zero),
    KL_HOOK_SAME("sysconf", v_sysconf),
    KL_HOOK_SAME("__sysconf", v_sysconf),
    KL_HOOK_SAME("get_phys_pages", v_phys_pages),
    KL_HOOK_SAME("get_avphys_pages", v_avphys_pages),
    KL_HOOK("sysinfo", v_sysinfo),
    KL_HOOK_SAME("getloadavg", v_getloadavg),
    KL_HOOK("getauxval", v_getauxval),
    KL_HOOK_SAME("uname", v_uname),
    KL_HOOK_SAME("gethostname", v_gethostname),
    KL_HOOK_SAME("getdomainname", v_getdomainname),
    KL_HOOK_SAME("gethostid", v_gethostid),
    KL_HOOK_REAL("shm_open", v_shm_open, KL_REAL(shm_open)),
    KL_HOOK_REAL("shm_unlink", v_shm_unlink, KL_REAL(shm_unlink)),
    KL_HOOK_REAL("sem_open", v_sem_open, KL_REAL(sem_open)),
    KL_HOOK_REAL("sem_unlink", v_sem_unlink, KL_REAL(sem_unlink)),
    KL_HOOK_END,
};
