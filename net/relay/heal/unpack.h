/* unpack.h - checks a packed snapshot as it comes, and puts one together from an older one and the difference
 * to it. net/PROTOCOL.md §7, Snapshots. */
#ifndef KL_UNPACK_H
#define KL_UNPACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* --- a whole snapshot ---
 *
 * A single zstd frame (RFC 8878, window of at most KL_UNPACK_WINDOW) of exactly so many bytes, with that
 * BLAKE2b hash. The unpacked bytes are hashed and forgotten: some 1.3 MiB of memory for any size of snapshot.
 * The work is done in steps, because a few packed bytes can unpack to many. */

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

/* --- a difference ---
 *
 * The new snapshot is checked, and packed whole for clients that have neither. Base and slices are unpacked
 * slice by slice, and each slice is packed again at once: some 4 MiB of memory for any size of snapshot, and
 * one slice's work a step. */

struct kl_rebase;

/* base: a verified snapshot, packed as one frame, of base_bytes unpacked. out: receives the new
 * one of `bytes` bytes, packed. Both are borrowed until the end. NULL: no memory. */
struct kl_rebase *kl_rebase_begin(const uint8_t *base, uint32_t base_len, uint32_t base_bytes, uint32_t bytes,
                                  uint8_t *out, uint32_t cap);
void kl_rebase_free(struct kl_rebase *u); /* NULL is fine */

/* One slice: slices[0..len) are the bytes so far, the same as before and perhaps more. False: all of these
 * are done; else call it again. */
bool kl_rebase_step(struct kl_rebase *u, const uint8_t *slices, uint32_t len);

/* Bytes of the new snapshot, unpacked, that are still to come. */
uint32_t kl_rebase_left(const struct kl_rebase *u);
/* True if the slices are malformed, or the new snapshot packed is longer than cap. */
bool kl_rebase_failed(const struct kl_rebase *u);
/* Length of the new snapshot, packed; 0 if not all `len` bytes are processed, or its length or hash is wrong.
 * To be called once. */
uint32_t kl_rebase_good(struct kl_rebase *u, uint32_t len, const uint8_t hash[32]);

#endif
