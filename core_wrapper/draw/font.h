/* font.h - a small bitmap font for drawing into the picture: letters of 5 x 7 dots in cells of 6 x 8: ASCII,
 * the letters of western Europe and a few signs. Anything else is a box. Pure. */
#ifndef KLW_FONT_H
#define KLW_FONT_H

#include <stdbool.h>
#include <stddef.h>

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

#endif
