/* file_stamp.h - files that another part of this process may have open: whether they have changed, and other
 * bytes for them without a new file. Paths as in file.h; links are not followed. */
#ifndef KL_PLATFORM_FILE_STAMP_H
#define KL_PLATFORM_FILE_STAMP_H

#include "net/platform/file.h"

/* From now on a write shows in kl_file_touched(): the file's date is set to 1970. Gives the file's number,
 * which no other file of its folder has; 0: there is none, or it is no plain file. */
uint64_t kl_file_mark(const char *path);
/* True if the file has been written since the mark, or is another one or gone. On Windows always true: the
 * system writes down the time of a change only when the file is closed. */
bool kl_file_touched(const char *path, uint64_t number);

/* Gives the plain file these bytes and this length in place, so that whoever has it open sees them. A missing
 * file is made, its folder is not. 0, or -1. */
int kl_file_put(const char *path, const void *bytes, size_t len);

/* The number of times that this process has the file open; on Windows 1 stands for any number. */
unsigned kl_file_holders(const char *path);

#endif
