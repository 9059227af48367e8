/* unpack.h - checks a packed snapshot as it comes, and puts one together from an older one and the difference
 * to it. net/ROOMS.md §7, Snapshots. */
#ifndef KL_UNPACK_H
#define KL_UNPACK_H

#include <stdbool.h>
#include <stdint.h>

/* The work is done in steps, because a few packed bytes can unpack to many.
 *
 * A whole snapshot is a single zstd frame (RFC 8878, window of at most KL_UNPACK_WINDOW_LOG) of exactly so
 * many bytes, with that BLAKE2b hash. The unpacked bytes are hashed and forgotten: some 1.3 MiB of memory for
 * any size of snapshot.
 *
 * A difference comes as slices against an older one, a zstd frame each. The new snapshot is checked, and
 * packed whole for clients that have neither. Base and slices are unpacked slice by slice, and each slice is
 * packed again at once: some 4 MiB of memory for any size of snapshot, and one slice's work a step. */

#define KL_UNPACK_WINDOW_LOG 20
#define KL_UNPACK_STEP       (256U * 1024) /* unpacked bytes of one step of a whole one: some 0.3 ms */

struct kl_unpack;

/* bytes: required length, unpacked. NULL: no memory. */
struct kl_unpack *kl_unpack_begin(uint32_t bytes);
/* Of a difference. base: a verified snapshot, packed as one frame, of base_bytes unpacked. out: receives the
 * new one of `bytes` bytes, packed. Both are borrowed until the end. NULL: no memory. */
struct kl_unpack *kl_unpack_begin_slices(const uint8_t *base, uint32_t base_len, uint32_t base_bytes,
                                         uint32_t bytes, uint8_t *out, uint32_t cap);
void kl_unpack_free(struct kl_unpack *u); /* NULL is fine */

/* One step: packed[0..len) are the bytes so far, the same as before and perhaps more. False: all of these are
 * done; else call it again. */
bool kl_unpack_step(struct kl_unpack *u, const uint8_t *packed, uint32_t len);

/* Work done so far, as bytes that are unpacked, plus packed ones; a difference costs more. */
uint64_t kl_unpack_done(const struct kl_unpack *u);
/* True if the bytes are too long or malformed, or the new snapshot packed is longer than cap. */
bool kl_unpack_failed(const struct kl_unpack *u);
/* Length of the new snapshot, packed; 0 if not all `len` bytes are processed, or its length or hash is wrong.
 * To be called once. */
uint32_t kl_unpack_good(struct kl_unpack *u, uint32_t len, const uint8_t hash[32]);

#endif
