/* letters.h - a line of text as the letters that are drawn.
 *
 * A line is small: the built-in font (font.h), a cell for each character. Or it is tall: all of it from GNU
 * Unifont (unifont.h), a cell for a narrow letter and two for a wide one. It is tall if a player's own words
 * in it have a character that the built-in font lacks and Unifont has. A dot is a unit in both: with less
 * than 16 rows most scripts cannot be read. Names stay plain in both, for in Unifont letters of one script
 * look like those of another. */
#ifndef KLW_LETTERS_H
#define KLW_LETTERS_H

#include <stdbool.h>
#include <stddef.h>

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

#endif
