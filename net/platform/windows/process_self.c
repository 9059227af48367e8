#include "net/platform/process.h"

#include <windows.h>
#include <fcntl.h>
#include <io.h>
#include <shellapi.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <tlhelp32.h>

#include "net/platform/file.h"
#include "net/platform/library.h"
#include "net/platform/thread.h"
#include "net/platform/windows/disk.h"
#include "net/platform/windows/handle.h"

/* The part of process.h about this process, and others that it did not start. */

#define ABORTED     0xc0000409UL /* as abort() of Windows's own C library ends a process */
#define CRASH_STACK 65536        /* bytes that a handler has if the core overflowed the stack */

/* --- its beginning --- */

static void end_aborted(int signal) {
    (void)signal;
    TerminateProcess(GetCurrentProcess(), ABORTED);
}

/* Text of ours is UTF-8. The console is the user's, who may go on with another program. */
static UINT page_before;
static void give_page_back(void) {
    SetConsoleOutputCP(page_before);
}

static void set_console(void) {
    if (!kl_process_has_terminal()) return;
    page_before = GetConsoleOutputCP();
    if (SetConsoleOutputCP(CP_UTF8)) atexit(give_page_back);
}

/* Without memory, or with arguments that are no UTF-16, those of the C library stay. */
static void take_arguments(int *argc, char ***argv) {
    int count = 0;
    wchar_t **wide = CommandLineToArgvW(GetCommandLineW(), &count);
    char **ours = wide ? calloc((size_t)count + 1, sizeof *ours) : NULL;
    bool good = ours != NULL;
    for (int i = 0; good && i < count; i++) {
        size_t cap = 3 * wcslen(wide[i]) + 1;
        ours[i] = malloc(cap);
        good = ours[i] && kl_narrow_text(ours[i], cap, wide[i]);
    }
    if (good) {
        *argc = count;
        *argv = ours;
    }
    LocalFree(wide);
}

void kl_process_begin(int *argc, char ***argv) {
    SetErrorMode(SEM_FAILCRITICALERRORS | SEM_NOGPFAULTERRORBOX | SEM_NOOPENFILEERRORBOX);
    signal(SIGABRT, end_aborted);
    _fmode = _O_BINARY;
    for (int fd = 0; fd < 3; fd++)
        (void)_setmode(fd, _O_BINARY);
    set_console();
    take_arguments(argc, argv);
}

/* --- looking --- */

long kl_process_self(void) {
    return (long)GetCurrentProcessId();
}

bool kl_process_alive(long id) {
    HANDLE p = id > 0 ? OpenProcess(SYNCHRONIZE, FALSE, (DWORD)id) : NULL;
    if (!p) return id > 0 && GetLastError() == ERROR_ACCESS_DENIED;
    bool alive = WaitForSingleObject(p, 0) == WAIT_TIMEOUT;
    CloseHandle(p);
    return alive;
}

static bool has_name(const wchar_t *file, const char *name) {
    char is[MAX_PATH * 3];
    if (!kl_narrow_text(is, sizeof is, file)) return false;
    size_t n = strlen(name);
    return !strncasecmp(is, name, n) && (!is[n] || !strcasecmp(is + n, ".exe"));
}

bool kl_process_runs(const char *name, const char *variable) {
    PROCESSENTRY32W one = {.dwSize = sizeof one};
    HANDLE all = CreateToolhelp32Snapshot(TH32CS_SNAPPROCESS, 0);
    bool found = false;
    (void)variable;
    if (all == INVALID_HANDLE_VALUE) return false;
    for (BOOL more = Process32FirstW(all, &one); more && !found; more = Process32NextW(all, &one))
        found = has_name(one.szExeFile, name) && kl_rights_runs(one.th32ProcessID);
    CloseHandle(all);
    return found;
}

static const char *loaded_file; /* rundll32 runs it; NULL: this is a program of its own */

