#include "net/platform/options.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "net/platform/cfg_file.h"
#include "net/platform/process.h"
#include "net/platform/file.h"

#define WIDTH       120
#define VALUE_BYTES 5120 /* of a file's value */
#define FIRST       1000 /* getopt's value of the first row */
#define SECRET_MAX  256

bool kl_row_is(const struct kl_row *row) {
    return row->name || row->key;
}

const struct kl_row *kl_row_of_key(const struct kl_row *rows, const char *key) {
    for (; kl_row_is(rows); rows++)
        if (rows->key && !strcmp(rows->key, key)) return rows;
    return NULL;
}

/* --- one value --- */

bool kl_number(const char *text, uint64_t min, uint64_t max, uint64_t *out) {
    if (!isdigit((unsigned char)*text)) return false;
    char *end;
    errno = 0;
    unsigned long long v = strtoull(text, &end, 10);
    if (errno || *end || v < min || v > max) return false;
    *out = v;
    return true;
}

int kl_row_word(const struct kl_row *row, const char *word) {
    size_t len;
    int place = 0;
    for (const char *w = row->words; *w; w += len, w += *w == ' ', place++) {
        len = strcspn(w, " ");
        if (strlen(word) == len && !strncmp(w, word, len)) return place;
    }
    return -1;
}

/* Other words of people for on and off. */
static const char *plain_switch(const char *v) {
    if (!strcmp(v, "true") || !strcmp(v, "1")) return "on";
    return !strcmp(v, "false") || !strcmp(v, "0") ? "off" : v;
}

static void put_number(const struct kl_row *row, void *field, uint64_t n) {
    switch (row->size) {
    case 1: *(uint8_t *)field = (uint8_t)n; break;
    case 2: *(uint16_t *)field = (uint16_t)n; break;
    case 4: *(uint32_t *)field = (uint32_t)n; break;
    default: *(uint64_t *)field = n; break;
    }
}

static bool set_word(const struct kl_row *row, void *field, const char *v) {
    int place = kl_row_word(row, v);
    if (place < 0) place = kl_row_word(row, plain_switch(v));
    if (place >= 0 && row->size) put_number(row, field, row->min + (uint64_t)place);
    return place >= 0;
}

static bool set_switch(const struct kl_row *row, bool *field, const char *v) {
    static const struct kl_row usual = {.words = "off on"};
    int place = row->words ? kl_row_word(row, v) : kl_row_word(&usual, plain_switch(v));
    if (place >= 0) *field = place;
    return place >= 0;
}

static bool set(const struct kl_row *row, void *field, const char *v) {
    size_t len = strlen(v);
    uint64_t n;
    bool good = true;
    switch (row->kind) {
    case KL_KIND_NONE: break;
    case KL_KIND_TEXT:
        good = len >= row->min && len < row->size;
        if (good) memcpy(field, v, len + 1);
        break;
    case KL_KIND_STRING:
    case KL_KIND_PATH: *(const char **)field = v; break;
    case KL_KIND_NUMBER:
        good = kl_number(v, row->min, row->max, &n);
        if (good) put_number(row, field, n);
        break;
    case KL_KIND_LIST: break;
    case KL_KIND_WORD: return set_word(row, field, v);
    case KL_KIND_SWITCH: return set_switch(row, field, v);
    }
    return good;
}

static bool add(const struct kl_row *row, const char **list, unsigned *count, const char *v,
                char why[KL_ROW_TEXT]) {
    const char *sign = row->words ? strstr(v, row->words) : NULL;
    if (row->words && (!sign || sign == v)) return false;
    if (*count < row->max) return list[(*count)++] = v, true;
    snprintf(why, KL_ROW_TEXT, "expected at most %u of them, got one more", *count);
    return false;
}

static bool set_unsaid(const struct kl_row *row, void *fields, const char *v, char why[KL_ROW_TEXT]) {
    void *field = (char *)fields + row->field;
    char want[KL_ROW_TEXT];
    *why = 0;
    if (row->kind == KL_KIND_LIST ? add(row, field, (unsigned *)(void *)((char *)fields + row->count), v, why)
        : row->take               ? row->take(row, field, v, why)
                                  : set(row, field, v))
        return true;
    if (*why) return false;
    kl_row_expected(row, want);
    snprintf(why, KL_ROW_TEXT, "expected %.480s, got \"%.480s\"", want, v);
    return false;
}

