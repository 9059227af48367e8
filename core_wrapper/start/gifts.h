/* gifts.h - small files of the host's system folder, which play along in a room without being compared: high
 * scores, cheats and blending of arcade cores.
 *
 * In a room the core never opens a machine's own copy. It gets the host's, which came with the start data, or
 * there is none on any machine. Their names are a table here; never a path, ROM or BIOS of another machine's.
 */
#ifndef KLW_GIFTS_H
#define KLW_GIFTS_H

#include "core_wrapper/start/savedir.h"
#include "core_wrapper/world/view.h"
#include "core_wrapper/world/world.h"

#define KL_GIFT_BYTES (256u << 10) /* of one file; a larger one is left out on all machines */

/* True for a file that the table names: hiscore.dat, cheats/….ini, blend/….bld, in any folder. */
bool kl_gifts_is(const char *path);

/* The host's: adds those of this content (cheats/STEM.ini) that the core has opened, or looked for, below
 * system_dir, and that are there. */
void kl_gifts_collect(struct kl_savefiles *s, struct kl_world *w, const char *system_dir, const char *stem);

/* Whether a file of the start data may be written into the session's folder: any save file, or a file of the
 * table within its bounds. */
bool kl_gifts_may_write(const struct kl_start_file *f);

/* Of a session. */
struct kl_gifts {
    char system_dir[KL_SAVEDIR_PATH], save_dir[KL_SAVEDIR_PATH], stem[256];
};
/* From now on the core of this world sees the session's view (world/view.h) of these folders and of that of
 * the content, whose path may be NULL. given: of the files of the table below system_dir it sees those that
 * lie in save_dir, or none. g: stays the view's until another begins; the strings are copied. */
void kl_gifts_view(struct kl_gifts *g, struct kl_world *w, const char *system_dir, const char *save_dir,
                   const char *stem, const char *content, bool given);

#endif
