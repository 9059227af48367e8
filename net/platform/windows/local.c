#define PSAPI_VERSION 2 /* the list of processes is in kernel32 */

#include "net/platform/local.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <windows.h>
#include <psapi.h>

#include "net/platform/socket.h"
#include "net/platform/thread.h"
#include "net/platform/wait.h"
#include "net/platform/windows/disk.h"

/* A name is a named pipe. Each message comes over a connection of its own, which takes the answer back. A
 * thread reads them, and makes the socket readable, which is a wake-up. */

#define SLOTS      16   /* connections of a socket */
#define PIPE_BYTES 8192 /* room for a message and an answer, and what the system keeps with them */
#define PATH_MAX_W (KL_LOCAL_NAME_MAX + 16)
#define BUSY_MS    20 /* between two messages a name has no free pipe, for a moment */
#define PROCESSES  4096

enum step {
    STEP_FREE,
    STEP_NEW,     /* a pipe with the name, made */
    STEP_LISTENS, /* it waits for a sender */
    STEP_OPEN,    /* connected */
    STEP_READS,   /* it waits for the message */
    STEP_FULL,    /* the message is in bytes */
    STEP_KEPT,    /* received; the pipe is open for the answer */
};
struct slot {
    enum step step;
    bool asked;   /* this program opened the pipe, and waits for the answer */
    bool trusted; /* the process at the other end is this user's */
    HANDLE pipe;
    OVERLAPPED io; /* its event lives as long as the box */
    uint64_t order;
    size_t len;
    char bytes[KL_LOCAL_BYTES];
};
struct box {
    struct box *next;
    int wake;               /* the socket's number */
    HANDLE change;          /* the thread looks at the slots again */
    WCHAR path[PATH_MAX_W]; /* "": it has no name */
    struct kl_thread thread;
    bool closes;
    struct kl_mutex lock; /* all below, and closes */
    uint64_t count;       /* of messages */
    struct slot slot[SLOTS];
};

static struct kl_mutex boxes_lock;
static struct box *boxes;

/* --- slots; the box is locked --- */

/* A zeroed order is the oldest. NULL: none in this step. */
static struct slot *oldest(struct box *b, enum step step) {
    struct slot *found = NULL;
    for (unsigned i = 0; i < SLOTS; i++)
        if (b->slot[i].step == step && (!found || b->slot[i].order < found->order)) found = &b->slot[i];
    return found;
}

static void free_slot(struct slot *c) {
    DWORD ignored;
    if ((c->step == STEP_LISTENS || c->step == STEP_READS) && CancelIoEx(c->pipe, &c->io))
        (void)GetOverlappedResult(c->pipe, &c->io, &ignored, TRUE);
    if (c->step != STEP_FREE) CloseHandle(c->pipe);
    c->step = STEP_FREE;
}

/* A slot for a new pipe: a free one, or the one kept longest for an answer. NULL: all hold messages. */
static struct slot *take_slot(struct box *b) {
    struct slot *c = oldest(b, STEP_FREE);
    if (!c && (c = oldest(b, STEP_KEPT))) free_slot(c);
    return c;
}

/* The first pipe of a name fails if another process has one. */
static bool make_pipe(struct box *b, struct slot *c, DWORD first) {
    SECURITY_ATTRIBUTES *only_ours = kl_rights_private();
    if (!only_ours) return false;
    c->pipe = CreateNamedPipeW(b->path, PIPE_ACCESS_DUPLEX | FILE_FLAG_OVERLAPPED | first,
                               PIPE_TYPE_MESSAGE | PIPE_READMODE_MESSAGE | PIPE_REJECT_REMOTE_CLIENTS,
                               PIPE_UNLIMITED_INSTANCES, PIPE_BYTES, PIPE_BYTES, 0, only_ours);
    if (c->pipe == INVALID_HANDLE_VALUE) return false;
    c->asked = false;
    c->order = ++b->count;
    c->step = STEP_NEW;
    return true;
}

/* --- the thread --- */

