/* pads.c - Game Boy: a ball that the pad moves over ground that chance paints.
 * All RAM is a function of the pad alone: the buttons go into the random
 * numbers every frame, the random numbers into the picture and into trail. */

#include <stdint.h>

#define IO(a) (*(volatile uint8_t *)(0xFF00 + (a)))
#define VRAM  ((volatile uint8_t *)0x8000)
#define MAP   ((volatile uint8_t *)0x9800)
#define OAM   ((volatile uint8_t *)0xFE00)

enum { PAD_RIGHT = 0x01, PAD_LEFT = 0x02, PAD_UP = 0x04, PAD_DOWN = 0x08 };

static uint16_t rng;
static uint8_t pad, before, x, y, frame;
static uint8_t trail[256];

/* Two bit planes a row; the ground is shades of dither, the ball is last. */
static const uint8_t tiles[5][8] = {
    {0, 0, 0, 0, 0, 0, 0, 0},
    {0x80, 0, 0x08, 0, 0x80, 0, 0x08, 0},
    {0x88, 0x22, 0x88, 0x22, 0x88, 0x22, 0x88, 0x22},
    {0xAA, 0x55, 0xAA, 0x55, 0xAA, 0x55, 0xAA, 0x55},
    {0x3C, 0x7E, 0xCF, 0xDF, 0xFF, 0xFF, 0x7E, 0x3C},
};

static uint8_t chance(void) {
    for (uint8_t i = 8; i; i--)
        rng = rng & 1 ? (uint16_t)(rng >> 1 ^ 0xB400) : rng >> 1;
    return (uint8_t)rng;
}

/* Directions low, buttons high; read twice, as the lines need time to settle. */
static uint8_t read_pad(void) {
    uint8_t both;
    IO(0x00) = 0x20;
    both = IO(0x00);
    both = ~IO(0x00) & 0x0F;
    IO(0x00) = 0x10;
    pad = IO(0x00);
    both |= (uint8_t)(~IO(0x00) << 4);
    IO(0x00) = 0x30;
    return both;
}

static void beep(uint8_t pitch) {
    IO(0x12) = 0xF2; /* loud, fading */
    IO(0x13) = pitch;
    IO(0x14) = 0x86;
}

static void begin(void) {
    while (IO(0x44) != 144) /* the display may go off in the blank only */
        ;
    IO(0x40) = 0;
    for (uint8_t t = 0; t < 5; t++)
        for (uint8_t r = 0; r < 8; r++) {
            VRAM[t * 16 + r * 2] = tiles[t][r];
            VRAM[t * 16 + r * 2 + 1] = t == 4 ? 0xFF & tiles[t][r] : 0;
        }
    for (uint16_t i = 0; i < 1024; i++)
        MAP[i] = 0;
    for (uint8_t i = 0; i < 160; i++)
        OAM[i] = 0;
    IO(0x42) = IO(0x43) = 0;
    IO(0x47) = IO(0x48) = 0xE4;
    IO(0x26) = 0x80;
    IO(0x25) = 0x11;
    IO(0x24) = 0x77;
    IO(0x11) = 0x80;
    IO(0x40) = 0x93;
}

void main(void) {
    rng = 0x4B59;
    x = 80;
    y = 72;
    begin();
    for (;;) {
        while (IO(0x44) == 144)
            ;
        while (IO(0x44) != 144)
            ;
        OAM[0] = y + 16;
        OAM[1] = x + 8;
        OAM[2] = 4;
        MAP[(uint16_t)(trail[frame] % 18) * 32 + trail[(uint8_t)(frame - 1)] % 20] = rng & 3;

        before = pad;
        pad = read_pad();
        x += (pad & PAD_RIGHT && x < 152) - (pad & PAD_LEFT && x > 0);
        y += (pad & PAD_DOWN && y < 136) - (pad & PAD_UP && y > 0);
        rng ^= pad;
        if (!rng) rng = 1;
        frame++;
        trail[frame] = chance();
        if (pad & ~before) beep(pad);
    }
}
