/* command_line.h - a program's arguments and environment as Windows passes them on: as one text each.
 *
 * All from malloc, for the caller to free; NULL with GetLastError(). */
#ifndef KL_PLATFORM_WINDOWS_COMMAND_LINE_H
#define KL_PLATFORM_WINDOWS_COMMAND_LINE_H

#include <wchar.h>

/* Joined so that CommandLineToArgvW(), and the C library of a program, take them apart into the same.
 * first: text that is put before them as it is; or NULL. */
wchar_t *kl_command_line(const char *first, const char *const *arguments);

/* This process's environment with `more` ("NAME=VALUE", NULL: none) and `last` (NULL: none) in place of
 * variables of equal names. */
wchar_t *kl_command_environment(const char *const *more, const char *last);

#endif