/* Keeps one pipe ready for the next sender, unless all slots hold messages. */
static void offer_pipe(struct box *b) {
    if (!*b->path || oldest(b, STEP_NEW) || oldest(b, STEP_LISTENS)) return;
    struct slot *c = take_slot(b);
    if (c) (void)make_pipe(b, c, 0);
}

static void begin_listen(struct slot *c) {
    c->step = STEP_LISTENS;
    if (ConnectNamedPipe(c->pipe, &c->io) || GetLastError() == ERROR_IO_PENDING) return;
    DWORD failed = GetLastError();
    c->step = STEP_OPEN; /* the sender was faster; it may even have gone, and left the message */
    if (failed != ERROR_PIPE_CONNECTED && failed != ERROR_NO_DATA) free_slot(c);
}

static void begin_read(struct slot *c) {
    ULONG process = 0;
    if (!c->asked) c->trusted = GetNamedPipeClientProcessId(c->pipe, &process) && kl_rights_runs(process);
    c->step = STEP_READS;
    if (!ReadFile(c->pipe, c->bytes, sizeof c->bytes, NULL, &c->io) && GetLastError() != ERROR_IO_PENDING) {
        c->step = STEP_OPEN; /* nothing is under way */
        free_slot(c);
    }
}

/* The end of what the system did for a slot. */
static void end_step(struct box *b, struct slot *c) {
    DWORD len;
    bool good = GetOverlappedResult(c->pipe, &c->io, &len, FALSE);
    bool was_listening = c->step == STEP_LISTENS;
    c->step = STEP_OPEN;
    if (!good) {
        free_slot(c);
    } else if (!was_listening) {
        c->len = len;
        c->order = ++b->count;
        c->step = STEP_FULL;
        kl_wake(b->wake);
    }
}

/* Resets the event before the look: an event that stayed set without cause would make the thread spin. */
static void look_at(struct box *b, struct slot *c) {
    ResetEvent(c->io.hEvent);
    if ((c->step == STEP_LISTENS || c->step == STEP_READS) && HasOverlappedIoCompleted(&c->io))
        end_step(b, c);
    if (c->step == STEP_NEW) begin_listen(c);
    if (c->step == STEP_OPEN) {
        offer_pipe(b); /* before the look at the sender, which takes time */
        begin_read(c);
    }
}

static void serve(void *arg) {
    struct box *b = arg;
    HANDLE what[SLOTS + 1];
    for (unsigned i = 0; i < SLOTS; i++)
        what[i] = b->slot[i].io.hEvent;
    what[SLOTS] = b->change;
    kl_mutex_lock(&b->lock);
    while (!b->closes) {
        offer_pipe(b);
        for (unsigned i = 0; i < SLOTS; i++)
            look_at(b, &b->slot[i]);
        kl_mutex_unlock(&b->lock);
        (void)WaitForMultipleObjects(SLOTS + 1, what, FALSE, INFINITE);
        kl_mutex_lock(&b->lock);
    }
    for (unsigned i = 0; i < SLOTS; i++)
        free_slot(&b->slot[i]);
    kl_mutex_unlock(&b->lock);
}

/* --- opening and closing --- */

static bool write_path(WCHAR out[PATH_MAX_W], const char *name) {
    char path[PATH_MAX_W];
    int n = snprintf(path, sizeof path, "\\\\.\\pipe\\%s", name);
    return n < PATH_MAX_W && kl_wide_text(out, PATH_MAX_W, path);
}

bool kl_local_private(char out[KL_LOCAL_NAME_MAX], const char *folder, const char *name) {
    (void)folder;
    return snprintf(out, KL_LOCAL_NAME_MAX, "%s", name) < KL_LOCAL_NAME_MAX;
}

/* True if some process has the name. 1 ms: a time of 0 would be the other side's choice. */
static bool is_taken(const WCHAR *path) {
    return WaitNamedPipeW(path, 1) || GetLastError() == ERROR_SEM_TIMEOUT;
}

