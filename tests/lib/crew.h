/* crew.h - work in processes beside this one, where the system can fork: what crashes or fails there ends
 * only itself. Elsewhere the work is done in this process. */
#ifndef TEST_CREW_H
#define TEST_CREW_H

#include <stdbool.h>
#include <stddef.h>

/* False: all work is done in this process, one after the other, and what fails ends it. */
bool crew_forks(void);
/* Zeroed memory that this process and those beside it share; as long as the program runs. Aborts without
 * memory. */
void *crew_memory(size_t bytes);
/* Begins work(arg). Its number, above 0. */
long crew_begin(void (*work)(void *arg), void *arg);
/* Waits for the end of one; 0: none is left. why: "" if its work returned, "exit" if it ended itself, or the
 * signal's name. */
long crew_wait(char why[64]);
/* This process may use so many seconds of processor time from now on; then it is killed. */
void crew_limit_s(unsigned seconds);

#endif
