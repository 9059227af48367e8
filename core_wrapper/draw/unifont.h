/* unifont.h - letters of other scripts: GNU Unifont, from the file of Debian's package unifont.
 *
 * The file has a line for each character, in the order of their numbers: NUMBER:DOTS, both in hexadecimal. 32
 * digits are 16 rows of 8 dots, 64 digits are 16 rows of 16. A file with any other line is refused as a
 * whole. There is one font in the process; only the frontend's thread uses it. */
#ifndef KLW_UNIFONT_H
#define KLW_UNIFONT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