void kl_process_loaded(const char *file) {
    loaded_file = file;
}

int kl_process_own_path(char *out, size_t cap) {
    if (loaded_file) return snprintf(out, cap, "%s", loaded_file) < (int)cap ? 0 : -1;
    wchar_t path[KL_WIDE_PATH];
    DWORD n = GetModuleFileNameW(NULL, path, KL_WIDE_PATH);
    return n > 0 && n < KL_WIDE_PATH && kl_narrow_path(out, cap, path) ? 0 : -1;
}

/* A folder of PATH may stand in quotes, and the name may have its ending already. */
bool kl_process_find(const char *name, char *out, size_t cap) {
    static const char *const endings[] = {"", ".exe"};
    const char *path = kl_environment_get("PATH");
    for (const char *at = path ? path : ""; *at;) {
        size_t len = strcspn(at, ";");
        bool quoted = len > 1 && *at == '"' && at[len - 1] == '"';
        for (size_t i = 0; len && i < sizeof endings / sizeof *endings; i++) {
            int n = snprintf(out, cap, "%.*s/%s%s", (int)len - 2 * quoted, at + quoted, name, endings[i]);
            if (n < 0 || (size_t)n >= cap || !kl_file_runnable(out)) continue;
            kl_file_use_slashes(out);
            return true;
        }
        at += len + (at[len] == ';');
    }
    return false;
}

/* _isatty() is true for any device, NUL among them. */
static bool is_terminal(DWORD which) {
    DWORD mode;
    return GetConsoleMode(GetStdHandle(which), &mode) != 0;
}

bool kl_process_has_terminal(void) {
    return is_terminal(STD_ERROR_HANDLE);
}

bool kl_process_has_answers(void) {
    return kl_process_has_terminal() && is_terminal(STD_INPUT_HANDLE);
}

/* --- its means --- */

void kl_process_yield(void) {
    (void)SetPriorityClass(GetCurrentProcess(), IDLE_PRIORITY_CLASS);
}

/* A core may have a C library of its own, which asks the system for standard output. */
FILE *kl_process_take_output(void) {
    fflush(stdout);
    int fd = _dup(1);
    if (fd < 0) return NULL;
    SetHandleInformation((HANDLE)_get_osfhandle(fd), HANDLE_FLAG_INHERIT, 0);
    (void)_setmode(fd, _O_BINARY);
    FILE *f = _fdopen(fd, "wb");
    if (!f) return NULL;
    (void)_dup2(2, 1);
    SetStdHandle(STD_OUTPUT_HANDLE, GetStdHandle(STD_ERROR_HANDLE));
    return f;
}

unsigned kl_process_raise_files(unsigned wanted) {
    return wanted; /* handles are bounded by memory alone */
}

/* The process stays in the job, which ends with it. */
void kl_process_limit_memory(size_t bytes) {
    JOBOBJECT_EXTENDED_LIMIT_INFORMATION limit = {
        .BasicLimitInformation.LimitFlags = JOB_OBJECT_LIMIT_PROCESS_MEMORY, .ProcessMemoryLimit = bytes};
    HANDLE job = CreateJobObjectW(NULL, NULL);
    if (job && SetInformationJobObject(job, JobObjectExtendedLimitInformation, &limit, sizeof limit) &&
        AssignProcessToJobObject(job, GetCurrentProcess()))
        return;
    if (job) CloseHandle(job);
}

/* --- its end --- */

static volatile sig_atomic_t stopped;
static HANDLE asked_to_end;

/* The C library forgets the handler before it calls it, so a second Ctrl-C ends the process. */
static void on_stop(int sig) {
    (void)sig;
    stopped = 1;
}

void kl_process_catch_stop(void) {
    wchar_t name[KL_QUIT_EVENT];
    SetConsoleCtrlHandler(NULL, FALSE); /* a parent may have ignored Ctrl-C, and that is inherited */
    signal(SIGINT, on_stop);
    signal(SIGBREAK, on_stop);
    signal(SIGTERM, on_stop);
    if (!asked_to_end)
        asked_to_end = CreateEventW(NULL, FALSE, FALSE, kl_quit_event(name, GetCurrentProcessId()));
}

