/* built.h - the files of the build that this test program belongs to. */
#ifndef TEST_UNIT_BUILT_H
#define TEST_UNIT_BUILT_H

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "net/platform/file.h"
#include "net/platform/process.h"

/* The whole path of a file in the build's folder, one above this program's. False: there is no such file. */
static inline bool built_file(char *out, size_t cap, const char *name) {
    char own[300], path[400];
    if (kl_process_own_path(own, sizeof own) != 0) return false;
    *strrchr(own, '/') = 0;
    snprintf(path, sizeof path, "%s/../%s", own, name);
    return kl_file_real(path, out, cap);
}

#endif
