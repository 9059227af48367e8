/* reopens.c - `reopens WRAPPER.so CONTENT FOLDER ROUNDS FRAMES`: a bare frontend. In each round it loads the
 * wrapper with the content, runs so many frames at 60 a second, closes the content and unloads the wrapper.
 * Prints a line for each round, after the closing: `round=N close_ms=M threads=N rss_kb=N`; and some
 * seconds later `end threads=N rss_kb=N`. The wrapper's settings are in its variables. */
#include <dlfcn.h>
#include <libretro.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define REST_S 4 /* threads that were left behind have ended by then */

static const char *folder;

static bool environment(unsigned cmd, void *data) {
    switch (cmd) {
    case RETRO_ENVIRONMENT_GET_SYSTEM_DIRECTORY:
    case RETRO_ENVIRONMENT_GET_SAVE_DIRECTORY: *(const char **)data = folder; return true;
    case RETRO_ENVIRONMENT_SET_PIXEL_FORMAT: return true;
    default: return false;
    }
}
static void show(const void *data, unsigned width, unsigned height, size_t pitch) {
    (void)data, (void)width, (void)height, (void)pitch;
}
static void sound(int16_t left, int16_t right) {
    (void)left, (void)right;
}
static size_t sounds(const int16_t *data, size_t frames) {
    (void)data;
    return frames;
}
static void poll_pads(void) {}
static int16_t pad(unsigned port, unsigned device, unsigned index, unsigned id) {
    (void)port, (void)device, (void)index, (void)id;
    return 0;
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

static void *find(void *library, const char *name) {
    void *symbol = dlsym(library, name);
    if (symbol) return symbol;
    fprintf(stderr, "reopens: %s\n", dlerror());
    exit(1);
}
#define CALL(library, result, name, ...) ((result(*)(__VA_ARGS__))find(library, name))

static void play(void *w, const char *content, unsigned frames) {
    const struct retro_game_info game = {.path = content};
    CALL(w, void, "retro_set_environment", retro_environment_t)(environment);
    CALL(w, void, "retro_set_video_refresh", retro_video_refresh_t)(show);
    CALL(w, void, "retro_set_audio_sample", retro_audio_sample_t)(sound);
    CALL(w, void, "retro_set_audio_sample_batch", retro_audio_sample_batch_t)(sounds);
    CALL(w, void, "retro_set_input_poll", retro_input_poll_t)(poll_pads);
    CALL(w, void, "retro_set_input_state", retro_input_state_t)(pad);
    CALL(w, void, "retro_init", void)();
    if (!CALL(w, bool, "retro_load_game", const struct retro_game_info *)(&game)) {
        fprintf(stderr, "reopens: the content is not loaded\n");
        exit(1);
    }
    for (unsigned i = 0; i < frames; i++) {
        const struct timespec frame = {.tv_nsec = 16666667};
        CALL(w, void, "retro_run", void)();
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
        void *w = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
        if (!w) {
            fprintf(stderr, "reopens: %s\n", dlerror());
            return 1;
        }
        play(w, argv[2], (unsigned)atoi(argv[5]));
        double from_ms = now_ms();
        CALL(w, void, "retro_unload_game", void)();
        CALL(w, void, "retro_deinit", void)();
        dlclose(w);
        printf("round=%d close_ms=%.0f threads=%ld rss_kb=%ld\n", round, now_ms() - from_ms,
               status_of("Threads:"), status_of("VmRSS:"));
        fflush(stdout);
    }
    const struct timespec rest = {.tv_sec = REST_S};
    nanosleep(&rest, NULL);
    printf("end threads=%ld rss_kb=%ld\n", status_of("Threads:"), status_of("VmRSS:"));
    return 0;
}
