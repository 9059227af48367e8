#include "net/platform/process.h"

#include <stdlib.h>
#include <string.h>
#include <winsock2.h>
#include <ws2tcpip.h>
#include <windows.h>

#include "net/platform/file.h"
#include "net/platform/socket.h"
#include "net/platform/windows/disk.h"
#include "net/platform/windows/handle.h"

#define CHANNEL "KEYLOCK_CHANNEL" /* the variable with the channel's number, for the child */
#define PAIR_S  5                 /* the longest time until two sockets of this machine are connected */
#define KILL_MS 5000              /* the longest time that a killed process takes to end */
#define ABORTED                                                                                              \
    0xc0000409UL           /* STATUS_STACK_BUFFER_OVERRUN: the code of abort() in Windows's own C library    \
                            */
#define ASKED 0xc000010aUL /* STATUS_PROCESS_IS_TERMINATING: of a process that kl_process_ask_end() ended */
#define KILLED                                                                                               \
    0xc000013bUL    /* STATUS_LOCAL_DISCONNECT: of one that kl_process_end() ended; read by nobody           \
                     */
#define INHERITED 3 /* handles of a child at most: input, output, channel */

static int fail(char *err, size_t err_len, const char *program, DWORD why) {
    char text[KL_WINDOWS_ERROR];
    snprintf(err, err_len, "cannot start %s: %s", program, kl_windows_error(why, text, sizeof text));
    return -1;
}

static HANDLE of(const struct kl_process *p) {
    return (HANDLE)(intptr_t)p->of_system;
}

/* --- the channel --- */

/* Takes connections until one comes from our own socket: any program here may connect, too. */
static SOCKET accept_own(SOCKET listener, const struct sockaddr_in *own) {
    for (;;) {
        struct timeval left = {.tv_sec = PAIR_S};
        struct sockaddr_in peer;
        int len = sizeof peer;
        fd_set set;
        FD_ZERO(&set);
        FD_SET(listener, &set);
        if (select(0, &set, NULL, NULL, &left) <= 0) return INVALID_SOCKET;
        SOCKET s = accept(listener, (struct sockaddr *)&peer, &len);
        if (s == INVALID_SOCKET) return s;
        if (peer.sin_port == own->sin_port && peer.sin_addr.s_addr == own->sin_addr.s_addr) return s;
        closesocket(s);
    }
}

static SOCKET open_stream(void) {
    return WSASocketW(AF_INET, SOCK_STREAM, 0, NULL, 0, WSA_FLAG_NO_HANDLE_INHERIT);
}

/* Windows has no pairs of sockets. The child's is not for overlapped use: so it serves as standard output,
 * too. */
static bool make_pair(SOCKET pair[2]) {
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)}, own;
    int len = sizeof at, own_len = sizeof own;
    BOOL on = TRUE;
    u_long no_wait = 1;
    kl_winsock_start();
    SOCKET listener = open_stream();
    pair[0] = INVALID_SOCKET;
    pair[1] = open_stream();
    if (bind(listener, (struct sockaddr *)&at, len) == 0 && listen(listener, 1) == 0 &&
        getsockname(listener, (struct sockaddr *)&at, &len) == 0 &&
        connect(pair[1], (struct sockaddr *)&at, len) == 0 &&
        getsockname(pair[1], (struct sockaddr *)&own, &own_len) == 0)
        pair[0] = accept_own(listener, &own);
    int why = WSAGetLastError();
    if (listener != INVALID_SOCKET) closesocket(listener);
    if (pair[0] != INVALID_SOCKET) {
        SetHandleInformation((HANDLE)pair[0], HANDLE_FLAG_INHERIT, 0);
        (void)ioctlsocket(pair[0], (long)FIONBIO, &no_wait);
        for (unsigned i = 0; i < 2; i++)
            (void)setsockopt(pair[i], IPPROTO_TCP, TCP_NODELAY, (const char *)&on, sizeof on);
        return true;
    }
    if (pair[1] != INVALID_SOCKET) closesocket(pair[1]);
    SetLastError((DWORD)why);
    return false;
}

