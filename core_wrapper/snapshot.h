/* snapshot.h - the room's snapshots on this machine: taken at a keyframe, said and given to the relay; one
 * that the room agreed on loaded, and what has been run since then run again. docs/design.md §5,
 * net/PROTOCOL.md §7.
 *
 * Serializing and loading are the core's and done where it runs; hashing, packing and unpacking are done in a
 * thread beside it. */
#ifndef KLW_SNAPSHOT_H
#define KLW_SNAPSHOT_H

#include <stdbool.h>
#include <stdint.h>

/* The SNAPSHOT command, before this frame: serializes, and loads that again where the room's cores need it.
 */
void kl_snapshot_take(uint32_t frame);
/* Once a call, in the game: says, gives, loads as far as it is due. */
void kl_snapshot_turn(void);

/* While frames are run again: true, and the turn has been spent on it. Nothing else runs before it is over.
 */
bool kl_snapshot_rerun(uint64_t from_us);
/* One is being loaded, or what follows it is not run yet: the core is not where the room is. */
bool kl_snapshot_busy(void);

/* Nothing is under way; all is freed. Waits for the thread. */
void kl_snapshot_clear(void);

#endif
