/* wait.h - waiting for sockets, for another thread, or for a time.
 *
 * A wake-up is a number, used in kl_wait_for() like a socket. Its owner closes it with kl_socket_close().
 * Only one thread at a time may wait for a number. */
#ifndef KL_PLATFORM_WAIT_H
#define KL_PLATFORM_WAIT_H

#include <stdint.h>

#define KL_WAIT_MAX     32
#define KL_WAIT_FOREVER UINT64_MAX

/* Waits until one of count (at most KL_WAIT_MAX) numbers is readable, or until kl_now_us() reaches until_us.
 * Entries of -1 are skipped. Returns a bit for each readable one (bit 0: what[0]), also if its peer is gone;
 * 0: none, and perhaps before until_us because of a signal. */
uint32_t kl_wait_for(const int *what, unsigned count, uint64_t until_us);

/* -1: no descriptor. */
int kl_wake_open(void);
/* Makes the wake-up readable. Any thread may call it; it never waits. */
void kl_wake(int w);
/* Makes the wake-up unreadable until the next kl_wake(). */
void kl_wake_clear(int w);

/* A wake-up for a request to end this program: Ctrl-C, or the end of a service. Call it once, in the main
 * thread, before any other thread begins; no other code sees these signals then. -1 on failure. */
int kl_wake_at_quit(void);
enum kl_quit { KL_QUIT_NONE, KL_QUIT_KEY /* Ctrl-C */, KL_QUIT_SERVICE };
#define KL_QUIT_NAME 32
/* Returns the request and clears it; KL_QUIT_NONE if w is another wake-up or no request came. name gets its
 * name for people ("Terminated"; "none"). */
enum kl_quit kl_wake_quit(int w, char name[KL_QUIT_NAME]);

#endif