int kl_channel_ready(int channel, bool to_write, unsigned ms) {
    struct timeval left = {.tv_sec = (long)(ms / 1000), .tv_usec = (long)(ms % 1000 * 1000)};
    fd_set set;
    if (channel < 0) return -1;
    FD_ZERO(&set);
    FD_SET((SOCKET)channel, &set);
    return select(0, to_write ? NULL : &set, to_write ? &set : NULL, NULL, &left);
}

static long result_of(int n) {
    return n > 0 ? n : n < 0 && WSAGetLastError() == WSAEWOULDBLOCK ? 0 : -1;
}

long kl_channel_get(int channel, void *out, size_t cap) {
    return result_of(recv((SOCKET)channel, out, (int)(cap < INT_MAX ? cap : INT_MAX), 0));
}

long kl_channel_put(int channel, const void *bytes, size_t len) {
    return len ? result_of(send((SOCKET)channel, bytes, (int)(len < INT_MAX ? len : INT_MAX), 0)) : 0;
}

/* An inherited socket as one of this process's own: Wine sends over no other. The inherited one stays open
 * beside it. */
static int adopt(SOCKET inherited) {
    WSAPROTOCOL_INFOW is;
    u_long no_wait = 1;
    SetHandleInformation((HANDLE)inherited, HANDLE_FLAG_INHERIT, 0);
    if (WSADuplicateSocketW(inherited, GetCurrentProcessId(), &is) != 0) return -1;
    SOCKET own = WSASocketW(FROM_PROTOCOL_INFO, FROM_PROTOCOL_INFO, FROM_PROTOCOL_INFO, &is, 0, 0);
    if (own == INVALID_SOCKET) return -1;
    SetHandleInformation((HANDLE)own, HANDLE_FLAG_INHERIT, 0);
    (void)ioctlsocket(own, (long)FIONBIO, &no_wait);
    return (int)own;
}

/* Children of this process are told of another channel, or of none. */
int kl_process_parent(void) {
    static int channel = -2;
    wchar_t text[16];
    if (channel != -2) return channel;
    kl_winsock_start();
    int inherited = GetEnvironmentVariableW(L"" CHANNEL, text, 16) ? (int)wcstol(text, NULL, 10) : -1;
    return channel = inherited >= 0 ? adopt((SOCKET)inherited) : -1;
}

/* --- starting --- */

/* Starts a program and waits for nothing. It shows no dialog if it crashes: it inherits that. line: of
 * kl_command_line(), and freed; NULL for the last error. 0, or an error's code. */
static DWORD create(const char *program, wchar_t *line, wchar_t *environment, DWORD flags,
                    STARTUPINFOW *startup, PROCESS_INFORMATION *made) {
    wchar_t path[KL_WIDE_PATH];
    DWORD why = 0;
    if (!line) return GetLastError();
    fflush(NULL);
    UINT before = SetErrorMode(SEM_FAILCRITICALERRORS | SEM_NOGPFAULTERRORBOX | SEM_NOOPENFILEERRORBOX);
    if (!kl_wide_path(path, program) ||
        !CreateProcessW(path, line, NULL, NULL, TRUE, flags | CREATE_UNICODE_ENVIRONMENT, environment, NULL,
                        startup, made))
        why = GetLastError();
    SetErrorMode(before);
    free(line);
    return why;
}

/* The child's output; its errors go there, too. */
static HANDLE open_output(const struct kl_process_setup *s, SOCKET channel) {
    if (s->printed) return (HANDLE)channel;
    if (!s->log) return kl_disk_open("NUL", GENERIC_WRITE, OPEN_EXISTING, 0, NULL);
    SECURITY_ATTRIBUTES *rights = kl_rights_private();
    return rights ? kl_disk_open(s->log, GENERIC_WRITE, CREATE_ALWAYS, 0, rights) : INVALID_HANDLE_VALUE;
}

/* rundll32, for a library; its command line names the file in quotes and the function, before the arguments.
 */
static bool find_runner(const char *library, char *out, size_t cap, char *first, size_t first_cap) {
    wchar_t folder[KL_WIDE_PATH], file[KL_WIDE_PATH];
    char runner[KL_FILE_PATH], path[3 * KL_FILE_PATH];
    UINT n = GetSystemDirectoryW(folder, KL_WIDE_PATH);
    if (!n || n >= KL_WIDE_PATH || !kl_narrow_path(runner, sizeof runner, folder) ||
        !kl_wide_path(file, library) || !kl_narrow_text(path, sizeof path, file))
        return false;
    return snprintf(out, cap, "%s/rundll32.exe", runner) < (int)cap &&
           snprintf(first, first_cap, "rundll32 \"%s\"," KL_PROCESS_LIBRARY_MAIN, path) < (int)first_cap;
}

