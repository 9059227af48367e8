/* mask.h - the bytes of a core's savestate that do not count when states are compared. `keylock probe` found
 * them unstable for this core and content. docs/design.md §6.
 *
 * A mask has offsets, so it is only for states of constant size. More than 1 % of a state is a finding, not
 * a mask. A mask comes from a file or from other players' machines, so its reader refuses a bad one. */
#ifndef KLW_MASK_H
#define KLW_MASK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "net/engine/command.h"
#include "net/engine/wire.h"

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

/* Checks a mask: ranges in order, at least a byte apart, within the state, and small enough. Returns NULL,
 * or the fault for people. */
const char *kl_mask_bad(const struct kl_mask *m);

/* Adds the ranges of another mask for states of the same size. False if the result would be no good mask; m
 * is then unchanged. */
bool kl_mask_add(struct kl_mask *m, const struct kl_mask *more);

/* As in the start data (net/PROTOCOL.md §12): size of the states, and ranges. At most KL_MASK_BOUND bytes for
 * each range, and as many for the rest. Reading fails in r unless the mask is good; m is overwritten. */
#define KL_MASK_BOUND 10
void kl_mask_write(struct kl_writer *w, const struct kl_mask *m);
void kl_mask_read(struct kl_reader *r, struct kl_mask *m);

/* The mask that the host's machine has found in play comes in pieces, by commands (KL_COMMAND_MASK). */
struct kl_mask_said {
    uint8_t client, pieces, next; /* next 0: none has come */
    uint8_t bytes[KL_MASK_PIECES * KL_MASK_PIECE];
    size_t len;
};
/* Takes the next piece; nothing if it is not the next one. True: it was the last, and *out is a good mask
 * that is not empty. */
bool kl_mask_hear(struct kl_mask_said *s, const struct kl_command *c, struct kl_mask *out);

/* XXH3-64 of a state's bytes that count: all bytes if the mask is empty or for another size. *used: the mask
 * is for this size (state_bytes 0: for any). m must be good. */
uint64_t kl_mask_hash(const struct kl_mask *m, const uint8_t *state, size_t len, bool *used);

#endif
