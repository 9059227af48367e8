/* host_core.c - a library made for tests: it asks for facts of its process and machine in each way that
 * C has, and tells the answer as text. No libretro core: tests/unit/test_world_host.c opens it. */
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <fts.h>
#include <glob.h>
#include <langinfo.h>
#include <locale.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <unistd.h>

static char *answer;
static size_t room, used;

__attribute__((format(__printf__, 1, 2))) static void tell(const char *format, ...) {
    va_list args;
    va_start(args, format);
    if (used < room) used += (size_t)vsnprintf(answer + used, room - used, format, args);
    va_end(args);
}

/* --- the process and the machine --- */

static void process(void) {
    tell("%d %d %d", getpid(), getppid(), gettid());
}
static void group(void) {
    tell("%d %d %d", getpgrp(), getpgid(0), getsid(getpid()));
}
static void signals(void) {
    tell("%d %d %d %d", kill(getpid(), 0), tgkill(getpid(), gettid(), 0), killpg(getpgrp(), 0),
         getpriority(PRIO_PROCESS, (id_t)getpid()) == getpriority(PRIO_PROCESS, 0) ? 0 : 1);
}
static void processors(void) {
    cpu_set_t a, b;
    CPU_ZERO(&a);
    CPU_ZERO(&b);
    int got = sched_getaffinity(0, sizeof a, &a), also = pthread_getaffinity_np(pthread_self(), sizeof b, &b);
    tell("%ld %ld %d %d %d/%d %d/%d", sysconf(_SC_NPROCESSORS_ONLN), sysconf(_SC_NPROCESSORS_CONF),
         get_nprocs(), get_nprocs_conf(), got, CPU_COUNT(&a), also, CPU_COUNT(&b));
}
static void processor(void) {
    unsigned at = 9, node = 9;
    getcpu(&at, &node);
    tell("%d %u %u", sched_getcpu(), at, node);
}
static void memory(void) {
    struct sysinfo s;
    long page = sysconf(_SC_PAGESIZE);
    sysinfo(&s);
    tell("%ld %ld %ld %ld %lu", sysconf(_SC_PHYS_PAGES) * page >> 20, sysconf(_SC_AVPHYS_PAGES) * page >> 20,
         get_phys_pages() * page >> 20, get_avphys_pages() * page >> 20, s.totalram >> 20);
}
static void load(void) {
    double l[3] = {9, 9, 9};
    struct sysinfo s;
    sysinfo(&s);
    int n = getloadavg(l, 3);
    tell("%d %.1f %ld", n, l[0] + l[1] + l[2], s.uptime);
}
static void names(void) {
    struct utsname u;
    char host[64] = "", domain[64] = "";
    uname(&u);
    gethostname(host, sizeof host);
    if (getdomainname(domain, sizeof domain) != 0) tell("no domain ");
    tell("%s %s %s %s %s %s %ld", u.sysname, u.nodename, u.release, u.version, host, domain, gethostid());
}
static void variables(void) {
    const char *const of[] = {"USER", "LOGNAME", "HOSTNAME", "LANG", "LC_NUMERIC", "TZ"};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++)
        tell("%s%s", i ? " " : "", getenv(of[i]) ? getenv(of[i]) : "none");
}
static void language(void) {
    locale_t other = newlocale(LC_ALL_MASK, "C.UTF-8", NULL);
    char to[8] = "";
    tell("%s %s ", setlocale(LC_ALL, ""), setlocale(LC_ALL, NULL));
    tell("%s %s ", setlocale(LC_ALL, "C.UTF-8") ? "other" : "none", nl_langinfo(CODESET));
    tell("%s %s %d %zu", other ? "other" : "none", localeconv()->decimal_point, strcoll("B", "a") < 0,
         strxfrm(to, "a", sizeof to));
}

/* --- chance --- */

