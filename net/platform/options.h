/* options.h - one table for the options of a program. A row says an option's name, kind, range, default, help
 * and who may set it; the command line, a file of lines `key = value`, the environment, --help and the tables
 * of docs/options.md come from the rows. */
#ifndef KL_PLATFORM_OPTIONS_H
#define KL_PLATFORM_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define KL_ROW_TEXT 1024 /* bytes of a row's help, default or expectation, or of an error; NUL included */
#define KL_ROWS_MAX 128  /* of one command line */

enum kl_kind {
    KL_KIND_NONE,   /* any value; no field */
    KL_KIND_TEXT,   /* copied: char[size], with at least min bytes */
    KL_KIND_STRING, /* borrowed: const char * */
    KL_KIND_PATH,   /* as STRING; on a command line its slashes become ours */
    KL_KIND_NUMBER,
    KL_KIND_WORD,   /* one of `words`: the first one is `min`, the next ones count up from there */
    KL_KIND_LIST,   /* borrowed, one more: const char *[max]. `words`: a sign that stands within, or NULL */
    KL_KIND_SWITCH, /* bool. `words` NULL: on or off; else the word for false, then the one for true */
};

struct kl_menu; /* core_wrapper/words/config_table.h */

struct kl_row {
    const char *name;     /* --name; NULL: no flag */
    const char *key;      /* of a file's line; NULL: none */
    const char *variable; /* of the environment; NULL: none */
    enum kl_kind kind;
    size_t field, size, said; /* in the struct that is set; said: a bool that there was a value, 0: none */
    size_t count;             /* of a list: an unsigned */
    uint64_t min, max;        /* of a number; max 0: no other than the field's */
    const char *unit;         /* of a number */
    const char *zero;         /* the meaning of the number 0, which then stands beside the range */
    const char *words;        /* with blanks between */
    const char *want;         /* the expectation in an error; NULL: made from kind and range */
    const char *standard;     /* the default as a value; NULL: zero, or "" */
    const char *shown;        /* the default in words; NULL: made from standard */
    unsigned by;              /* a mask: the commands of which this is a flag */
    const char *value;        /* --name VALUE; NULL: the flag alone means on */
    char letter;              /* the flag's short form; 0: none */
    bool secret;              /* the command line's word is wiped; "-": a line of standard input */
    const char *help;         /* {range} stands for the range; NULL: not in --help */
    const char *see;          /* the place in docs/ that has the reason; NULL: none */
    const struct kl_menu *menu;
    /* In place of the kind: checks and stores the value. field: of the row. False: why has the reason, or ""
     * for the row's expectation. */
    bool (*take)(const struct kl_row *row, void *field, const char *value, char why[KL_ROW_TEXT]);
};

/* Usual rows of a command's table, for fields of KL_ROWS_OF: a struct that the table's file names before.
 * text: the help. More designators may follow. */
#define KL_ROW_FIELD(f) .field = offsetof(KL_ROWS_OF, f), .size = sizeof(((KL_ROWS_OF *)0)->f)
#define KL_ROW_SAID(f)  .said = offsetof(KL_ROWS_OF, f)
#define KL_ROW_STRING(flag, v, f, text, ...)                                                                 \
    { .name = flag, .value = v, .kind = KL_KIND_STRING, KL_ROW_FIELD(f), .help = text, ##__VA_ARGS__ }
#define KL_ROW_PATH(flag, v, f, text, ...)                                                                   \
    { .name = flag, .value = v, .kind = KL_KIND_PATH, KL_ROW_FIELD(f), .help = text, ##__VA_ARGS__ }
#define KL_ROW_SWITCH(flag, f, text)                                                                         \
    { .name = flag, .kind = KL_KIND_SWITCH, KL_ROW_FIELD(f), .help = text }
#define KL_ROW_NUMBER(flag, v, f, lo, hi, text, ...)                                                         \
    {                                                                                                        \
        .name = flag, .value = v, .kind = KL_KIND_NUMBER, .min = lo, .max = hi, KL_ROW_FIELD(f),             \
        .help = text, ##__VA_ARGS__                                                                          \
    }

/* Tables end with a row of zeros. */
bool kl_row_is(const struct kl_row *row);
/* NULL: there is none. */
const struct kl_row *kl_row_of_key(const struct kl_row *rows, const char *key);

/* Sets the row's field in *fields. False: nothing was set, and why has the expected and the actual value. */
bool kl_row_set(const struct kl_row *row, void *fields, const char *value, char why[KL_ROW_TEXT]);
/* Sets the fields that have a default. */
void kl_rows_standard(const struct kl_row *rows, void *fields);

/* The place of a word among the row's words, or -1. */
int kl_row_word(const struct kl_row *row, const char *word);
/* A whole decimal number, without sign and blanks. False for anything else. */
bool kl_number(const char *text, uint64_t min, uint64_t max, uint64_t *out);

/* --- text for people --- */

/* The row's help; its default in words, "" if there is none to speak of; the value that an error expects.
 * usual: a struct with defaults, for numbers whose row has none; NULL: none. */
void kl_row_help(const struct kl_row *row, char out[KL_ROW_TEXT]);
void kl_row_shown(const struct kl_row *row, const void *usual, char out[KL_ROW_TEXT]);
void kl_row_expected(const struct kl_row *row, char out[KL_ROW_TEXT]);
/* "--name VALUE" */
void kl_row_flag(const struct kl_row *row, char out[KL_ROW_TEXT]);

/* The lines of --help of the rows with a help that `by` may set (0: all): the text begins in that column, and
 * lines have 120 characters. Backquotes, which the documents need, are left out. plain: defaults stand in
 * brackets as they are, not behind the word default. */
void kl_rows_help(const struct kl_row *rows, unsigned by, const void *usual, unsigned column, bool plain,
                  FILE *out);
/* One such line, or more of them: `left`, and the text. */
void kl_help_line(FILE *out, const char *left, unsigned column, const char *text);

/* --- sources of values --- */

/* The text of a file with lines `key = value`, in the order of the table. unknown: the expectation in the
 * error for an unknown key; keys then stand once. NULL: the first line of a key counts. False: err names the
 * file, the line, the expected and the actual value. */
bool kl_rows_read(const struct kl_row *rows, void *fields, const char *text, const char *path,
                  const char *unknown, char *err, size_t err_len);

/* The variables that are set, and not empty. False: err names the variable and both values. */
bool kl_rows_environment(const struct kl_row *rows, void *fields, char *err, size_t err_len);

/* A table of a command line: its fields begin at that offset in the command's struct. */
struct kl_table {
    const struct kl_row *rows; /* NULL: the end of the list of tables */
    unsigned by;               /* 0: all rows with a name */
    size_t fields;
    size_t given;                  /* of const char *[], by row: the values that were given; 0: none */
    void (*show)(unsigned column); /* without rows, in place of them in a help: behind the list's end */
};

enum kl_line { KL_LINE_DONE, KL_LINE_HELP, KL_LINE_VERSION, KL_LINE_BAD };

/* Reads the options of a command line, by getopt_long: optind is then that of the first word behind them.
 * Besides those of the tables there are --help, -h, --version and -V. in_order: options end at the first word
 * that is none. known: the expectation for an unknown option. KL_LINE_BAD: err has a line. */
enum kl_line kl_tables_parse(const struct kl_table *tables, void *base, int argc, char **argv, bool in_order,
                             const char *known, char err[KL_ROW_TEXT]);

#endif
