/* core.h - a libretro core as a loaded shared object: load, call, unload for real.
 *
 * Shared by the wrapper and the headless runner. Not thread-safe. */
#ifndef KLW_CORE_H
#define KLW_CORE_H

#include <libretro.h>
#include <stdbool.h>
#include <stddef.h>

#include "core_wrapper/core/ctors.h"

/* Every function that a core must export, without the prefix retro_. */
/* clang-format off */
#define KL_CORE_CALLS(CALL)                                                                                  \
    CALL(set_environment) CALL(set_video_refresh) CALL(set_audio_sample) CALL(set_audio_sample_batch)        \
    CALL(set_input_poll) CALL(set_input_state) CALL(init) CALL(deinit) CALL(api_version)                     \
    CALL(get_system_info) CALL(get_system_av_info) CALL(set_controller_port_device) CALL(reset) CALL(run)    \
    CALL(serialize_size) CALL(serialize) CALL(unserialize) CALL(cheat_reset) CALL(cheat_set)                 \
    CALL(load_game) CALL(load_game_special) CALL(unload_game) CALL(get_region) CALL(get_memory_data)         \
    CALL(get_memory_size)
/* clang-format on */

/* The loaded core and its functions. */
struct kl_core {
    void *handle;
    char path[4096];      /* of the core's own file */
    char copy_path[4096]; /* the private copy that is really loaded; "" if path itself is */
    bool initialised, game_loaded;
    bool late; /* opened by kl_core_open_late(); kl_core_construct() then runs ctors */
    struct kl_ctors ctors;
#define KL_CORE_CALL(name) __typeof__(retro_##name) *name;
    KL_CORE_CALLS(KL_CORE_CALL)
};

/* Loads the shared object and finds its functions; calls none but api_version. Returns 0, or -1 with one
 * line in err that names the file, the expected and the actual value. */
int kl_core_open(struct kl_core *c, const char *path, char *err, size_t err_len);

/* kl_core_open() from a private copy whose static constructors have not run: turn the world (world.h), then
 * call kl_core_construct() before anything else. If the file does not allow that, the constructors have
 * already run, and kl_core_construct() does nothing. */
int kl_core_open_late(struct kl_core *c, const char *path, char *err, size_t err_len);
void kl_core_construct(struct kl_core *c);

/* Unloads: unload_game and deinit if they are due, then the library. Afterwards the object is empty. */
void kl_core_close(struct kl_core *c);

/* serialize() for states that other machines compare. It fills the unused stack with zeros first, because
 * some cores save values that they never set (gambatte's rombank, if the cartridge has no mapper). */
bool kl_core_serialize(const struct kl_core *c, void *data, size_t size);

/* Opens c->path again with no memory of the first load. If the library stays loaded after closing, loads a
 * copy under a fresh name in a private temporary folder. Errors as kl_core_open(). */
int kl_core_reopen(struct kl_core *c, char *err, size_t err_len);

/* Finds the core NAME_OR_PATH: a path with a slash as it is; else NAME or NAME_libretro.so (.dll) in each of
 * the NULL-ended dirs, then in RetroArch's usual core folders. Returns 0, or -1, and err lists the places
 * searched. */
int kl_core_find(const char *name_or_path, const char *const *dirs, char *out, size_t cap, char *err,
                 size_t err_len);

/* Length of a core's string without the blanks at its end (Nestopia's version has one), at most `max`; 0 for
 * NULL. For "%.*s". */
int kl_core_text_len(const char *text, int max);

/* "<core> Keylock": the wrapper's own library_name. With it, options, remaps and sorted saves are the
 * wrapped core's own. */
#define KL_CORE_NAME_BYTES 32 /* NUL included: RetroArch refuses its own twin with a longer one */
void kl_core_locked_name(char out[KL_CORE_NAME_BYTES], const char *library_name);

#endif
