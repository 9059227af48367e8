/* own_options.h - the wrapper's core options, shown by the frontend beside the core's own: keylock_policy,
 * keylock_panel, keylock_do. In a category "Keylock" where the frontend has categories.
 *
 * They never are the core's or the room's: control.h acts on them. */
#ifndef KLW_OWN_OPTIONS_H
#define KLW_OWN_OPTIONS_H

#include <libretro.h>
#include <stdbool.h>

#define KL_OWN_POLICY "keylock_policy" /* room (as it is), strict, bounded, optimistic */
#define KL_OWN_PANEL  "keylock_panel"  /* off, on */
#define KL_OWN_DO     "keylock_do"     /* nothing, or a command: it goes back to nothing once it is given */

/* Forwards one of the declaring calls with ours at its end. True where cmd is one. */
bool kl_own_options_declare(retro_environment_t front, unsigned cmd, const void *data);

/* Declares ours alone, for a core that has none, in the newest way that the frontend knows. */
void kl_own_options_alone(retro_environment_t front);

#endif
