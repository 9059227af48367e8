#include "core_wrapper/draw/canvas.h"

#include <string.h>

#include "core_wrapper/draw/font.h"
#include "net/engine/plain.h"

#define UNIT_LINES   220u /* lines of a picture for each pixel of a unit */
#define UNIT_COLUMNS 160u /* columns at least, for each pixel of a unit */

size_t kl_canvas_pixel_bytes(enum retro_pixel_format format) {
    return format == RETRO_PIXEL_FORMAT_XRGB8888 ? 4 : 2;
}

/* Twice as wide as it should be (512 x 224, 640 x 240): the pixels are narrow. */
static void measure_units(struct kl_canvas *c, unsigned w, unsigned h) {
    unsigned narrow = w * 5 > h * 11 ? 2 : 1;
    unsigned by_height = h / UNIT_LINES, by_width = w / narrow / UNIT_COLUMNS;
    c->scale_y =
        (by_height < by_width ? by_height : by_width) ? (by_height < by_width ? by_height : by_width) : 1;
    c->scale_x = c->scale_y * narrow;
    c->columns = (int)(w / c->scale_x);
    c->rows = (int)(h / c->scale_y);
}

void kl_canvas_measure(struct kl_canvas *c) {
    c->turn %= 4;
    if (c->turn & 1)
        measure_units(c, c->height, c->width);
    else
        measure_units(c, c->width, c->height);
}

/* --- boxes --- */

struct box {
    unsigned x, y, w, h; /* pixels of the buffer */
};

static int clip(int *from, int *len, int end) {
    if (*from < 0) {
        *len += *from;
        *from = 0;
    }
    if (*len > end - *from) *len = end - *from;
    return *len > 0;
}

/* A picture shown by a quarter turn counterclockwise has the viewer's top at its right edge. */
static bool box_of(const struct kl_canvas *c, int x, int y, int w, int h, struct box *out) {
    if (!clip(&x, &w, c->columns) || !clip(&y, &h, c->rows)) return false;
    unsigned vx = (unsigned)x * c->scale_x, vy = (unsigned)y * c->scale_y;
    unsigned vw = (unsigned)w * c->scale_x, vh = (unsigned)h * c->scale_y;
    switch (c->turn) {
    case 0: *out = (struct box){vx, vy, vw, vh}; break;
    case 1: *out = (struct box){c->width - vy - vh, vx, vh, vw}; break;
    case 2: *out = (struct box){c->width - vx - vw, c->height - vy - vh, vw, vh}; break;
    default: *out = (struct box){vy, c->height - vx - vw, vh, vw}; break;
    }
    return true;
}

static uint32_t native(enum retro_pixel_format format, uint32_t rgb) {
    uint32_t r = rgb >> 16 & 0xff, g = rgb >> 8 & 0xff, b = rgb & 0xff;
    switch (format) {
    case RETRO_PIXEL_FORMAT_XRGB8888: return rgb;
    case RETRO_PIXEL_FORMAT_RGB565: return r >> 3 << 11 | g >> 2 << 5 | b >> 3;
    default: return r >> 3 << 10 | g >> 3 << 5 | b >> 3;
    }
}

/* Of each pixel an eighth of the bits in `keep` stays; `add` is put over it. */
static void paint(const struct kl_canvas *c, int x, int y, int w, int h, uint32_t keep, uint32_t add) {
    struct box b;
    if (!box_of(c, x, y, w, h, &b)) return;
    for (unsigned row = 0; row < b.h; row++) {
        void *line = c->pixels + (b.y + row) * c->pitch;
        for (unsigned i = b.x; i < b.x + b.w; i++)
            if (kl_canvas_pixel_bytes(c->format) == 4) {
                uint32_t *p = (uint32_t *)line + i;
                *p = (*p >> 3 & keep) | add;
            } else {
                uint16_t *p = (uint16_t *)line + i;
                *p = (uint16_t)((*p >> 3 & keep) | add);
            }
    }
}

void kl_canvas_fill(const struct kl_canvas *c, int x, int y, int w, int h, uint32_t rgb) {
    paint(c, x, y, w, h, 0, native(c->format, rgb));
}

/* The mask has the bits of each channel that are left after the shift. */
void kl_canvas_shade(const struct kl_canvas *c, int x, int y, int w, int h) {
    paint(c, x, y, w, h, native(c->format, 0x1f1f1f), 0);
}

/* --- text --- */

static void draw_glyph(const struct kl_canvas *c, int x, int y, uint32_t rgb, unsigned code) {
    for (unsigned row = 0; row < KL_FONT_HEIGHT; row++)
        for (unsigned column = 0; column < KL_FONT_WIDTH; column++)
            if (kl_font_dot(code, column, row)) kl_canvas_fill(c, x + (int)column, y + (int)row, 1, 1, rgb);
}

/* A frame of the size of a narrow letter. */
static const struct kl_glyph missing = {
    1, {0, 0, 0, 0x7e00, 0x4200, 0x4200, 0x4200, 0x4200, 0x4200, 0x4200, 0x4200, 0x4200, 0x4200, 0x7e00}};

