/* place.h - the RetroArchs of this machine, and the folders of each for cores, info files, saves and
 * options: from its own configuration, else its defaults.
 *
 * On Linux there are RetroArch itself (Debian's, whose settings begin as /etc/retroarch.cfg, and upstream's),
 * Flatpak's and Steam's; on Windows upstream's, whose settings and folders all lie beside its program, and
 * Steam's. place_system.h finds them. */
#ifndef KLT_PLACE_H
#define KLT_PLACE_H

#include "core_wrapper/tool/setup/settings.h"

/* How a core that lies elsewhere gets among those of a RetroArch. */
enum kl_place_kind {
    KL_PLACE_LINKS,  /* by a link */
    KL_PLACE_COPIES, /* by a copy: links need a right there */
    KL_PLACE_BOX,    /* not at all: it runs in a box, which also may lack libraries that the wrapper needs */
};
#define KL_PLACES 3

struct kl_place {
    enum kl_place_kind kind;
    const char *name, *word;   /* "RetroArch (Flatpak)"; "flatpak", as --for has it */
    char program[KLT_PATH];    /* "": nothing that could be started from here */
    char config[KLT_PATH];     /* its settings; the file may not be there yet */
    char skeleton[KLT_PATH];   /* file that the settings begin as; "": empty */
    char base[KLT_PATH];       /* its own folders, unless the settings name others */
    const char *info_below;    /* the folder of info files there, unless the settings name another */
    struct kl_settings values; /* as they are in force */
    char cores[KLT_PATH], info[KLT_PATH], system[KLT_PATH];
    char saves[KLT_PATH], states[KLT_PATH]; /* "": beside the content */
    char options[KLT_PATH], remaps[KLT_PATH];
    char playlists[KLT_PATH], downloads[KLT_PATH];
    char content[KLT_PATH];       /* the folder that Load Content begins with; "": none is set */
    bool sort_saves, sort_states; /* into a folder of the core's name */
};

/* Finds the RetroArchs of this machine; RetroArch itself counts if its program or its settings are found.
 * Returns their number, or -1 with a line in err (unreadable settings). */
int kl_place_find(struct kl_place out[KL_PLACES], char *err, size_t err_len);
/* The RetroArch whose settings and folders all lie in this folder. Returns 1; 0 if there is none; -1 with a
 * line in err. */
int kl_place_at(struct kl_place *out, const char *folder, char *err, size_t err_len);
void kl_place_free(struct kl_place *p);
/* Reads the settings again, after a change. */
int kl_place_read(struct kl_place *p, char *err, size_t err_len);

/* Sets one key of its settings. Missing settings begin as the skeleton. */
int kl_place_set(struct kl_place *p, const char *key, const char *value, char *err, size_t err_len);

/* A RetroArch of this user (with this home) runs: it would write its own settings over ours at its end. */
bool kl_place_running(void);

/* A core of that name in the folder of one of these; none of a box's, which may need the box's libraries. */
bool kl_place_core(const struct kl_place *place, int places, const char *name, char out[KLT_PATH]);

/* The program of the first RetroArch here that has one. False: there is none. */
bool kl_place_program(char *out, size_t cap);

#endif
