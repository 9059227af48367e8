/* snapshot.h - the room's snapshots on this machine, and the core's own files that belong to its states. */
#ifndef KLW_SNAPSHOT_H
#define KLW_SNAPSHOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core_wrapper/match/snapshot_form.h"

struct kl_emulator;
struct kl_fileset;
struct kl_match;

/* --- snapshots --- */

/* The room's snapshots on this machine: takes a snapshot at a keyframe, reports its hash and gives it to the
 * relay; unpacks one that comes. Keeps its own newest states. heal.c loads them. docs/design.md §5,
 * net/PROTOCOL.md §7.
 *
 * Serializing runs in the core's thread; hashing, packing and unpacking in a thread beside it. */

/* True if this room's machines give each other states: neither the profile nor the core says otherwise. */
bool kl_snapshot_given(const struct kl_match *m);
/* The SNAPSHOT command, before this frame: serializes, and loads the state again if the room's cores need
 * that. */
void kl_snapshot_take(struct kl_match *m, uint32_t frame);
/* A marked keyframe: the core was serialized for its hash, into m->play.buffer. Keeps that as an own state.
 */
void kl_snapshot_keep(struct kl_match *m, uint32_t frame);
/* All of this machine before that frame and its commands: the core's state is in m->play.buffer. bytes: of
 * malloc. False: it cannot be kept. */
bool kl_snapshot_machine(struct kl_match *m, uint32_t frame, uint8_t **bytes, size_t *len,
                         struct kl_fileset **files);
/* Once a call, in the game and in a room: says and gives as far as it is due. */
void kl_snapshot_turn(struct kl_match *m);
/* The state that has come, or is being unpacked, is of a frame that was lost with the relay's record: the
 * room never had it. */
void kl_snapshot_drop_got(struct kl_match *m);
/* Tells the relay the result of a healing. */
void kl_snapshot_say_healed(struct kl_match *m, struct kl_healed h);
/* True while a snapshot is loaded or the frames after it are still to run: the core is not at the room's
 * frame. */
bool kl_snapshot_busy(struct kl_match *m);

/* Nothing is under way; all is freed. Waits for the thread. */
void kl_snapshot_clear(struct kl_match *m);

/* The files that a snapshot needed and this machine lacks, in words; "": none. */
const char *kl_snapshot_lacked(const struct kl_match *m);

/* This machine loads a state that the room agreed on, or goes back to one of its own if the room
 * asks for that, and runs the later frames again. The states are above. docs/design.md §5,
 * net/PROTOCOL.md §7. */

/* Once a call, in the game: kl_snapshot_turn(), then loads as far as it is due. */
void kl_heal_turn(struct kl_match *m);
/* While frames are run again: true, and the turn has been spent on it. Nothing else runs before it is over.
 */
bool kl_heal_rerun(struct kl_match *m, uint64_t from_us);

/* A machine of kl_snapshot_machine(), of this process, in this one's place. False: the core did not take it,
 * and may stand anywhere. */
bool kl_heal_put(struct kl_match *m, const uint8_t *bytes, size_t len, const struct kl_fileset *files);

/* True while frames are run again. */
bool kl_heal_runs(const struct kl_match *m);

/* --- the files of a state --- */

/* The files that the core has written, beside its state: world/view.h, for the core that is played.
 * docs/design.md §6, "Files". */

/* The files at this moment; *out NULL: the core has written none, or false. False: they cannot be kept, so no
 * state of this moment is whole; the screen says so once. */
bool kl_files_keep(struct kl_match *m, struct kl_fileset **out);
/* As above, and all of them can be given to other machines. */
bool kl_files_give(struct kl_match *m, struct kl_fileset **out);
/* This core goes back to them. ours: they were kept here. False: not all could be had; the log tells the
 * file. */
bool kl_files_back(struct kl_match *m, struct kl_emulator *emu, const struct kl_fileset *files, bool ours);

#endif