static void free_box(struct box *b) {
    for (unsigned i = 0; i < SLOTS; i++) {
        if (b->slot[i].step != STEP_FREE) CloseHandle(b->slot[i].pipe);
        if (b->slot[i].io.hEvent) CloseHandle(b->slot[i].io.hEvent);
    }
    if (b->change) CloseHandle(b->change);
    kl_socket_close(b->wake);
    free(b);
}

static bool fill_box(struct box *b) {
    b->wake = kl_wake_open();
    b->change = CreateEventW(NULL, FALSE, FALSE, NULL);
    bool good = b->wake >= 0 && b->change;
    for (unsigned i = 0; i < SLOTS; i++)
        good &= (b->slot[i].io.hEvent = CreateEventW(NULL, TRUE, FALSE, NULL)) != NULL;
    return good;
}

static void add_box(struct box *b) {
    kl_mutex_lock(&boxes_lock);
    b->next = boxes;
    boxes = b;
    kl_mutex_unlock(&boxes_lock);
}

/* Wine's pipes do not know a first one: so the name is looked for before it is taken. */
int kl_local_open(const char *name) {
    struct box *b = calloc(1, sizeof *b);
    int failed = KL_LOCAL_NONE;
    if (!b) return KL_LOCAL_NONE;
    bool good = fill_box(b) && (!name || write_path(b->path, name));
    if (good && name && (is_taken(b->path) || !make_pipe(b, &b->slot[0], FILE_FLAG_FIRST_PIPE_INSTANCE))) {
        failed = KL_LOCAL_TAKEN;
        good = false;
    }
    if (good && kl_thread_start(&b->thread, "kl-local", serve, b) == 0) {
        add_box(b);
        return b->wake;
    }
    free_box(b);
    return failed;
}

static struct box *find_box(int s) {
    kl_mutex_lock(&boxes_lock);
    struct box *b = boxes;
    while (b && b->wake != s)
        b = b->next;
    kl_mutex_unlock(&boxes_lock);
    return b;
}

static void remove_box(struct box *b) {
    kl_mutex_lock(&boxes_lock);
    struct box **at = &boxes;
    while (*at != b)
        at = &(*at)->next;
    *at = b->next;
    kl_mutex_unlock(&boxes_lock);
}

void kl_local_close(int s) {
    struct box *b = find_box(s);
    if (!b) return;
    remove_box(b);
    kl_mutex_lock(&b->lock);
    b->closes = true;
    kl_mutex_unlock(&b->lock);
    SetEvent(b->change);
    kl_thread_join(&b->thread);
    free_box(b);
}

/* The system lists pipes only by a way that is not documented; names end with a process's number, and the
 * processes can be listed. */
unsigned kl_local_find(const char *begins, long *number, unsigned max) {
    char name[KL_LOCAL_NAME_MAX];
    WCHAR path[PATH_MAX_W];
    DWORD size = 0;
    unsigned n = 0;
    DWORD *process = malloc(PROCESSES * sizeof *process);
    if (process && !K32EnumProcesses(process, PROCESSES * sizeof *process, &size)) size = 0;
    for (DWORD i = 0; i < size / sizeof *process && n < max; i++) {
        snprintf(name, sizeof name, "%s%lu", begins, process[i]);
        if (!write_path(path, name) || !is_taken(path) || !kl_rights_runs(process[i])) continue;
        number[n++] = (long)process[i];
    }
    free(process);
    return n;
}

/* --- messages --- */

static bool put(HANDLE pipe, const void *bytes, size_t len) {
    OVERLAPPED io = {.hEvent = CreateEventW(NULL, TRUE, FALSE, NULL)};
    DWORD done = 0;
    if (!io.hEvent) return false;
    bool begun = WriteFile(pipe, bytes, (DWORD)len, NULL, &io) || GetLastError() == ERROR_IO_PENDING;
    if (begun && !HasOverlappedIoCompleted(&io)) CancelIoEx(pipe, &io); /* no room: the other does not read */
    bool written = begun && GetOverlappedResult(pipe, &io, &done, TRUE) && done == len;
    CloseHandle(io.hEvent);
    return written;
}

