/* wide.h - Windows's own text: UTF-16 and its paths, error codes as words and as errno. Only
 * net/platform/windows uses it.
 *
 * A function that returns false or NULL leaves the reason in GetLastError(): ERROR_NO_UNICODE_TRANSLATION for
 * text that is not valid, ERROR_FILENAME_EXCED_RANGE for text longer than its room. */
#ifndef KL_PLATFORM_WIDE_H
#define KL_PLATFORM_WIDE_H

#include <stdbool.h>
#include <stddef.h>

#include "net/platform/file.h"

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

#endif
