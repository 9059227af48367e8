#include "net/session/name.h"

#include <stdio.h>
#include <string.h>
#include <utf8proc.h>

#define FOLDED 256 /* characters; one of three bytes can become 18 */

static const char watches[] = "watches";

void kl_name_numbers(uint8_t seats, char out[KL_NAME_NUMBERS]) {
    size_t used = 0;
    out[0] = 0;
    for (KL_EACH(s, seats)) {
        unsigned last = s;
        while (last + 1 < KL_MAX_SEATS && seats >> (last + 1) & 1)
            last++;
        used += (size_t)snprintf(out + used, KL_NAME_NUMBERS - used, "%s%u", used ? "+" : "", s + 1);
        if (last > s) used += (size_t)snprintf(out + used, KL_NAME_NUMBERS - used, "-%u", last + 1);
        s = last;
    }
}

struct kl_name_shown kl_name_shown(const char *name, uint8_t seats) {
    struct kl_name_shown shown;
    char numbers[KL_NAME_NUMBERS];
    kl_name_numbers(seats, numbers);
    snprintf(shown.text, sizeof shown.text, "%.*s (%s)", KL_NAME_MAX - 1, name, seats ? numbers : watches);
    return shown;
}

/* --- folded --- */

struct folded {
    utf8proc_int32_t code[FOLDED];
    size_t count;
};

/* Leaves out blanks at the ends, and all but one between words. */
static void squeeze(struct folded *f) {
    size_t n = 0;
    for (size_t i = 0; i < f->count; i++)
        if (f->code[i] != ' ' || (n && f->code[n - 1] != ' ')) f->code[n++] = f->code[i];
    f->count = n && f->code[n - 1] == ' ' ? n - 1 : n;
}

/* more: further options of utf8proc. False for bytes that are no UTF-8, and for a text that is too long. */
static bool fold(struct folded *f, const char *text, int more) {
    const int options = UTF8PROC_NULLTERM | UTF8PROC_STABLE | UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT |
                        UTF8PROC_CASEFOLD | UTF8PROC_IGNORE;
    utf8proc_ssize_t n = utf8proc_decompose((const utf8proc_uint8_t *)text, 0, f->code, FOLDED,
                                            (utf8proc_option_t)(options | more));
    if (n < 0 || n > FOLDED) return false;
    f->count = (size_t)n;
    squeeze(f);
    return true;
}

bool kl_name_same(const char *a, const char *b) {
    struct folded x, y;
    if (!fold(&x, a, 0) || !fold(&y, b, 0)) return strcmp(a, b) == 0;
    return x.count == y.count && memcmp(x.code, y.code, x.count * sizeof x.code[0]) == 0;
}

static bool reads(const struct folded *f, const char *word) {
    size_t i = 0;
    while (i < f->count && word[i] && f->code[i] == (unsigned char)word[i])
        i++;
    return i == f->count && !word[i];
}

/* "(2)", "(1+3)", "(1-4)", "(watches)" */
static bool ends_like_a_number(const struct folded *f) {
    char in[KL_NAME_NUMBERS] = "";
    size_t from = f->count, n = 0;
    if (!from || f->code[from - 1] != ')') return false;
    while (from > 0 && f->code[from - 1] != '(')
        from--;
    for (size_t i = from; from && i + 1 < f->count && n + 1 < sizeof in; i++)
        in[n++] = f->code[i] < 0x80 ? (char)f->code[i] : '?';
    return n && (strcmp(in, watches) == 0 || in[strspn(in, "0123456789+-")] == 0);
}

/* ':' and the characters that look like it and stay when they are folded. */
static bool has_colon(const struct folded *f) {
    static const utf8proc_int32_t colons[] = {':', 0x02d0, 0x0589, 0x05c3, 0x2236, 0xa789};
    for (size_t i = 0; i < f->count; i++)
        for (size_t k = 0; k < sizeof colons / sizeof *colons; k++)
            if (f->code[i] == colons[k]) return true;
    return false;
}

bool kl_name_speaks(const char *name) {
    struct folded f;
    return fold(&f, name, 0) ? has_colon(&f) : strchr(name, ':') != NULL;
}

bool kl_name_reserved(const char *name) {
    static const char *const words[] = {"relay", "the relay", "keylock", "server", "operator"};
    struct folded f;
    if (!fold(&f, name, UTF8PROC_STRIPMARK) || !f.count || ends_like_a_number(&f)) return true;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (reads(&f, words[i])) return true;
    return false;
}

/* --- found --- */

bool kl_name_fits(const struct kl_name_entry *e, const char *who) {
    return kl_name_same(e->name, who) || kl_name_same(kl_name_shown(e->name, e->seats).text, who);
}

int kl_name_find(const struct kl_name_entry *entries, unsigned count, const char *who, char *err,
                 size_t err_len) {
    int first = -1;
    if (who[0] >= '1' && who[0] <= '0' + KL_MAX_SEATS && !who[1]) {
        unsigned number = (unsigned)(who[0] - '0');
        for (unsigned i = 0; i < count; i++)
            if (entries[i].seats >> (number - 1) & 1) return (int)i;
        snprintf(err, err_len, "nobody plays as player %u", number);
        return -1;
    }
    for (unsigned i = 0; i < count; i++) {
        if (!kl_name_fits(&entries[i], who)) continue;
        if (first >= 0 && (entries[first].seats || entries[i].seats)) {
            snprintf(err, err_len, "%s and %s: give the number",
                     kl_name_shown(entries[first].name, entries[first].seats).text,
                     kl_name_shown(entries[i].name, entries[i].seats).text);
            return -1;
        }
        if (first < 0) first = (int)i;
    }
    if (first < 0) snprintf(err, err_len, "nobody in this room is called \"%s\"", who);
    return first;
}
