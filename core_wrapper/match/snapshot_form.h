/* snapshot_form.h - a snapshot as bytes: the room's facts before a frame (clock, chance, swapped seats,
 * policy), the machine outside of the core's savestate (env/outside.h), and the savestate.
 * net/PROTOCOL.md §12, "A snapshot's bytes", has the layout.
 *
 * Equal machines give equal bytes, because the room agrees on their hash. A snapshot comes from another
 * machine, so the reader trusts nothing. The core loads only a state that the room agreed on, because cores'
 * own readers of states were never hardened. */
#ifndef KLW_SNAPSHOT_FORM_H
#define KLW_SNAPSHOT_FORM_H

#include "core_wrapper/env/outside.h"
#include "core_wrapper/match/files_form.h"
#include "core_wrapper/profile/mask.h"
#include "core_wrapper/world/world.h"
#include "net/engine/engine.h"
#include "net/engine/wire.h"

struct kl_snapshot_head {
    uint32_t frame; /* that runs next */
    uint64_t chance;
    struct kl_world_time time; /* its rate is the machine's: outside.fps_uhz */
    uint8_t plays[KL_MAX_SEATS];
    uint8_t policy, spacing_fixed;
    uint16_t wait_budget_ms;
    struct kl_mask mask; /* that the room was given in play; count 0: none */
};

/* Begins a snapshot for a state of so many bytes. files NULL: the core has written none. Returns it (heap),
 * with the state's place in *state, still zeros, and the whole length in *len; NULL without memory, or if it
 * would be longer than KL_SNAPSHOT_MAX. */
uint8_t *kl_snapshot_begin(const struct kl_snapshot_head *head, const struct kl_outside *outside,
                           const struct kl_fileset *files, size_t state_len, uint8_t **state, size_t *len);

struct kl_snapshot_view {
    struct kl_snapshot_head head;
    struct kl_outside outside; /* its options are borrowed */
    struct kl_reader files;    /* for kl_files_make() */
    const uint8_t *state;      /* borrowed */
    size_t state_len;
};
/* 0, or KL_E_MALFORMED. */
int kl_snapshot_open(struct kl_snapshot_view *v, const uint8_t *bytes, size_t len);

#endif
