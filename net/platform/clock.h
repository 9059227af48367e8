/* clock.h - the machine's clocks. Times are unsigned microseconds. Any thread may call these; none fails. */
#ifndef KL_PLATFORM_CLOCK_H
#define KL_PLATFORM_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

/* A monotonic clock, never set back or forward: for intervals and deadlines. */
uint64_t kl_now_us(void);
/* The wall clock, since 1970-01-01 UTC. The user or the system may set it at any time. */
uint64_t kl_wall_us(void);
/* Processor time used by this process. */
uint64_t kl_cpu_us(void);
/* Processor time used by this thread. 0 on Windows, which tells it in steps of 15.6 ms. */
uint64_t kl_thread_us(void);

/* Sleeps for us, or until kl_now_us() reaches until_us. False if a signal's handler ended the sleep early. */
bool kl_sleep_us(uint64_t us);
bool kl_sleep_until(uint64_t until_us);

/* A time of kl_wall_us() as 2024-05-06T07:08:09.123Z. Returns out. */
#define KL_WALL_TEXT 32
const char *kl_wall_text(char out[KL_WALL_TEXT], uint64_t wall_us);

/* True if a time server keeps the wall clock right, as far as the system knows. */
bool kl_wall_is_kept(void);

#endif
