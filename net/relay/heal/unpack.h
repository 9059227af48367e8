/* unpack.h - checks a packed snapshot as it comes: a single zstd frame (RFC 8878, window of at most
 * KL_UNPACK_WINDOW) of exactly so many bytes, with that BLAKE2b hash. net/PROTOCOL.md §7, Snapshots.
 *
 * The unpacked bytes are hashed and forgotten: some 1.3 MiB of memory for any size of snapshot. The work is
 * done in steps, because a few packed bytes can unpack to many. */
#ifndef KL_UNPACK_H
#define KL_UNPACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KL_UNPACK_WINDOW_LOG 20
#define KL_UNPACK_STEP       (256U * 1024) /* unpacked bytes of one step: some 0.3 ms */

struct kl_unpack;

/* bytes: required length, unpacked. NULL: no memory. */
struct kl_unpack *kl_unpack_begin(uint32_t bytes);
void kl_unpack_free(struct kl_unpack *u); /* NULL is fine */

/* One step: packed[0..len) are the bytes so far, the same as before and perhaps more. False: all of these are
 * done; else call it again. */
bool kl_unpack_step(struct kl_unpack *u, const uint8_t *packed, uint32_t len);

/* Bytes processed so far, unpacked plus packed. */
uint64_t kl_unpack_done(const struct kl_unpack *u);
/* True if the bytes are too long, or no such zstd frame. */
bool kl_unpack_failed(const struct kl_unpack *u);
/* True if all `len` packed bytes are processed and are the frame, of that length and hash. To be called
 * once. */
bool kl_unpack_good(struct kl_unpack *u, uint32_t len, const uint8_t hash[32]);

#endif
