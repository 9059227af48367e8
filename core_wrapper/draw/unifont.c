#include "core_wrapper/draw/font.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/platform/file.h"

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
