/* font.h - a small bitmap font for drawing into the picture: letters of 5 x 7 dots in cells of 6 x 8: ASCII,
 * the letters of western Europe and a few signs. Anything else is a box. Pure. */
#ifndef KLW_FONT_H
#define KLW_FONT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KL_FONT_WIDTH  6 /* dots of a cell, the empty column at its right included */
#define KL_FONT_HEIGHT 8 /* the row for descenders included */
#define KL_FONT_BOX    0x7f
#define KL_FONT_MORE   0x80 /* from here on: plus-minus, */
#define KL_FONT_DOT    0x81 /* middle dot, */
#define KL_FONT_LAST                                                                                         \
    0x88 /* and letters that are no ASCII letter with a mark. Those with one: 0xc0 to 0xff                   \
          */

/* Is there a dot in the cell of this character (as of kl_font_next) at x, y? False outside the cell. */
bool kl_font_dot(unsigned code, unsigned x, unsigned y);
/* The next character of a UTF-8 text as the font shows it, one of the codes above; moves *text on. 0 at the
 * end. */
unsigned kl_font_next(const char **text);
/* The character of Unicode for such a code; KL_FONT_BOX stays. */
unsigned kl_font_unicode(unsigned code);
/* Writes the text as the font shows it, in UTF-8, with a white square for each box; as much as cap holds.
 * True if that is the text itself. */
bool kl_font_shown(const char *text, char *out, size_t cap);

/* Letters of other scripts: GNU Unifont, from the file of Debian's package unifont.
 *
 * The file has a line for each character, in the order of their numbers: NUMBER:DOTS, both in hexadecimal. 32
 * digits are 16 rows of 8 dots, 64 digits are 16 rows of 16. A file with any other line is refused as a
 * whole. There is one font in the process; only the frontend's thread uses it. */

#define KL_UNIFONT_ROWS  16
#define KL_UNIFONT_HALF  8           /* dots of a narrow letter's row; a wide one has twice as many */
#define KL_UNIFONT_BYTES (16u << 20) /* at most, of a file; the package's have 4 and 8 MB */

struct kl_glyph {
    unsigned halves;               /* 1: narrow, 2: wide */
    uint16_t row[KL_UNIFONT_ROWS]; /* the leftmost dot is the highest bit, for both widths */
};

/* Reads the font's file, "" for the package's. 0; or with a line in err, and no font, KL_FILE_ABSENT or -1.
 */
int kl_unifont_read(const char *path, char *err, size_t err_len);
void kl_unifont_drop(void);
/* The glyph of a character. False: the font does not have it, or there is no font. */
bool kl_unifont_find(unsigned code, struct kl_glyph *out);

#endif
