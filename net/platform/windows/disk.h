/* disk.h - Windows's text, rights and command lines, and files by their handles: what several files of this
 * folder share.
 *
 * A failure leaves its reason in GetLastError(). */
#ifndef KL_PLATFORM_WINDOWS_DISK_H
#define KL_PLATFORM_WINDOWS_DISK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <wchar.h>
#include <windows.h>

#include "net/platform/file.h"

/* Windows's own text: UTF-16 and its paths, error codes as words and as errno. Only
 * net/platform/windows uses it.
 *
 * A function that returns false or NULL leaves the reason in GetLastError(): ERROR_NO_UNICODE_TRANSLATION for
 * text that is not valid, ERROR_FILENAME_EXCED_RANGE for text longer than its room. */

#define KL_WIDE_PATH     KL_FILE_PATH /* units of UTF-16, with the NUL */
#define KL_WINDOWS_ERROR 160          /* bytes of an error's words, with the NUL */

/* UTF-8 as UTF-16; cap counts units, the NUL included. */
bool kl_wide_text(wchar_t *out, size_t cap, const char *text);
/* The same from malloc; the caller frees it. */
wchar_t *kl_wide_copy(const char *text);
/* A path of ours as the system takes it: absolute, with backslashes, a long one behind \\?\; "" stays "". */
bool kl_wide_path(wchar_t out[KL_WIDE_PATH], const char *path);
/* The same, always behind \\?\: for a folder below which longer paths are made of it. */
bool kl_wide_long_path(wchar_t out[KL_WIDE_PATH], const char *path);

/* UTF-16 as UTF-8; cap counts bytes, the NUL included. False leaves out "". */
bool kl_narrow_text(char *out, size_t cap, const wchar_t *text);
/* A path of the system as ours: slashes, without \\?\. False leaves out "". */
bool kl_narrow_path(char *out, size_t cap, const wchar_t *path);

/* A code of GetLastError() or WSAGetLastError() in words, without a final dot. The codes that Linux has, too,
 * read as there ("No such file or directory"); the others are the system's, English if it has them. Returns
 * out. */
const char *kl_windows_error(unsigned long code, char *out, size_t cap);
/* The errno of such a code; EIO for one without. */
int kl_windows_errno(unsigned long code);

/* Rights to files and other named things of Windows: this user's alone, and how far others may use
 * one.
 *
 * "Others" are all but this user, the administrators and the system, who can take any right anyway. */

/* For whatever is made anew: this user's, the administrators' and the system's alone. Valid until the program
 * ends. NULL without memory; then nothing may be made. */
SECURITY_ATTRIBUTES *kl_rights_private(void);

/* True if this user runs the process of this number. False also if it has ended. */
bool kl_rights_runs(DWORD process);

enum kl_rights {
    KL_RIGHTS_READ = 1,  /* others may read it */
    KL_RIGHTS_WRITE = 2, /* others may change it, or what is in the folder */
};
/* The rights that others have to a file or folder, opened with READ_CONTROL; all of them if that is unknown.
 */
unsigned kl_rights_of_others(HANDLE file);
/* True if it belongs to this user, or to a group in whose name this user makes files (administrators). */
bool kl_rights_ours(HANDLE file);
/* Gives `to` the access list of `from`: a file that replaces another keeps its rights. False leaves those of
 * `to`. */
bool kl_rights_copy(HANDLE from, HANDLE to);

/* A program's arguments and environment as Windows passes them on: as one text each.
 *
 * All from malloc, for the caller to free; NULL with GetLastError(). */

/* Joined so that CommandLineToArgvW(), and the C library of a program, take them apart into the same.
 * first: text that is put before them as it is; or NULL. */
wchar_t *kl_command_line(const char *first, const char *const *arguments);

/* This process's environment with `more` ("NAME=VALUE", NULL: none) and `last` (NULL: none) in place of
 * variables of equal names. */
wchar_t *kl_command_environment(const char *const *more, const char *last);

#define KL_DISK_SHARE (FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE)
/* The longest wait for another program that has the file for itself: a virus scanner, say. */
#define KL_DISK_BUSY_US  500000
#define KL_DISK_AGAIN_MS 10

/* Opens a file, or a folder, for this process alone; waits while another program has it for itself. rights:
 * of a new file; NULL: the folder's. INVALID_HANDLE_VALUE on failure. */
HANDLE kl_disk_open(const char *path, DWORD access, DWORD creation, DWORD flags, SECURITY_ATTRIBUTES *rights);
/* Writes "cannot WHAT PATH: REASON" and sets errno. Returns -1. */
int kl_disk_fail(char *err, size_t err_len, const char *what, const char *path);

/* The reason to refuse to read this open file; NULL: it may be read, and *size is its size. how:
 * KL_FILE_PRIVATE, KL_FILE_NO_LINK. */
const char *kl_disk_refusal(HANDLE file, size_t max, unsigned how, uint64_t *size, char *text, size_t cap);
/* Reads from the file's beginning, and writes at byte `at`. */
bool kl_disk_read(HANDLE file, void *out, size_t len);
bool kl_disk_write(HANDLE file, const void *bytes, size_t len, uint64_t at);

/* True for a symbolic link or a junction, opened with FILE_FLAG_OPEN_REPARSE_POINT. Other files that the
 * system keeps in a special way (in a cloud, say) are none. */
bool kl_disk_is_link(HANDLE file);
/* The same for a path. */
bool kl_disk_names_link(const wchar_t *path);
/* Removes a link, never the file or folder behind it. */
bool kl_disk_remove_link(const wchar_t *path);
/* True if both are the same file. */
bool kl_disk_is_same(HANDLE a, HANDLE b);
/* True if a program uses the file in a way that keeps others from writing it: it has loaded it, for one. */
bool kl_disk_is_used(const wchar_t *path);
/* The path without links. */
bool kl_disk_real(const char *path, wchar_t out[KL_WIDE_PATH]);

#endif
