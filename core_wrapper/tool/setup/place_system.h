/* place_system.h - the part of place.h, and of the advice to players, that each system has its own way for:
 * posix/, windows/. */
#ifndef KLT_PLACE_SYSTEM_H
#define KLT_PLACE_SYSTEM_H

#include "core_wrapper/tool/setup/place.h"

/* Words for people. */
struct kl_place_words {
    const char *looked;        /* the places where a RetroArch is looked for */
    const char *get_retroarch; /* how to install it */
    const char *get_core;      /* the place to install a core from */
    const char *get_wrapper;   /* how to install the wrapper, if it is missing */
    const char *mend_wrapper;  /* the same if it does not load */
    const char *games;         /* the folder of the bundled game, below this program's */
};
extern const struct kl_place_words kl_place_words;

/* Fills in kind, name, word, program, config, skeleton, base and info_below of each RetroArch here. Returns
 * their number. */
int kl_place_look(struct kl_place out[KL_PLACES]);
/* The same for the one in this folder. False: there is none. */
bool kl_place_look_at(struct kl_place *p, const char *folder);

/* --- for these two --- */

/* False: longer than KLT_PATH. */
__attribute__((format(__printf__, 2, 3))) bool kl_place_write(char out[KLT_PATH], const char *format, ...);

/* Steam's RetroArch of the Steam in this folder: there, or in another of its libraries. */
bool kl_place_look_at_steam(struct kl_place *p, const char *steam);

#endif
