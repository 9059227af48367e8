/* disk.h - files of Windows by their handles: what file.c, file_look.c and file_open.c share.
 *
 * A failure leaves its reason in GetLastError(). */
#ifndef KL_PLATFORM_WINDOWS_DISK_H
#define KL_PLATFORM_WINDOWS_DISK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <windows.h>

#include "net/platform/windows/wide.h"

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
