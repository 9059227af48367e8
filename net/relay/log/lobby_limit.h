/* lobby_limit.h - limits of rate: leaky buckets, buckets by address, and log lines of one kind. Pure. */
#ifndef KL_LOBBY_LIMIT_H
#define KL_LOBBY_LIMIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "net/platform/address.h"

/* Holds a minute's worth, and leaks as much in a minute. All zero: empty. */
struct kl_bucket {
    uint32_t level; /* thousandths of one */
    uint64_t at_us;
};
/* True if one more fits; it is then counted. */
bool kl_bucket_take(struct kl_bucket *b, unsigned per_min, uint64_t now_us);
/* Seconds until one more fits, rounded up; 0: now. */
unsigned kl_bucket_wait_s(struct kl_bucket *b, unsigned per_min, uint64_t now_us);

/* Buckets of wrong tries by person; the one longest unused makes way. */
#define KL_TRIERS 256
struct kl_triers {
    struct kl_trier {
        char host[KL_NET_TEXT];
        struct kl_bucket wrong;
        bool failed; /* it has been wrong */
        uint64_t used_us;
    } at[KL_TRIERS];
};
/* host: of kl_address_host(). */
struct kl_trier *kl_triers_of(struct kl_triers *t, const char *host, uint64_t now_us);

/* The person of an address, with or without its port: "192.0.2.1" of "192.0.2.1:5", "2001:db8:0:1::" of
 * "[2001:db8:0:1::7]:5". That of a person is the same. */
struct kl_host {
    char text[KL_NET_TEXT];
} kl_address_host(const char *address);

/* --- log lines ---
 *
 * Those of one kind a minute about one client, room or address are limited; the rest is counted. No stranger
 * can fill the disk, and rare lines are not lost among frequent ones: each kind of line has its own limit. */

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

/* The length of the key=value at the beginning of a line's rest; blanks may stand in quotes. */
size_t kl_log_token(const char *at);

/* The key under which a line is counted: its event, its first key=value, and the client if that is second; an
 * address as its person. */
void kl_log_key(char out[KL_LOG_KEY], const char *event, const char *rest);

/* True: write the line. If *left_out is not 0, first report that so many like it are missing. */
bool kl_log_take(struct kl_log_limit *l, const char *key, uint64_t now_us, uint64_t *left_out);

/* The next cell with missing lines that were not reported for 10 s (all: for any time); it then counts as
 * reported. NULL: there is none. */
const struct kl_log_cell *kl_log_untold(struct kl_log_limit *l, uint64_t now_us, bool all,
                                        uint64_t *left_out);

#endif
