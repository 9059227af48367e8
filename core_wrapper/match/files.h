/* files.h - the files that the core has written, beside its state: world/view.h, for the core that is played.
 * docs/design.md §6, "Files". */
#ifndef KLW_FILES_H
#define KLW_FILES_H

#include <stdbool.h>

struct kl_match;
struct kl_emulator;
struct kl_fileset;

/* The files at this moment; *out NULL: the core has written none, or false. False: they cannot be kept, so no
 * state of this moment is whole; the screen says so once. */
bool kl_files_keep(struct kl_match *m, struct kl_fileset **out);
/* As above, and all of them can be given to other machines. */
bool kl_files_give(struct kl_match *m, struct kl_fileset **out);
/* This core goes back to them. ours: they were kept here. False: not all could be had; the log tells the
 * file. */
bool kl_files_back(struct kl_match *m, struct kl_emulator *emu, const struct kl_fileset *files, bool ours);

#endif
