#include "font.h"

#include <stdbool.h>

#define FIRST       0x20
#define ART_COLUMNS 16

/* clang-format off */
/* Sixteen characters a block, in the order of ASCII from the blank on; the last one stands for all that is not there. */
static const char *const art[][KL_FONT_HEIGHT] = {
    {
        "     |  #  | # # |     |  #  |##   | ##  |  #  |   # | #   |     |     |     |     |     |    #",
        "     |  #  | # # | # # | ####|##  #|#  # |  #  |  #  |  #  |  #  |  #  |     |     |     |    #",
        "     |  #  |     |#####|# #  |   # |# #  |     |  #  |  #  |# # #|  #  |     |     |     |   # ",
        "     |  #  |     | # # | ### |  #  | #   |     |  #  |  #  | ### |#####|     | ### |     |  #  ",
        "     |  #  |     |#####|  # #| #   |# # #|     |  #  |  #  |# # #|  #  |     |     |     | #   ",
        "     |     |     | # # |#### |#  ##|#  # |     |  #  |  #  |  #  |  #  |  #  |     |     |#    ",
        "     |  #  |     |     |  #  |   ##| ## #|     |   # | #   |     |     |  #  |     |  #  |#    ",
        "     |     |     |     |     |     |     |     |     |     |     |     | #   |     |     |     ",
    },
    {
        " ### |  #  | ### |#####|   # |#####|  ## |#####| ### | ### |     |     |   # |     | #   | ### ",
        "#   #| ##  |#   #|   # |  ## |#    | #   |    #|#   #|#   #|     |     |  #  |     |  #  |#   #",
        "#  ##|  #  |    #|  #  | # # |#### |#    |   # |#   #|#   #|  #  |  #  | #   |#####|   # |    #",
        "# # #|  #  |   # |   # |#  # |    #|#### |  #  | ### | ####|     |     |#    |     |    #|   # ",
        "##  #|  #  |  #  |    #|#####|    #|#   #|  #  |#   #|    #|     |     | #   |#####|   # |  #  ",
        "#   #|  #  | #   |#   #|   # |#   #|#   #|  #  |#   #|   # |  #  |  #  |  #  |     |  #  |     ",
        " ### | ### |#####| ### |   # | ### | ### |  #  | ### | ##  |     |  #  |   # |     | #   |  #  ",
        "     |     |     |     |     |     |     |     |     |     |     | #   |     |     |     |     ",
    },
    {
        " ### | ### |#### | ### |#### |#####|#####| ### |#   #| ### |  ###|#   #|#    |#   #|#   #| ### ",
        "#   #|#   #|#   #|#   #|#   #|#    |#    |#   #|#   #|  #  |   # |#  # |#    |## ##|##  #|#   #",
        "# ###|#   #|#   #|#    |#   #|#    |#    |#    |#   #|  #  |   # |# #  |#    |# # #|# # #|#   #",
        "# # #|#####|#### |#    |#   #|#### |#### |# ###|#####|  #  |   # |##   |#    |# # #|#  ##|#   #",
        "# ###|#   #|#   #|#    |#   #|#    |#    |#   #|#   #|  #  |   # |# #  |#    |#   #|#   #|#   #",
        "#    |#   #|#   #|#   #|#   #|#    |#    |#   #|#   #|  #  |#  # |#  # |#    |#   #|#   #|#   #",
        " ### |#   #|#### | ### |#### |#####|#    | ### |#   #| ### | ##  |#   #|#####|#   #|#   #| ### ",
        "     |     |     |     |     |     |     |     |     |     |     |     |     |     |     |     ",
    },
    {
        "#### | ### |#### | ####|#####|#   #|#   #|#   #|#   #|#   #|#####| ### |#    | ### |  #  |     ",
        "#   #|#   #|#   #|#    |  #  |#   #|#   #|#   #|#   #|#   #|    #| #   |#    |   # | # # |     ",
        "#   #|#   #|#   #|#    |  #  |#   #|#   #|#   #| # # | # # |   # | #   | #   |   # |#   #|     ",
        "#### |#   #|#### | ### |  #  |#   #|#   #|# # #|  #  |  #  |  #  | #   |  #  |   # |     |     ",
        "#    |# # #|# #  |    #|  #  |#   #|#   #|# # #| # # |  #  | #   | #   |   # |   # |     |     ",
        "#    |#  # |#  # |    #|  #  |#   #| # # |## ##|#   #|  #  |#    | #   |    #|   # |     |     ",
        "#    | ## #|#   #|#### |  #  | ### |  #  |#   #|#   #|  #  |#####| ### |    #| ### |     |     ",
        "     |     |     |     |     |     |     |     |     |     |     |     |     |     |     |#####",
    },
    {
        " #   |     |#    |     |    #|     |  ## |     |#    |  #  |   # |#    | ##  |     |     |     ",
        "  #  |     |#    |     |    #|     | #   |     |#    |     |     |#    |  #  |     |     |     ",
        "     | ### |#### | ### | ####| ### | #   | ####|#### | ##  |  ## |#  # |  #  |## # |#### | ### ",
        "     |    #|#   #|#    |#   #|#   #|###  |#   #|#   #|  #  |   # |# #  |  #  |# # #|#   #|#   #",
        "     | ####|#   #|#    |#   #|#####| #   |#   #|#   #|  #  |   # |##   |  #  |# # #|#   #|#   #",
        "     |#   #|#   #|#    |#   #|#    | #   | ####|#   #|  #  |   # |# #  |  #  |# # #|#   #|#   #",
        "     | ####|#### | ### | ####| ### | #   |    #|#   #| ### |#  # |#  # | ### |# # #|#   #| ### ",
        "     |     |     |     |     |     |     | ### |     |     | ##  |     |     |     |     |     ",
    },
    {
        "     |     |     |     | #   |     |     |     |     |     |     |   ##|  #  |##   |     |#####",
        "     |     |     |     | #   |     |     |     |     |     |     |  #  |  #  |  #  |     |#   #",
        "#### | ####|# ## | ####|#### |#   #|#   #|#   #|#   #|#   #|#####|  #  |  #  |  #  | #   |#   #",
        "#   #|#   #|##   |#    | #   |#   #|#   #|#   #| # # |#   #|   # | #   |  #  |   # |# # #|#   #",
        "#   #|#   #|#    | ### | #   |#   #|#   #|# # #|  #  |#   #|  #  |  #  |  #  |  #  |   # |#   #",
        "#### | ####|#    |    #| #   |#  ##| # # |# # #| # # | ####| #   |  #  |  #  |  #  |     |#   #",
        "#    |    #|#    |#### |  ## | ## #|  #  | # # |#   #|    #|#####|   ##|  #  |##   |     |#####",
        "#    |    #|     |     |     |     |     |     |     | ### |     |     |     |     |     |     ",
    },
};
/* clang-format on */