static void by_stream(const char *path) {
    uint32_t n = 0;
    FILE *f = fopen(path, "rb");
    if (f && fread(&n, sizeof n, 1, f) != 1) n = 0;
    if (f) fclose(f);
    tell("%08x ", n);
}
static void by_descriptor(int fd) {
    uint32_t n = 0;
    if (fd >= 0 && read(fd, &n, sizeof n) != sizeof n) n = 0;
    if (fd >= 0) close(fd);
    tell("%08x ", n);
}
static void chance(void) {
    uint32_t n = 0, m = 0;
    by_stream("/dev/urandom");
    by_stream("/dev/random");
    by_stream("/dev/../dev/urandom");
    by_descriptor(open("/dev/urandom", O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
    by_descriptor(openat(AT_FDCWD, "/dev/random", O_RDONLY));
    if (getrandom(&n, sizeof n, 0) == sizeof n && getentropy(&m, sizeof m) == 0) tell("%08x %08x ", n, m);
    memcpy(&n, (const void *)getauxval(AT_RANDOM), sizeof n);
    tell("%08x", n);
}

/* Never called. */
__attribute__((visibility("default"), noinline)) uint64_t host_ask_processor(unsigned *chance) {
#if defined(__x86_64__)
    unsigned char good;
    __asm__ volatile("rdrand %0; setc %1" : "=r"(*chance), "=q"(good));
    unsigned low, high;
    __asm__ volatile("rdtscp" : "=a"(low), "=d"(high) : : "ecx");
    return ((uint64_t)high << 32 | low) + good + (uint32_t)__builtin_ia32_rdtsc();
#elif defined(__aarch64__)
    uint64_t count;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(count));
    return count + *chance;
#else
    return *chance;
#endif
}

/* --- folders --- */

static const char *folder;

static void by_readdir(void) {
    DIR *d = opendir(folder);
    for (struct dirent *e; d && (e = readdir(d));)
        tell("%s:%x:%d:%d ", e->d_name, (unsigned)e->d_ino & 0xfff, (int)e->d_off, e->d_type);
    if (d) closedir(d);
}
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
static void by_readdir_r(void) {
    DIR *d = fdopendir(open(folder, O_RDONLY | O_DIRECTORY));
    struct dirent e, *got = NULL;
    while (d && readdir_r(d, &e, &got) == 0 && got)
        tell("%s ", e.d_name);
    if (d) closedir(d);
}
#pragma GCC diagnostic pop
/* The third, from there to the end, and all again. */
static void by_place(void) {
    DIR *d = opendir(folder);
    struct dirent *e = NULL;
    if (!d) return;
    for (int i = 0; i < 2; i++)
        e = readdir(d);
    long third = telldir(d);
    while (readdir(d)) {
    }
    seekdir(d, third);
    if ((e = readdir(d))) tell("%s ", e->d_name);
    rewinddir(d);
    if ((e = readdir(d))) tell("%s ", e->d_name);
    closedir(d);
}
static int not_hidden(const struct dirent *e) {
    return e->d_name[0] != '.';
}
static void scan(int (*order)(const struct dirent **, const struct dirent **)) {
    struct dirent **list;
    int n = scandir(folder, &list, not_hidden, order);
    for (int i = 0; i < n; i++) {
        tell("%s ", list[i]->d_name);
        free(list[i]);
    }
    if (n >= 0) free(list);
}
static void by_scandir(void) {
    scan(NULL);
}
static void by_alphasort(void) {
    scan(alphasort);
}
static int see(const char *path, const struct stat *s, int kind, struct FTW *at) {
    (void)s;
    tell("%s:%d:%d ", path + at->base, kind == FTW_D || kind == FTW_DP, at->level);
    return 0;
}
static int see_plain(const char *path, const struct stat *s, int kind) {
    (void)s, (void)kind;
    const char *slash = strrchr(path, '/');
    tell("%s ", slash ? slash + 1 : path);
    return 0;
}
static void by_nftw(void) {
    nftw(folder, see, 4, FTW_PHYS);
}
static void by_ftw(void) {
    ftw(folder, see_plain, 4);
}
static void by_fts(void) {
    char *const paths[] = {(char *)folder, NULL};
    FTS *t = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
    for (FTSENT *e; t && (e = fts_read(t));)
        if (e->fts_info != FTS_DP) tell("%s ", e->fts_name);
    if (t) fts_close(t);
}
static void by_glob(void) {
    glob_t g = {0};
    char pattern[4200];
    snprintf(pattern, sizeof pattern, "%s/*", folder);
    if (glob(pattern, GLOB_NOSORT, NULL, &g) != 0) return;
    for (size_t i = 0; i < g.gl_pathc; i++)
        tell("%s ", strrchr(g.gl_pathv[i], '/') + 1);
    globfree(&g);
}

/* std::filesystem::directory_iterator, as g++ calls it. */
struct cxx_path {
    char *at;
    size_t len;
    char small[16];
    uintptr_t parts;
};
struct cxx_iterator {
    void *folder, *count;
};
#define CXX(f, name) f __asm__(name) __attribute__((weak))
void CXX(cxx_split(struct cxx_path *), "_ZNSt10filesystem7__cxx114path14_M_split_cmptsEv");
void
    CXX(cxx_begin(struct cxx_iterator *, const struct cxx_path *, int, void *),
        "_ZNSt10filesystem7__cxx1118directory_iteratorC1ERKNS0_4pathENS_17directory_optionsEPSt10error_code");
const struct cxx_path *CXX(cxx_at(const struct cxx_iterator *),
                           "_ZNKSt10filesystem7__cxx1118directory_iteratordeEv");
void CXX(cxx_next(struct cxx_iterator *), "_ZNSt10filesystem7__cxx1118directory_iteratorppEv");
unsigned CXX(cxx_threads(void), "_ZNSt6thread20hardware_concurrencyEv");
double CXX(cxx_entropy(const void *), "_ZNKSt13random_device13_M_getentropyEv");

static void by_cxx(void) {
    struct cxx_path p = {(char *)folder, strlen(folder), "", 0};
    struct cxx_iterator i = {0};
    cxx_split(&p);
    for (cxx_begin(&i, &p, 0, NULL); i.folder; cxx_next(&i))
        tell("%s ", strrchr(cxx_at(&i)->at, '/') + 1);
}
static void cxx(void) {
    uint8_t device[5000] = {0};
    tell("%u %.0f", cxx_threads(), cxx_entropy(device));
}

/* --- names of files --- */

static void temporaries(void) {
    char a[4200], b[4200], c[4200], d[64] = "/tmp/XXXXXX.end";
    snprintf(a, sizeof a, "%s/a-XXXXXX", folder);
    snprintf(b, sizeof b, "%s/b-XXXXXX", folder);
    snprintf(c, sizeof c, "%s/c-XXXXXX", folder);
    int fd = mkstemp(a), end = mkstemps(d, 4);
    if (fd >= 0) close(fd);
    if (end >= 0) close(end);
    unlink(d);
    char *e = tempnam(folder, "e");
    char f[L_tmpnam];
    tell("%d %s %s", fd >= 0 && end >= 0, strrchr(a, '/'), mkdtemp(b) ? strrchr(b, '/') : "none");
    tell(" %s %s %s %s", strrchr(mktemp(c), '/'), d, e ? strrchr(e, '/') : "none", tmpnam(f));
    free(e);
}
/* 1 for each that was new. They stay. */
static void own_names(void) {
    char path[4200], name[64];
    snprintf(path, sizeof path, "%s/core.%d", folder, getpid());
    snprintf(name, sizeof name, "/host_core.%d", getpid());
    int fd = open(path, O_CREAT | O_EXCL | O_RDWR, 0600),
        shm = shm_open(name, O_CREAT | O_EXCL | O_RDWR, 0600);
    sem_t *s = sem_open(name, O_CREAT | O_EXCL, 0600, 1);
    tell("%d %d %d", fd >= 0, shm >= 0, s != SEM_FAILED);
    if (fd >= 0) close(fd);
    if (shm >= 0) close(shm);
    if (s != SEM_FAILED) sem_close(s);
}
static void own_names_go(void) {
    char name[64];
    snprintf(name, sizeof name, "/host_core.%d", getpid());
    tell("%d %d", shm_unlink(name), sem_unlink(name));
}
static void own_proc(void) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/comm", getpid());
    tell("%d", access(path, R_OK));
}
static void reads_proc(void) {
    FILE *f = fopen("/proc/cpuinfo", "r");
    tell("%d %d %d", f != NULL, getenv("KL_TEST_OWN") != NULL, (int)getuid() >= 0);
    if (f) fclose(f);
}

