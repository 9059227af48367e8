/* own_options.h - the wrapper's core options, shown by the frontend beside the core's own: the panel, the
 * room's policy, budget and spacing, and commands for the whole room. If the frontend has categories, they
 * stand in a category "Keylock".
 *
 * Neither the core nor the room gets these options: control.h acts on them. */
#ifndef KLW_OWN_OPTIONS_H
#define KLW_OWN_OPTIONS_H

#include <libretro.h>
#include <stdbool.h>

#include "core_wrapper/words/config_table.h"

/* The keys that the code asks for; those of other settings are keylock_ and the setting's name. */
#define KL_OWN_MODE     "keylock_mode"     /* auto, alone, quick, room, spectate: choice.h */
#define KL_OWN_ROOM     "keylock_room"     /* own (as configured), or a name */
#define KL_OWN_PRACTICE "keylock_practice" /* on, off */
#define KL_OWN_POLICY   "keylock_policy"   /* room (as it is), strict, bounded, optimistic */
#define KL_OWN_BUDGET   "keylock_budget"   /* room, or milliseconds */
#define KL_OWN_SPACING  "keylock_spacing"  /* room, 0 (follows the link), or frames */
#define KL_OWN_LINE     "keylock_line"     /* off, on */
#define KL_OWN_PANEL    "keylock_panel"    /* off, on */
#define KL_OWN_RECORD   "keylock_record"   /* off, on */
#define KL_OWN_DO       "keylock_do"       /* nothing, or a command */
#define KL_OWN_SWAP     "keylock_swap"     /* nothing, or "A B" */
#define KL_OWN_HOST     "keylock_host"     /* nothing, or a player's number */
#define KL_OWN_SAY      "keylock_say"      /* nothing, or a chat line */
#define KL_OWN_MAX      32

struct kl_own_option {
    const char *key;
    const char *setting; /* of config_table.h; NULL: an action */
    const char *neutral; /* the value that asks for nothing */
    const char *verb; /* its value behind these words is a command; NULL: it is none, and a local setting */
    bool once;        /* it goes back to neutral once it is given; else it stays, and new rooms begin so */
    bool here;        /* it counts on this screen alone, at once: control.c, show_here() */
};
/* The rows of config_table.h that have a menu, then the actions. */
unsigned kl_own_count(void);
const struct kl_own_option *kl_own_option(unsigned i);
/* Whether this word is one of the option's values, or begins one. */
bool kl_own_offers(unsigned i, const char *word);

/* Forwards one of the declaring calls with our options at its end. True if cmd is one. */
bool kl_own_options_declare(retro_environment_t front, unsigned cmd, const void *data);

/* Declares ours alone, for a core that has none, in the newest way that the frontend knows. */
void kl_own_options_alone(retro_environment_t front);

#endif
