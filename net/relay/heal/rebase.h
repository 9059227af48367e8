/* rebase.h - puts a snapshot together from an older one and the difference to it, checks it, and packs it
 * whole for clients that have neither. net/PROTOCOL.md §7, Snapshots.
 *
 * Both are unpacked slice by slice, and each slice is packed again at once: some 4 MiB of memory for any size
 * of snapshot, and one slice's work a step. */
#ifndef KL_REBASE_H
#define KL_REBASE_H

#include <stdbool.h>
#include <stdint.h>

struct kl_rebase;

/* base: a verified snapshot, packed as one frame (unpack.h), of base_bytes unpacked. out: receives the new
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
