/* log_limit.h - how many log lines of one kind about one client, room or address are written a minute; the
 * rest is counted. So nobody fills a disk by what he does to a relay, and what is rare is never lost among
 * it: each kind of line has its own measure. Pure. */
#ifndef KL_LOG_LIMIT_H
#define KL_LOG_LIMIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "net/relay/lobby_limit.h"

#define KL_LOG_KEY   128
#define KL_LOG_CELLS 512 /* kinds of lines, by whom; the one longest unused makes way */

struct kl_log_cell {
    char key[KL_LOG_KEY]; /* "desync room=\"x\" client=1" */
    struct kl_bucket bucket;
    uint64_t used_us;
    uint64_t left_out; /* since that was told */
};

struct kl_log_limit {
    unsigned per_min; /* 0: no limit */
    uint64_t untold;  /* lines, of all cells */
    struct kl_log_cell cell[KL_LOG_CELLS];
};

/* What a line counts for: its event, its first key=value, and the client where that comes second; an address
 * without its port. */
void kl_log_key(char out[KL_LOG_KEY], const char *event, const char *rest);

/* True: write it, and before it, where *left_out is not 0, that so many like it are missing. */
bool kl_log_take(struct kl_log_limit *l, const char *key, uint64_t now_us, uint64_t *left_out);

/* The next cell whose lines are missing and have not been told of for 10 s, or for any time where all is set;
 * it counts as told then. NULL: there is none. */
const struct kl_log_cell *kl_log_untold(struct kl_log_limit *l, uint64_t now_us, bool all,
                                        uint64_t *left_out);

#endif
