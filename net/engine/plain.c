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
    if (b[0] < 0xe0 && b[1]) {
        uint32_t c = (b[0] & 0x1fU) << 6 | (b[1] & 0x3fU);
        return (c >= 0x80 && c < 0xa0) || turns_or_ends(c) ? 2 : 0;
    }
    if (b[0] < 0xf0 && b[1] && b[2])
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
