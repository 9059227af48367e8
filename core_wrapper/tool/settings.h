/* settings.h - files of lines `key = "value"`: retroarch.cfg, core info files, keylock.cfg. cfg_file.h
 * says how they are read.
 *
 * What is written keeps every line that it does not mean, and is written whole or not at all. */
#ifndef KLT_SETTINGS_H
#define KLT_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>

#define KLT_PATH           4096
#define KLT_SETTINGS_BYTES (4u << 20) /* of a file: more is none of RetroArch's */

struct kl_settings {
    char *text; /* the file as it is, malloced; "" where there is none */
    bool there;
};

/* Reads a file. 0; -1 with a line in err where it is there and cannot be read. Free it in any case. */
int kl_settings_read(struct kl_settings *s, const char *path, char *err, size_t err_len);
void kl_settings_free(struct kl_settings *s);

/* The value of a key, without its quotes. False where it does not stand there; out is "" then. */
bool kl_settings_get(const struct kl_settings *s, const char *key, char *out, size_t cap);

/* Puts the value in where the key first stands, takes further lines of it away, or adds a line at the end.
 * False without memory. */
bool kl_settings_put(struct kl_settings *s, const char *key, const char *value);

/* Writes s->text to path, through a link to what it points to. 0, or -1 with a line in err. */
int kl_settings_write(const struct kl_settings *s, const char *path, char *err, size_t err_len);

#endif