/* --- threads --- */

static volatile unsigned long work; /* 0 ends it early */
static pthread_t workers[2];
static sem_t first_done, may_end;
static volatile unsigned long work_done;

/* The second goes on where the first has stopped, as an emulator's threads hand a frame on. */
static void *worker(void *arg) {
    if (arg) sem_wait(&first_done);
    for (unsigned long i = 0; i < work; i++)
        work_done = work_done + 1;
    if (!arg) sem_post(&first_done);
    sem_wait(&may_end);
    return arg;
}

static void work_begins(void) {
    work_done = 0;
    work = strtoul(folder, NULL, 10);
    sem_init(&first_done, 0, 0);
    sem_init(&may_end, 0, 0);
    for (int i = 0; i < 2; i++)
        pthread_create(&workers[i], NULL, worker, i ? workers : NULL);
}

static void work_is_done(void) {
    tell("%lu", work_done);
}

static void work_ends(void) {
    work = 0;
    for (int i = 0; i < 2; i++)
        sem_post(&may_end);
    for (int i = 0; i < 2; i++)
        pthread_join(workers[i], NULL);
}

__attribute__((visibility("default"))) void host_look(const char *what, const char *at, char *out,
                                                      size_t cap) {
    static const struct {
        const char *name;
        void (*look)(void);
    } all[] = {{"work-begins", work_begins},
               {"work-done", work_is_done},
               {"work-ends", work_ends},
               {"process", process},
               {"group", group},
               {"signals", signals},
               {"processors", processors},
               {"processor", processor},
               {"memory", memory},
               {"load", load},
               {"names", names},
               {"variables", variables},
               {"language", language},
               {"chance", chance},
               {"readdir", by_readdir},
               {"readdir_r", by_readdir_r},
               {"place", by_place},
               {"scandir", by_scandir},
               {"alphasort", by_alphasort},
               {"nftw", by_nftw},
               {"ftw", by_ftw},
               {"fts", by_fts},
               {"glob", by_glob},
               {"iterator", by_cxx},
               {"cxx", cxx},
               {"temporaries", temporaries},
               {"own-names", own_names},
               {"own-names-go", own_names_go},
               {"own-proc", own_proc},
               {"left", reads_proc}};
    answer = out;
    room = cap;
    used = 0;
    folder = at;
    *out = 0;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (strcmp(all[i].name, what) == 0) all[i].look();
}
