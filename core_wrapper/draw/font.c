#include "core_wrapper/draw/font.h"

#include <stdbool.h>
#include <string.h>

#include "net/engine/plain.h"

#define FIRST       0x20
#define ART_COLUMNS 16

/* clang-format off */
/* Sixteen characters a block, in the order of ASCII from the blank on; the last one stands for all others. */
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
    {
        "     |     | ##  |  #  |  #  |     | ####|     | ## #",
        "  #  |     |#  # |     |     |     |# #  |    #|#  # ",
        "  #  |     |#  # |  #  |  #  |## # |# #  | ## #|#  ##",
        "#####|  #  |# #  |  #  | #   |  # #|#####|#  ##|# # #",
        "  #  |     |#  # |  #  |#    | ####|# #  |# # #|##  #",
        "     |     |#   #|  #  |#   #|# #  |# #  |##  #| #  #",
        "#####|     |# ## |  #  | ### | ####|# ###|# ## |# ## ",
        "     |     |     |     |     |     |     |     |     ",
    },
};
/* clang-format on */

/* Letters behind ASCII, in the order of their codes from KL_FONT_MORE on. */
static const unsigned more[] = {0xb1, 0xb7, 0xdf, 0xa1, 0xbf, 0xe6, 0xc6, 0xf8, 0xd8};
#define MORE (sizeof more / sizeof *more)

/* The mark of each letter from U+00C0 to U+00FF; '-': it has none, or is no letter with a mark. */
static const char accents[] = "`'^~\"o-,`'^\"`'^\"-~`'^~\"--`'^\"'--"
                              "`'^~\"o-,`'^\"`'^\"-~`'^~\"--`'^\"'-\"";

static char accent_of(unsigned code) {
    return code >= 0xc0 && code <= 0xff ? accents[code - 0xc0] : '-';
}

/* The two rows above a letter. */
static const char *mark(char accent, unsigned y) {
    static const char kinds[] = "`'^~\"o";
    static const char *const rows[][2] = {{" #   ", "  #  "}, {"   # ", "  #  "}, {"  #  ", " # # "},
                                          {" ### ", "     "}, {" # # ", "     "}, {"  ## ", "  ## "}};
    return rows[strchr(kinds, accent) - kinds][y];
}

static bool plain_dot(unsigned code, unsigned x, unsigned y) {
    unsigned at = code >= FIRST && code < KL_FONT_MORE + MORE ? code - FIRST : KL_FONT_BOX - FIRST;
    return art[at / ART_COLUMNS][y][at % ART_COLUMNS * KL_FONT_WIDTH + x] == '#';
}

/* A small letter has two rows for its mark; a capital makes them by leaving out two of its own. O leaves out
 * one, or it would be a small o. */
static bool accented_dot(unsigned code, unsigned x, unsigned y) {
    static const unsigned capital[] = {0, 0, 0, 2, 3, 4, 6, 7}, o[] = {0, 0, 2, 3, 4, 5, 6, 7};
    const char utf8[] = {(char)0xc3, (char)(0x80 | (code & 0x3f)), 0}, *at = utf8;
    unsigned letter = kl_plain_next(&at);
    char accent = accent_of(code);
    if (accent == ',') return y == 7 ? x == 2 : plain_dot(letter, x, y);
    if (y < (letter == 'O' ? 1 : 2)) return mark(accent, y)[x] == '#';
    return plain_dot(letter, x, letter == 'O' ? o[y] : letter < 'a' ? capital[y] : y);
}

bool kl_font_dot(unsigned code, unsigned x, unsigned y) {
    if (x >= KL_FONT_WIDTH - 1 || y >= KL_FONT_HEIGHT) return false;
    return accent_of(code) == '-' ? plain_dot(code, x, y) : accented_dot(code, x, y);
}

unsigned kl_font_next(const char **text) {
    const char *same = *text;
    unsigned code = kl_plain_code(&same), plain = kl_plain_next(text);
    if (accent_of(code) != '-') return code;
    for (unsigned i = 0; i < MORE; i++)
        if (code == more[i]) return KL_FONT_MORE + i;
    return plain == 0 || (plain >= FIRST && plain < KL_FONT_BOX) ? plain : KL_FONT_BOX;
}

unsigned kl_font_unicode(unsigned code) {
    return code >= KL_FONT_MORE && code < KL_FONT_MORE + MORE ? more[code - KL_FONT_MORE] : code;
}

bool kl_font_shown(const char *text, char *out, size_t cap) {
    static const char square[] = "\xe2\x96\xa1";
    size_t used = 0;
    bool same = true;
    const char *at = text;
    for (unsigned want; (want = kl_plain_code(&at)); text = at) {
        unsigned code = kl_font_unicode(kl_font_next(&text));
        char two[] = {(char)(0xc0 | code >> 6), (char)(0x80 | (code & 0x3f)), 0}, one[] = {(char)code, 0};
        const char *letter = code == KL_FONT_BOX ? square : code < 0x80 ? one : two;
        if (used + strlen(letter) < cap) used += strlen(strcpy(out + used, letter));
        same = same && code == want;
    }
    out[used] = 0;
    return same;
}
