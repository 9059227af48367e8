/* canvas.h - boxes and text drawn into a picture of any of libretro's three pixel formats. Pure.
 *
 * Units: one unit is the number of pixels at which the font is readable at that size (1 up to 320 x 240, 2
 * at 640 x 480, …). x and y count from the top left as the viewer sees it, also if the frontend shows the
 * picture turned. Drawing outside the picture is cut off. Colours are 0xRRGGBB. */
#ifndef KLW_CANVAS_H
#define KLW_CANVAS_H

#include <libretro.h>
#include <stdint.h>

#include "core_wrapper/draw/letters.h"

struct kl_canvas {
    uint8_t *pixels; /* borrowed */
    unsigned width, height;
    size_t pitch; /* bytes, a multiple of a pixel's */
    enum retro_pixel_format format;
    unsigned turn;             /* quarter turns counterclockwise by which it is shown */
    unsigned scale_x, scale_y; /* pixels of a unit, in the viewer's directions */
    int columns, rows;         /* units that fit */
};

/* Measures the canvas; pixels, width, height, pitch, format, turn (taken modulo 4) are set. */
void kl_canvas_measure(struct kl_canvas *c);
void kl_canvas_fill(const struct kl_canvas *c, int x, int y, int w, int h, uint32_t rgb);
/* Darkens the picture in the box to an eighth. */
void kl_canvas_shade(const struct kl_canvas *c, int x, int y, int w, int h);
/* One line, at most `cells` characters of it. Returns the x behind it. */
int kl_canvas_text(const struct kl_canvas *c, int x, int y, int cells, uint32_t rgb, const char *text);
/* The letters from..to-1 of a line. */
void kl_canvas_letters(const struct kl_canvas *c, int x, int y, const struct kl_letters *l, unsigned from,
                       unsigned to, uint32_t rgb);
/* Bytes of one pixel. */
size_t kl_canvas_pixel_bytes(enum retro_pixel_format format);

#endif
