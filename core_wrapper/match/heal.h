/* heal.h - this machine loads a state that the room agreed on, or goes back to one of its own if the room
 * asks for that, and runs the later frames again. snapshot.h has the states. docs/design.md §5,
 * net/PROTOCOL.md §7. */
#ifndef KLW_HEAL_H
#define KLW_HEAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kl_match;
struct kl_fileset;

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

#endif
