#include "net/platform/process.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/personality.h>
#include <sys/pidfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "net/platform/clock.h"
#include "net/platform/dir.h"
#include "net/platform/file.h"
#include "net/platform/library.h"

#define CHILD_FD 3  /* the channel's number in the child */
#define ABOVE    10 /* lowest number of a descriptor that is passed to a child */

extern char **environ;

static uint64_t now_ms(void) {
    return kl_now_us() / 1000;
}

static int fail(char *err, size_t err_len, const char *program, int why) {
    snprintf(err, err_len, "cannot start %s: %s", program, strerror(why));
    return -1;
}

/* --- starting --- */

static bool same_name(const char *a, const char *b) {
    size_t n = strcspn(a, "=");
    return strncmp(a, b, n + 1) == 0;
}

/* This process's environment plus `more`, which overrides equal names. Heap; the strings are borrowed. */
static char **join_environment(const char *const *more) {
    size_t ours = 0, added = 0, n = 0;
    while (environ[ours])
        ours++;
    while (more && more[added])
        added++;
    char **all = calloc(ours + added + 1, sizeof *all);
    for (size_t i = 0; all && i < ours; i++) {
        size_t k = 0;
        while (k < added && !same_name(more[k], environ[i]))
            k++;
        if (k == added) all[n++] = environ[i];
    }
    for (size_t i = 0; all && i < added; i++)
        all[n++] = (char *)(uintptr_t)more[i];
    return all;
}

