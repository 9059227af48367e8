/* unpack.h - is this what was said? A packed snapshot, looked at as it comes: a single zstd frame (RFC 8878,
 * window of at most KL_UNPACK_WINDOW) of exactly so many bytes, with that BLAKE2b hash. net/PROTOCOL.md §7,
 * Snapshots.
 *
 * What comes out is hashed and forgotten: some 1.3 MiB of memory while it goes on, whatever the snapshot's
 * size. How much work a few packed bytes make is not known before, so it is done in steps. */
#ifndef KL_UNPACK_H
#define KL_UNPACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KL_UNPACK_WINDOW_LOG 20
#define KL_UNPACK_STEP       (256U * 1024) /* bytes that come out of one step: some 0.3 ms */

struct kl_unpack;

/* bytes: that it must have. NULL: no memory. */
struct kl_unpack *kl_unpack_begin(uint32_t bytes);
void kl_unpack_free(struct kl_unpack *u); /* NULL is fine */

/* One step on: packed[0..len) is what is here so far, the same bytes as before and perhaps more. False: there
 * is nothing (more) to be done with these; else call it again. */
bool kl_unpack_step(struct kl_unpack *u, const uint8_t *packed, uint32_t len);

/* Bytes that it has gone through so far: come out, and packed ones. */
uint64_t kl_unpack_done(const struct kl_unpack *u);
/* It has gone wrong: too long, or no frame like that. */
bool kl_unpack_failed(const struct kl_unpack *u);
/* All `len` packed bytes have been looked at and are the frame, of that length and hash. Once. */
bool kl_unpack_good(struct kl_unpack *u, uint32_t len, const uint8_t hash[32]);

#endif
