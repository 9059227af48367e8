/* snapshot.h - the room's snapshots on this machine: takes a snapshot at a keyframe, reports its hash and
 * gives it to the relay; loads a snapshot that the room agreed on, and runs the later frames again. Keeps its
 * own newest states, and goes back to one of them if the room asks for that. docs/design.md §5,
 * net/PROTOCOL.md §7.
 *
 * Serializing and loading run in the core's thread; hashing, packing and unpacking in a thread beside it. */
#ifndef KLW_SNAPSHOT_H
#define KLW_SNAPSHOT_H

#include <stdbool.h>
#include <stdint.h>

/* The SNAPSHOT command, before this frame: serializes, and loads the state again if the room's cores need
 * that. */
void kl_snapshot_take(uint32_t frame);
/* A marked keyframe: the core was serialized for its hash, into kl_w.play.buffer. Keeps that as an own state.
 */
void kl_snapshot_keep(uint32_t frame);
/* The room's slot has another save: own states from before are of no use, since frames after them may load
 * the old one. */
void kl_snapshot_forget_own(void);
/* Once a call, in the game: says, gives, loads as far as it is due. */
void kl_snapshot_turn(void);

/* While frames are run again: true, and the turn has been spent on it. Nothing else runs before it is over.
 */
bool kl_snapshot_rerun(uint64_t from_us);
/* True while a snapshot is loaded or the frames after it are still to run: the core is not at the room's
 * frame. */
bool kl_snapshot_busy(void);

/* Nothing is under way; all is freed. Waits for the thread. */
void kl_snapshot_clear(void);

#endif
