/* tone_core.c - a libretro core that plays two pure tones (500 Hz left, 100 Hz right), for tests of sound and
 * pace.
 *
 * Its core options, which in a room are the host's:
 *   tone_fps      60, 59.1856, 60.0988, 50.007 or 30 frames a second
 *   tone_switch   off, or the frame in which it changes to 50 Hz by SET_SYSTEM_AV_INFO
 *   tone_cost_us  processor time of every frame (where it is 0, TONE_COST_US of the environment has a say)
 *   tone_hidden   by how much less of it an unseen frame takes: 0 or 90 percent
 *   tone_dupe     on: only every tenth frame draws, the others are NULL
 * The picture is one colour, the frame's number. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/cores/libretro_core.h"

#define RATE   48000
#define LOUD   12000.0
#define WIDTH  160
#define HEIGHT 144

static struct {
    uint32_t frame, sum;
    uint64_t played;  /* samples */
    double fps, part; /* part of a sample that is owed */
} game;

static const struct retro_variable variables[] = {
    {"tone_fps", "Frames a second; 60|59.1856|60.0988|50.007|30"},
    {"tone_switch", "Change to 50 Hz in frame; off|300|600"},
    {"tone_cost_us", "Microseconds a frame; 0|300|1000|4000|8000|12000|20000"},
    {"tone_hidden", "Percent saved where unseen; 0|90"},
    {"tone_dupe", "Draw every tenth frame; off|on"},
    {NULL, NULL},
};

static double option(const char *key, double otherwise) {
    struct retro_variable v = {key, NULL};
    if (!environment(RETRO_ENVIRONMENT_GET_VARIABLE, &v) || !v.value) return otherwise;
    char *end;
    double d = strtod(v.value, &end);
    return end == v.value ? strcmp(v.value, "on") == 0 : d;
}

static void burn(uint64_t from_us) {
    const char *usual = getenv("TONE_COST_US");
    double cost_us = option("tone_cost_us", 0);
    if (cost_us <= 0 && usual) cost_us = strtod(usual, NULL);
    int enabled = 3;
    if (environment(RETRO_ENVIRONMENT_GET_AUDIO_VIDEO_ENABLE, &enabled) && !(enabled & 1))
        cost_us *= 1 - option("tone_hidden", 0) / 100;
    while ((double)(wall_us() - from_us) < cost_us) {
    }
}

static void fill_av(struct retro_system_av_info *info) {
    *info = (struct retro_system_av_info){{WIDTH, HEIGHT, WIDTH, HEIGHT, 0}, {game.fps, RATE}};
}

static void switch_rate(void) {
    struct retro_system_av_info info;
    game.fps = 50;
    fill_av(&info);
    environment(RETRO_ENVIRONMENT_SET_SYSTEM_AV_INFO, &info);
}

static void sound(void) {
    int16_t s[2 * RATE / 20];
    double exact = RATE / game.fps + game.part;
    unsigned n = (unsigned)exact;
    game.part = exact - n;
    for (unsigned i = 0; i < n; i++) {
        double t = (double)(game.played++ % RATE) / RATE;
        s[i * 2] = (int16_t)lrint(LOUD * sin(2 * M_PI * 500 * t));
        s[i * 2 + 1] = (int16_t)lrint(LOUD * sin(2 * M_PI * 100 * t));
    }
    audio(s, n);
}

API void retro_run(void) {
    static uint16_t pixels[WIDTH * HEIGHT];
    uint64_t from_us = wall_us();
    poll_input();
    for (unsigned port = 0; port < 2; port++)
        for (unsigned id = 0; id < 16; id++)
            game.sum = game.sum * 16777619u + (input_state(port, RETRO_DEVICE_JOYPAD, 0, id) != 0);
    if (option("tone_switch", 0) > 0 && game.frame == option("tone_switch", 0)) switch_rate();
    game.frame++;
    burn(from_us);
    bool same = option("tone_dupe", 0) > 0 && game.frame % 10;
    for (size_t i = 0; !same && i < WIDTH * HEIGHT; i++)
        pixels[i] = (uint16_t)game.frame;
    video(same ? NULL : pixels, WIDTH, HEIGHT, WIDTH * 2);
    sound();
}

static void declare(void) {
    environment(RETRO_ENVIRONMENT_SET_VARIABLES, (void *)variables);
}

API bool retro_load_game(const struct retro_game_info *info) {
    enum retro_pixel_format format = RETRO_PIXEL_FORMAT_RGB565;
    (void)info;
    memset(&game, 0, sizeof game);
    game.fps = option("tone_fps", 60);
    return environment(RETRO_ENVIRONMENT_SET_PIXEL_FORMAT, &format);
}

API void retro_get_system_av_info(struct retro_system_av_info *info) {
    if (game.fps == 0) game.fps = 60;
    fill_av(info);
}

TEST_CORE_STATE(game)

API void retro_get_system_info(struct retro_system_info *info) {
    *info = (struct retro_system_info){"Tone core", "1", "nes|bin", false, false};
}
API void retro_unload_game(void) {}
API void retro_reset(void) {
    double fps = game.fps;
    memset(&game, 0, sizeof game);
    game.fps = fps;
}
