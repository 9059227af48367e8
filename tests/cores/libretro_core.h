/* libretro_core.h - the common part of the cores made for tests: the frontend's callbacks, and the parts of
 * libretro that they leave empty. One core includes it once, and defines the rest. */
#ifndef TEST_LIBRETRO_CORE_H
#define TEST_LIBRETRO_CORE_H

#include <libretro.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>
#ifdef _WIN32
#include <windows.h>
#else
#include <sys/syscall.h>
#include <unistd.h>
#endif

#define API RETRO_API __attribute__((visibility("default")))

static retro_environment_t environment;
static retro_video_refresh_t video;
static retro_audio_sample_batch_t audio;
static retro_input_poll_t poll_input;
static retro_input_state_t input_state;

static void declare(void); /* the core's own, once the frontend listens */

API void retro_set_environment(retro_environment_t cb) {
    bool yes = true;
    environment = cb;
    cb(RETRO_ENVIRONMENT_SET_SUPPORT_NO_GAME, &yes);
    declare();
}
API void retro_set_video_refresh(retro_video_refresh_t cb) {
    video = cb;
}
API void retro_set_audio_sample(retro_audio_sample_t cb) {
    (void)cb;
}
API void retro_set_audio_sample_batch(retro_audio_sample_batch_t cb) {
    audio = cb;
}
API void retro_set_input_poll(retro_input_poll_t cb) {
    poll_input = cb;
}
API void retro_set_input_state(retro_input_state_t cb) {
    input_state = cb;
}
API void retro_init(void) {}
API void retro_deinit(void) {}
API unsigned retro_api_version(void) {
    return RETRO_API_VERSION;
}
#ifndef TEST_CORE_PORTS
API void retro_set_controller_port_device(unsigned port, unsigned device) {
    (void)port, (void)device;
}
#endif
API void retro_cheat_reset(void) {}
API void retro_cheat_set(unsigned index, bool enabled, const char *code) {
    (void)index, (void)enabled, (void)code;
}
API bool retro_load_game_special(unsigned type, const struct retro_game_info *info, size_t n) {
    (void)type, (void)info, (void)n;
    return false;
}
API unsigned retro_get_region(void) {
    return RETRO_REGION_NTSC;
}

/* The machine's monotonic clock by a direct system call: the world that the wrapper turns stays out of it. */
#ifdef _WIN32
LONG NTAPI NtQueryPerformanceCounter(LARGE_INTEGER *counter, LARGE_INTEGER *frequency);
static inline uint64_t wall_us(void) {
    LARGE_INTEGER now, hz;
    NtQueryPerformanceCounter(&now, &hz);
    return (uint64_t)(now.QuadPart / hz.QuadPart * 1000000 +
                      now.QuadPart % hz.QuadPart * 1000000 / hz.QuadPart);
}
#else
static inline uint64_t wall_us(void) {
    struct timespec t = {0};
    syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}
#endif

/* Buttons of a pad as a mask, asked for one by one. */
static inline uint16_t read_pad(unsigned port) {
    unsigned mask = 0;
    for (unsigned id = 0; id < 16; id++)
        mask |= (unsigned)(input_state(port, RETRO_DEVICE_JOYPAD, 0, id) != 0) << id;
    return (uint16_t)mask;
}

/* For a core whose whole state is one object: it is the system RAM and the savestate, as it lies there. */
#define TEST_CORE_STATE(object)                                                                              \
    API size_t retro_serialize_size(void) {                                                                  \
        return sizeof(object);                                                                               \
    }                                                                                                        \
    API bool retro_serialize(void *data, size_t size) {                                                      \
        if (size < sizeof(object)) return false;                                                             \
        memcpy(data, &(object), sizeof(object));                                                             \
        return true;                                                                                         \
    }                                                                                                        \
    API bool retro_unserialize(const void *data, size_t size) {                                              \
        if (size < sizeof(object)) return false;                                                             \
        memcpy(&(object), data, sizeof(object));                                                             \
        return true;                                                                                         \
    }                                                                                                        \
    API void *retro_get_memory_data(unsigned id) {                                                           \
        return id == RETRO_MEMORY_SYSTEM_RAM ? &(object) : NULL;                                             \
    }                                                                                                        \
    API size_t retro_get_memory_size(unsigned id) {                                                          \
        return id == RETRO_MEMORY_SYSTEM_RAM ? sizeof(object) : 0;                                           \
    }

#endif
