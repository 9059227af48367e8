/* room_profile.h - the profile (profile.h) that a room of ours is made with, and the one that the room we are
 * in goes by: the host's, from the start data. */
#ifndef KLW_ROOM_PROFILE_H
#define KLW_ROOM_PROFILE_H

#include "net/engine/msg.h"
#include "core_wrapper/profile.h"

/* Looks for a profile of what these facts say: KEYLOCK_PROFILE, a file or a folder of them, else the folder
 * "profiles" beside the seats. What does not fit, and a bad file that nobody has named, is told and ignored.
 * False: the file that was named is none or bad; kl_wrapper_fail has said so. */
bool kl_room_profile_find(const struct kl_facts *facts);

/* Frames between hashes, where the player has not said any. */
void kl_room_profile_wish(struct kl_params *p);

/* Ours, and what the player has said, into the start data; the room's out of it. */
void kl_room_profile_put(struct kl_profile_room *out);
void kl_room_profile_take(const struct kl_profile_room *in);

/* What verdicts compare of a state: its hash without what is masked. Says in h how an unequal one counts. */
uint64_t kl_room_profile_hash(const uint8_t *state, size_t len, struct kl_hash *h);

#endif
