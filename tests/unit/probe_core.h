/* probe_core.h - the test core of tests/cores/probe_core.c, driven by hand: for unit tests of what looks at a
 * core. */
#ifndef PROBE_CORE_H
#define PROBE_CORE_H

#include "core_wrapper/core/core.h"
#include "core_wrapper/core/options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* As in probe_core.c. */
struct seen {
    uint32_t frame;
    uint32_t pad[4];
    int64_t time_s, real_ns, mono_ns, made_s;
    int32_t hour, year, utc_offset, timeouts;
    uint32_t random, speed, bios_bytes, reserved;
};

static struct kl_options probe_options;
static const char *probe_system_dir = "/nonexistent";

static bool probe_environment(unsigned cmd, void *data) {
    struct retro_variable *v = data;
    switch (cmd) {
    case RETRO_ENVIRONMENT_GET_SYSTEM_DIRECTORY: *(const char **)data = probe_system_dir; return true;
    case RETRO_ENVIRONMENT_GET_VARIABLE: return (v->value = kl_options_get(&probe_options, v->key)) != NULL;
    default: return kl_options_declare(&probe_options, cmd, data);
    }
}
static void probe_video(const void *data, unsigned w, unsigned h, size_t pitch) {
    (void)data, (void)w, (void)h, (void)pitch;
}
static size_t probe_audio(const int16_t *data, size_t frames) {
    return (void)data, frames;
}
static void probe_poll(void) {}
static int16_t probe_input(unsigned port, unsigned device, unsigned index, unsigned id) {
    return (void)port, (void)device, (void)index, (void)id, 0;
}

static inline const char *probe_core_path(void) {
    static char path[4096];
    const char *build = getenv("KL_BUILD");
    snprintf(path, sizeof(path), "%s/cores/probe_core_libretro.so", build && *build ? build : "build");
    return path;
}

/* Up to a loaded game; the world is turned in between, by the test. */
static inline bool probe_core_start(struct kl_core *c) {
    c->set_environment(probe_environment);
    c->set_video_refresh(probe_video);
    c->set_audio_sample_batch(probe_audio);
    c->set_input_poll(probe_poll);
    c->set_input_state(probe_input);
    c->init();
    c->initialised = true;
    c->game_loaded = c->load_game(NULL);
    return c->game_loaded;
}

static inline const struct seen *probe_core_seen(const struct kl_core *c) {
    return c->get_memory_data(RETRO_MEMORY_SYSTEM_RAM);
}

#endif
