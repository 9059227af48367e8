/* canvas.h - boxes and text drawn into a picture of any of libretro's three pixel formats. Pure.
 *
 * Units: one unit is the number of pixels at which the font is readable at that size (1 up to 320 x 240, 2
 * at 640 x 480, …). x and y count from the top left as the viewer sees it, also if the frontend shows the
 * picture turned. Drawing outside the picture is cut off. Colours are 0xRRGGBB. */
#ifndef KLW_CANVAS_H
#define KLW_CANVAS_H

#include <libretro.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A line of text as the letters that are drawn.
 *
 * A line is small: the built-in font (font.h), a cell for each character. Or it is tall: all of it from GNU
 * Unifont (font.h), a cell for a narrow letter and two for a wide one. It is tall if a player's own words
 * in it have a character that the built-in font lacks and Unifont has. A dot is a unit in both: with less
 * than 16 rows most scripts cannot be read. Names stay plain in both, for in Unifont letters of one script
 * look like those of another. */

#define KL_LETTERS_MAX 512
#define KL_LETTERS_BOX 0 /* the code of a tall letter that is not there */

struct kl_letters {
    bool tall;
    unsigned count;
    struct {
        unsigned code; /* small: as kl_font_next() gives it; tall: a character of Unicode */
        unsigned char cells;
    } at[KL_LETTERS_MAX]; /* longer lines are cut */
};

/* words: the byte of the line from which on it is a player's own words; 0: there are none. */
void kl_letters_set(struct kl_letters *l, const char *line, size_t words);
/* Units of a cell, and from one line to the next. */
int kl_letters_width(const struct kl_letters *l);
int kl_letters_height(const struct kl_letters *l);
/* Would the line be tall, if Unifont were there and had everything? */
bool kl_letters_need_unifont(const char *line, size_t words);

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
