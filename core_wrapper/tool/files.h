/* files.h - files and folders as `keylock install` handles them: what is written appears whole or not at all,
 * and a program that has the old file mapped keeps it. */
#ifndef KLT_FILES_H
#define KLT_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* The whole of a regular file with a NUL behind it, malloced. NULL with errno set; above max EFBIG. */
char *kl_file_read(const char *path, size_t max, size_t *len);
/* Through a file beside it that takes its place. A file that is there keeps its permissions, else `mode`.
 * 0, or -1 with a line in err. */
int kl_file_write(const char *path, const void *bytes, size_t len, mode_t mode, char *err, size_t err_len);
/* The same from another file. Equal files are left alone: 1. */
int kl_file_copy(const char *from, const char *to, mode_t mode, char *err, size_t err_len);
bool kl_file_equal(const char *a, const char *b);

/* Makes the folder and what leads to it. 0, or -1 with a line in err. */
int kl_folder_make(const char *path, char *err, size_t err_len);
/* It is there, and we may make files in it. */
bool kl_folder_writable(const char *path);
bool kl_folder_there(const char *path);

/* Calls each(ctx, name) for every name in a folder that ends so, in their order. */
void kl_folder_each(const char *path, const char *ending, void (*each)(void *ctx, const char *name),
                    void *ctx);

bool kl_ends_with(const char *text, const char *ending);

#endif
