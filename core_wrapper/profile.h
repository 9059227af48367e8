/* profile.h - what `keylock probe` found out of a core with its content, as a room uses it. docs/design.md
 * §6.
 *
 * A JSON file. It counts for one core and version, one content and one size of state ("key"; its
 * "content" has xxh3, or name and members, or name: identity.h); what a room
 * does of it is its object "room", all of whose members must be there:
 *     "mask"          [[first, last], …]: bytes of the state that verdicts do not look at; beside equal RAM
 *                     an unequal rest is then only noted
 *     "states_equal"  nothing of the state is unstable: an unequal state counts as unequal RAM does
 *     "snapshots"     a state holds all of the core; else none is taken: who joins runs the history
 *     "load_own"      at a snapshot every machine loads its own state
 *     "hide"          the core may be told which frames nobody sees
 *     "hash_every"    frames between hashes, 1 to 65535
 * The host's profile is the room's: it goes to all with the start data (start.h). */
#ifndef KLW_PROFILE_H
#define KLW_PROFILE_H

#include "net/engine/facts.h"
#include "core_wrapper/mask.h"

#define KL_PROFILE_FORMAT   2         /* of "keylock_profile" */
#define KL_PROFILE_MAX      (4 << 20) /* bytes of a file */
#define KL_PROFILE_NAME_MAX 256       /* bytes of its name, NUL included */

/* What a room does by it. Zero is what a room does without a profile, but for hash_every. */
struct kl_profile_room {
    struct kl_mask mask; /* state_bytes 0: states of any size, and no mask */
    bool states_equal, load_own, show_all, no_snapshots;
    uint16_t hash_every; /* not in the start data: it is one of the room's params */
};
struct kl_profile {
    char core[KL_FACT_VAL_MAX], content[KL_FACT_VAL_MAX];
    struct kl_profile_room room;
};

/* 0, or -1 with a line in err that says what was expected and what came; p is undefined then. text ends with
 * a NUL at text[len]. */
int kl_profile_parse(struct kl_profile *p, const char *text, size_t len, char *err, size_t err_len);
/* The same of a file; 1 where there is none. */
int kl_profile_read(struct kl_profile *p, const char *path, char *err, size_t err_len);

/* The name that a profile has in a folder of them: of core and content, as kl_identity_* say them. */
void kl_profile_name(char out[KL_PROFILE_NAME_MAX], const char *core, const char *content);

/* Is it of this core and content? False with a line that says what it is of, and what is here. */
bool kl_profile_fits(const struct kl_profile *p, const char *core, const char *content, char *err,
                     size_t err_len);

/* 60 frames, or more where serializing takes so long that at 60 fps it would be more than 1/500 of the
 * machine's time; 3600 at most. */
uint16_t kl_profile_hash_every(double serialize_us);

#endif
