/* profile.h - the findings of `keylock probe` about a core with its content, as a room uses them.
 * docs/design.md §6.
 *
 * A profile is a JSON file. Its "key" says for which core and version, content and size of state it counts
 * ("content" has xxh3, or name and members, or name: identity.h). Its "room" holds the settings of a room,
 * and all members must be there:
 *     "mask"          [[first, last], …]: bytes of the state that verdicts ignore; beside equal RAM, a
 *                     difference in the other bytes is then only noted
 *     "states_equal"  nothing of the state is unstable: an unequal state counts as unequal RAM does
 *     "snapshots"     a state holds all of the core; false: no snapshots, newcomers run the history
 *     "load_own"      at a snapshot every machine loads its own state
 *     "hide"          the core may be told which frames are unseen
 *     "hash_every"    frames between hashes, 1 to 65535
 * The host's profile is the room's: it goes to all clients with the start data (start.h).
 *
 * "no_ahead", which may be missing, is this machine's alone: the reason why no second copy of the core may
 * play ahead of the lock here. "pages", which may be missing, is true if a run that went back by the pages of
 * its memory (world/pages.h) was equal to one that never went back. */
#ifndef KLW_PROFILE_H
#define KLW_PROFILE_H

#include "net/engine/facts.h"
#include "core_wrapper/profile/mask.h"

#define KL_PROFILE_FORMAT     2         /* of "keylock_profile" */
#define KL_PROFILE_MAX        (4 << 20) /* bytes of a file */
#define KL_PROFILE_NAME_MAX   256       /* bytes of its name, NUL included */
#define KL_PROFILE_REASON_MAX 200       /* of "no_ahead", NUL included; a longer one is cut */

/* A room's settings from a profile. Zero means a room without a profile, but for hash_every. */
struct kl_profile_room {
    struct kl_mask mask; /* state_bytes 0: states of any size, and no mask */
    bool states_equal, load_own, show_all, no_snapshots;
    uint16_t hash_every; /* not in the start data: it is one of the room's params */
};
struct kl_profile {
    char core[KL_FACT_VAL_MAX], content[KL_FACT_VAL_MAX];
    char no_ahead[KL_PROFILE_REASON_MAX]; /* "": one may, or nobody has tried */
    bool pages;                           /* that copy may go back by the pages of its memory */
    struct kl_profile_room room;
};

/* Returns 0, or -1 with a line in err that names the expected and the actual value; p is undefined then.
 * text ends with a NUL at text[len]. */
int kl_profile_parse(struct kl_profile *p, const char *text, size_t len, char *err, size_t err_len);
/* kl_profile_parse() for a file. Returns 1 if there is no file. */
int kl_profile_read(struct kl_profile *p, const char *path, char *err, size_t err_len);

/* The file name of a profile in a folder of profiles, from core and content as kl_identity_* give them. */
void kl_profile_name(char out[KL_PROFILE_NAME_MAX], const char *core, const char *content);

/* The content of a profile for all games of a core whose states have this size (0: no constant size). Of its
 * "room" only the mask, load_own and hide count. */
void kl_profile_any(char out[KL_FACT_VAL_MAX], uint64_t state_bytes);
/* Adds the findings of another game with states of this size. A mask that would become too large stays as it
 * is. */
void kl_profile_any_add(struct kl_profile_room *p, const struct kl_profile_room *more);

/* True if the profile is of this core and content; else err names the expected and the actual ones. */
bool kl_profile_fits(const struct kl_profile *p, const char *core, const char *content, char *err,
                     size_t err_len);

/* Frames between hashes: 60, or more if serializing would take more than 1/500 of the machine's time at 60
 * fps; 3600 at most. */
uint16_t kl_profile_hash_every(double serialize_us);

#endif
