#include "net/platform/process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "net/platform/clock.h"
#include "net/platform/dir.h"

#define CHILD_FD 3          /* the channel's number in the child */
#define ABOVE    10         /* lowest number of a descriptor that is passed to a child */
#define MARK     0x4b4c6d31 /* first word of a message; printed text never begins with it */
#define SLICE_MS 200        /* interval of checks of kl_process_stopped() */

extern char **environ;

struct frame {
    uint32_t mark, zero;
    uint64_t len;
};

static uint64_t now_ms(void) {
    return kl_now_us() / 1000;
}

static int fail(char *err, size_t err_len, const char *program, int why) {
    snprintf(err, err_len, "cannot start %s: %s", program, strerror(why));
    return -1;
}

/* ---- starting ---- */

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

static int spawn(const struct kl_process_setup *s, int channel, pid_t *pid) {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    char **environment = join_environment(s->environment);
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    int why = environment ? set_actions(&actions, s, channel) : ENOMEM;
    if (!why) why = set_attributes(&attributes);
    if (!why)
        why = posix_spawn(pid, s->program ? s->program : "/proc/self/exe", &actions, &attributes,
                          (char *const *)(uintptr_t)s->arguments, environment);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    free(environment);
    return why;
}

int kl_process_start(struct kl_process *p, const struct kl_process_setup *setup, char *err, size_t err_len) {
    const char *name = setup->program ? setup->program : setup->arguments[0];
    int pair[2];
    pid_t pid = 0;
    *p = (struct kl_process){0, -1};
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
    *p = (struct kl_process){pid, pair[0]};
    return 0;
}

int kl_process_run(struct kl_process *p, const char *program, const char *const *arguments, char *err,
                   size_t err_len) {
    posix_spawnattr_t attributes;
    pid_t pid = 0;
    *p = (struct kl_process){0, -1};
    fflush(NULL);
    posix_spawnattr_init(&attributes);
    int why = set_attributes(&attributes);
    if (!why)
        why = posix_spawn(&pid, program, NULL, &attributes, (char *const *)(uintptr_t)arguments, environ);
    posix_spawnattr_destroy(&attributes);
    if (why) return fail(err, err_len, program, why);
    *p = (struct kl_process){pid, pidfd_open(pid, 0)};
    if (p->channel >= 0) return 0;
    why = errno;
    kl_process_ask_end(p);
    kl_process_end(p, 1000, NULL);
    return fail(err, err_len, program, why);
}

void kl_process_ask_end(const struct kl_process *p) {
    if (p->id > 0) kill((pid_t)p->id, SIGTERM);
}

/* ---- messages ---- */

/* Waits until the channel can be read or written. deadline_ms 0: for ever. */
static enum kl_process_result wait_for(int fd, short events, uint64_t deadline_ms) {
    struct pollfd f = {.fd = fd, .events = events};
    for (;;) {
        uint64_t now = now_ms(), left = deadline_ms > now ? deadline_ms - now : 0;
        if (kl_process_stopped()) return KL_PROCESS_STOPPED;
        if (deadline_ms && !left) return KL_PROCESS_LATE;
        int n = poll(&f, 1, deadline_ms && left < SLICE_MS ? (int)left : SLICE_MS);
        if (n > 0) return KL_PROCESS_OK;
        if (n < 0 && errno != EINTR) return KL_PROCESS_ENDED;
    }
}

static enum kl_process_result read_some(int fd, void *out, size_t cap, size_t *got, uint64_t deadline_ms) {
    for (;;) {
        enum kl_process_result result = wait_for(fd, POLLIN, deadline_ms);
        if (result != KL_PROCESS_OK) return result;
        ssize_t n = read(fd, out, cap);
        if (n < 0 && (errno == EINTR || errno == EAGAIN)) continue;
        if (n <= 0) return KL_PROCESS_ENDED;
        *got = (size_t)n;
        return KL_PROCESS_OK;
    }
}

static enum kl_process_result read_all(int fd, void *out, size_t len, uint64_t deadline_ms) {
    for (size_t done = 0, n = 0; done < len; done += n) {
        enum kl_process_result result = read_some(fd, (uint8_t *)out + done, len - done, &n, deadline_ms);
        if (result != KL_PROCESS_OK) return result;
    }
    return KL_PROCESS_OK;
}

