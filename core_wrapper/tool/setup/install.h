/* install.h - wrapped cores in one RetroArch: a copy of the wrapper for each, under a name that tells it its
 * core. Paths are as in file.h.
 *
 * A copy, not a link: RetroArch hands dlopen the name it found, and two links to one file are one library to
 * the loader, which then has the name of the first; a link out of a box (Flatpak, Steam) leads nowhere; and a
 * copy that is replaced leaves a running game the old one. */
#ifndef KLT_INSTALL_H
#define KLT_INSTALL_H

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

#endif
