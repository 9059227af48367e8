/* browse.h - the public rooms of some relays and how far away those are, asked by a thread for each; for
 * keylock_api.h. Nothing here waits for an answer. */
#ifndef KLW_BROWSE_H
#define KLW_BROWSE_H

#include "core_wrapper/abi/keylock_api.h"

#define KL_BROWSE_RELAYS 8
#define KL_BROWSE_ROOMS  512 /* of one relay: one that tells more is none to browse */

/* The three as keylock_api.h has them. */
int kl_browse_begin(const char *relays, char *err, size_t err_len);
unsigned kl_browse_rooms(struct keylock_room *out, unsigned max, bool *asking, char *line);
void kl_browse_end(void);

#endif