/* The program that is started, and the first words of its command line (""; those of the arguments). A
 * library that is this program is run as a program, and this program may be a library. */
static bool find_program(const struct kl_process_setup *s, char *out, size_t cap, char *first,
                         size_t first_cap) {
    wchar_t program[KL_WIDE_PATH];
    char own[KL_FILE_PATH];
    DWORD n = GetModuleFileNameW(NULL, program, KL_WIDE_PATH);
    const char *file = s->library ? s->library : s->program;
    *first = 0;
    if (!file && kl_process_own_path(own, sizeof own) == 0) file = own;
    if (!file || !n || n >= KL_WIDE_PATH || !kl_narrow_path(out, cap, program)) return false;
    if ((s->library || !s->program) && strcmp(out, file) != 0)
        return find_runner(file, out, cap, first, first_cap);
    return snprintf(out, cap, "%s", file) < (int)cap;
}

/* The child inherits these handles and no others. */
static DWORD create_with(const struct kl_process_setup *s, const char *program, const char *first,
                         HANDLE input, HANDLE output, SOCKET channel, PROCESS_INFORMATION *made) {
    HANDLE inherited[INHERITED] = {input, output, (HANDLE)channel};
    unsigned count = s->printed ? INHERITED - 1 : INHERITED;
    STARTUPINFOEXW startup = {.StartupInfo = {.cb = sizeof startup,
                                              .dwFlags = STARTF_USESTDHANDLES,
                                              .hStdInput = input,
                                              .hStdOutput = output,
                                              .hStdError = output}};
    char variable[48];
    SIZE_T size = 0;
    snprintf(variable, sizeof variable, CHANNEL "=%d", s->printed ? -1 : (int)channel);
    for (unsigned i = 0; i < count; i++)
        if (!SetHandleInformation(inherited[i], HANDLE_FLAG_INHERIT, HANDLE_FLAG_INHERIT))
            return GetLastError();
    InitializeProcThreadAttributeList(NULL, 1, 0, &size);
    wchar_t *environment = kl_command_environment(s->environment, variable);
    startup.lpAttributeList = malloc(size);
    DWORD why = environment && startup.lpAttributeList ? 0 : ERROR_NOT_ENOUGH_MEMORY;
    bool ready = !why && InitializeProcThreadAttributeList(startup.lpAttributeList, 1, 0, &size);
    if (!why &&
        (!ready || !UpdateProcThreadAttribute(startup.lpAttributeList, 0, PROC_THREAD_ATTRIBUTE_HANDLE_LIST,
                                              inherited, count * sizeof *inherited, NULL, NULL)))
        why = GetLastError();
    if (!why)
        why = create(program, kl_command_line(first, s->arguments + (first != NULL)), environment,
                     EXTENDED_STARTUPINFO_PRESENT | CREATE_NO_WINDOW, &startup.StartupInfo, made);
    if (ready) DeleteProcThreadAttributeList(startup.lpAttributeList);
    free(startup.lpAttributeList);
    free(environment);
    return why;
}

static struct kl_process take(const PROCESS_INFORMATION *made, SOCKET channel) {
    CloseHandle(made->hThread);
    return (struct kl_process){
        .id = (long)made->dwProcessId, .channel = (int)channel, .of_system = (int)(intptr_t)made->hProcess};
}

