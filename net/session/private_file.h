/* private_file.h - small files that only their owner may read, written whole or not at all.
 *
 * For keys, pinned relays, seats: mode 0600 in folders of mode 0700. Every error leaves one line in err that
 * names the path, what was expected and what came. Not against power loss on a file system that reorders. */
#ifndef KL_PRIVATE_FILE_H
#define KL_PRIVATE_FILE_H

#include <stdbool.h>
#include <stddef.h>

#define KL_PRIVATE_PATH 1024 /* bytes of a path, with its NUL */

/* Makes the folder and its parents, where they are missing, with mode 0700. 0 or -1. */
int kl_private_folder(const char *dir, char *err, size_t err_len);

/* DIR/NAME; 0, or -1 where it is too long. */
int kl_private_path(char out[KL_PRIVATE_PATH], const char *dir, const char *name, char *err, size_t err_len);

/* Reads a whole file of at most cap bytes. 0 with *len; 1 where there is none; -1 where it is longer, is no
 * plain file (a link is none), may be read by others, or is another user's. */
int kl_private_read(const char *path, void *buf, size_t cap, size_t *len, char *err, size_t err_len);

/* Writes DIR/NAME by way of another name in DIR. Where it exists already: replaced, or left as it is (0 all
 * the same: read it to see whose came first). Who replaces must hold a lock of his own against others who do.
 */
int kl_private_write(const char *dir, const char *name, const void *bytes, size_t len, bool replace,
                     char *err, size_t err_len);

#endif
