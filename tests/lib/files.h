/* files.h - small files that tests write and read back. Each function fails (must.h) if the system does. */
#ifndef TEST_FILES_H
#define TEST_FILES_H

#include <stddef.h>

/* A new file in the place of the one there, with these permissions, whatever the umask. */
void file_write(const char *path, const void *bytes, size_t len, unsigned mode);
void file_write_text(const char *path, const char *text); /* 0644 */
/* Returns its length, below cap; a NUL follows the bytes. */
size_t file_read(const char *path, void *out, size_t cap);

#endif
