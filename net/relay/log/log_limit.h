/* log_limit.h - limits the log lines of one kind a minute about one client, room or address; the rest is
 * counted. No stranger can fill the disk, and rare lines are not lost among frequent ones: each kind of line
 * has its own limit. Pure. */
#ifndef KL_LOG_LIMIT_H
#define KL_LOG_LIMIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "net/relay/log/lobby_limit.h"

#define KL_LOG_KEY   128
#define KL_LOG_CELLS 512 /* kinds of lines by subject; the one longest unused makes way */

struct kl_log_cell {
    char key[KL_LOG_KEY]; /* "desync room=\"x\" client=1" */
    struct kl_bucket bucket;
    uint64_t used_us;
    uint64_t left_out; /* lines left out since the last report */
};

struct kl_log_limit {
    unsigned per_min; /* 0: no limit */
    uint64_t untold;  /* lines left out and not yet reported, of all cells */
    struct kl_log_cell cell[KL_LOG_CELLS];
};

/* The key under which a line is counted: its event, its first key=value, and the client if that is second; an
 * address without its port. */
void kl_log_key(char out[KL_LOG_KEY], const char *event, const char *rest);

/* True: write the line. If *left_out is not 0, first report that so many like it are missing. */
bool kl_log_take(struct kl_log_limit *l, const char *key, uint64_t now_us, uint64_t *left_out);

/* The next cell with missing lines that were not reported for 10 s (all: for any time); it then counts as
 * reported. NULL: there is none. */
const struct kl_log_cell *kl_log_untold(struct kl_log_limit *l, uint64_t now_us, bool all,
                                        uint64_t *left_out);

#endif
