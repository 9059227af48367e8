/* findings.h - the findings of `keylock probe` about a core with its content, and the profile from them for
 * programs and rooms (../profile.h). */
#ifndef KLT_FINDINGS_H
#define KLT_FINDINGS_H

#include <json-c/json.h>

#include "core_wrapper/profile/profile.h"
#include "core_wrapper/tool/probe/probe.h"

/* How two runs compare over the frames that both checked. */
struct kl_agreement {
    unsigned compared, ram_bad, state_bad, av_bad;
    bool has_ram, has_state;
};

struct kl_agreement kl_agreement_between(const struct kl_probe_result *a, const struct kl_probe_result *b);
/* Of a run that compares within itself (REPLAY, TWICE). */
struct kl_agreement kl_agreement_within(const struct kl_probe_result *r);

struct kl_findings {
    const struct kl_probe_result *run;                    /* the first plain one */
    char core[KL_FACT_VAL_MAX], content[KL_FACT_VAL_MAX]; /* as identity.h has them */
    uint64_t state_least, state_most;                     /* bytes; 0: no savestate */
    bool fit;
    char verdict[256];
    bool reads_clock;       /* it is equal only in the virtual world */
    bool hidden_changes;    /* frames without picture are played differently: KEYLOCK_HIDE=off */
    bool serialize_changes; /* serializing changes the game */
    bool serialize_marks;   /* serializing changes only the state, as far as RAM shows */
    bool twice_differs;     /* two serializes of one frame */
    bool pages;             /* that copy may go back by the pages of its memory */
    char no_ahead[KL_PROFILE_REASON_MAX];       /* the reason why no second copy may play ahead; "": it may */
    struct kl_agreement runs[KL_MEASURE_MODES]; /* each with the first plain one, or within itself */
    const struct kl_measure_bytes *unstable;    /* between two runs */
    uint64_t load_back_bytes;          /* of the state that differed after a load and some frames again */
    const struct kl_join_result *join; /* NULL: not tried */
    const struct kl_options_result *options; /* NULL: not tried */
};

/* May `bytes` of unstable bytes be left out when states are compared? Only of states of constant size. */
bool kl_findings_maskable(const struct kl_findings *p, uint64_t bytes);
/* Makes the room's settings. The mask covers whole words of 4 bytes: if the low bytes of a counter have
 * differed, its high bytes will differ later. Without memory: no mask, and states do not count as equal. */
void kl_findings_room(const struct kl_findings *p, struct kl_profile_room *out);
json_object *kl_findings_json(const struct kl_findings *p);
/* The profile for all games of the core whose states have this size (../profile.h, kl_profile_any). */
json_object *kl_findings_any_json(const struct kl_findings *p, const struct kl_profile_room *room);

#endif