bool kl_process_stopped(void) {
    if (asked_to_end && WaitForSingleObject(asked_to_end, 0) == WAIT_OBJECT_0) stopped = 1;
    return stopped != 0;
}

void kl_process_ignore_stop(void) {
    SetConsoleCtrlHandler(NULL, TRUE);
}

void kl_process_leave_terminal(void) {
    FreeConsole();
}

/* --- crashes --- */

static const struct {
    int number;
    const char *name;
} crash_signal[] = {{SIGSEGV, "SIGSEGV"}, {SIGFPE, "SIGFPE"}, {SIGILL, "SIGILL"}, {SIGABRT, "SIGABRT"}};

/* The name of the library that handles exceptions; false: none does, or the program's own C library. */
static bool find_filter(char *out, size_t cap) {
    char path[KL_FILE_PATH], own[KL_FILE_PATH];
    LPTOP_LEVEL_EXCEPTION_FILTER filter = SetUnhandledExceptionFilter(NULL);
    SetUnhandledExceptionFilter(filter);
    if (!filter || kl_process_own_path(own, sizeof own) != 0) return false;
    if (!kl_library_file_of((const void *)(uintptr_t)filter, path, sizeof path))
        snprintf(path, sizeof path, "an unknown library");
    if (!strcmp(path, own)) return false;
    const char *slash = strrchr(path, '/');
    snprintf(out, cap, "exceptions (%s)", slash ? slash + 1 : path);
    return true;
}

/* The only way to see a handler is to set another for a moment. */
static bool has_handler(int number) {
    void (*handler)(int) = signal(number, SIG_DFL);
    if (handler == SIG_ERR) return false;
    signal(number, handler);
    return handler != SIG_DFL && handler != SIG_IGN && handler != end_aborted;
}

void kl_process_crash_handlers(char *out, size_t cap) {
    size_t used = 0;
    char filter[160];
    if (cap) *out = 0;
    for (size_t i = 0; i < sizeof crash_signal / sizeof *crash_signal; i++) {
        if (!has_handler(crash_signal[i].number) || used >= cap) continue;
        used += (size_t)snprintf(out + used, cap - used, "%s%s", used ? ", " : "", crash_signal[i].name);
    }
    if (used < cap && find_filter(filter, sizeof filter))
        snprintf(out + used, cap - used, "%s%s", used ? ", " : "", filter);
}

static const char *crash_line = "";

static void print_crash(void) {
    DWORD ignored;
    WriteFile(GetStdHandle(STD_ERROR_HANDLE), crash_line, (DWORD)strlen(crash_line), &ignored, NULL);
}

static LONG WINAPI on_crash(EXCEPTION_POINTERS *what) {
    (void)what;
    print_crash();
    return EXCEPTION_CONTINUE_SEARCH; /* the exception ends the process with its code */
}

static void on_abort(int signal) {
    print_crash();
    end_aborted(signal);
}

void kl_process_catch_crashes(const char *line) {
    ULONG bytes = CRASH_STACK;
    crash_line = line;
    (void)SetThreadStackGuarantee(&bytes);
    SetUnhandledExceptionFilter(on_crash);
    signal(SIGABRT, on_abort);
}

/* --- a service of Windows --- */

#define STOP_MS 30000

static struct {
    struct kl_thread thread;
    SERVICE_STATUS_HANDLE volatile handle;
    bool volatile stopping;
    void (*stop)(void);
} service;

static void report(DWORD state) {
    SERVICE_STATUS now = {.dwServiceType = SERVICE_WIN32_OWN_PROCESS, .dwCurrentState = state};
    if (state == SERVICE_RUNNING) now.dwControlsAccepted = SERVICE_ACCEPT_STOP | SERVICE_ACCEPT_SHUTDOWN;
    if (state == SERVICE_STOP_PENDING) now.dwWaitHint = STOP_MS;
    (void)SetServiceStatus(service.handle, &now);
}

