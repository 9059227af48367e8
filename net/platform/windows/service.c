#include "net/platform/windows/handle.h"

#include <stdlib.h>
#include <windows.h>

#include "net/platform/thread.h"

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
