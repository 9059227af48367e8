/* net_hitch.h - how long this machine stood still. A test that is judged by time names it and takes it off,
 * as tests/e2e/hitches.py does for the scenarios.
 *
 * A thread naps for 5 ms at a time. For each nap that adds the larger of two, above 2 ms: how much too late
 * the thread woke, as a virtual machine that gets no processor shows nowhere else; and how long the worst
 * thread of this process and of each program under watch stood ready without a processor
 * (/proc/PID/task/TID/schedstat), added up, as one may wait for the other. */
#ifndef NET_HITCH_H
#define NET_HITCH_H

#include <stdint.h>
#include <sys/types.h>

/* Begins the watch over this process, once, and from now on over that program instead of the last one; 0:
 * over none. */
void hitch_watch(pid_t program);
/* So many microseconds since the watch began, until now. It only grows. */
uint64_t hitch_us(void);

/* Fails the test unless took_us, less what the machine stood still since hitch_us() gave from_us, is at most
 * most_us. */
#define assert_in_time(took_us, most_us, from_us) hitch_judge(took_us, most_us, from_us, __FILE__, __LINE__)
void hitch_judge(uint64_t took_us, uint64_t most_us, uint64_t from_us, const char *file, int line);

#endif
