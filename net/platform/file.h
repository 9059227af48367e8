/* file.h - files: read whole; written whole or not at all; appended, locked, linked.
 *
 * Paths are UTF-8 with slashes. An error is one line in err that names the path and the reason; with NULL and
 * 0 in place of err and err_len no line is written. A failure leaves an existing file unchanged.
 *
 * On Windows "nobody else" leaves out the administrators and the system, who can take any right. A new file
 * has its folder's rights there, or with KL_FILE_PRIVATE its user's. A file that another program has for
 * itself is asked for during half a second. A path may be as long as anywhere else. */
#ifndef KL_PLATFORM_FILE_H
#define KL_PLATFORM_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define KL_FILE_PATH     4096                /* bytes of a path, with its NUL */
#define KL_FILE_ABSENT   1                   /* there is no such file */
#define KL_FILE_KEPT     2                   /* the file already existed and is unchanged */
#define KL_FILE_COPY_MAX ((size_t)512 << 20) /* bytes; no copied core, save or state is larger */

/* Flags for reading and writing; join several by |. */
enum {
    /* Read: the file must be this user's, readable by nobody else, and no link. Written: with these
     * permissions. */
    KL_FILE_PRIVATE = 1,
    KL_FILE_PUBLIC = 2, /* Written anew: everybody may read it. Without this flag the umask decides. */
    KL_FILE_PROGRAM =
        4, /* Written anew: everybody may read and run it. (Windows: for both, the folder decides.) */
    KL_FILE_NO_LINK = 8, /* Read: a link is an error. Written: the file replaces the link, not its target. */
    KL_FILE_KEEP = 16,   /* Written: an existing file stays; the result is KL_FILE_KEPT. */
    KL_FILE_QUICK = 32,  /* Written: whole, but not forced to the disk; a power failure may lose it. */
};

/* Reads a plain file of at most max bytes. *bytes: from malloc, the caller frees it; a NUL follows the *len
 * bytes. 0; or with *bytes NULL and a line in err KL_FILE_ABSENT or -1. */
int kl_file_read(const char *path, size_t max, unsigned how, void **bytes, size_t *len, char *err,
                 size_t err_len);

/* Maps a plain file read-only, for files too large to copy. 0, or -1. An empty file gives "". */
int kl_file_map(const char *path, const void **bytes, size_t *len);
void kl_file_unmap(const void *bytes, size_t len);

/* Writes a file under a temporary name in the same folder and renames it: it appears whole or not at all, and
 * a program that has the old file open keeps the old one. An existing file keeps its permissions (not
 * KL_FILE_PRIVATE), and a link stays: its target is written (not KL_FILE_PRIVATE, not KL_FILE_NO_LINK). Into
 * a pipe or a device (/dev/stdout) the bytes are written directly (not KL_FILE_PRIVATE, not KL_FILE_NO_LINK).
 * 0; KL_FILE_KEPT; -1 with a line in err. */
int kl_file_write_whole(const char *path, const void *bytes, size_t len, unsigned how, char *err,
                        size_t err_len);

/* Writes `to` with the bytes of `from`, at most KL_FILE_COPY_MAX; a new file gets the permissions of `from`
 * or those of `how`. 0; KL_FILE_KEPT if both were already equal; -1 with a line in err. */
int kl_file_copy(const char *from, const char *to, unsigned how, char *err, size_t err_len);
bool kl_file_equal(const char *a, const char *b);

/* Writes a new private file DIR/PATH and makes missing folders. For untrusted paths: no link below DIR is
 * followed, no file is overwritten. The caller has checked that PATH is relative and without "..". Windows
 * refuses what is not kl_file_name_portable(). 0, or -1 with a line in err. */
int kl_file_write_below(const char *dir, const char *path, const void *bytes, size_t len, char *err,
                        size_t err_len);

/* Opens a file as fopen() does, for bytes; programs that this one starts do not inherit it. mode: "r", "w",
 * "r+" or "w+". NULL with errno. */
FILE *kl_file_stream(const char *path, const char *mode);

/* --- looking --- */

enum kl_file_kind { KL_FILE_IS_NONE, KL_FILE_IS_PLAIN, KL_FILE_IS_DIR, KL_FILE_IS_LINK, KL_FILE_IS_OTHER };
enum kl_file_kind kl_file_kind(const char *path);      /* of a link's target; never KL_FILE_IS_LINK */
enum kl_file_kind kl_file_kind_here(const char *path); /* of the path itself */
/* Bytes of a plain file, or of a link's target, and a number that changes when the file does: the time of its
 * last change in units of the system's. False: no plain file. */