int kl_process_start(struct kl_process *p, const struct kl_process_setup *setup, char *err, size_t err_len) {
    const char *name = setup->library   ? setup->library
                       : setup->program ? setup->program
                                        : setup->arguments[0];
    char program[KL_FILE_PATH], first[3 * KL_FILE_PATH + 64];
    PROCESS_INFORMATION made;
    SOCKET pair[2];
    *p = (struct kl_process){.channel = -1};
    if (!find_program(setup, program, sizeof program, first, sizeof first))
        return fail(err, err_len, name, GetLastError());
    if (!make_pair(pair)) return fail(err, err_len, name, GetLastError());
    HANDLE input = kl_disk_open("NUL", GENERIC_READ, OPEN_EXISTING, 0, NULL);
    HANDLE output = input != INVALID_HANDLE_VALUE ? open_output(setup, pair[1]) : INVALID_HANDLE_VALUE;
    DWORD why = output == INVALID_HANDLE_VALUE ? GetLastError() : 0;
    if (!why) why = create_with(setup, program, *first ? first : NULL, input, output, pair[1], &made);
    if (input != INVALID_HANDLE_VALUE) CloseHandle(input);
    if (output != INVALID_HANDLE_VALUE && !setup->printed) CloseHandle(output);
    closesocket(pair[1]);
    if (!why) {
        *p = take(&made, pair[0]);
        return 0;
    }
    closesocket(pair[0]);
    return fail(err, err_len, name, why);
}

/* The program inherits the other end of the channel without knowing it: that end closes when the program
 * ends. */
int kl_process_run(struct kl_process *p, const char *program, const char *const *arguments, char *err,
                   size_t err_len) {
    STARTUPINFOW startup = {.cb = sizeof startup};
    PROCESS_INFORMATION made;
    SOCKET pair[2];
    *p = (struct kl_process){.channel = -1};
    if (!make_pair(pair)) return fail(err, err_len, program, GetLastError());
    SetHandleInformation((HANDLE)pair[1], HANDLE_FLAG_INHERIT, HANDLE_FLAG_INHERIT);
    DWORD why = create(program, kl_command_line(NULL, arguments), NULL, 0, &startup, &made);
    closesocket(pair[1]);
    if (!why) {
        *p = take(&made, pair[0]);
        return 0;
    }
    closesocket(pair[0]);
    return fail(err, err_len, program, why);
}

/* --- ending --- */

struct windows {
    DWORD process;
    unsigned asked;
};

static BOOL CALLBACK ask_window(HWND window, LPARAM context) {
    struct windows *w = (struct windows *)context;
    DWORD process = 0;
    GetWindowThreadProcessId(window, &process);
    if (process == w->process && IsWindowVisible(window) && PostMessageW(window, WM_CLOSE, 0, 0)) w->asked++;
    return TRUE;
}

void kl_process_ask_end(const struct kl_process *p) {
    wchar_t name[KL_QUIT_EVENT];
    struct windows w = {.process = (DWORD)p->id};
    if (p->id <= 0) return;
    HANDLE event = OpenEventW(EVENT_MODIFY_STATE, FALSE, kl_quit_event(name, (DWORD)p->id));
    if (event) {
        SetEvent(event);
        CloseHandle(event);
        return;
    }
    EnumWindows(ask_window, (LPARAM)&w);
    if (!w.asked) TerminateProcess(of(p), ASKED);
}

/* A process's channel closes a moment before the process counts as ended. */
bool kl_process_gone(const struct kl_process *p) {
    char byte;
    if (p->id <= 0 || WaitForSingleObject(of(p), 0) == WAIT_OBJECT_0) return true;
    int n = recv((SOCKET)p->channel, &byte, 1, MSG_PEEK);
    return n == 0 || (n < 0 && WSAGetLastError() != WSAEWOULDBLOCK);
}

static const struct {
    DWORD code;
    const char *why; /* in Linux's words */
} crashes[] = {
    {EXCEPTION_ACCESS_VIOLATION, "Segmentation fault"},
    {EXCEPTION_ARRAY_BOUNDS_EXCEEDED, "Segmentation fault"},
    {EXCEPTION_GUARD_PAGE, "Segmentation fault"},
    {EXCEPTION_STACK_OVERFLOW, "Segmentation fault (the stack is full)"},
    {EXCEPTION_IN_PAGE_ERROR, "Bus error"},
    {EXCEPTION_DATATYPE_MISALIGNMENT, "Bus error"},
    {EXCEPTION_ILLEGAL_INSTRUCTION, "Illegal instruction"},
    {EXCEPTION_PRIV_INSTRUCTION, "Illegal instruction"},
    {EXCEPTION_INT_DIVIDE_BY_ZERO, "Floating point exception"},
    {EXCEPTION_INT_OVERFLOW, "Floating point exception"},
    {EXCEPTION_FLT_DIVIDE_BY_ZERO, "Floating point exception"},
    {EXCEPTION_FLT_INVALID_OPERATION, "Floating point exception"},
    {EXCEPTION_FLT_OVERFLOW, "Floating point exception"},
    {EXCEPTION_FLT_UNDERFLOW, "Floating point exception"},
    {EXCEPTION_BREAKPOINT, "Trace/breakpoint trap"},
    {ABORTED, "Aborted"},
    {0xc0000374UL /* STATUS_HEAP_CORRUPTION */, "Aborted (the heap is damaged)"},
    {0xc0000135UL /* STATUS_DLL_NOT_FOUND */, "a library of the program is missing"},
    {0xc0000139UL /* STATUS_ENTRYPOINT_NOT_FOUND */, "a library of the program lacks a function"},
    {STATUS_CONTROL_C_EXIT, "Interrupt"},
    {ASKED, "Terminated"},
};

