/* kept.h - reads a list of kept seeds. A line is a seed, its options, a colon, and what the seed found; a
 * line that begins with # is a comment. Used by tests/sim and tests/rooms. */
#ifndef SIM_KEPT_H
#define SIM_KEPT_H

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEPT_MAX 256

struct kept {
    uint64_t seed;
    bool plain, forgetful; /* its line says --plain, --forgetful */
};

/* The number of seeds in the file, at most KEPT_MAX; 0 if the file is not there, is empty or has a line of
 * another form, and then a message has been printed. */
static inline unsigned kept_read(const char *path, struct kept kept[KEPT_MAX]) {
    char line[512];
    unsigned count = 0, number = 0;
    FILE *f = fopen(path, "r");
    while (f && fgets(line, sizeof line, f)) {
        char *options, *colon = strchr(line, ':');
        number++;
        if (line[0] == '#') continue;
        if (colon) *colon = '\0';
        uint64_t seed = strtoull(line, &options, 10);
        bool without = strcmp(options, " --plain") == 0, forgets = strcmp(options, " --forgetful") == 0;
        if (!colon || seed == 0 || (*options && !without && !forgets) || strlen(colon + 1) < 3 ||
            count == KEPT_MAX) {
            fprintf(stderr, "%s:%u: expected SEED [--plain | --forgetful]: what it found\n", path, number);
            fclose(f);
            return 0;
        }
        kept[count++] = (struct kept){seed, without, forgets};
    }
    if (f) fclose(f);
    if (count == 0) fprintf(stderr, "%s: no seeds\n", path);
    return count;
}

#endif