/* Sets the child's descriptors: empty input; output to the channel, a file or /dev/null. 0, or an errno. */
static int set_actions(posix_spawn_file_actions_t *a, const struct kl_process_setup *s, int channel) {
    int why = posix_spawn_file_actions_addopen(a, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (!why && s->printed)
        why = posix_spawn_file_actions_adddup2(a, channel, STDOUT_FILENO);
    else if (!why)
        why = posix_spawn_file_actions_addopen(a, STDOUT_FILENO, s->log ? s->log : "/dev/null",
                                               O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (!why) why = posix_spawn_file_actions_adddup2(a, STDOUT_FILENO, STDERR_FILENO);
    if (!why && !s->printed) why = posix_spawn_file_actions_adddup2(a, channel, CHILD_FD);
    return why;
}

/* Resets the child's signals, so that it does not inherit ignored ones. */
static int set_attributes(posix_spawnattr_t *a) {
    sigset_t none, usual;
    sigemptyset(&none);
    sigemptyset(&usual);
    sigaddset(&usual, SIGPIPE);
    sigaddset(&usual, SIGXFSZ);
    int why = posix_spawnattr_setsigmask(a, &none);
    if (!why) why = posix_spawnattr_setsigdefault(a, &usual);
    return why ? why : posix_spawnattr_setflags(a, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
}

/* The system's loader. False: this program is static, or the path is longer than cap. */
static bool find_loader(char *out, size_t cap) {
    const void *at = (const void *)getauxval(AT_BASE);
    return at && kl_library_file_of(at, out, cap);
}

/* The program that runs this one's file: the loader (kl_process_loaded()), or an emulator of another
 * processor (qemu-user), which answers for /proc/self/exe itself, the kernel for this name of the same file.
 * False: there is none. */
static bool find_emulator(char *out, size_t cap) {
    char own[PATH_MAX], name[64];
    snprintf(name, sizeof name, "/proc/self/task/%d/exe", (int)gettid());
    ssize_t n = readlink(name, out, cap - 1);
    if (n <= 0 || kl_process_own_path(own, sizeof own) != 0) return false;
    out[n] = 0;
    return strcmp(out, own) != 0;
}

/* A file that another program runs, the loader or an emulator: it takes the file's path before the arguments.
 */
static int spawn_by(const char *runner, const char *file, pid_t *pid,
                    const posix_spawn_file_actions_t *actions, const posix_spawnattr_t *attributes,
                    const char *const *arguments, char **environment) {
    size_t count = 0;
    while (arguments[count])
        count++;
    const char **longer = calloc(count + 2, sizeof *longer);
    if (!longer) return ENOMEM;
    longer[0] = runner;
    longer[1] = file;
    memcpy(longer + 2, arguments + 1, (count - 1) * sizeof *longer);
    int why = posix_spawn(pid, runner, actions, attributes, (char *const *)(uintptr_t)longer, environment);
    free(longer);
    return why;
}

static int spawn_file(const struct kl_process_setup *s, pid_t *pid, const posix_spawn_file_actions_t *actions,
                      const posix_spawnattr_t *attributes, char **environment) {
    char own[PATH_MAX], runner[PATH_MAX];
    const char *program = s->program ? s->program : "/proc/self/exe"; /* this program once more */
    if (s->library)
        return find_loader(runner, sizeof runner)
                   ? spawn_by(runner, s->library, pid, actions, attributes, s->arguments, environment)
                   : ENOEXEC;
    if (!s->program && find_emulator(runner, sizeof runner) && kl_process_own_path(own, sizeof own) == 0)
        return spawn_by(runner, own, pid, actions, attributes, s->arguments, environment);
    return posix_spawn(pid, program, actions, attributes, (char *const *)(uintptr_t)s->arguments,
                       environment);
}

/* Children inherit it: before a child starts, and back to `was` afterwards. -1: nothing to do. */
static int set_personality(bool same_addresses, int was) {
    if (was >= 0) personality((unsigned long)was);
    int is = same_addresses ? personality(0xffffffff) : -1;
    return is >= 0 && personality((unsigned long)is | ADDR_NO_RANDOMIZE) >= 0 ? is : -1;
}

static int spawn(const struct kl_process_setup *s, int channel, pid_t *pid) {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    char **environment = join_environment(s->environment);
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    int was = set_personality(s->same_addresses, -1);
    int why = environment ? set_actions(&actions, s, channel) : ENOMEM;
    if (!why) why = set_attributes(&attributes);
    if (!why) why = spawn_file(s, pid, &actions, &attributes, environment);
    set_personality(false, was);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    free(environment);
    return why;
}

int kl_process_start(struct kl_process *p, const struct kl_process_setup *setup, char *err, size_t err_len) {
    const char *name = setup->library   ? setup->library
                       : setup->program ? setup->program
                                        : setup->arguments[0];
    int pair[2];
    pid_t pid = 0;
    *p = (struct kl_process){.channel = -1};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) return fail(err, err_len, name, errno);
    int theirs = fcntl(pair[1], F_DUPFD_CLOEXEC, ABOVE);
    int why = theirs < 0 ? errno : 0;
    fflush(NULL);
    if (!why) why = spawn(setup, theirs, &pid);
    if (theirs >= 0) close(theirs);
    close(pair[1]);
    if (why) {
        close(pair[0]);
        return fail(err, err_len, name, why);
    }
    *p = (struct kl_process){.id = pid, .channel = pair[0]};
    return 0;
}

int kl_process_run(struct kl_process *p, const char *program, const char *const *arguments, char *err,
                   size_t err_len) {
    posix_spawnattr_t attributes;
    pid_t pid = 0;
    *p = (struct kl_process){.channel = -1};
    fflush(NULL);
    posix_spawnattr_init(&attributes);
    int why = set_attributes(&attributes);
    if (!why)
        why = posix_spawn(&pid, program, NULL, &attributes, (char *const *)(uintptr_t)arguments, environ);
    posix_spawnattr_destroy(&attributes);
    if (why) return fail(err, err_len, program, why);
    *p = (struct kl_process){.id = pid, .channel = pidfd_open(pid, 0)};
    if (p->channel >= 0) return 0;
    why = errno;
    kl_process_ask_end(p);
    kl_process_end(p, 1000, NULL);
    return fail(err, err_len, program, why);
}

void kl_process_ask_end(const struct kl_process *p) {
    if (p->id > 0) kill((pid_t)p->id, SIGTERM);
}

/* --- the channel --- */

int kl_channel_ready(int channel, bool to_write, unsigned ms) {
    struct pollfd f = {.fd = channel, .events = to_write ? POLLOUT : POLLIN};
    int n = poll(&f, 1, (int)ms);
    return n > 0 ? 1 : n < 0 && errno != EINTR ? -1 : 0;
}

static bool is_nothing_yet(ssize_t n) {
    return n < 0 && (errno == EINTR || errno == EAGAIN);
}

long kl_channel_get(int channel, void *out, size_t cap) {
    ssize_t n = read(channel, out, cap);
    return n > 0 ? n : is_nothing_yet(n) ? 0 : -1;
}

long kl_channel_put(int channel, const void *bytes, size_t len) {
    ssize_t n = send(channel, bytes, len, MSG_NOSIGNAL | MSG_DONTWAIT);
    return n >= 0 ? n : is_nothing_yet(n) ? 0 : -1;
}

int kl_process_parent(void) {
    return CHILD_FD;
}

/* --- ending --- */

static bool has_ended(pid_t pid, int *status, int flags) {
    pid_t got;
    while ((got = waitpid(pid, status, flags)) < 0 && errno == EINTR)
        continue;
    return got != 0;
}

bool kl_process_gone(const struct kl_process *p) {
    struct pollfd f = {.fd = p->channel, .events = POLLIN};
    return p->id <= 0 || (poll(&f, 1, 0) > 0 && f.revents & (POLLHUP | POLLERR | POLLNVAL));
}

void kl_process_end(struct kl_process *p, unsigned grace_ms, struct kl_process_end *how) {
    struct kl_process_end unused;
    int status = 0;
    if (!how) how = &unused;
    *how = (struct kl_process_end){0};
    if (p->id <= 0) return;
    if (p->channel >= 0) close(p->channel);
    uint64_t deadline_ms = now_ms() + grace_ms;
    while (!has_ended((pid_t)p->id, &status, WNOHANG)) {
        if (now_ms() < deadline_ms) {
            kl_sleep_us(1000);
            continue;
        }
        how->killed = true;
        kill((pid_t)p->id, SIGKILL);
        has_ended((pid_t)p->id, &status, 0);
        break;
    }
    *p = (struct kl_process){.channel = -1};
    how->crashed = !how->killed && WIFSIGNALED(status);
    if (how->crashed) snprintf(how->why, sizeof how->why, "%s", strsignal(WTERMSIG(status)));
    if (WIFEXITED(status)) how->code = WEXITSTATUS(status);
}

/* --- this process, and others --- */

void kl_process_begin(int *argc, char ***argv) {
    (void)argc, (void)argv;
}

long kl_process_self(void) {
    return getpid();
}

bool kl_process_alive(long id) {
    return id > 0 && (kill((pid_t)id, 0) == 0 || errno != ESRCH);
}

/* Another user's environment cannot be read. */
static bool has_variable(const char *pid, const char *variable) {
    char path[64], bytes[65536];
    snprintf(path, sizeof path, "/proc/%.20s/environ", pid);
    FILE *f = fopen(path, "re");
    size_t n = f ? fread(bytes, 1, sizeof bytes - 1, f) : 0;
    if (f) fclose(f);
    bytes[n] = 0;
    for (size_t at = 0; at < n; at += strlen(bytes + at) + 1)
        if (!strcmp(bytes + at, variable)) return true;
    return false;
}

bool kl_process_runs(const char *name, const char *variable) {
    char path[64], line[64];
    struct kl_dir_list all;
    bool found = false;
    if (kl_dir_list(&all, "/proc", "", NULL, 0) != 0) return false;
    for (unsigned i = 0; i < all.count && !found; i++) {
        if (all.name[i][0] < '0' || all.name[i][0] > '9') continue;
        snprintf(path, sizeof path, "/proc/%.20s/comm", all.name[i]);
        FILE *f = fopen(path, "re");
        if (f && fgets(line, sizeof line, f)) {
            line[strcspn(line, "\n")] = 0;
            found = !strcmp(line, name) && has_variable(all.name[i], variable);
        }
        if (f) fclose(f);
    }
    kl_dir_list_free(&all);
    return found;
}

static const char *loaded_file; /* the loader runs it; NULL: this is a program of its own */

void kl_process_loaded(const char *file) {
    loaded_file = file;
}

int kl_process_own_path(char *out, size_t cap) {
    if (loaded_file) return snprintf(out, cap, "%s", loaded_file) < (int)cap ? 0 : -1;
    ssize_t n = readlink("/proc/self/exe", out, cap - 1);
    if (n <= 0) return -1;
    out[n] = 0;
    return 0;
}

bool kl_process_find(const char *name, char *out, size_t cap) {
    const char *path = getenv("PATH");
    for (const char *at = path ? path : "/usr/local/bin:/usr/bin:/usr/games"; *at;) {
        size_t len = strcspn(at, ":");
        int n = snprintf(out, cap, "%.*s/%s", (int)len, at, name);
        if (len && n > 0 && (size_t)n < cap && kl_file_runnable(out)) return true;
        at += len + (at[len] == ':');
    }
    return false;
}

int kl_process_become(const char *program, const char *const *arguments, char *err, size_t err_len) {
    fflush(NULL);
    execv(program, (char *const *)(uintptr_t)arguments);
    return fail(err, err_len, program, errno);
}

void kl_process_yield(void) {
    (void)setpriority(PRIO_PROCESS, 0, 19);
}

bool kl_process_has_terminal(void) {
    return isatty(STDERR_FILENO) == 1;
}

bool kl_process_has_answers(void) {
    return kl_process_has_terminal() && isatty(STDIN_FILENO) == 1;
}

FILE *kl_process_take_output(void) {
    fflush(stdout);
    int fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, ABOVE);
    FILE *f = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (f) dup2(STDERR_FILENO, STDOUT_FILENO);
    return f;
}

static volatile sig_atomic_t stopped;
static void on_stop(int sig) {
    (void)sig;
    stopped = 1;
}

void kl_process_catch_stop(void) {
    struct sigaction action = {.sa_handler = on_stop, .sa_flags = (int)SA_RESETHAND};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    signal(SIGPIPE, SIG_IGN);
}

bool kl_process_stopped(void) {
    return stopped != 0;
}

void kl_process_ignore_stop(void) {
    signal(SIGINT, SIG_IGN);
}

void kl_process_leave_terminal(void) {
    (void)setsid(); /* fails for the leader of a group, which no child of ours is */
}

void kl_process_limit_memory(size_t bytes) {
    struct rlimit limit = {.rlim_cur = bytes, .rlim_max = bytes};
#ifdef __SANITIZE_ADDRESS__
    return; /* the sanitizer reserves terabytes of addresses */
#endif
    setrlimit(RLIMIT_AS, &limit);
}

unsigned kl_process_raise_files(unsigned wanted) {
    struct rlimit is, limit;
    if (getrlimit(RLIMIT_NOFILE, &is) != 0 || is.rlim_cur >= wanted) return wanted;
    limit = (struct rlimit){.rlim_cur = wanted, .rlim_max = is.rlim_max > wanted ? is.rlim_max : wanted};
    if (setrlimit(RLIMIT_NOFILE, &limit) == 0) return wanted; /* root may go above the hard limit */
    limit = (struct rlimit){.rlim_cur = is.rlim_max, .rlim_max = is.rlim_max};
    return (unsigned)(setrlimit(RLIMIT_NOFILE, &limit) == 0 ? is.rlim_max : is.rlim_cur);
}

static const int crash_signal[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP};

void kl_process_crash_handlers(char *out, size_t cap) {
    size_t used = 0;
    if (cap) *out = 0;
    for (size_t i = 0; i < sizeof crash_signal / sizeof *crash_signal; i++) {
        struct sigaction is = {.sa_handler = SIG_DFL};
        sigaction(crash_signal[i], NULL, &is);
        bool has = is.sa_flags & SA_SIGINFO || (is.sa_handler != SIG_DFL && is.sa_handler != SIG_IGN);
        int n = has && used < cap ? snprintf(out + used, cap - used, "%sSIG%s", used ? ", " : "",
                                             sigabbrev_np(crash_signal[i]))
                                  : 0;
        used += n > 0 ? (size_t)n : 0;
    }
}

static const char *crash_line = "";
static void on_crash(int sig) {
    if (write(STDERR_FILENO, crash_line, strlen(crash_line)) < 0) {
    }
    raise(sig); /* the handler is reset, so the signal ends the process */
}

void kl_process_catch_crashes(const char *line) {
    static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    static char stack[65536]; /* the core may have overflowed the normal stack */
    stack_t alternate = {.ss_sp = stack, .ss_size = sizeof(stack)};
    struct sigaction action = {.sa_handler = on_crash,
                               .sa_flags = (int)(SA_RESETHAND | SA_ONSTACK | SA_NODEFER)};
#ifdef __SANITIZE_ADDRESS__
    return; /* the sanitizer's own handlers report more */
#endif
    crash_line = line;
    sigaltstack(&alternate, NULL);
    for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
        sigaction(signals[i], &action, NULL);
}

/* --- the environment --- */

const char *kl_environment_get(const char *name) {
    return getenv(name);
}

void kl_environment_set(const char *name, const char *value) {
    if (value)
        (void)setenv(name, value, 1);
    else
        (void)unsetenv(name);
}
