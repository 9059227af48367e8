/* reload.h - a core is loaded afresh with a room's start data: on every machine from the same beginning. */
#ifndef KLW_RELOAD_H
#define KLW_RELOAD_H

#include "core_wrapper/env/emulator.h"

/* Turns the imports of a core that was opened late, starts its world, and runs its static constructors: these
 * see the turned world already. Returns 0, or -1 with a line in err, which is in the log, too: its imports
 * are the host's, and it can be played all the same. */
int kl_emulator_turn(struct kl_emulator *e, uint64_t epoch_s, char *err, size_t err_len);

/* The use of rand() that is known of the core with its content, if there is any yet. */
enum kl_rand_use kl_emulator_rand_use(const struct kl_emulator *e);

/* Loads e->content. False: the core refused it. */
bool kl_emulator_load_content(struct kl_emulator *e);
/* The core's own error, if it shows a picture of that error instead of the game: then there is neither memory
 * nor state, and nothing to lock. "": the game has loaded. */
const char *kl_emulator_refusal(struct kl_emulator *e);

/* The core's options, as they are in force, into start data that has none. */
void kl_emulator_put_options(struct kl_emulator *e, struct kl_start *s);

/* The game begins with this state, if it is one: it is loaded, after unseen frames at frame 0 if the core
 * takes none before it has run. Returns 0, or -1 with a line in err. */
int kl_emulator_begin_state(struct kl_emulator *e, const struct kl_start_state *s, char *err, size_t err_len);

/* Opens the library anew, and loads the content with the options, devices and save memory of the start data,
 * and its state if it has one. The save folder stands already. From then on the core sees the session's view
 * of files. Returns 0, or -1 with a line in err. */
int kl_emulator_reload(struct kl_emulator *e, const struct kl_start *s, uint64_t epoch_s, char *err,
                       size_t err_len);

#endif
