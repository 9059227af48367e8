/* probe.h - the measurements of `keylock probe`: one run, the effect of a snapshot, and core options. */
#ifndef KLT_PROBE_H
#define KLT_PROBE_H

#include <json-c/json.h>

#include "core_wrapper/profile/profile.h"
#include "core_wrapper/tool/desync/machine.h"

/* --- a run --- */

/* One measured run of `keylock probe` and its findings. A run has a process of its own, so that a crashing
 * core ends only that process, and so that address space layout, heap and clock differ as between two
 * machines. */

struct kl_probe_result {
    bool ran;       /* to its end */
    int code;       /* an exit code for keylock probe, if it did not run; 0: none */
    char crash[64]; /* the signal that ended it, in words; "": none */
    char error[KLT_ERR];
    char name[128], version[128];
    char files[300]; /* the file for which a room gives no states, and why; "": there is none */
    struct kl_measure_figures figures;
    struct kl_measure_check *check; /* heap */
    uint8_t **state;                /* heap: of some checks, if they are kept; NULL: not of this one */
    unsigned checks;
};

/* Runs `frames` frames in a machine of its own, with a check after `every`. turn: runs of odd turns have the
 * core at another address, unless setup->same_addresses. keep: keeps the states of some checks. Always fills
 * in r. */
void kl_probe_run(struct kl_probe_result *r, const struct kl_machine_setup *setup, enum kl_measure_mode mode,
                  unsigned turn, uint32_t frames, uint32_t every, bool keep);
void kl_probe_free(struct kl_probe_result *r);

/* Compares the states that two runs kept. */
void kl_probe_compare_states(struct kl_measure_bytes *out, const struct kl_probe_result *a,
                             const struct kl_probe_result *b);

/* --- the effect of a snapshot --- */

/* The effect of a snapshot on a core, for `keylock probe`. A runs through; B loads its own state at a frame;
 * C is fresh and loads that state, as a newcomer does. Then all three play the same on. If A and C part, the
 * room's members must load at a snapshot, too. If B and C part as well, no state brings a newcomer in, only
 * the whole history. */

#define KLT_JOINS 3 /* at a quarter, a half and three quarters of the frames */

/* The profile's verdict on snapshots. */
enum kl_join_verdict {
    KLT_JOIN_UNKNOWN,    /* no savestate, or it did not run */
    KLT_JOIN_NONE,       /* nobody else need load: A, B and C are equal */
    KLT_JOIN_ALL,        /* all must load their own: B and C are equal */
    KLT_JOIN_STATE_ONLY, /* memory stays equal; some bytes of the state do not */
    KLT_JOIN_HISTORY,    /* the game differs: no snapshot works */
};
const char *kl_join_verdict_name(enum kl_join_verdict v); /* "none", "all", "state only", "history" */

struct kl_join_result {
    struct kl_comparison a_b, a_c, b_c; /* over all joins; frames count from the load */
    bool ran, takes;                    /* to the end; the core took every state */
    char error[KLT_ERR];
};

/* Joins at KLT_JOINS frames of `frames`, and compares for `on` frames after each; with random input each time
 * with another seed. Fills in r in any case; free it. */
void kl_join_run(struct kl_join_result *r, const struct kl_machine_setup *setup, uint32_t frames,
                 uint32_t on);
void kl_join_free(struct kl_join_result *r);
enum kl_join_verdict kl_join_judge(const struct kl_join_result *r);

/* Moments in which a memory differed, and in which the savestate did. */
uint32_t kl_join_memory(const struct kl_comparison *c);
uint32_t kl_join_state(const struct kl_comparison *c);

/* --- core options --- */

/* Core options that change the game, for `keylock probe --options`: the same input with each value of each
 * option, a process each, against the run with all defaults. */

#define KLT_PROBED_MAX 2048 /* values in all; more are left out, and that is said */

enum kl_option_effect {
    KLT_EFFECT_NONE,   /* RAM and state stay equal */
    KLT_EFFECT_STATE,  /* RAM, if there is any, stays equal; the state does not */
    KLT_EFFECT_GAME,   /* RAM differs; without exposed RAM the state */
    KLT_EFFECT_BROKEN, /* it crashes, or does not load */
};
const char *kl_option_effect_name(enum kl_option_effect e); /* "none", "state", "game", "broken" */

struct kl_probed_value {
    char key[128], value[128];
    enum kl_option_effect effect;
    uint32_t frame; /* that differed first; STATE and GAME */
};
struct kl_options_result {
    struct kl_probed_value *at; /* heap: every value but those in force, by option */
    unsigned count, left_out;
    char error[KLT_ERR]; /* "": it ran */
};

/* Runs `frames` frames of each value, with progress on standard error if that is a terminal. Values in
 * setup->option stay as they are. Fills in r in any case; free it. */
void kl_options_probe(struct kl_options_result *r, const struct kl_machine_setup *setup, uint32_t frames);
void kl_options_result_free(struct kl_options_result *r);

/* --- findings --- */

/* The findings of `keylock probe` about a core with its content, and the profile from them for programs and
 * rooms (../profile.h). */

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
