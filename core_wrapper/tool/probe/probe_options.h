/* probe_options.h - core options that change the game, for `keylock probe --options`: the same input with
 * each value of each option, a process each, against the run with all defaults. */
#ifndef KLT_PROBE_OPTIONS_H
#define KLT_PROBE_OPTIONS_H

#include "core_wrapper/tool/desync/machine.h"

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

#endif
