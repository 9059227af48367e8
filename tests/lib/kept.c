#include "tests/lib/kept.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

unsigned kept_read(const char *path, struct kept kept[KEPT_MAX]) {
    char line[512];
    unsigned count = 0, number = 0;
    FILE *f = fopen(path, "r");
    while (f && fgets(line, sizeof line, f)) {
        char *options, *colon = strchr(line, ':');
        number++;
        if (line[0] == '#') continue;
        if (colon) *colon = '\0';
        uint64_t seed = strtoull(line, &options, 10);
        bool without = strcmp(options, " --plain") == 0;
        if (!colon || seed == 0 || (*options && !without) || strlen(colon + 1) < 3 || count == KEPT_MAX) {
            fprintf(stderr, "%s:%u: expected SEED [--plain]: what it found\n", path, number);
            fclose(f);
            return 0;
        }
        kept[count++] = (struct kept){seed, without};
    }
    if (f) fclose(f);
    if (count == 0) fprintf(stderr, "%s: no seeds\n", path);
    return count;
}
