/* install.h - wrapped cores in one RetroArch: a copy of the wrapper for each, under a name that tells it its
 * core. Paths are as in file.h.
 *
 * A copy, not a link: RetroArch hands dlopen the name it found, and two links to one file are one library to
 * the loader, which then has the name of the first; a link out of a box (Flatpak, Steam) leads nowhere; and a
 * copy that is replaced leaves a running game the old one. */
#ifndef KLT_INSTALL_H
#define KLT_INSTALL_H

#include <stddef.h>

#include "core_wrapper/tool/common/tool.h"
#include "core_wrapper/tool/setup/place.h"

#define KLT_CORE_NAME 128

/* Finds the core's name: "fbneo" from "fbneo", "fbneo_libretro.so" or a path to that. False for a text that
 * cannot be one, also for a wrapper. */
bool kl_install_name(const char *text, char out[KLT_CORE_NAME]);

enum kl_installed {
    KL_NOT_INSTALLED,
    KL_INSTALLED,
    KL_INSTALLED_OTHER /* by another build of the wrapper */
};
enum kl_installed kl_install_state(const struct kl_place *p, const char *name, const char *wrapper);

bool kl_install_has_core(const struct kl_place *p, const char *name);

/* Installs the core there and prints its steps on standard output. Returns 0, or -1 with a line in err. */
int kl_install_core(struct kl_place *p, const char *name, const char *wrapper, char *err, size_t err_len);
/* By RetroArch's settings and its override for the core of that (wrapped) name: it runs on behind the menu
 * and without focus. */
bool kl_install_runs_on(const struct kl_place *p, const char *locked);
/* A core that lies elsewhere: a link to it, and to the info file beside it, among the others; or copies of
 * both. */
int kl_install_get(struct kl_place *p, const char *name, const char *path, char *err, size_t err_len);
/* 1: it was not there. */
int kl_install_remove(struct kl_place *p, const char *name, char *err, size_t err_len);

/* RetroArch reads its info files again: it keeps a cache of them. */
void kl_install_refresh(const struct kl_place *p);

/* The core info file of a wrapped core: the inner core's file with the wrapper's own values. */

#define KL_TITLE_BYTES 256

/* The wrapped core's name in RetroArch's list, "Keylock: NES (Nestopia)". RetroArch's default menu cuts long
 * names, so the part comes first that tells it from the bare core's "Nintendo - NES / Famicom (Nestopia UE)".
 */
void kl_info_title(const struct kl_settings *inner, const struct kl_card *card, char out[KL_TITLE_BYTES]);

/* inner: the inner core's info file, possibly not there. The text, malloced; NULL without memory. */
char *kl_info_make(const struct kl_settings *inner, const struct kl_card *card);

/* If RetroArch's folder of cores or info files belongs to root: makes a folder of the user's
 * own, with links to all files there, and names it in RetroArch's settings. Also undoes that. */

enum kl_folder_kind { KL_FOLDER_CORES, KL_FOLDER_INFO };

/* Makes sure that the user can write into that folder, and prints each change on standard output. A folder
 * made earlier gets links to new files. Returns 0, or -1 with a line in err. */
int kl_own_folder(struct kl_place *p, enum kl_folder_kind kind, char *err, size_t err_len);

/* The folder holds none of our files any more: removes links and folder, if kl_own_folder() made them, and
 * sets RetroArch's setting back. Returns as kl_own_folder(). */
int kl_own_folder_undo(struct kl_place *p, enum kl_folder_kind kind, char *err, size_t err_len);

/* Options and saves of a bare core, given to the wrapped one: by copy, once. RetroArch keeps
 * both under a core's library_name, and the wrapped core has another. */

/* Copies the files of folders named `bare` to folders named `locked`; files named after the core get the new
 * name. An existing folder stays as it is. Counts files in *copied. Returns 0, or -1 with a line in err:
 * some files may then be copied. */
int kl_takeover(const struct kl_place *p, const char *bare, const char *locked, unsigned *copied, char *err,
                size_t err_len);

/* The libraries that the wrapper needs, put beside it if RetroArch runs in a box that may lack
 * them (Flatpak, Steam). The wrapper looks in "keylock-libs" beside itself first (its RUNPATH). */

#define KLT_TRAVEL_FOLDER "keylock-libs"

/* Copies them below `cores`. Those of the C library and the compiler stay: they are the box's own.
 * said: their names with blanks between. 0, or -1 with a line in err. */
int kl_travel(const char *wrapper, const char *cores, char *said, size_t said_len, char *err, size_t err_len);

#endif
