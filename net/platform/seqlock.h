/* seqlock.h - a record in memory that several processes share: one writes it, all others read it whole, and
 * nobody waits. After the Linux kernel's seqlock_t: the number is odd while the record is written. */
#ifndef KL_PLATFORM_SEQLOCK_H
#define KL_PLATFORM_SEQLOCK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef _Atomic uint32_t kl_seqlock;

/* Replaces the record. One writer at a time; one before it may have died inside. */
void kl_seqlock_write(kl_seqlock *lock, void *record, const void *from, size_t bytes);
/* Copies it, in a bounded number of tries. False: it is being written all the time, or its writer has died;
 * out is any bytes then. */
bool kl_seqlock_read(const kl_seqlock *lock, void *out, const void *record, size_t bytes);

#endif
