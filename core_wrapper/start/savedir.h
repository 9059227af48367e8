/* savedir.h - the folders of a session, its save files, and the small files that its host gives. */
#ifndef KLW_SAVEDIR_H
#define KLW_SAVEDIR_H

#include "core_wrapper/start/start.h"
#include "core_wrapper/world/view.h"
#include "core_wrapper/world/world.h"

/* --- folders --- */

/* The folders of a session, and the save files in them.
 *
 * A session never writes into the player's save folder. It has its own folders below
 * $XDG_STATE_HOME/keylock/sessions (or ~/.local/state/…): ROOM-PID/first for the load that only makes the
 * core known, ROOM-PID/save and save-2 in turn for the load that is played, ROOM-PID/shown for the core that
 * runs ahead of it. Beside each, in NAME.view, lie the files that the core writes elsewhere (world/view.h).
 * They are removed at the end; the next session removes the folders of a killed process. */

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

/* --- small files of the host --- */

/* Small files of the host's system folder, which play along in a room without being compared: high scores,
 * cheats and blending of arcade cores.
 *
 * In a room the core never opens a machine's own copy. It gets the host's, which came with the start data, or
 * there is none on any machine. Their names are a table here; never a path, ROM or BIOS of another
 * machine's. */

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