/* Opens a pipe to a name. It shows the other end the name of this user, and lends it no right of theirs. 0,
 * or an errno. */
static int open_pipe(const char *name, HANDLE *out) {
    WCHAR path[PATH_MAX_W];
    DWORD failed = 0, mode = PIPE_READMODE_MESSAGE;
    DWORD how = FILE_FLAG_OVERLAPPED | SECURITY_SQOS_PRESENT | SECURITY_IDENTIFICATION;
    if (!write_path(path, name)) return EINVAL;
    for (unsigned i = 0; i < 2; i++) {
        *out = CreateFileW(path, GENERIC_READ | GENERIC_WRITE, 0, NULL, OPEN_EXISTING, how, NULL);
        failed = *out == INVALID_HANDLE_VALUE ? GetLastError() : 0;
        if (failed != ERROR_PIPE_BUSY || !WaitNamedPipeW(path, BUSY_MS)) break;
    }
    if (!failed) return SetNamedPipeHandleState(*out, &mode, NULL, NULL) ? 0 : EIO;
    if (failed == ERROR_PIPE_BUSY) return EAGAIN;
    return failed == ERROR_FILE_NOT_FOUND ? ECONNREFUSED : kl_windows_errno(failed);
}

/* Without a free slot the message is sent, and its answer is lost. */
static void keep_for_answer(struct box *b, HANDLE pipe) {
    ULONG process = 0;
    bool trusted = GetNamedPipeServerProcessId(pipe, &process) && kl_rights_runs(process);
    kl_mutex_lock(&b->lock);
    struct slot *c = take_slot(b);
    if (c) {
        c->step = STEP_OPEN;
        c->asked = true;
        c->trusted = trusted;
        c->pipe = pipe;
        c->order = ++b->count;
    }
    kl_mutex_unlock(&b->lock);
    if (!c) CloseHandle(pipe);
    SetEvent(b->change);
}

int kl_local_send(int s, const char *name, const void *bytes, size_t len) {
    struct box *b = find_box(s);
    HANDLE pipe = INVALID_HANDLE_VALUE;
    if (!b || len > KL_LOCAL_BYTES) return b ? EMSGSIZE : EBADF;
    int failed = open_pipe(name, &pipe);
    if (!failed && !put(pipe, bytes, len)) failed = EAGAIN;
    if (!failed)
        keep_for_answer(b, pipe);
    else if (pipe != INVALID_HANDLE_VALUE)
        CloseHandle(pipe);
    return failed;
}

void kl_local_answer(int s, const struct kl_local_peer *to, const void *bytes, size_t len) {
    struct box *b = find_box(s);
    if (!b || to->of_system[0] >= SLOTS) return;
    kl_mutex_lock(&b->lock);
    struct slot *c = &b->slot[to->of_system[0]];
    if (c->step == STEP_KEPT && c->order == to->of_system[1]) {
        (void)put(c->pipe, bytes, len);
        free_slot(c); /* the other end can still read the answer */
    }
    kl_mutex_unlock(&b->lock);
    SetEvent(b->change);
}

int kl_local_receive(int s, void *bytes, size_t cap, struct kl_local_peer *from, bool *trusted) {
    struct box *b = find_box(s);
    int len = -1;
    if (!b) return -1;
    kl_mutex_lock(&b->lock);
    struct slot *c = oldest(b, STEP_FULL);
    if (c) {
        len = (int)c->len;
        memcpy(bytes, c->bytes, c->len < cap ? c->len : cap);
        *from = (struct kl_local_peer){.of_system = {(uint64_t)(c - b->slot), c->order}, .len = 1};
        *trusted = c->trusted;
        c->step = STEP_KEPT;
        if (c->asked) free_slot(c);
    }
    if (!oldest(b, STEP_FULL)) kl_wake_clear(b->wake);
    kl_mutex_unlock(&b->lock);
    if (c) SetEvent(b->change);
    return len;
}

bool kl_local_is_root(void) {
    return false;
}
