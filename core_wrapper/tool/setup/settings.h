/* settings.h - files of lines `key = "value"`: retroarch.cfg, core info files, keylock.cfg. cfg_file.h has
 * the reading rules.
 *
 * A written file keeps every other line, and is written whole or not at all. */
#ifndef KLT_SETTINGS_H
#define KLT_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>

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

#endif
