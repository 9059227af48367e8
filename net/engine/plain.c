#include "net/engine/plain.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static bool turns_or_ends(uint32_t c) {
    return c == 0x061c || c == 0x200e || c == 0x200f || (c >= 0x2028 && c <= 0x202e) ||
           (c >= 0x2066 && c <= 0x2069);
}

size_t kl_plain_unfit(const char *s) {
    const uint8_t *b = (const uint8_t *)s;
    if (b[0] < 0x80) return b[0] && (b[0] < 0x20 || b[0] == 0x7f) ? 1 : 0;
    if (b[0] < 0xc0) return 0;           /* the rest of a character */
    if ((b[1] & 0xc0) != 0x80) return 0; /* no character */
    if (b[0] < 0xe0) {
        uint32_t c = (b[0] & 0x1fU) << 6 | (b[1] & 0x3fU);
        return (c >= 0x80 && c < 0xa0) || turns_or_ends(c) ? 2 : 0;
    }
    if (b[0] < 0xf0 && (b[2] & 0xc0) == 0x80)
        return turns_or_ends((b[0] & 0x0fU) << 12 | (b[1] & 0x3fU) << 6 | (b[2] & 0x3fU)) ? 3 : 0;
    return 0;
}

char *kl_plain(char *text) {
    char *to = text;
    for (const char *at = text; *at; to++) {
        size_t unfit = kl_plain_unfit(at);
        *to = unfit ? '?' : *at;
        at += unfit ? unfit : 1;
    }
    *to = 0;
    return text;
}

/* --- folded --- */

/* Letters of western Europe without their accents: U+00C0 to U+00FF. */
static const char western[] = "AAAAAAACEEEEIIIIDNOOOOOxOUUUUYPsaaaaaaaceeeeiiiidnooooo/ouuuuypy";

static unsigned fold(unsigned code) {
    switch (code) {
    case 0xa0: return ' ';
    case 0x2026: return '.';
    case 0x2013:
    case 0x2014: return '-';
    case 0x2018:
    case 0x2019: return '\'';
    }
    if (code >= 0xc0 && code <= 0xff) return (unsigned char)western[code - 0xc0];
    return code < 0x80 ? code : KL_PLAIN_OTHER;
}

unsigned kl_plain_code(const char **text) {
    static const unsigned least[] = {0, 0x80, 0x800, 0x10000};
    const unsigned char *p = (const unsigned char *)*text;
    if (!*p) return 0;
    unsigned more = *p < 0xc0 ? 0 : *p < 0xe0 ? 1 : *p < 0xf0 ? 2 : 3;
    unsigned code = more ? *p & (0x3fu >> more) : *p;
    (*text)++;
    for (unsigned i = 1; i <= more; i++) {
        if ((p[i] & 0xc0) != 0x80) return KL_PLAIN_BAD;
        code = code << 6 | (p[i] & 0x3f);
    }
    *text += more;
    bool surrogate = code >= 0xd800 && code < 0xe000;
    bool good = more ? code >= least[more] && code <= 0x10ffff && !surrogate : code < 0x80;
    return good ? code : KL_PLAIN_BAD;
}

unsigned kl_plain_next(const char **text) {
    unsigned code = kl_plain_code(text);
    return code ? fold(code) : 0;
}