static DWORD WINAPI on_control(DWORD control, DWORD event, void *data, void *ctx) {
    (void)event, (void)data, (void)ctx;
    if (control == SERVICE_CONTROL_INTERROGATE) return NO_ERROR;
    if (control != SERVICE_CONTROL_STOP && control != SERVICE_CONTROL_SHUTDOWN)
        return ERROR_CALL_NOT_IMPLEMENTED;
    service.stopping = true;
    report(SERVICE_STOP_PENDING);
    service.stop();
    return NO_ERROR;
}

/* The system calls it as the service's main function; ours is main(), which is under way. */
static void WINAPI begin(DWORD count, WCHAR **arguments) {
    (void)count, (void)arguments;
    service.handle = RegisterServiceCtrlHandlerExW(L"", on_control, NULL);
    if (service.handle) report(SERVICE_RUNNING);
}

/* In a program that is no service, this returns at once. */
static void dispatch(void *arg) {
    static WCHAR any[] = L"";
    static const SERVICE_TABLE_ENTRYW table[] = {{any, begin}, {NULL, NULL}};
    (void)arg;
    (void)StartServiceCtrlDispatcherW(table);
}

/* Only after a stop: another end is a failure, which the service manager sees by the missing report, and may
 * start the service again. */
static void end(void) {
    if (service.stopping) report(SERVICE_STOPPED);
}

void kl_service_begin(void (*stop)(void)) {
    service.stop = stop;
    if (kl_thread_start(&service.thread, "kl-service", dispatch, NULL) == 0) (void)atexit(end);
}

bool kl_service_runs(void) {
    return service.handle != NULL;
}

/* --- the environment --- */

/* The texts that were given out: one for each name that was ever asked for, a few dozen. */
struct given {
    struct given *next;
    char *value; /* malloced */
    char name[];
};
static struct given *all;
static struct kl_mutex mutex;

static struct given *find(const char *name) {
    struct given *g = all;
    while (g && strcmp(g->name, name) != 0)
        g = g->next;
    if (g || !(g = malloc(sizeof *g + strlen(name) + 1))) return g;
    *g = (struct given){.next = all};
    strcpy(g->name, name);
    return all = g;
}

/* From malloc; NULL: unset, no valid text, or no memory. */
static char *read_value(const char *name) {
    wchar_t wide_name[256], *wide = NULL;
    char *value = NULL;
    DWORD n = kl_wide_text(wide_name, 256, name) ? GetEnvironmentVariableW(wide_name, NULL, 0) : 0;
    size_t cap = 3 * (size_t)n + 1;
    if (n) wide = calloc(n, sizeof *wide);
    if (wide && GetEnvironmentVariableW(wide_name, wide, n) < n) value = malloc(cap);
    if (value && !kl_narrow_text(value, cap, wide)) {
        free(value);
        value = NULL;
    }
    free(wide);
    return value;
}

const char *kl_environment_get(const char *name) {
    kl_mutex_lock(&mutex);
    struct given *g = find(name);
    if (g) {
        free(g->value);
        g->value = read_value(name);
    }
    const char *value = g ? g->value : NULL;
    kl_mutex_unlock(&mutex);
    return value;
}

/* The C library has a copy of its own, in which an empty value unsets: it is set for code that is not ours.
 */
void kl_environment_set(const char *name, const char *value) {
    wchar_t *wide_name = kl_wide_copy(name), *wide = value ? kl_wide_copy(value) : NULL;
    if (wide_name && (wide || !value)) {
        (void)_wputenv_s(wide_name, wide ? wide : L"");
        SetEnvironmentVariableW(wide_name, wide);
    }
    free(wide_name);
    free(wide);
}
