/* lookup.h - a name's IPv4 address. */
#ifndef KL_PLATFORM_LOOKUP_H
#define KL_PLATFORM_LOOKUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KL_LOOKUP_NAME_MAX 256            /* bytes, NUL included */
#define KL_LOOKUP_US       (10 * 1000000) /* then the name server has not answered */

enum kl_lookup { KL_LOOKUP_FOUND, KL_LOOKUP_FAILED, KL_LOOKUP_LEFT };

/* Waits for the answer, KL_LOOKUP_US at most; an address in four numbers needs no answer.
 * still: asked every 20 ms with its ctx; once it says no, the call ends (KL_LOOKUP_LEFT). NULL: nobody says
 * no. A name server that hangs holds up nobody longer than that, and the library that this code is in may be
 * unloaded at once: the question stays with the C library, in its thread and in memory of its own. host: as
 * in struct kl_address. why: with KL_LOOKUP_FAILED one line for people. */
enum kl_lookup kl_lookup(const char *name, uint32_t *host, bool (*still)(void *ctx), void *ctx, char *why,
                         size_t why_len);

#endif
