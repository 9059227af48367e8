/* rebase.h - a snapshot that came as what differs from an older one, put together, checked, and packed whole
 * for those who have neither. net/PROTOCOL.md §7, Snapshots.
 *
 * Both are taken apart slice by slice, the base from its packed form, and each slice is packed again at once:
 * some 4 MiB of memory while it goes on, whatever the snapshot's size, and one slice's work in a step. */
#ifndef KL_REBASE_H
#define KL_REBASE_H

#include <stdbool.h>
#include <stdint.h>

struct kl_rebase;

/* base: a good one, packed as one frame (unpack.h), of base_bytes unpacked; borrowed until the end, as is
 * out, where the whole one of `bytes` bytes is packed to. NULL: no memory. */
struct kl_rebase *kl_rebase_begin(const uint8_t *base, uint32_t base_len, uint32_t base_bytes, uint32_t bytes,
                                  uint8_t *out, uint32_t cap);
void kl_rebase_free(struct kl_rebase *u); /* NULL is fine */

/* One slice: slices[0..len) is what is here so far, the same bytes as before and perhaps more. False: there
 * is nothing (more) to be done with these; else call it again. */
bool kl_rebase_step(struct kl_rebase *u, const uint8_t *slices, uint32_t len);

/* Bytes of the whole one, unpacked, that are still to come. */
uint32_t kl_rebase_left(const struct kl_rebase *u);
/* It has gone wrong: they are no such slices, or the whole one packed is more than cap. */
bool kl_rebase_failed(const struct kl_rebase *u);
/* How long the whole one is, packed; 0 where the `len` bytes were not all looked at, or it is not of that
 * length and hash. Once. */
uint32_t kl_rebase_good(struct kl_rebase *u, uint32_t len, const uint8_t hash[32]);

#endif