/* NULL: the code is a program's own. Exit codes below 0 are, but for errors of the system (0xc.......). */
static const char *name_crash(DWORD code, char *out, size_t cap) {
    for (size_t i = 0; i < sizeof crashes / sizeof *crashes; i++)
        if (crashes[i].code == code) return crashes[i].why;
    if (code >> 28 != 0xc) return NULL;
    snprintf(out, cap, "exception %08lx", code);
    return out;
}

void kl_process_end(struct kl_process *p, unsigned grace_ms, struct kl_process_end *how) {
    struct kl_process_end unused;
    DWORD code = 0;
    char text[64];
    if (!how) how = &unused;
    *how = (struct kl_process_end){0};
    if (p->id <= 0) return;
    if (p->channel >= 0) closesocket((SOCKET)p->channel);
    if (WaitForSingleObject(of(p), grace_ms) != WAIT_OBJECT_0) {
        how->killed = TerminateProcess(of(p), KILLED);
        (void)WaitForSingleObject(of(p), KILL_MS);
    }
    GetExitCodeProcess(of(p), &code);
    CloseHandle(of(p));
    *p = (struct kl_process){.channel = -1};
    const char *why = how->killed ? NULL : name_crash(code, text, sizeof text);
    how->crashed = why != NULL;
    if (why) snprintf(how->why, sizeof how->why, "%s", why);
    if (!why && !how->killed) how->code = (int)code;
}

/* --- becoming another program --- */

static BOOL WINAPI leave_to_child(DWORD event) {
    return event == CTRL_C_EVENT || event == CTRL_BREAK_EVENT;
}

/* The program ends with this process, as it would on Linux; programs that it starts do not. */
static void tie(HANDLE process) {
    JOBOBJECT_EXTENDED_LIMIT_INFORMATION limit = {.BasicLimitInformation.LimitFlags =
                                                      JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE |
                                                      JOB_OBJECT_LIMIT_SILENT_BREAKAWAY_OK};
    HANDLE job = CreateJobObjectW(NULL, NULL);
    if (!job) return;
    (void)SetInformationJobObject(job, JobObjectExtendedLimitInformation, &limit, sizeof limit);
    (void)AssignProcessToJobObject(job, process); /* the job stays open until this process ends */
}

int kl_process_become(const char *program, const char *const *arguments, char *err, size_t err_len) {
    STARTUPINFOW startup = {.cb = sizeof startup};
    PROCESS_INFORMATION made;
    wchar_t name[KL_QUIT_EVENT];
    DWORD code = 1,
          why = create(program, kl_command_line(NULL, arguments), NULL, CREATE_SUSPENDED, &startup, &made);
    if (why) return fail(err, err_len, program, why);
    HANDLE end[2] = {made.hProcess,
                     CreateEventW(NULL, FALSE, FALSE, kl_quit_event(name, GetCurrentProcessId()))};
    struct kl_process p = {(long)made.dwProcessId, -1, (int)(intptr_t)made.hProcess};
    SetConsoleCtrlHandler(leave_to_child, TRUE);
    tie(made.hProcess);
    ResumeThread(made.hThread);
    while (WaitForMultipleObjects(end[1] ? 2 : 1, end, FALSE, INFINITE) == WAIT_OBJECT_0 + 1)
        kl_process_ask_end(&p);
    GetExitCodeProcess(made.hProcess, &code);
    exit((int)code);
}
