#include "tests/bench/yardstick.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void fail(const char *what, const char *why) {
    fprintf(stderr, "bare core: %s: %s\n", what, why);
    exit(1);
}

static void on_video(const void *data, unsigned width, unsigned height, size_t pitch) {
    (void)data, (void)width, (void)height, (void)pitch;
}
static void on_sample(int16_t left, int16_t right) {
    (void)left, (void)right;
}
static size_t on_batch(const int16_t *data, size_t frames) {
    return (void)data, frames;
}
static void no_poll(void) {}
static int16_t no_state(unsigned port, unsigned device, unsigned index, unsigned id) {
    return (void)port, (void)device, (void)index, (void)id, 0;
}

bool bare_answer(const char *folder, unsigned cmd, void *data) {
    switch (cmd) {
    case RETRO_ENVIRONMENT_GET_SYSTEM_DIRECTORY:
    case RETRO_ENVIRONMENT_GET_SAVE_DIRECTORY: *(const char **)data = folder; return true;
    case RETRO_ENVIRONMENT_GET_CAN_DUPE: *(bool *)data = true; return true;
    case RETRO_ENVIRONMENT_GET_VARIABLE_UPDATE: *(bool *)data = false; return true;
    case RETRO_ENVIRONMENT_SET_PIXEL_FORMAT:
    case RETRO_ENVIRONMENT_SET_SUPPORT_NO_GAME:
    case RETRO_ENVIRONMENT_GET_INPUT_BITMASKS: return true;
    default: return false;
    }
}

void *bare_find(const struct bare *b, const char *name) {
    void *symbol = dlsym(b->library, name);
    if (!symbol) fail(name, dlerror());
    return symbol;
}
#define CALL(b, result, name, ...) ((result(*)(__VA_ARGS__))bare_find(b, "retro_" name))

/* In memory, too: most cores want it there. */
static void load(struct bare *b, const char *content) {
    struct retro_game_info game = {.path = content};
    FILE *f = fopen(content, "rb");
    if (!f || fseek(f, 0, SEEK_END) != 0) fail(content, "it cannot be read");
    game.size = (size_t)ftell(f);
    rewind(f);
    void *data = malloc(game.size + 1);
    if (!data || fread(data, 1, game.size, f) != game.size) fail(content, "it cannot be read");
    fclose(f);
    game.data = data;
    if (!CALL(b, bool, "load_game", const struct retro_game_info *)(&game)) fail(content, "it is not loaded");
    free(data);
}

void bare_open(struct bare *b, const char *core, const char *content, const struct bare_front *f) {
    b->library = dlopen(core, RTLD_NOW | RTLD_LOCAL);
    if (!b->library) fail(core, dlerror());
    CALL(b, void, "set_environment", retro_environment_t)(f->environment);
    CALL(b, void, "init", void)();
    CALL(b, void, "set_video_refresh", retro_video_refresh_t)(on_video);
    CALL(b, void, "set_audio_sample", retro_audio_sample_t)(on_sample);
    CALL(b, void, "set_audio_sample_batch", retro_audio_sample_batch_t)(on_batch);
    CALL(b, void, "set_input_poll", retro_input_poll_t)(f->poll ? f->poll : no_poll);
    CALL(b, void, "set_input_state", retro_input_state_t)(f->state ? f->state : no_state);
    load(b, content);
    b->run = CALL(b, void, "run", void);
}

void bare_close(struct bare *b) {
    CALL(b, void, "unload_game", void)();
    CALL(b, void, "deinit", void)();
    dlclose(b->library);
}

static uint64_t clock_us(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

static bool on_environment(unsigned cmd, void *data) {
    return bare_answer("/nonexistent", cmd, data);
}

struct yardstick yardstick_measure(const char *core, const char *content, unsigned skip, unsigned frames) {
    const struct bare_front front = {.environment = on_environment};
    struct yardstick y = {.frames = frames};
    struct bare b;
    bare_open(&b, core, content, &front);
    while (skip--)
        b.run();
    uint64_t wall_us = clock_us(CLOCK_MONOTONIC), cpu_us = clock_us(CLOCK_PROCESS_CPUTIME_ID);
    while (frames--)
        b.run();
    y.cpu_us = clock_us(CLOCK_PROCESS_CPUTIME_ID) - cpu_us;
    y.wall_us = clock_us(CLOCK_MONOTONIC) - wall_us;
    bare_close(&b);
    return y;
}
