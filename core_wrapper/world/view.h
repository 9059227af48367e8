/* view.h - the session's view of the files that a core opens. docs/design.md §6, "Files".
 *
 * In a session no file of the player's is ever written. A file that the core opens for writing becomes the
 * session's own: a copy of the player's, or a new one. From then on all calls with its path go to the
 * session's. The core's save folder is the session's own already, so its files stay where they are. All
 * others lie in a folder beside it, each under the name of its root: "system/fbneo/hiscore.dat" is of the
 * system folder. So names are equal on all machines, wherever their folders are.
 *
 * They are real files, not memory: every call of the C library and of other libraries works on them, on both
 * systems alike. */
#ifndef KLW_WORLD_VIEW_H
#define KLW_WORLD_VIEW_H

#include <stdbool.h>
#include <stddef.h>

#include "core_wrapper/world/view_state.h"

/* The folders of a session: absolute, or "". Borrowed for the call. */
struct kl_view_folders {
    const char *save; /* the core's save folder, which is the session's */
    const char *own;  /* for the session's other files: it is emptied, and made when it is needed */
    const char *system, *content; /* the player's */
    kl_sight_of sight;            /* NULL: all are in sight */
    void *ctx;
};

struct kl_world;

/* From now on; forgets all files of the session before. NULL: all files are opened as they are. */
void kl_world_view(struct kl_world *w, const struct kl_view_folders *folders);

/* After each frame: what the core has written is in its files, so that all machines read the same. */
void kl_world_files_settle(struct kl_world *w);
/* The files at this moment. *out: the caller frees it; NULL if the core has written nothing. 0, or -1 with a
 * line in why, and *out NULL: these files cannot be kept. */
int kl_world_files_keep(struct kl_world *w, struct kl_fileset **out, char *why, size_t cap);
/* Goes back to these files: bytes, lengths, dates, and the places of the files that are open. k NULL: nothing
 * was written. ours: this world kept them; otherwise another core of the room did, here or elsewhere, and its
 * open files are known by their order. False: not all of it could be done. */
bool kl_world_files_back(struct kl_world *w, const struct kl_fileset *k, bool ours);
/* The place of a file that the core has written; false: of none by this name. For tests and messages. */
bool kl_world_file_at(struct kl_world *w, const char *name, char out[KL_FILE_PATH]);

#endif
