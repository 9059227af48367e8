/* wait.h - waiting until a socket has something, another thread calls, or the time has come.
 *
 * A wake-up is a number like a socket's and is waited for like one. Its owner closes it with
 * kl_socket_close(). */
#ifndef KL_PLATFORM_WAIT_H
#define KL_PLATFORM_WAIT_H

#include <stdbool.h>
#include <stdint.h>

#define KL_WAIT_MAX     32
#define KL_WAIT_FOREVER UINT64_MAX

/* Waits until one of count (at most KL_WAIT_MAX) can be read, or kl_now_us() is until_us. Those of -1 are
 * passed over. Gives a bit for each that can be read (bit 0: what[0]), also where its other side is gone; 0:
 * none can, and that may be before until_us where a signal came. */
uint32_t kl_wait_for(const int *what, unsigned count, uint64_t until_us);

/* -1: no descriptor. */
int kl_wake_open(void);
/* It can be read from now on. Any thread may call it; it never waits. */
void kl_wake(int w);
/* It cannot be read until the next kl_wake(). */
void kl_wake_clear(int w);

/* A wake-up for the day that this program is told to end: Ctrl-C, the end of a service. Once, in the main
 * thread, before any other thread begins: from then on nothing else notices. -1: it cannot be made. */
int kl_wake_at_quit(void);
#define KL_QUIT_NAME 32
/* Says what came, for people ("Terminated"), and clears it; "none" where it is another wake-up or nothing
 * came. Returns out. */
const char *kl_wake_quit_name(int w, char out[KL_QUIT_NAME]);

#endif