bool kl_row_set(const struct kl_row *row, void *fields, const char *value, char why[KL_ROW_TEXT]) {
    if (!set_unsaid(row, fields, value, why)) return false;
    if (row->said) *(bool *)((char *)fields + row->said) = true;
    return true;
}

void kl_rows_standard(const struct kl_row *rows, void *fields) {
    char ignored[KL_ROW_TEXT];
    for (; kl_row_is(rows); rows++)
        if (rows->standard) (void)set_unsaid(rows, fields, rows->standard, ignored);
}

/* --- text for people --- */

/* "strict, bounded or optimistic". */
static void list_words(const char *words, char out[KL_ROW_TEXT]) {
    size_t used = 0, len;
    for (const char *w = words; *w && used < KL_ROW_TEXT; w += len, w += *w == ' ') {
        len = strcspn(w, " ");
        const char *before = w == words ? "" : w[len] ? ", " : " or ";
        used += (size_t)snprintf(out + used, KL_ROW_TEXT - used, "%s%.*s", before, (int)len, w);
    }
}

static void list_switch(const struct kl_row *row, char out[KL_ROW_TEXT]) {
    const char *words = row->words ? row->words : "off on";
    int len = (int)strcspn(words, " ");
    snprintf(out, KL_ROW_TEXT, "%s or %.*s", words + len + 1, len, words);
}

static void say_range(const struct kl_row *row, char out[KL_ROW_TEXT]) {
    if (!row->unit)
        snprintf(out, KL_ROW_TEXT, "a number from %" PRIu64 " to %" PRIu64, row->min, row->max);
    else if (row->zero)
        snprintf(out, KL_ROW_TEXT, "0 (%s) to %" PRIu64 " %s", row->zero, row->max, row->unit);
    else
        snprintf(out, KL_ROW_TEXT, "%" PRIu64 " to %" PRIu64 " %s", row->min, row->max, row->unit);
}

void kl_row_expected(const struct kl_row *row, char out[KL_ROW_TEXT]) {
    *out = 0;
    if (row->want)
        snprintf(out, KL_ROW_TEXT, "%s", row->want);
    else if (row->kind == KL_KIND_WORD)
        list_words(row->words, out);
    else if (row->kind == KL_KIND_SWITCH)
        list_switch(row, out);
    else if (row->kind == KL_KIND_NUMBER)
        say_range(row, out);
    else if (row->min)
        snprintf(out, KL_ROW_TEXT, "%" PRIu64 " to %zu bytes", row->min, row->size - 1);
    else
        snprintf(out, KL_ROW_TEXT, "at most %zu bytes", row->size - 1);
}

void kl_row_help(const struct kl_row *row, char out[KL_ROW_TEXT]) {
    const char *at = strstr(row->help, "{range}");
    uint64_t lowest = row->zero ? 1 : row->min;
    if (at)
        snprintf(out, KL_ROW_TEXT, "%.*s%" PRIu64 " to %" PRIu64 "%s", (int)(at - row->help), row->help,
                 lowest, row->max, at + strlen("{range}"));
    else
        snprintf(out, KL_ROW_TEXT, "%s", row->help);
}

void kl_row_shown(const struct kl_row *row, const void *usual, char out[KL_ROW_TEXT]) {
    const char *text = row->shown                    ? row->shown
                       : row->standard               ? row->standard
                       : row->kind == KL_KIND_SWITCH ? "off"
                                                     : "";
    bool zero = row->zero && !row->shown && !strcmp(text, "0");
    if (usual && !*text && row->kind == KL_KIND_NUMBER) {
        const void *field = (const char *)usual + row->field;
        snprintf(out, KL_ROW_TEXT, "%u",
                 row->size == 2 ? *(const uint16_t *)field : *(const unsigned *)field);
        return;
    }
    snprintf(out, KL_ROW_TEXT, "%s%s%s", text, zero ? ", " : "", zero ? row->zero : "");
}

void kl_row_flag(const struct kl_row *row, char out[KL_ROW_TEXT]) {
    int used = snprintf(out, KL_ROW_TEXT, "--%s%s%s", row->name, row->value ? " " : "",
                        row->value ? row->value : "");
    if (row->letter)
        snprintf(out + used, KL_ROW_TEXT - (size_t)used, ", -%c%s%s", row->letter, row->value ? " " : "",
                 row->value ? row->value : "");
}

