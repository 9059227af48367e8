/* lookup.h - a name's addresses. */
#ifndef KL_PLATFORM_LOOKUP_H
#define KL_PLATFORM_LOOKUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "net/platform/address.h"

#define KL_LOOKUP_NAME_MAX 256            /* bytes, NUL included */
#define KL_LOOKUP_US       (10 * 1000000) /* time limit for the name server */

enum kl_lookup { KL_LOOKUP_FOUND, KL_LOOKUP_FAILED, KL_LOOKUP_LEFT };

/* Waits for the answer, KL_LOOKUP_US at most; an address in numbers, in brackets or not, is converted at
 * once. still: called every 20 ms with ctx; once it returns false, the call ends (KL_LOOKUP_LEFT). NULL:
 * always true. A name server that hangs delays the caller no longer than that. This code's library may be
 * unloaded at once: the C library keeps the question in its own thread and memory. out: KL_LOOKUP_FOUND,
 * one at least, without ports, IPv6 and IPv4 by turns in the order in which the system would try them.
 * why: with KL_LOOKUP_FAILED one line for people. */
enum kl_lookup kl_lookup(const char *name, struct kl_addresses *out, bool (*still)(void *ctx), void *ctx,
                         char *why, size_t why_len);

#endif
