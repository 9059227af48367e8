/* reopens.c - `reopens WRAPPER.so CONTENT FOLDER ROUNDS FRAMES`: a bare frontend. In each round it loads the
 * wrapper with the content, runs so many frames at 60 a second, closes the content and unloads the wrapper.
 * Prints a line for each round, after the closing: `round=N close_ms=M threads=N rss_kb=N`; and some
 * seconds later `end threads=N rss_kb=N`. The wrapper's settings are in its variables. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/bench/yardstick.h"

#define REST_S 4 /* threads that were left behind have ended by then */

static const char *folder;

static bool environment(unsigned cmd, void *data) {
    return bare_answer(folder, cmd, data);
}

static double now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static long status_of(const char *key) {
    char line[200];
    long value = -1;
    FILE *f = fopen("/proc/self/status", "r");
    while (f && fgets(line, sizeof line, f))
        if (!strncmp(line, key, strlen(key))) value = strtol(line + strlen(key), NULL, 10);
    if (f) fclose(f);
    return value;
}

static void play(const struct bare *w, unsigned frames) {
    const struct timespec frame = {.tv_nsec = 16666667};
    while (frames--) {
        w->run();
        nanosleep(&frame, NULL);
    }
}

int main(int argc, char **argv) {
    if (argc != 6) {
        fprintf(stderr, "usage: reopens WRAPPER.so CONTENT FOLDER ROUNDS FRAMES\n");
        return 1;
    }
    folder = argv[3];
    for (int round = 1; round <= atoi(argv[4]); round++) {
        static const struct bare_front front = {.environment = environment};
        struct bare w;
        bare_open(&w, argv[1], argv[2], &front);
        play(&w, (unsigned)atoi(argv[5]));
        double from_ms = now_ms();
        bare_close(&w);
        printf("round=%d close_ms=%.0f threads=%ld rss_kb=%ld\n", round, now_ms() - from_ms,
               status_of("Threads:"), status_of("VmRSS:"));
        fflush(stdout);
    }
    const struct timespec rest = {.tv_sec = REST_S};
    nanosleep(&rest, NULL);
    printf("end threads=%ld rss_kb=%ld\n", status_of("Threads:"), status_of("VmRSS:"));
    return 0;
}
