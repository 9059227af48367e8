/* lock_memory.h - a lock with all the memory that it can want. The memory is of one lock at a time: the next
 * one begins with it cleared. */
#ifndef TEST_LOCK_MEMORY_H
#define TEST_LOCK_MEMORY_H

#include "net/engine/history.h"
#include "net/engine/lock_relay.h"

/* kl_lock_init(), and memory for every seat and client. history: NULL, or the caller appends all frames to
 * it, and the lock keeps the newest KL_NEAR_FRAMES alone; devices then get memory by lock_receive(). */
void lock_begin(struct kl_lock_relay *r, const struct kl_params *params, const struct kl_history *history);
/* kl_lock_receive(), with the memory that it wants. */
int lock_receive(struct kl_lock_relay *r, unsigned client, const uint8_t *body, size_t len, uint32_t missing,
                 uint64_t now_us);

#endif
