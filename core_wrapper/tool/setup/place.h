/* place.h - the RetroArchs of this machine, and the folders of each for cores, info files, saves and
 * options: from its own configuration, else its defaults.
 *
 * There are three kinds: RetroArch itself (Debian's, whose settings begin as /etc/retroarch.cfg, and
 * upstream's), Flatpak's and Steam's. The last two run in boxes of their own: libraries that the wrapper
 * needs must travel along, and links out of the box do not work. */
#ifndef KLT_PLACE_H
#define KLT_PLACE_H

#include "core_wrapper/tool/setup/settings.h"

enum kl_place_kind { KL_PLACE_NATIVE, KL_PLACE_FLATPAK, KL_PLACE_STEAM };
#define KL_PLACES 3

struct kl_place {
    enum kl_place_kind kind;
    const char *name, *word;   /* "RetroArch (Flatpak)"; "flatpak", as --for has it */
    char config[KLT_PATH];     /* its settings; the file may not be there yet */
    char skeleton[KLT_PATH];   /* file that the settings begin as; "": empty */
    char base[KLT_PATH];       /* its own folders, unless the settings name others */
    struct kl_settings values; /* as they are in force */
    char cores[KLT_PATH], info[KLT_PATH], system[KLT_PATH];
    char saves[KLT_PATH], states[KLT_PATH]; /* "": beside the content */
    char options[KLT_PATH], remaps[KLT_PATH];
    char playlists[KLT_PATH], downloads[KLT_PATH];
    char content[KLT_PATH];       /* the folder that Load Content begins with; "": none is set */
    bool sort_saves, sort_states; /* into a folder of the core's name */
};

/* Finds the RetroArchs of this machine; RetroArch itself counts if it is on PATH or has settings. Returns
 * their number, or -1 with a line in err (unreadable settings). */
int kl_place_find(struct kl_place out[KL_PLACES], char *err, size_t err_len);
void kl_place_free(struct kl_place *p);
/* Reads the settings again, after a change. */
int kl_place_read(struct kl_place *p, char *err, size_t err_len);

/* Sets one key of its settings. Missing settings begin as the skeleton. */
int kl_place_set(struct kl_place *p, const char *key, const char *value, char *err, size_t err_len);

/* A RetroArch of this user with this home runs: it would write its own settings over ours at its end. */
bool kl_place_running(void);

/* A program on PATH. */
bool kl_on_path(const char *name, char *out, size_t cap);

#endif
