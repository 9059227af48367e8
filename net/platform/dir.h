/* dir.h - folders: making, listing, removing with all contents; every user's standard folders.
 *
 * An error is one line in err that names the path and the reason; err may be NULL as in file.h. On Windows
 * mode 0700 and "others" are as in file.h. */
#ifndef KL_PLATFORM_DIR_H
#define KL_PLATFORM_DIR_H

#include <stdbool.h>
#include <stddef.h>

/* Makes the folder and its missing parents. only_ours: new folders get mode 0700; else the umask decides. 0,
 * also if the folder exists; -1 with a line in err. */
int kl_dir_make(const char *path, bool only_ours, char *err, size_t err_len);
/* Makes a folder of mode 0700, which must not exist yet; its parent must exist. 0, or -1 with a line in err.
 */
int kl_dir_make_new(const char *path, char *err, size_t err_len);
/* Makes a new private folder PREFIX-XXXXXX in the user's temporary folder. 0, or -1 with a line in err and
 * out "". */
int kl_dir_make_temporary(char *out, size_t cap, const char *prefix, char *err, size_t err_len);

bool kl_dir_exists(const char *path);
bool kl_dir_writable(const char *path); /* the folder exists, and this process may make files in it */
/* True if users other than the owner may make files in it, or if that is unknown. */
bool kl_dir_others_write(const char *path);

/* The names in a folder, in byte order, without "." and "..". */
struct kl_dir_list {
    char **name; /* heap */
    unsigned count;
};
/* Lists names with this ending; "": all. 0; -1 with a line in err and an empty list. */
int kl_dir_list(struct kl_dir_list *list, const char *path, const char *ending, char *err, size_t err_len);
bool kl_dir_list_has(const struct kl_dir_list *list, const char *name);
void kl_dir_list_free(struct kl_dir_list *list);

/* Removes a folder or file and all below it; links are removed, not followed. Other file systems mounted
 * below stay. Failures are not reported. path "": no effect. */
void kl_dir_remove_tree(const char *path);
/* Removes a folder if it is empty. */
void kl_dir_remove_empty(const char *path);

/* On Windows a variable counts that names a whole path, with a drive. The same ones as on Linux come first,
 * then Windows's own: USERPROFILE, LOCALAPPDATA, APPDATA, TMP and TEMP; then the system is asked. */
enum kl_dir_known {
    KL_DIR_HOME,      /* $HOME */
    KL_DIR_STATE,     /* programs' data between runs: $XDG_STATE_HOME, or ~/.local/state */
    KL_DIR_CONFIG,    /* settings: $XDG_CONFIG_HOME, or ~/.config */
    KL_DIR_RUN,       /* sockets of running programs: $XDG_RUNTIME_DIR; root: /run; or that of FALLBACK */
    KL_DIR_TEMPORARY, /* $TMPDIR, or /tmp */
    KL_DIR_FALLBACK,  /* this user's folder below the temporary one, for a user without a home */
};
/* The path of the folder `sub` below one of these; sub NULL: the folder itself. Makes no folder. 0, or -1
 * with a line in err. */
int kl_dir_known(enum kl_dir_known which, const char *sub, char *out, size_t cap, char *err, size_t err_len);

/* --- how a list grows, on every system: for kl_dir_list() alone --- */

/* Adds a copy of the name if it has this ending and is not "." or "..". 0; -1 without memory, with errno. */
int kl_dir_list_add(struct kl_dir_list *list, const char *name, const char *ending);
/* By bytes. */
void kl_dir_list_sort(struct kl_dir_list *list);

#endif
