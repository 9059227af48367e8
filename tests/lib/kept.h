/* kept.h - reads a list of kept seeds. A line is a seed, its options, a colon, and what the seed found; a
 * line that begins with # is a comment. Used by tests/sim and tests/rooms. */
#ifndef TEST_KEPT_H
#define TEST_KEPT_H

#include <stdbool.h>
#include <stdint.h>

#define KEPT_MAX 256

struct kept {
    uint64_t seed;
    bool plain; /* its line says --plain */
};

/* The number of seeds in the file, at most KEPT_MAX; 0 if the file is not there, is empty or has a line of
 * another form, and then a message has been printed. */
unsigned kept_read(const char *path, struct kept kept[KEPT_MAX]);

#endif