bool kl_font_dot(unsigned code, unsigned x, unsigned y) {
    unsigned at = code >= FIRST && code < KL_FONT_BOX ? code - FIRST : KL_FONT_BOX - FIRST;
    if (x >= KL_FONT_WIDTH - 1 || y >= KL_FONT_HEIGHT) return false;
    return art[at / ART_COLUMNS][y][at % ART_COLUMNS * KL_FONT_WIDTH + x] == '#';
}

/* Letters of western Europe without their accents: U+00C0 to U+00FF. */
static const char plain[] = "AAAAAAACEEEEIIIIDNOOOOOxOUUUUYPsaaaaaaaceeeeiiiidnooooo/ouuuuypy";

static unsigned fold(unsigned code) {
    switch (code) {
    case 0x2026: return '.';
    case 0x2013:
    case 0x2014: return '-';
    case 0x2018:
    case 0x2019: return '\'';
    }
    if (code >= 0xc0 && code <= 0xff) return (unsigned char)plain[code - 0xc0];
    return code >= FIRST && code < KL_FONT_BOX ? code : KL_FONT_BOX;
}

/* A byte that begins no character, or a character that is cut off, is a box of its own. */
unsigned kl_font_next(const char **text) {
    const unsigned char *p = (const unsigned char *)*text;
    if (!*p) return 0;
    unsigned more = *p < 0xc0 ? 0 : *p < 0xe0 ? 1 : *p < 0xf0 ? 2 : 3;
    unsigned code = more ? *p & (0x3fu >> more) : *p;
    (*text)++;
    for (unsigned i = 1; i <= more; i++) {
        if ((p[i] & 0xc0) != 0x80) return KL_FONT_BOX;
        code = code << 6 | (p[i] & 0x3f);
    }
    *text += more;
    return more || code < 0x80 ? fold(code) : KL_FONT_BOX;
}

unsigned kl_font_columns(const char *text) {
    unsigned n = 0;
    while (kl_font_next(&text))
        n++;
    return n;
}