/* Characters of a word as they are shown. */
static size_t shown_len(const char *word, size_t len) {
    size_t n = 0;
    for (size_t i = 0; i < len; i++)
        n += word[i] != '`' && ((unsigned char)word[i] & 0xc0) != 0x80;
    return n;
}

void kl_help_line(FILE *out, const char *left, unsigned column, const char *text) {
    size_t at = 2 + shown_len(left, strlen(left)), len;
    fprintf(out, "  %s", left);
    size_t from = at + 2 <= column ? column : at + 2; /* help2man wants two blanks */
    for (const char *word = text; *word; word += len, word += *word == ' ') {
        len = strcspn(word, " ");
        if (at > from && at + 1 + shown_len(word, len) > WIDTH) {
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
        at += shown_len(word, len);
    }
    fputc('\n', out);
}

void kl_rows_help(const struct kl_row *rows, unsigned by, const void *usual, unsigned column, bool plain,
                  FILE *out) {
    char flag[KL_ROW_TEXT], help[KL_ROW_TEXT], shown[KL_ROW_TEXT], text[2 * KL_ROW_TEXT + 16];
    for (; kl_row_is(rows); rows++) {
        if (!rows->name || !rows->help || (by && !(rows->by & by))) continue;
        kl_row_flag(rows, flag);
        kl_row_help(rows, help);
        kl_row_shown(rows, usual, shown);
        bool tell = rows->value && *shown && strcmp(shown, "none") != 0;
        const char *before = plain ? " (" : strchr(shown, ' ') ? " (default: " : " (default ";
        snprintf(text, sizeof text, "%s%s%s%s", help, tell ? before : "", tell ? shown : "", tell ? ")" : "");
        kl_help_line(out, flag, column, text);
    }
}

/* --- a file, the environment --- */

struct reader {
    const struct kl_row *rows;
    const char *path, *unknown;
    unsigned line[KL_ROWS_MAX]; /* the first that has it; 0: none so far */
    char *err;                  /* "" until the first bad line */
    size_t err_len;
};

static void check_line(void *ctx, const struct kl_cfg_line *line) {
    struct reader *r = ctx;
    char why[KL_ROW_TEXT] = "";
    const struct kl_row *row = line->key ? kl_row_of_key(r->rows, line->key) : NULL;
    if (line->empty || *r->err) return;
    unsigned *at = row ? &r->line[row - r->rows] : NULL;
    if (!line->key)
        snprintf(why, sizeof why, "expected key = value, got \"%.480s\"", line->whole);
    else if (!row && r->unknown)
        snprintf(why, sizeof why, "expected %s, got \"%.480s\"", r->unknown, line->key);
    else if (!row)
        snprintf(why, sizeof why, "there is no key \"%.480s\"", line->key);
    else if (*at && r->unknown)
        snprintf(why, sizeof why, "expected %s once, got it in line %u, too", row->key, *at);
    else if (!*at)
        *at = line->number;
    if (*why) snprintf(r->err, r->err_len, "%s line %u: %s", r->path, line->number, why);
}

bool kl_rows_read(const struct kl_row *rows, void *fields, const char *text, const char *path,
                  const char *unknown, char *err, size_t err_len) {
    char value[VALUE_BYTES], why[KL_ROW_TEXT];
    struct reader r = {.rows = rows, .path = path, .unknown = unknown, .err = err, .err_len = err_len};
    *err = 0;
    if (!kl_cfg_each(text, check_line, &r)) snprintf(err, err_len, "no memory for %s", path);
    for (size_t i = 0; !*err && kl_row_is(&rows[i]); i++) {
        if (!r.line[i]) continue;
        (void)kl_cfg_get(text, rows[i].key, value, sizeof value);
        if (!kl_row_set(&rows[i], fields, value, why))
            snprintf(err, err_len, "%s line %u: %s: %s", path, r.line[i],
                     rows[i].variable ? rows[i].variable : rows[i].key, why);
    }
    return !*err;
}

bool kl_rows_environment(const struct kl_row *rows, void *fields, char *err, size_t err_len) {
    char why[KL_ROW_TEXT];
    for (; kl_row_is(rows); rows++) {
        const char *v = rows->variable ? kl_environment_get(rows->variable) : NULL;
        if (!v || !*v || kl_row_set(rows, fields, v, why)) continue;
        snprintf(err, err_len, "%s: %s", rows->variable, why);
        return false;
    }
    return true;
}

/* --- the command line --- */

struct line {
    const struct kl_table *from[KL_ROWS_MAX]; /* by the place of an option in longs */
    const struct kl_row *row[KL_ROWS_MAX];
    unsigned count;
    struct option longs[KL_ROWS_MAX + 3];
    char shorts[KL_ROWS_MAX];
};

static void list_options(struct line *l, const struct kl_table *t, bool in_order) {
    snprintf(l->shorts, sizeof l->shorts, "%s:hV", in_order ? "+" : "");
    for (; t->rows; t++)
        for (const struct kl_row *row = t->rows; kl_row_is(row) && l->count < KL_ROWS_MAX; row++) {
            if (!row->name || (t->by && !(row->by & t->by))) continue;
            size_t used = strlen(l->shorts);
            if (row->letter)
                snprintf(l->shorts + used, sizeof l->shorts - used, "%c%s", row->letter,
                         row->value ? ":" : "");
            l->longs[l->count] = (struct option){row->name, row->value ? required_argument : no_argument,
                                                 NULL, FIRST + (int)l->count};
            l->from[l->count] = t;
            l->row[l->count++] = row;
        }
    l->longs[l->count] = (struct option){"help", no_argument, NULL, 'h'};
    l->longs[l->count + 1] = (struct option){"version", no_argument, NULL, 'V'};
}

/* Of getopt_long's ':' and '?': no value, an option that there is not, or a value for one that takes none
 * (Windows says ':' for it, too). */
static void refuse(int result, const char *word, const char *known, char err[KL_ROW_TEXT]) {
    const char *equals = strncmp(word, "--", 2) == 0 ? strchr(word, '=') : NULL;
    if (result == ':' && !equals)
        snprintf(err, KL_ROW_TEXT, "%s: expected a value, got none", word);
    else if (strncmp(word, "--", 2) != 0)
        snprintf(err, KL_ROW_TEXT, "expected %s, got \"-%c\"", known, optopt);
    else if (optopt && equals)
        snprintf(err, KL_ROW_TEXT, "%.*s: expected no value, got \"%s\"", (int)(equals - word), word,
                 equals + 1);
    else
        snprintf(err, KL_ROW_TEXT, "expected %s, got \"%s\"", known, word);
}

/* A copy that is kept; the word is wiped, so that lists of processes show it only for a moment. */
static const char *take_secret(char *word) {
    static char kept[SECRET_MAX];
    kept[0] = 0;
    if (strcmp(word, "-") != 0) {
        snprintf(kept, sizeof kept, "%s", word);
        memset(word, '*', strlen(word));
    } else if (!fgets(kept, sizeof kept, stdin)) {
        kept[0] = 0;
    }
    kept[strcspn(kept, "\r\n")] = 0;
    return kept;
}

static bool take(const struct line *l, unsigned i, char *base, char err[KL_ROW_TEXT]) {
    const struct kl_row *row = l->row[i];
    char why[KL_ROW_TEXT];
    const char *value = !row->value ? "on" : row->secret ? take_secret(optarg) : optarg;
    if (row->kind == KL_KIND_PATH) kl_file_use_slashes(optarg);
    if (l->from[i]->given)
        ((const char **)(void *)(base + l->from[i]->given))[row - l->from[i]->rows] = value;
    if (kl_row_set(row, base + l->from[i]->fields, value, why)) return true;
    snprintf(err, KL_ROW_TEXT, "--%s: %.900s", row->name, why);
    return false;
}

/* The place of an option in longs. */
static unsigned place_of(const struct line *l, int option) {
    unsigned i = 0;
    while (option < FIRST && i < l->count && l->row[i]->letter != option)
        i++;
    return option < FIRST ? i : (unsigned)(option - FIRST);
}

enum kl_line kl_tables_parse(const struct kl_table *tables, void *base, int argc, char **argv, bool in_order,
                             const char *known, char err[KL_ROW_TEXT]) {
    struct line l = {.count = 0};
    list_options(&l, tables, in_order);
    optind = 0; /* from the beginning */
    for (int option; (option = getopt_long(argc, argv, l.shorts, l.longs, NULL)) != -1;) {
        if (option == 'h') return KL_LINE_HELP;
        if (option == 'V') return KL_LINE_VERSION;
        if (option == '?' || option == ':') {
            refuse(option, argv[optind - 1], known, err);
            return KL_LINE_BAD;
        }
        if (!take(&l, place_of(&l, option), base, err)) return KL_LINE_BAD;
    }
    return KL_LINE_DONE;
}