void kl_canvas_letters(const struct kl_canvas *c, int x, int y, const struct kl_letters *l, unsigned from,
                       unsigned to, uint32_t rgb) {
    for (unsigned i = from; i < to && i < l->count; i++) {
        if (l->tall) {
            unsigned code = l->at[i].code;
            struct kl_glyph g;
            if (code == KL_LETTERS_BOX || !kl_unifont_find(code, &g)) g = missing;
            for (int row = 0; row < KL_UNIFONT_ROWS; row++)
                for (int column = 0; column < 2 * KL_UNIFONT_HALF; column++)
                    if (g.row[row] >> (15 - column) & 1) kl_canvas_fill(c, x + column, y + row, 1, 1, rgb);
        } else
            draw_glyph(c, x, y, rgb, l->at[i].code);
        x += l->at[i].cells * kl_letters_width(l);
    }
}

int kl_canvas_text(const struct kl_canvas *c, int x, int y, int cells, uint32_t rgb, const char *text) {
    for (unsigned code; cells > 0 && (code = kl_font_next(&text)) != 0; cells--) {
        draw_glyph(c, x, y, rgb, code);
        x += KL_FONT_WIDTH;
    }
    return x;
}

/* --- letters --- */

struct range {
    unsigned from, to;
};

static bool is_in(const struct range *r, size_t count, unsigned code) {
    for (size_t i = 0; i < count; i++)
        if (code >= r[i].from && code <= r[i].to) return true;
    return false;
}

/* Characters without width, and accents that belong to the letter before them: left out. Other marks, those
 * of one script, take a cell each. */
static bool is_left_out(unsigned code) {
    static const struct range none[] = {
        {0x00ad, 0x00ad}, {0x0300, 0x036f},  {0x115f, 0x1160}, {0x17b4, 0x17b5}, {0x180b, 0x180f},
        {0x1ab0, 0x1aff}, {0x1dc0, 0x1dff},  {0x200b, 0x200d}, {0x2060, 0x2064}, {0x206a, 0x206f},
        {0x20d0, 0x20ff}, {0x3164, 0x3164},  {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f}, {0xfeff, 0xfeff},
        {0xffa0, 0xffa0}, {0xe0000, 0xe0fff}};
    return is_in(none, sizeof none / sizeof *none, code);
}

/* Unifont has pictures of these, which are no letters: control characters, and those that turn the direction
 * of writing or end a line (plain.h). */
static bool is_never_shown(unsigned code) {
    static const struct range never[] = {{0x0001, 0x001f}, {0x007f, 0x009f}, {0x061c, 0x061c},
                                         {0x200e, 0x200f}, {0x2028, 0x202e}, {0x2066, 0x2069},
                                         {0xd800, 0xf8ff}, {0xfdd0, 0xfdef}, {0xfff0, 0xfffd}};
    return is_in(never, sizeof never / sizeof *never, code) || (code & 0xfffe) == 0xfffe;
}

/* The next character of a player's own words; 0 at the end. shown: by the built-in font. */
static unsigned next_word(const char **text, unsigned *shown) {
    unsigned code;
    do {
        const char *same = *text;
        *shown = kl_font_next(&same);
        code = kl_plain_code(text);
    } while (is_left_out(code));
    return code;
}

/* Is the character more than what the built-in font shows for it? */
static bool is_lacking(unsigned code, unsigned shown) {
    bool folded = shown < KL_FONT_BOX && code >= 0xc0 && code <= 0xff;
    return (folded || shown == KL_FONT_BOX) && !is_never_shown(code);
}

bool kl_letters_need_unifont(const char *line, size_t words) {
    unsigned shown, code;
    if (!words || words > strlen(line)) return false;
    line += words;
    while ((code = next_word(&line, &shown)))
        if (is_lacking(code, shown)) return true;
    return false;
}

static bool is_tall(const char *words) {
    struct kl_glyph g;
    unsigned shown, code;
    while ((code = next_word(&words, &shown)))
        if (is_lacking(code, shown) && kl_unifont_find(code, &g)) return true;
    return false;
}

static void add(struct kl_letters *l, unsigned code, unsigned shown) {
    struct kl_glyph g;
    if (l->count == KL_LETTERS_MAX) return;
    bool there = l->tall && !is_never_shown(code) && kl_unifont_find(code, &g);
    l->at[l->count].code = !l->tall ? shown : there ? code : KL_LETTERS_BOX;
    l->at[l->count++].cells = there ? (unsigned char)g.halves : 1;
}

void kl_letters_set(struct kl_letters *l, const char *line, size_t words) {
    unsigned code, shown;
    size_t len = strlen(line);
    const char *own = line + (words && words < len ? words : len);
    l->count = 0;
    l->tall = is_tall(own);
    while (line < own) {
        shown = kl_font_next(&line);
        add(l, kl_font_unicode(shown), shown);
    }
    while ((code = next_word(&line, &shown)))
        add(l, code, shown);
}

int kl_letters_width(const struct kl_letters *l) {
    return l->tall ? KL_UNIFONT_HALF : KL_FONT_WIDTH;
}

int kl_letters_height(const struct kl_letters *l) {
    return (l->tall ? KL_UNIFONT_ROWS : KL_FONT_HEIGHT) + 1;
}
