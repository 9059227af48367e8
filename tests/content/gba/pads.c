/* pads.c - Game Boy Advance: a box that the pad moves over a field of dots that
 * chance paints. All RAM is a function of the pad alone: the buttons go into
 * the random numbers every frame, those into the picture and into trail. */

#include <stdint.h>

#define IO16(a) (*(volatile uint16_t *)(0x04000000 + (a)))
#define SCREEN  ((volatile uint16_t *)0x06000000)

enum { WIDTH = 240, HEIGHT = 160, BOX = 12, DOTS = 24 };
enum { PAD_RIGHT = 0x10, PAD_LEFT = 0x20, PAD_UP = 0x40, PAD_DOWN = 0x80, PAD_ALL = 0x3FF };

static uint32_t rng;
static unsigned pad, before, frame;
static int x, y;
static uint32_t trail[256];

static uint32_t chance(void) {
    rng = rng * 1664525 + 1013904223;
    return rng >> 8;
}

static void box(uint16_t colour) {
    for (int v = 0; v < BOX; v++)
        for (int u = 0; u < BOX; u++)
            SCREEN[(y + v) * WIDTH + x + u] = colour;
}

/* A dot is two by two; its colours are dim, so that the box stands out. */
static void dot(uint32_t n) {
    volatile uint16_t *p = SCREEN + (n >> 8) % (HEIGHT / 2) * 2 * WIDTH + (n & 0xFF) % (WIDTH / 2) * 2;
    p[0] = p[1] = p[WIDTH] = p[WIDTH + 1] =
        (uint16_t)((n >> 16 & 15) << 10 | (n >> 18 & 7) << 5 | (n >> 20 & 7));
}

static void beep(unsigned pitch) {
    IO16(0x62) = 0xF280; /* loud, fading, half duty */
    IO16(0x64) = (uint16_t)(0x8600 | (pitch & 0xFF));
}

int main(void) {
    rng = 0x4B59;
    x = WIDTH / 2;
    y = HEIGHT / 2;
    IO16(0x00) = 0x0403; /* one picture of 15-bit colours */
    IO16(0x84) = 0x80;
    IO16(0x80) = 0x1177;
    IO16(0x82) = 2;
    for (;;) {
        while (IO16(0x06) >= HEIGHT)
            ;
        while (IO16(0x06) < HEIGHT)
            ;
        before = pad;
        pad = ~IO16(0x130) & PAD_ALL;
        box(0);
        x += 2 * ((pad & PAD_RIGHT && x < WIDTH - BOX) - (pad & PAD_LEFT && x > 0));
        y += 2 * ((pad & PAD_DOWN && y < HEIGHT - BOX) - (pad & PAD_UP && y > 0));
        rng ^= pad;
        trail[++frame & 255] = chance();
        for (int i = 0; i < DOTS; i++)
            dot(chance());
        box(pad & 3 ? 0x7FFF : 0x03FF);
        if (pad & ~before) beep(pad);
    }
}
