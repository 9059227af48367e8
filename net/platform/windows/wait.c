#include "net/platform/wait.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <winsock2.h>
#include <windows.h>

#include "net/platform/clock.h"
#include "net/platform/socket.h"
#include "net/platform/windows/handle.h"

/* --- waiting --- */

static uint32_t select_readable(const int *what, unsigned count) {
    struct timeval none = {0};
    uint32_t readable = 0;
    fd_set set;
    FD_ZERO(&set);
    for (unsigned i = 0; i < count; i++)
        if (what[i] >= 0) FD_SET((SOCKET)what[i], &set);
    if (set.fd_count == 0 || select(0, &set, NULL, NULL, &none) <= 0) return 0;
    for (unsigned i = 0; i < count; i++)
        if (what[i] >= 0 && FD_ISSET((SOCKET)what[i], &set)) readable |= 1U << i;
    return readable;
}

/* The system looks at what waits already, so nothing is missed after select(). A socket keeps its event until
 * the next wait gives it another one. */
static void set_event(const int *what, unsigned count, HANDLE event) {
    for (unsigned i = 0; i < count; i++)
        if (what[i] >= 0) (void)WSAEventSelect((SOCKET)what[i], event, FD_READ | FD_ACCEPT | FD_CLOSE);
}

/* select() alone ends with the system's tick, and would wait up to 15.6 ms too long. */
uint32_t kl_wait_for(const int *what, unsigned count, uint64_t until_us) {
    assert(count <= KL_WAIT_MAX);
    uint32_t readable = select_readable(what, count);
    if (readable || (until_us != KL_WAIT_FOREVER && kl_now_us() >= until_us)) return readable;
    HANDLE event = CreateEventW(NULL, TRUE, FALSE, NULL);
    if (!event) { /* no memory: as a signal would, the wait ends early */
        Sleep(1);
        return 0;
    }
    set_event(what, count, event);
    bool came = kl_handle_wait(event, until_us);
    CloseHandle(event);
    return came ? select_readable(what, count) : 0;
}

/* --- wake-ups --- */

/* A socket that sends to itself, so that all numbers are sockets. Connected: it takes datagrams from no
 * other. */
int kl_wake_open(void) {
    struct kl_address at = kl_address_loopback(0);
    int w = kl_socket_open();
    if (w >= 0 && kl_socket_bind(w, &at) == 0 && kl_socket_connect(w, &at) == 0) return w;
    int failed = errno;
    kl_socket_close(w);
    errno = failed;
    return -1;
}

/* A failed send is harmless: with a full buffer the socket is readable, too. */
void kl_wake(int w) {
    (void)kl_socket_send(w, NULL, "", 1);
}

void kl_wake_clear(int w) {
    char ignored[1];
    while (kl_socket_receive(w, ignored, sizeof ignored, NULL) >= 0) {
    }
}

/* --- the request to quit --- */

static const struct {
    enum kl_quit quit;
    const char *name;
} request[] = {
    {KL_QUIT_KEY, "Interrupt"},
    {KL_QUIT_SERVICE, "Terminated"},
    {KL_QUIT_SERVICE, "Window closed"},
    {KL_QUIT_SERVICE, "End of the session"},
};
enum { REQUEST_KEY, REQUEST_END, REQUEST_CLOSE, REQUEST_SESSION, REQUESTS };

static struct {
    int wake;
    LONG volatile requests; /* a bit for each request */
} quit = {.wake = -1};

static void ask_to_quit(unsigned i) {
    InterlockedOr(&quit.requests, 1L << i);
    kl_wake(quit.wake);
}

/* The system calls this in a thread of its own. Once it returns from anything but Ctrl-C and Ctrl-Break, the
 * system ends the process: so it leaves that to the main thread, for which the system waits 5 s. */
static BOOL WINAPI on_console(DWORD event) {
    if (event == CTRL_C_EVENT || event == CTRL_BREAK_EVENT) {
        ask_to_quit(REQUEST_KEY);
        return TRUE;
    }
    if (event == CTRL_LOGOFF_EVENT && kl_service_runs()) return TRUE; /* some user's session, not ours */
    ask_to_quit(event == CTRL_CLOSE_EVENT ? REQUEST_CLOSE : REQUEST_SESSION);
    Sleep(INFINITE);
    return TRUE;
}

static void end_service(void) {
    ask_to_quit(REQUEST_END);
}
static void CALLBACK on_event(void *event, BOOLEAN late) {
    (void)event, (void)late;
    end_service();
}

const wchar_t *kl_quit_event(wchar_t out[KL_QUIT_EVENT], unsigned long process) {
    swprintf(out, KL_QUIT_EVENT, L"Local\\keylock-quit-%lu", process);
    return out;
}

/* A program that a shell or a parent started in a process group of its own ignores Ctrl-C until told not to.
 */
int kl_wake_at_quit(void) {
    wchar_t name[KL_QUIT_EVENT];
    HANDLE ignored, event = CreateEventW(NULL, FALSE, FALSE, kl_quit_event(name, GetCurrentProcessId()));
    quit.wake = kl_wake_open();
    if (quit.wake < 0) return -1;
    if (event) RegisterWaitForSingleObject(&ignored, event, on_event, NULL, INFINITE, WT_EXECUTEDEFAULT);
    SetConsoleCtrlHandler(NULL, FALSE);
    SetConsoleCtrlHandler(on_console, TRUE);
    kl_service_begin(end_service);
    return quit.wake;
}

enum kl_quit kl_wake_quit(int w, char name[KL_QUIT_NAME]) {
    snprintf(name, KL_QUIT_NAME, "none");
    if (w != quit.wake) return KL_QUIT_NONE;
    kl_wake_clear(w);
    for (unsigned i = 0; i < REQUESTS; i++) {
        if (!(InterlockedAnd(&quit.requests, ~(1L << i)) >> i & 1)) continue;
        snprintf(name, KL_QUIT_NAME, "%s", request[i].name);
        if (quit.requests) kl_wake(w); /* for the next call */
        return request[i].quit;
    }
    return KL_QUIT_NONE;
}