bool kl_file_stamp(const char *path, uint64_t *bytes, uint64_t *changed);
bool kl_file_is_ours(const char *path); /* the file belongs to this user, or this user is root */
bool kl_file_readable(const char *path);
bool kl_file_runnable(const char *path); /* Windows: its name ends with .exe */
/* The absolute path without links. False: no such file, or the path is longer than cap; errno says which. */
bool kl_file_real(const char *path, char *out, size_t cap);
/* True if the path does not begin at the current folder: /a; on Windows C:/a, C:\a or //server/a. */
bool kl_file_is_absolute(const char *path);
/* Makes a path of ours, in place, of one that a program of this system wrote: on Windows with backslashes. */
void kl_file_use_slashes(char *path);
/* A path of the same file for a program that knows ASCII alone. Windows: its short names stand in place of
 * names with other letters. Elsewhere: the path itself. False: longer than cap, or such a name has no short
 * one. */
bool kl_file_ascii_path(char *out, size_t cap, const char *path);
/* The name behind the last slash, or the whole path; borrowed from it. */
const char *kl_file_base(const char *path);
/* DIR/NAME. 0, or -1 with a line in err: longer than cap, or dir is "". */
int kl_file_join(char *out, size_t cap, const char *dir, const char *name, char *err, size_t err_len);

/* --- names --- */

/* True if this is the name of a plain file or folder on every system: no separator, no character or device of
 * Windows (`a:b`, NUL, com1.txt), no blank or dot at its end. */
bool kl_file_name_portable(const char *name);

/* Gives a file or folder another name on the same drive; a file there is replaced. False with errno. */
bool kl_file_rename(const char *from, const char *to);
/* 0; KL_FILE_ABSENT; -1 with a line in err. */
int kl_file_remove(const char *path, char *err, size_t err_len);
/* Makes `path` a link to `target`. A user of Windows without the right to make symbolic links gets a second
 * name of the file (a hard link), on the same drive alone: it keeps the old file if another takes the
 * target's place, and kl_file_kind_here() says KL_FILE_IS_PLAIN. 0, or -1 with a line in err. */
int kl_file_link(const char *target, const char *path, char *err, size_t err_len);
/* True if `path` is a link to exactly this target, or on Windows a second name of it. */
bool kl_file_links_to(const char *path, const char *target);

/* Makes a file of these bytes in memory, on Windows a temporary one, removed when this process ends (after
 * its death by the next that hands one down). `path` is its name for this process and for any program that it
 * becomes. One file for a process. 0, or -1 with a line in err. */
int kl_file_hand_down(const void *bytes, size_t len, char *path, size_t cap, char *err, size_t err_len);

/* --- open files --- */

struct kl_file {
    int handle; /* -1: closed */
};
struct kl_file_part {
    const void *bytes;
    size_t len;
};

/* Opens a private file for appending. fresh: makes it; an existing file is an error. 0; KL_FILE_ABSENT; -1.
 * why gets the reason without the path. */
int kl_file_open(struct kl_file *f, const char *path, bool fresh, char *why, size_t why_len);
/* Reads all of an open file into *bytes (malloc), of *cap bytes, which grows if needed. 0, or -1 with why. */
int kl_file_read_open(const struct kl_file *f, uint8_t **bytes, uint64_t *cap, uint64_t *len, char *why,
                      size_t why_len);
/* Appends the parts in order at byte `at`, the file's end. They reach the system, not the disk. 0; -1 with
 * why, and the file is cut back to `at` if possible. */
int kl_file_append(const struct kl_file *f, uint64_t at, const struct kl_file_part *part, unsigned parts,
                   char *why, size_t why_len);
/* Cuts everything from byte `at` on. 0, or -1 with why. */
int kl_file_cut(const struct kl_file *f, uint64_t at, char *why, size_t why_len);
void kl_file_close(struct kl_file *f);

/* Takes a lock, which the system releases when the process ends in any way. The lock is a private file of its
 * own, made if missing. wait: until the other process releases it. 0; KL_FILE_KEPT: another process holds the
 * lock; -1 with a line in err. */
int kl_file_lock(struct kl_file *lock, const char *path, bool wait, char *err, size_t err_len);
/* Releases the lock. path: also removes the lock's file; NULL: the file stays. */
void kl_file_unlock(struct kl_file *lock, const char *path);

/* --- files that another part of this process may have open; links are not followed --- */

/* From now on a write shows in kl_file_touched(): the file's date is set to 1970. Gives the file's number,
 * which no other file of its folder has; 0: there is none, or it is no plain file. */
uint64_t kl_file_mark(const char *path);
/* True if the file has been written since the mark, or is another one or gone. On Windows always true: the
 * system writes down the time of a change only when the file is closed. */
bool kl_file_touched(const char *path, uint64_t number);

/* Gives the plain file these bytes and this length in place, so that whoever has it open sees them. A missing
 * file is made, its folder is not. 0, or -1. */
int kl_file_put(const char *path, const void *bytes, size_t len);

/* The number of times that this process has the file open; on Windows 1 stands for any number. */
unsigned kl_file_holders(const char *path);

#endif
