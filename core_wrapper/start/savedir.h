/* savedir.h - the folders of a session, and the save files in them.
 *
 * A session never writes into the player's save folder. It has its own folders below
 * $XDG_STATE_HOME/keylock/sessions (or ~/.local/state/…): ROOM-PID/first for the load that only makes the
 * core known, ROOM-PID/save and save-2 in turn for the load that is played, ROOM-PID/shown for the core that
 * runs ahead of it. Beside each, in NAME.view, lie the files that the core writes elsewhere (world/view.h).
 * They are removed at the end; the next session removes the folders of a killed process. */
#ifndef KLW_SAVEDIR_H
#define KLW_SAVEDIR_H

#include "core_wrapper/start/start.h"

#define KL_SAVEDIR_PATH  4096
#define KL_SAVEDIR_BYTES (8u << 20) /* of save files that a host gives */
#define KL_SAVEDIR_DEPTH 3          /* folders below the save directory that are looked into */

struct kl_savedir {
    char root[KL_SAVEDIR_PATH]; /* ROOM-PID; "": none */
    bool second;                /* save-2 is next in turn */
};

/* Makes root (0700), empty, and removes sessions of processes that are gone. base NULL: the usual place.
 * 0, or -1 with a line in err. */
int kl_savedir_open(struct kl_savedir *d, const char *base, const char *room, char *err, size_t err_len);
/* Makes the folder `name` in root afresh and gives its path. Same errors. */
int kl_savedir_fresh(const struct kl_savedir *d, const char *name, char *out, size_t cap, char *err,
                     size_t err_len);
/* Removes root and all below it. */
void kl_savedir_close(struct kl_savedir *d);

/* Files that a player keeps for one content. */
struct kl_savefiles {
    unsigned count;
    size_t bytes;
    struct {
        char path[KL_START_PATH_MAX]; /* relative */
        uint8_t *bytes;
        size_t len;
    } file[KL_START_FILES];
};
/* Reads the file `path` below dir, unless it is already read. Refused are links, files that are not plain,
 * the frontend's own files (.srm, .rtc, .state…), and files above the bounds. Returns whether the file is in
 * now. */
bool kl_savefiles_add(struct kl_savefiles *s, const char *dir, const char *path);
/* Adds every file below dir whose name, or whose folder's name, is `stem` or starts with it and goes on with
 * something that is no letter or digit. */
void kl_savefiles_collect(struct kl_savefiles *s, const char *dir, const char *stem);
void kl_savefiles_free(struct kl_savefiles *s);

/* Writes a file below dir, which must exist, making folders on the way. The path is checked; no link is
 * followed, no file overwritten. 0, or -1 with a line in err. */
int kl_savedir_write(const char *dir, const char *path, const void *bytes, size_t len, char *err,
                     size_t err_len);

#endif
