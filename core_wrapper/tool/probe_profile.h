/* probe_profile.h - what `keylock probe` found out of a core with its content, for programs. A profile counts
 * for one core version, content and size of state: its "key". */
#ifndef KLT_PROBE_PROFILE_H
#define KLT_PROBE_PROFILE_H

#include <json-c/json.h>

#include "probe.h"
#include "probe_join.h"
#include "probe_options.h"

#define KLT_MASK_PERCENT 1 /* of the state: what differs in more is a finding, not a mask. DESIGN.md §6 */

struct kl_profile {
    const struct kl_probe_result *run; /* the first plain one */
    char content[KL_STATEFILE_TEXT];   /* as identity.h has it */
    uint64_t state_least, state_most;  /* bytes; 0: no savestate */
    bool fit;
    char verdict[256];
    bool reads_clock;       /* it is equal only in the virtual world */
    bool hidden_changes;    /* frames without picture are played differently: KEYLOCK_HIDE=off */
    bool serialize_changes; /* … the game */
    bool twice_differs;     /* two serializes of one frame */
    const struct kl_probe_bytes *unstable;   /* between two runs */
    const struct kl_join_result *join;       /* NULL: not tried */
    const struct kl_options_result *options; /* NULL: not tried */
};

/* May `bytes` of unstable bytes be left out when states are compared? Only of states of constant size. */
bool kl_profile_maskable(const struct kl_profile *p, uint64_t bytes);
json_object *kl_profile_json(const struct kl_profile *p);

#endif
