/* dir.h - folders: made, listed, removed with all that is in them, and those that every user has.
 *
 * An error is one line in err that names the path and the reason. */
#ifndef KL_PLATFORM_DIR_H
#define KL_PLATFORM_DIR_H

#include <stdbool.h>
#include <stddef.h>

/* Makes the folder and what leads to it. only_ours: new ones get mode 0700, else as the umask says.
 * 0, also if it was there; -1 with a line in err. */
int kl_dir_make(const char *path, bool only_ours, char *err, size_t err_len);
/* Makes a folder of mode 0700 that must not be there, in one that must. 0, or -1 with a line in err. */
int kl_dir_make_new(const char *path, char *err, size_t err_len);
/* Makes a new folder of our own in the user's temporary one, PREFIX-XXXXXX. 0, or -1 with a line in err and
 * out "". */
int kl_dir_make_temporary(char *out, size_t cap, const char *prefix, char *err, size_t err_len);

bool kl_dir_exists(const char *path);
bool kl_dir_writable(const char *path); /* it exists, and we may make files in it */
/* May users other than its owner make files in it? True also if that cannot be found out. */
bool kl_dir_others_write(const char *path);

/* The names in a folder in the order of their bytes, without "." and "..". */
struct kl_dir_list {
    char **name; /* heap */
    unsigned count;
};
/* Only names with this ending; "": all. 0; -1 with a line in err, and the list is empty. */
int kl_dir_list(struct kl_dir_list *list, const char *path, const char *ending, char *err, size_t err_len);
void kl_dir_list_free(struct kl_dir_list *list);

/* Removes a folder or file and all below it; links are removed, not followed. Other file systems that are
 * mounted below stay. Says nothing of what cannot be removed. path "": nothing. */
void kl_dir_remove_tree(const char *path);
/* Removes a folder if it is empty. */
void kl_dir_remove_empty(const char *path);

enum kl_dir_known {
    KL_DIR_HOME,
    KL_DIR_STATE,     /* what programs keep between runs: $XDG_STATE_HOME, or ~/.local/state */
    KL_DIR_CONFIG,    /* settings: $XDG_CONFIG_HOME, or ~/.config */
    KL_DIR_TEMPORARY, /* $TMPDIR, or /tmp */
    KL_DIR_FALLBACK,  /* this user's own below /tmp, for a user without a home */
};
/* The path of a folder below one of these; sub NULL: itself. Nothing is made. 0, or -1 with a line in err. */
int kl_dir_known(enum kl_dir_known which, const char *sub, char *out, size_t cap, char *err, size_t err_len);

#endif
