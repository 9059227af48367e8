/* quit.h - the request to end a program of Keylock's, which needs no console: a named event.
 *
 * A program that called kl_wake_at_quit() has it while it runs, and takes SetEvent() for the end of a
 * service. Without that event a program has to be ended by other means. */
#ifndef KL_PLATFORM_WINDOWS_QUIT_H
#define KL_PLATFORM_WINDOWS_QUIT_H

#include <wchar.h>

#define KL_QUIT_EVENT 40 /* characters, NUL included */
/* The event's name for the process of this number. Returns out. */
const wchar_t *kl_quit_event(wchar_t out[KL_QUIT_EVENT], unsigned long process);

#endif