static enum kl_process_result write_all(int fd, const void *bytes, size_t len, uint64_t deadline_ms) {
    for (size_t done = 0; done < len;) {
        enum kl_process_result result = wait_for(fd, POLLOUT, deadline_ms);
        if (result != KL_PROCESS_OK) return result;
        ssize_t n = send(fd, (const uint8_t *)bytes + done, len - done, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0 && errno != EINTR && errno != EAGAIN) return KL_PROCESS_ENDED;
        if (n > 0) done += (size_t)n;
    }
    return KL_PROCESS_OK;
}

static enum kl_process_result put_message(int fd, const struct kl_process_part *part, unsigned parts,
                                          uint64_t deadline_ms) {
    struct frame f = {.mark = MARK};
    for (unsigned i = 0; i < parts; i++)
        f.len += part[i].len;
    enum kl_process_result result = write_all(fd, &f, sizeof f, deadline_ms);
    for (unsigned i = 0; result == KL_PROCESS_OK && i < parts; i++)
        result = write_all(fd, part[i].bytes, part[i].len, deadline_ms);
    return result;
}

static enum kl_process_result get_message(int fd, size_t max, void **bytes, size_t *len,
                                          uint64_t deadline_ms) {
    struct frame f;
    *bytes = NULL;
    enum kl_process_result result = read_all(fd, &f, sizeof f, deadline_ms);
    if (result != KL_PROCESS_OK) return result;
    if (f.mark != MARK || f.zero || f.len > max) return KL_PROCESS_GARBAGE;
    uint8_t *out = malloc(f.len + 1);
    if (!out) return KL_PROCESS_MEMORY;
    result = read_all(fd, out, f.len, deadline_ms);
    if (result != KL_PROCESS_OK) {
        free(out);
        return result;
    }
    out[f.len] = 0;
    *bytes = out;
    *len = f.len;
    return KL_PROCESS_OK;
}

enum kl_process_result kl_process_send(struct kl_process *p, const struct kl_process_part *part,
                                       unsigned parts, unsigned timeout_ms) {
    return put_message(p->channel, part, parts, now_ms() + timeout_ms);
}

enum kl_process_result kl_process_answer(struct kl_process *p, size_t max, unsigned timeout_ms, void **bytes,
                                         size_t *len) {
    return get_message(p->channel, max, bytes, len, now_ms() + timeout_ms);
}

enum kl_process_result kl_process_read_text(struct kl_process *p, char *out, size_t cap,
                                            unsigned timeout_ms) {
    uint64_t deadline_ms = now_ms() + timeout_ms;
    enum kl_process_result result = KL_PROCESS_OK;
    size_t done = 0, n = 0;
    for (; result == KL_PROCESS_OK && done + 1 < cap; done += n) {
        n = 0;
        result = read_some(p->channel, out + done, cap - 1 - done, &n, deadline_ms);
    }
    out[done] = 0;
    return result == KL_PROCESS_ENDED ? KL_PROCESS_OK : result; /* the text ends when the child ends */
}

bool kl_process_tell(const struct kl_process_part *part, unsigned parts) {
    return put_message(CHILD_FD, part, parts, 0) == KL_PROCESS_OK;
}

bool kl_process_hear(size_t max, void **bytes, size_t *len) {
    return get_message(CHILD_FD, max, bytes, len, 0) == KL_PROCESS_OK;
}

int kl_process_parent(void) {
    return CHILD_FD;
}

/* ---- ending ---- */

static bool has_ended(pid_t pid, int *status, int flags) {
    pid_t got;
    while ((got = waitpid(pid, status, flags)) < 0 && errno == EINTR)
        continue;
    return got != 0;
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
    *p = (struct kl_process){0, -1};
    how->crashed = !how->killed && WIFSIGNALED(status);
    if (how->crashed) snprintf(how->why, sizeof how->why, "%s", strsignal(WTERMSIG(status)));
    if (WIFEXITED(status)) how->code = WEXITSTATUS(status);
}

/* ---- this process, and others ---- */

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
    char path[64], line[64], ignored[64];
    struct kl_dir_list all;
    bool found = false;
    if (kl_dir_list(&all, "/proc", "", ignored, sizeof ignored) != 0) return false;
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

int kl_process_own_path(char *out, size_t cap) {
    ssize_t n = readlink("/proc/self/exe", out, cap - 1);
    if (n <= 0) return -1;
    out[n] = 0;
    return 0;
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
