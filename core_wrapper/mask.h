/* mask.h - the bytes of a core's savestate that do not count when states are compared: what `keylock probe`
 * found unstable for this core and content. docs/design.md §6.
 *
 * Offsets, so only for states of constant size; more than 1 % of a state is a finding, not a mask. A mask
 * comes from a file and from other players' machines: what is not good is refused where it is read. */
#ifndef KLW_MASK_H
#define KLW_MASK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KL_MASK_RANGES    1024
#define KL_MASK_PERCENT   1
#define KL_MASK_STATE_MAX (1u << 30) /* bytes of the largest state */

struct kl_mask_range {
    uint32_t from, to; /* offsets, both within */
};
struct kl_mask {
    uint32_t state_bytes; /* that the states have */
    unsigned count;       /* 0: every byte counts */
    struct kl_mask_range range[KL_MASK_RANGES];
};

/* At most 1 % of so many bytes? */
bool kl_mask_small_enough(uint64_t bytes, uint64_t state_bytes);

/* Bytes in all its ranges. */
uint64_t kl_mask_bytes(const struct kl_mask *m);

/* Ranges in order, apart from each other by a byte at least, within the state, and small enough. NULL, or
 * what is wrong, for people. */
const char *kl_mask_bad(const struct kl_mask *m);

/* XXH3-64 of what counts of a state; of all of it where nothing is masked or the mask is for another size.
 * *used: whether it is for this size (state_bytes 0: for any). m must be good. */
uint64_t kl_mask_hash(const struct kl_mask *m, const uint8_t *state, size_t len, bool *used);

#endif
