/* snapshot_form.h - a snapshot as bytes, and the files that a core has written as a part of them. */
#ifndef KLW_SNAPSHOT_FORM_H
#define KLW_SNAPSHOT_FORM_H

#include "core_wrapper/env/outside.h"
#include "core_wrapper/profile/mask.h"
#include "core_wrapper/world/fileset.h"
#include "core_wrapper/world/world.h"
#include "net/engine/engine.h"
#include "net/engine/wire.h"

/* --- a snapshot --- */

/* A snapshot as bytes: the room's facts before a frame (clock, chance, swapped seats, policy), the machine
 * outside of the core's savestate (env/outside.h), and the savestate. net/PROTOCOL.md §12, "A snapshot's
 * bytes", has the layout.
 *
 * Equal machines give equal bytes, because the room agrees on their hash. A snapshot comes from another
 * machine, so the reader trusts nothing. The core loads only a state that the room agreed on, because cores'
 * own readers of states were never hardened. */

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

/* --- its files --- */

/* The files that a core has written, as bytes of a snapshot. net/PROTOCOL.md §12, "A snapshot's bytes". They
 * come from another machine, so names and lengths are checked before anything is kept. */

/* The name of a file that cannot be given to other machines, borrowed: it lies in no folder that all machines
 * have, or a system cannot have its name. NULL: all can be given. k NULL: there are none. */
const char *kl_files_kept_back(const struct kl_fileset *k);
/* k: kl_files_kept_back() is NULL. Places in files that the core only reads are left out. */
size_t kl_files_bound(const struct kl_fileset *k);
void kl_files_write(struct kl_writer *w, const struct kl_fileset *k);

/* Reads up to the end of the files; fails if they are malformed. */
void kl_files_read(struct kl_reader *r);
/* The same as a set, which the caller frees; NULL if nothing was written. r: of files that kl_files_read()
 * took. False: no memory, or a name that not every machine can have. */
bool kl_files_make(struct kl_reader r, struct kl_fileset **out);

#endif
