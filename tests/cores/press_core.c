/* press_core.c - a libretro core that writes down when it sees a button go down: the far end of `make
 * bench-latency`.
 *
 * PRESS_LOG names a file; each frame in which buttons go down on a pad adds a line
 *     WALL_US PORT BUTTONS FRAME RUNS
 * WALL_US is the machine's monotonic clock when the frame's run began. Clock and file are asked for by direct
 * system calls: the world that the wrapper turns stays out of it. RUNS counts every run. The pads of the
 * frame before are part of the state, so a frontend that goes back and runs frames again writes those presses
 * again, and RUNS outgrows FRAME: the first line is when the press first played. PRESS_COST_US makes every
 * frame cost that much processor time. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/cores/libretro_core.h"

#define PORTS  8
#define FPS    60
#define RATE   48000
#define WIDTH  160
#define HEIGHT 144

static struct {
    uint32_t frame,
        sum; /* sum: of everything that was ever pressed, so that unequal games have unequal hashes */
    uint16_t pad[PORTS];
} game;
static int out = -1;
static unsigned cost_us, runs;

static void write_down(uint64_t at_us, unsigned port, uint16_t fresh) {
    char line[80];
    int n = snprintf(line, sizeof line, "%llu %u %x %u %u\n", (unsigned long long)at_us, port, fresh,
                     game.frame, runs);
    (void)!syscall(SYS_write, out, line, (size_t)n);
}

API void retro_run(void) {
    static uint16_t pixels[WIDTH * HEIGHT];
    static const int16_t silence[2 * RATE / FPS];
    uint64_t now_us = wall_us();
    poll_input();
    for (unsigned port = 0; port < PORTS; port++) {
        uint16_t pad = read_pad(port);
        uint16_t fresh = pad & (uint16_t)~game.pad[port];
        if (fresh && out >= 0) write_down(now_us, port, fresh);
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
    if (path && out < 0)
        out = (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    cost_us = cost ? (unsigned)strtoul(cost, NULL, 10) : 0;
    return true;
}

static void declare(void) {}

API void retro_unload_game(void) {
    if (out >= 0) (void)syscall(SYS_close, out);
    out = -1;
}

TEST_CORE_STATE(game)

API void retro_get_system_info(struct retro_system_info *info) {
    *info = (struct retro_system_info){"Press core", "1", "nes|bin", false, false};
}
API void retro_get_system_av_info(struct retro_system_av_info *info) {
    *info = (struct retro_system_av_info){{WIDTH, HEIGHT, WIDTH, HEIGHT, 0}, {FPS, RATE}};
}
API void retro_reset(void) {
    memset(&game, 0, sizeof game);
}
