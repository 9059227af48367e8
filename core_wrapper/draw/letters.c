#include "core_wrapper/draw/canvas.h"

#include <string.h>

#include "core_wrapper/draw/font.h"
#include "net/engine/plain.h"

struct range {
    unsigned from, to;
};

static bool is_in(const struct range *r, size_t count, unsigned code) {
    for (size_t i = 0; i < count; i++)
        if (code >= r[i].from && code <= r[i].to) return true;
    return false;
}

/* Characters without width, and accents that belong to the letter before them: left out. Other marks, those
 * of one script, take a cell each. */
static bool is_left_out(unsigned code) {
    static const struct range none[] = {
        {0x00ad, 0x00ad}, {0x0300, 0x036f},  {0x115f, 0x1160}, {0x17b4, 0x17b5}, {0x180b, 0x180f},
        {0x1ab0, 0x1aff}, {0x1dc0, 0x1dff},  {0x200b, 0x200d}, {0x2060, 0x2064}, {0x206a, 0x206f},
        {0x20d0, 0x20ff}, {0x3164, 0x3164},  {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f}, {0xfeff, 0xfeff},
        {0xffa0, 0xffa0}, {0xe0000, 0xe0fff}};
    return is_in(none, sizeof none / sizeof *none, code);
}

/* Unifont has pictures of these, which are no letters: control characters, and those that turn the direction
 * of writing or end a line (plain.h). */
static bool is_never_shown(unsigned code) {
    static const struct range never[] = {{0x0001, 0x001f}, {0x007f, 0x009f}, {0x061c, 0x061c},
                                         {0x200e, 0x200f}, {0x2028, 0x202e}, {0x2066, 0x2069},
                                         {0xd800, 0xf8ff}, {0xfdd0, 0xfdef}, {0xfff0, 0xfffd}};
    return is_in(never, sizeof never / sizeof *never, code) || (code & 0xfffe) == 0xfffe;
}

/* The next character of a player's own words; 0 at the end. shown: by the built-in font. */
static unsigned next_word(const char **text, unsigned *shown) {
    unsigned code;
    do {
        const char *same = *text;
        *shown = kl_font_next(&same);
        code = kl_plain_code(text);
    } while (is_left_out(code));
    return code;
}

/* Is the character more than what the built-in font shows for it? */
static bool is_lacking(unsigned code, unsigned shown) {
    bool folded = shown < KL_FONT_BOX && code >= 0xc0 && code <= 0xff;
    return (folded || shown == KL_FONT_BOX) && !is_never_shown(code);
}

bool kl_letters_need_unifont(const char *line, size_t words) {
    unsigned shown, code;
    if (!words || words > strlen(line)) return false;
    line += words;
    while ((code = next_word(&line, &shown)))
        if (is_lacking(code, shown)) return true;
    return false;
}

static bool is_tall(const char *words) {
    struct kl_glyph g;
    unsigned shown, code;
    while ((code = next_word(&words, &shown)))
        if (is_lacking(code, shown) && kl_unifont_find(code, &g)) return true;
    return false;
}

static void add(struct kl_letters *l, unsigned code, unsigned shown) {
    struct kl_glyph g;
    if (l->count == KL_LETTERS_MAX) return;
    bool there = l->tall && !is_never_shown(code) && kl_unifont_find(code, &g);
    l->at[l->count].code = !l->tall ? shown : there ? code : KL_LETTERS_BOX;
    l->at[l->count++].cells = there ? (unsigned char)g.halves : 1;
}

void kl_letters_set(struct kl_letters *l, const char *line, size_t words) {
    unsigned code, shown;
    size_t len = strlen(line);
    const char *own = line + (words && words < len ? words : len);
    l->count = 0;
    l->tall = is_tall(own);
    while (line < own) {
        shown = kl_font_next(&line);
        add(l, kl_font_unicode(shown), shown);
    }
    while ((code = next_word(&line, &shown)))
        add(l, code, shown);
}

int kl_letters_width(const struct kl_letters *l) {
    return l->tall ? KL_UNIFONT_HALF : KL_FONT_WIDTH;
}

int kl_letters_height(const struct kl_letters *l) {
    return (l->tall ? KL_UNIFONT_ROWS : KL_FONT_HEIGHT) + 1;
}
