/* slot.h - the room's one saved state: each machine has a copy of its own. net/PROTOCOL.md §5, Commands.
 *
 * All machines go back to it or none does. So every machine tells the relay the result of a SAVE, and the
 * relay gives a LOAD to the room only if all have the same state. The LOAD names the keyframe, so that a
 * SAVE in between cancels it on every machine. */
#ifndef KLW_SLOT_H
#define KLW_SLOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core_wrapper/env/outside.h"

struct kl_match;
struct kl_fileset;

struct kl_command;
struct kl_order;

/* Everybody serializes, or nobody: for some cores it is not without effect. False: the core did not; the slot
 * is empty then, of that frame, as a state of an earlier one would be another than the others'. */
bool kl_slot_save(struct kl_match *m, uint32_t frame);
/* Loads the state that this LOAD names into this core. 0; -1 with one line of why: it is not in the slot, or
 * the core does not take it. */
int kl_slot_load(struct kl_match *m, struct kl_emulator *emu, const struct kl_command *c, char *why,
                 size_t cap);
/* The state that a LOAD given now would mean. False with one line of why not. */
bool kl_slot_wanted(struct kl_match *m, struct kl_order *o, char *why, size_t cap);

/* Once a call, in the game: tells the relay news of the slot. */
void kl_slot_turn(struct kl_match *m);
/* Empty. */
void kl_slot_clear(struct kl_match *m);
/* The frame of the saved state, plus one; 0: there is none. */
uint32_t kl_slot_saved(const struct kl_match *m);

#endif
