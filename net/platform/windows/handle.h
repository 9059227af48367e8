/* handle.h - waiting for a handle of the system with the precision that the pacing needs; what can end the
 * wait: the request to quit, the service manager; and the start of the sockets. */
#ifndef KL_PLATFORM_WINDOWS_HANDLE_H
#define KL_PLATFORM_WINDOWS_HANDLE_H

#include <stdbool.h>
#include <stdint.h>
#include <wchar.h>

/* Waits until the handle is signalled, or until kl_now_us() reaches until_us (UINT64_MAX: for ever). handle:
 * a HANDLE; NULL: none. True: the handle was signalled. */
bool kl_handle_wait(void *handle, uint64_t until_us);

/* The request to end a program of Keylock's, which needs no console: a named event.
 *
 * A program that called kl_wake_at_quit() has it while it runs, and takes SetEvent() for the end of a
 * service. Without that event a program has to be ended by other means. */

#define KL_QUIT_EVENT 40 /* characters, NUL included */
/* The event's name for the process of this number. Returns out. */
const wchar_t *kl_quit_event(wchar_t out[KL_QUIT_EVENT], unsigned long process);

/* This program as a service of Windows, if the system's service manager started it. */

/* Answers the service manager, if there is one, from threads of its own. stop: called in such a thread when
 * the service is to stop; the program then has 30 s to end. Call it once. */
void kl_service_begin(void (*stop)(void));
/* True once the service manager has begun the service. */
bool kl_service_runs(void);

/* Windows's sockets: their start, and what they need besides the common calls. */

/* Call it before the first socket; later calls do nothing. Not from DllMain. */
void kl_winsock_start(void);
/* Sets errno from WSAGetLastError(). Returns -1. */
int kl_winsock_fail(void);

#endif
