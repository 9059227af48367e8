/* quirks.h - a core's word on its own savestates (SET_SERIALIZATION_QUIRKS), and the meaning of each quirk
 * for every use of a state. One table; env/README.md has it in words. Pure. */
#ifndef KLW_QUIRKS_H
#define KLW_QUIRKS_H

#include <stdbool.h>
#include <stdint.h>

enum kl_state_use {
    KL_STATE_GIVEN,   /* another machine loads it: joining, watching, healing by the others' state */
    KL_STATE_OWN,     /* this process loads it again: going back, the room's slot */
    KL_STATE_SHOWN,   /* a second copy of the core in this process loads it: running ahead */
    KL_STATE_COMPARED /* its hash is compared with other machines' */
};

#define KL_QUIRKS_PLATFORM_MAX 32 /* bytes, NUL included */

/* The answer to a core that declares these quirks: as if the frontend supported every quirk that libretro
 * names, and states of changing size. The same on every machine. */
uint64_t kl_quirks_answer(uint64_t declared);
/* False: a core with these quirks may not have its states used so. */
bool kl_quirks_allow(uint64_t quirks, enum kl_state_use use);
/* Why not, for a screen: under 60 characters. "": it is allowed. */
const char *kl_quirks_why(uint64_t quirks, enum kl_state_use use);
/* The core takes no state before it has run some frames. */
bool kl_quirks_warm_up(uint64_t quirks);
/* The machines that may load such a state: "" for all; else the byte order of this one, or its processor and
 * this system. Machines of equal texts may exchange states. system: kl_world_system. */
void kl_quirks_platform(uint64_t quirks, const char *system, char platform[KL_QUIRKS_PLATFORM_MAX]);

#endif
