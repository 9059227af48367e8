#include "tests/lib/probe_core.h"

#ifdef _WIN32
#include <windows.h>
#endif

#include "net/platform/library.h"

struct kl_options probe_options;
const char *probe_system_dir = "/nonexistent";

bool probe_environment(unsigned cmd, void *data) {
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

const char *probe_core_path(void) {
    static char path[4096];
    const char *build = getenv("KL_BUILD"), *name = getenv("KL_PROBE_CORE");
    snprintf(path, sizeof(path), "%s/cores/%s_libretro" KL_LIBRARY_ENDING, build && *build ? build : "build",
             name && *name ? name : "probe_core");
    return path;
}

void probe_set(const char *name, const char *value) {
#ifdef _WIN32 /* a C runtime has its own copy, of which a core of another runtime knows nothing */
    SetEnvironmentVariableA(name, value);
#else
    if (value)
        setenv(name, value, 1);
    else
        unsetenv(name);
#endif
}

bool probe_core_start(struct kl_core *c) {
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

const struct seen *probe_core_seen(const struct kl_core *c) {
    return c->get_memory_data(RETRO_MEMORY_SYSTEM_RAM);
}

#ifdef _WIN32
static struct kl_core runtime;
int probe_runtime_turn(struct kl_world *w) {
    char err[512];
    return kl_core_open(&runtime, probe_core_path(), err, sizeof err) ||
           kl_world_turn(w, runtime.handle, NULL, err, sizeof err);
}
void probe_runtime_close(void) {
    kl_core_close(&runtime);
}
#else
int probe_runtime_turn(struct kl_world *w) {
    return (void)w, 0;
}
void probe_runtime_close(void) {}
#endif
