#include "net/platform/help_line.h"

#include <string.h>

#define WIDTH 120

/* Characters of a word as they are shown. */
static size_t shown(const char *word, size_t len) {
    size_t n = 0;
    for (size_t i = 0; i < len; i++)
        n += word[i] != '`';
    return n;
}

void kl_help_line(FILE *out, const char *flag, unsigned column, const char *text) {
    size_t at = 2 + strlen(flag), len;
    fprintf(out, "  %s", flag);
    size_t from = at + 2 <= column ? column : at + 2; /* help2man wants two blanks */
    for (const char *word = text; *word; word += len, word += *word == ' ') {
        len = strcspn(word, " ");
        if (at > from && at + 1 + shown(word, len) > WIDTH) {
            fputc('\n', out);
            at = 0;
            from = column;
        }
        if (at <= from)
            at += (size_t)fprintf(out, "%*s", (int)(from - at), "");
        else
            at += (size_t)fprintf(out, " ");
        for (size_t i = 0; i < len; i++)
            if (word[i] != '`') fputc(word[i], out);
        at += shown(word, len);
    }
    fputc('\n', out);
}
