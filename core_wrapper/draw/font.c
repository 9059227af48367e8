#include "core_wrapper/draw/font.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/engine/plain.h"
#include "net/platform/file.h"

/* --- the font's own letters --- */

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

/* --- GNU Unifont --- */

#define CODE_MIN 4 /* digits */
#define CODE_MAX 6
#define NARROW   32
#define WIDE     64

/* The package of Debian 13 has both files: the first has the characters above U+FFFF as well. */
static const char *const usual[] = {"/usr/share/unifont/unifont_all.hex", "/usr/share/unifont/unifont.hex"};

static struct {
    char *text; /* well formed to its end; NULL: none */
    size_t len;
} font;

struct line {
    size_t begin, end; /* of the file; end is behind the newline */
    unsigned code;
    const char *dots;
    size_t digits; /* of dots */
};

static int digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Reads hexadecimal digits, `most` of them. Returns their count. */
static size_t digits(const char *at, size_t most, unsigned *value) {
    size_t n = 0;
    *value = 0;
    for (int d; n < most && (d = digit(at[n])) >= 0; n++)
        *value = *value << 4 | (unsigned)d;
    return n;
}

/* The line at `begin`. A NUL stands behind the text, so no digit is read beyond it. */
static bool read_line(const char *text, size_t len, size_t begin, struct line *out) {
    unsigned unused;
    size_t code = digits(text + begin, CODE_MAX, &out->code), at = begin + code;
    if (code < CODE_MIN || text[at++] != ':') return false;
    out->digits = digits(text + at, WIDE, &unused);
    out->begin = begin;
    out->dots = text + at;
    out->end = at + out->digits + 1;
    return (out->digits == NARROW || out->digits == WIDE) && out->end <= len && text[out->end - 1] == '\n';
}

/* Returns the number of the first line that is not as expected, or 0. */
static unsigned check(const char *text, size_t len) {
    struct line l;
    unsigned number = 1, before = 0;
    for (size_t at = 0; at < len; at = l.end, number++) {
        if (!read_line(text, len, at, &l) || (number > 1 && l.code <= before)) return number;
        before = l.code;
    }
    return len ? 0 : 1;
}

static int read_file(const char *path, char *err, size_t err_len) {
    void *bytes;
    size_t len;
    int r = kl_file_read(path, KL_UNIFONT_BYTES, 0, &bytes, &len, err, err_len);
    if (r != 0) return r;
    unsigned wrong = check(bytes, len);
    if (wrong) {
        snprintf(err, err_len, "%s line %u: expected NUMBER:DOTS as GNU Unifont has it", path, wrong);
        free(bytes);
        return -1;
    }
    font.text = bytes;
    font.len = len;
    return 0;
}

int kl_unifont_read(const char *path, char *err, size_t err_len) {
    kl_unifont_drop();
    if (*path) return read_file(path, err, err_len);
    int r = KL_FILE_ABSENT;
    for (size_t i = 0; i < sizeof usual / sizeof *usual && r == KL_FILE_ABSENT; i++)
        r = read_file(usual[i], err, err_len);
    return r;
}

void kl_unifont_drop(void) {
    free(font.text);
    font.text = NULL;
    font.len = 0;
}

bool kl_unifont_find(unsigned code, struct kl_glyph *out) {
    struct line l;
    for (size_t low = 0, high = font.len; low < high;) {
        /* The line that the byte at `at` belongs to. */
        size_t at = low + (high - low) / 2;
        while (at && font.text[at - 1] != '\n')
            at--;
        read_line(font.text, font.len, at, &l);
        if (l.code == code) {
            size_t each = l.digits / KL_UNIFONT_ROWS;
            out->halves = l.digits == WIDE ? 2 : 1;
            for (size_t i = 0; i < KL_UNIFONT_ROWS; i++) {
                unsigned row;
                digits(l.dots + i * each, each, &row);
                out->row[i] = (uint16_t)(l.digits == WIDE ? row : row << KL_UNIFONT_HALF);
            }
            return true;
        }
        if (l.code < code)
            low = l.end;
        else
            high = l.begin;
    }
    return false;
}
