/* rate.h - the generic cell rate algorithm (ITU-T I.371). Pure.
 *
 * *until_ns is when all that was let in would be over at the rate, and may lie so far ahead. So a burst
 * passes, and a lasting overload is slowed, never cut off for long. */
#ifndef KL_RATE_H
#define KL_RATE_H

#include <stdbool.h>
#include <stdint.h>

/* True: it is let in, and *until_ns moves by its cost. */
static inline bool kl_rate_let_in(uint64_t *until_ns, uint64_t now_ns, uint64_t cost_ns, uint64_t ahead_ns) {
    uint64_t from_ns = *until_ns > now_ns ? *until_ns : now_ns;
    if (from_ns + cost_ns > now_ns + ahead_ns) return false;
    *until_ns = from_ns + cost_ns;
    return true;
}

#endif
