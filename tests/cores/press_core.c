/* press_core.c - a libretro core that writes down when it sees a button go down: the far end of `make
 * bench-latency`.
 *
 * PRESS_LOG names a file; each frame in which buttons go down on a pad adds a line
 *     WALL_US PORT BUTTONS FRAME RUNS
 * WALL_US is the machine's monotonic clock when the frame's run began, by a direct system call: the world
 * that the wrapper turns stays out of it. RUNS counts every run. The pads of the frame before are part of the
 * state, so a frontend that goes back and runs frames again writes those presses again, and RUNS outgrows
 * FRAME: the first line is when the press first played. PRESS_COST_US makes every frame cost that much
 * processor time. */
#include <libretro.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define PORTS  8
#define FPS    60
#define RATE   48000
#define WIDTH  160
#define HEIGHT 144
#define API    RETRO_API __attribute__((visibility("default")))

static retro_environment_t environment;
static retro_video_refresh_t video;
static retro_audio_sample_batch_t audio;
static retro_input_poll_t poll_input;
static retro_input_state_t input_state;

static struct {
    uint32_t frame,
        sum; /* sum: of everything that was ever pressed, so that unequal games have unequal hashes */
    uint16_t pad[PORTS];
} game;
static FILE *out;
static unsigned cost_us, runs;

static uint64_t wall_us(void) {
    struct timespec t = {0};
    syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

static uint16_t read_pad(unsigned port) {
    unsigned mask = 0;
    for (unsigned id = 0; id < 16; id++)
        mask |= (unsigned)(input_state(port, RETRO_DEVICE_JOYPAD, 0, id) != 0) << id;
    return (uint16_t)mask;
}

API void retro_run(void) {
    static uint16_t pixels[WIDTH * HEIGHT];
    static const int16_t silence[2 * RATE / FPS];
    uint64_t now_us = wall_us();
    poll_input();
    for (unsigned port = 0; port < PORTS; port++) {
        uint16_t pad = read_pad(port);
        uint16_t fresh = pad & (uint16_t)~game.pad[port];
        if (fresh && out)
            fprintf(out, "%llu %u %x %u %u\n", (unsigned long long)now_us, port, fresh, game.frame, runs);
        game.pad[port] = pad;
        game.sum = (game.sum ^ pad) * 16777619u + port;
    }
    memset(pixels, (int)(game.sum & 0xff), sizeof pixels);
    game.frame++;
    runs++;
    while (cost_us && wall_us() < now_us + cost_us) {
    }
    video(pixels, WIDTH, HEIGHT, WIDTH * 2);
    audio(silence, RATE / FPS);
}

API bool retro_load_game(const struct retro_game_info *info) {
    enum retro_pixel_format format = RETRO_PIXEL_FORMAT_RGB565;
    const char *path = getenv("PRESS_LOG"), *cost = getenv("PRESS_COST_US");
    (void)info;
    memset(&game, 0, sizeof game);
    environment(RETRO_ENVIRONMENT_SET_PIXEL_FORMAT, &format);
    if (path && !out) out = fopen(path, "ae");
    if (out) setvbuf(out, NULL, _IOLBF, 0);
    cost_us = cost ? (unsigned)strtoul(cost, NULL, 10) : 0;
    return true;
}

API void retro_unload_game(void) {
    if (out) fclose(out);
    out = NULL;
}

API void retro_set_environment(retro_environment_t cb) {
    bool yes = true;
    environment = cb;
    cb(RETRO_ENVIRONMENT_SET_SUPPORT_NO_GAME, &yes);
}

API size_t retro_serialize_size(void) {
    return sizeof game;
}
API bool retro_serialize(void *data, size_t size) {
    if (size < sizeof game) return false;
    memcpy(data, &game, sizeof game);
    return true;
}
API bool retro_unserialize(const void *data, size_t size) {
    if (size < sizeof game) return false;
    memcpy(&game, data, sizeof game);
    return true;
}
API void *retro_get_memory_data(unsigned id) {
    return id == RETRO_MEMORY_SYSTEM_RAM ? &game : NULL;
}
API size_t retro_get_memory_size(unsigned id) {
    return id == RETRO_MEMORY_SYSTEM_RAM ? sizeof game : 0;
}
API void retro_get_system_info(struct retro_system_info *info) {
    *info = (struct retro_system_info){"Press core", "1", "nes|bin", false, false};
}
API void retro_get_system_av_info(struct retro_system_av_info *info) {
    *info = (struct retro_system_av_info){{WIDTH, HEIGHT, WIDTH, HEIGHT, 0}, {FPS, RATE}};
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
API void retro_set_controller_port_device(unsigned port, unsigned device) {
    (void)port, (void)device;
}
API void retro_reset(void) {
    memset(&game, 0, sizeof game);
}
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
