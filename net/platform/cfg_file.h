/* cfg_file.h - the text of files with lines `key = value`: keylock.cfg, the relay's,
 * retroarch.cfg, core info files. Pure.
 *
 * Read as RetroArch reads them: the first of two lines with the same key counts. A value may stand in double
 * quotes, which protect a #. Otherwise a # behind a blank begins a comment: a link has a # within. */
#ifndef KL_PLATFORM_CFG_FILE_H
#define KL_PLATFORM_CFG_FILE_H

#include <stdbool.h>
#include <stddef.h>

/* All borrowed for the call of `each`. */
struct kl_cfg_line {
    unsigned number;         /* from 1 */
    const char *whole;       /* without its newline */
    const char *key, *value; /* NULL if the line is not of this form */
    bool empty;              /* blank, or a comment */
};

/* Calls each(ctx, line) for every line; a text of NULL has none. False without memory. */
bool kl_cfg_each(const char *text, void (*each)(void *ctx, const struct kl_cfg_line *line), void *ctx);

/* The value of a key, cut to cap - 1 bytes. Returns the number of its line; 0 and "" if no line has that key.
 */
unsigned kl_cfg_get(const char *text, const char *key, char *out, size_t cap);

/* The text with that value in the first line of the key and without further lines of it, or with a new line
 * at the end. Malloced; NULL without memory. */
char *kl_cfg_put(const char *text, const char *key, const char *value);

#endif
