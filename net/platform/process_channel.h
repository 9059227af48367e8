/* process_channel.h - the bytes between parent and child, which each system moves in its own way: for
 * process_message.c alone. None of these waits, but kl_channel_ready(). */
#ifndef KL_PLATFORM_PROCESS_CHANNEL_H
#define KL_PLATFORM_PROCESS_CHANNEL_H

#include <stdbool.h>
#include <stddef.h>

/* Waits up to `ms` until the channel can be read or written. 1; 0: not yet; -1: there is no such channel. */
int kl_channel_ready(int channel, bool to_write, unsigned ms);
/* Returns the number of bytes read or written; 0: none yet; -1: the other end is closed. */
long kl_channel_get(int channel, void *out, size_t cap);
long kl_channel_put(int channel, const void *bytes, size_t len);

#endif
