/* outlet.h - a way out for lines that never blocks its writer. A terminal stopped with ^S or a full pipe
 * blocks its writers; the relay must not wait for a reader. So lines go into a bounded buffer, and a thread
 * writes them out from a second buffer that it swaps with the first. (A non-blocking descriptor would be
 * shared with the operator's shell.) Lines that do not fit are dropped whole; a line in their place says how
 * many. */
#ifndef KL_OUTLET_H
#define KL_OUTLET_H

#include <stddef.h>
#include <stdint.h>

#define KL_OUTLET_BYTES 65536

struct kl_outlet;

/* fd stays the caller's and must outlive the outlet. NULL without memory or thread. */
struct kl_outlet *kl_outlet_open(int fd);
/* Takes lines; never waits. Any thread may call it. */
void kl_outlet_put(struct kl_outlet *o, const char *lines, size_t len);
/* Lines dropped so far. */
uint64_t kl_outlet_dropped(struct kl_outlet *o);
/* Waits until all is written, or that long. NULL is fine. If the reader still does not read, the thread and
 * the outlet stay until the program ends. */
void kl_outlet_close(struct kl_outlet *o, unsigned wait_ms);

#endif
