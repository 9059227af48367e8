/* system_core.c - a libretro core made for tests: its RAM is equal on all systems, its state is not. The
 * state ends with four bytes that hold the system of the build, as some cores have bytes that they never set.
 * Pads of two ports change its RAM. */
#include <string.h>

#include "tests/cores/libretro_core.h"

#define PORTS  2
#define FPS    60
#define RATE   48000
#define WIDTH  160
#define HEIGHT 144

#ifdef _WIN32
#define BUILT_FOR 2
#else
#define BUILT_FOR 1
#endif

static struct { uint32_t frame, sum; /* sum: of everything that was pressed */ } game;

static void declare(void) {}

API bool retro_load_game(const struct retro_game_info *info) {
    enum retro_pixel_format format = RETRO_PIXEL_FORMAT_RGB565;
    (void)info;
    memset(&game, 0, sizeof game);
    return environment(RETRO_ENVIRONMENT_SET_PIXEL_FORMAT, &format);
}
API void retro_unload_game(void) {}

API void retro_run(void) {
    static uint16_t pixels[WIDTH * HEIGHT];
    static const int16_t silence[2 * RATE / FPS];
    poll_input();
    for (unsigned port = 0; port < PORTS; port++)
        game.sum = (game.sum ^ read_pad(port)) * 16777619u + port + 1;
    game.frame++;
    memset(pixels, (int)(game.sum & 0xff), sizeof pixels);
    video(pixels, WIDTH, HEIGHT, WIDTH * 2);
    audio(silence, RATE / FPS);
}

API size_t retro_serialize_size(void) {
    return sizeof game + sizeof(uint32_t);
}
API bool retro_serialize(void *data, size_t size) {
    uint32_t built_for = BUILT_FOR;
    if (size < retro_serialize_size()) return false;
    memcpy(data, &game, sizeof game);
    memcpy((uint8_t *)data + sizeof game, &built_for, sizeof built_for);
    return true;
}
API bool retro_unserialize(const void *data, size_t size) {
    if (size < retro_serialize_size()) return false;
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
    *info = (struct retro_system_info){"System core", "1", "nes|bin", false, false};
}
API void retro_get_system_av_info(struct retro_system_av_info *info) {
    *info = (struct retro_system_av_info){{WIDTH, HEIGHT, WIDTH, HEIGHT, 0}, {FPS, RATE}};
}
API void retro_reset(void) {
    memset(&game, 0, sizeof game);
}
