/* place.h - the RetroArchs of this machine, and the folders of each for cores, info files, saves and
 * options: from its own configuration, else its defaults.
 *
 * On Linux there are RetroArch itself (Debian's, whose settings begin as /etc/retroarch.cfg, and upstream's),
 * Flatpak's and Steam's; on Windows upstream's, whose settings and folders all lie beside its program, and
 * Steam's. kl_place_look() finds them. */
#ifndef KLT_PLACE_H
#define KLT_PLACE_H

#include <stdbool.h>
#include <stddef.h>

/* Files of lines `key = "value"`: retroarch.cfg, core info files, keylock.cfg. cfg_file.h has
 * the reading rules.
 *
 * A written file keeps every other line, and is written whole or not at all. */

#define KLT_PATH           4096
#define KLT_SETTINGS_BYTES (4u << 20) /* of a file: more is none of RetroArch's */

struct kl_settings {
    char *text; /* the file's text, malloced; "": no file */
    bool there;
};

/* Reads a file. Returns 0, or -1 with a line in err if the file exists and cannot be read. Free s in any
 * case. */
int kl_settings_read(struct kl_settings *s, const char *path, char *err, size_t err_len);
void kl_settings_free(struct kl_settings *s);

/* The value of a key, without its quotes. False if the key is not there; out is then "". */
bool kl_settings_get(const struct kl_settings *s, const char *key, char *out, size_t cap);

/* Replaces the value at the key's first line and removes its further lines, or adds a line at the end. False
 * without memory. */
bool kl_settings_put(struct kl_settings *s, const char *key, const char *value);

/* Writes s->text to path; if path is a link, to its target. Returns 0, or -1 with a line in err. */
int kl_settings_write(const struct kl_settings *s, const char *path, char *err, size_t err_len);

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

/* Sets one key of its settings. Missing settings begin as the skeleton. */
int kl_place_set(struct kl_place *p, const char *key, const char *value, char *err, size_t err_len);

/* A RetroArch of this user (with this home) runs: it would write its own settings over ours at its end. */
bool kl_place_running(void);

/* A core of that name in the folder of one of these; none of a box's, which may need the box's libraries. */
bool kl_place_core(const struct kl_place *place, int places, const char *name, char out[KLT_PATH]);

/* The program of the first RetroArch here that has one. False: there is none. */
bool kl_place_program(char *out, size_t cap);

/* The part of this, and of the advice to players, that each system has its own way for:
 * posix/, windows/. */
/* Words for people. */
struct kl_place_words {
    const char *looked;        /* the places where a RetroArch is looked for */
    const char *get_retroarch; /* how to install it */
    const char *get_core;      /* the place to install a core from */
    const char *get_wrapper;   /* how to install the wrapper, if it is missing */
    const char *mend_wrapper;  /* the same if it does not load */
    const char *games;         /* the folder of the bundled game, below this program's */
};
extern const struct kl_place_words kl_place_words;

/* Fills in kind, name, word, program, config, skeleton, base and info_below of each RetroArch here. Returns
 * their number. */
int kl_place_look(struct kl_place out[KL_PLACES]);
/* The same for the one in this folder. False: there is none. */
bool kl_place_look_at(struct kl_place *p, const char *folder);

/* --- for these two --- */

/* False: longer than KLT_PATH. */
__attribute__((format(__printf__, 2, 3))) bool kl_place_write(char out[KLT_PATH], const char *format, ...);

/* Steam's RetroArch of the Steam in this folder: there, or in another of its libraries. */
bool kl_place_look_at_steam(struct kl_place *p, const char *steam);

#endif
