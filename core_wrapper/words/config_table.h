/* config_table.h - the one table of the player's settings: key, kind, range, default, help, and who may set
 * it.
 *
 * A row with a key is a setting of the wrapper: a line of keylock.cfg, a KEYLOCK_ variable, and a wish of a
 * frontend with Keylock in its menu (keylock_api.h). Flags of `keylock play` and `keylock run` come from the
 * same rows (forward.h), core options refer to them (own_options.h), and tests/tools/option_tables.c makes
 * the table of docs/options.md from them. A row without a key is a flag of `keylock play` and nothing else.
 */
#ifndef KLW_CONFIG_TABLE_H
#define KLW_CONFIG_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KL_CONFIG_ROWS_MAX 64
#define KL_CONFIG_TEXT_MAX 512 /* bytes of a row's help, default or expectation, NUL included */

enum kl_config_kind {
    KL_KIND_NONE, /* a flag of `keylock play` alone */
    KL_KIND_TEXT, /* also paths */
    KL_KIND_NAME,
    KL_KIND_MATCH,
    KL_KIND_NUMBER,
    KL_KIND_WORD,   /* one of `words`: the first one is `min`, the next ones count up from there */
    KL_KIND_SWITCH, /* `words` NULL: on or off; else the word for false, then the one for true */
    KL_KIND_RELAY,
    KL_KIND_REACHED_AT,
    KL_KIND_LINK,
    KL_KIND_PASSWORD,
    KL_KIND_PASSWORD_FILE,
    KL_KIND_HOTKEYS,
    KL_KIND_AHEAD,
};

/* The commands that may set it. File, environment and frontend may set every row with a key. */
enum { KL_BY_PLAY = 1, KL_BY_RUN = 2 }; /* a flag of that command */

struct kl_config_row {
    const char *key, *variable; /* NULL: a flag of `keylock play` alone */
    enum kl_config_kind kind;
    size_t field, size, said; /* in struct kl_config; said: a bool that there was a value, 0: none */
    uint64_t min, max;        /* of a number */
    const char *unit;         /* of a number */
    const char *zero;         /* the meaning of the number 0, which then stands beside the range */
    const char *words;        /* with blanks between */
    const char *want;         /* the expectation in an error; NULL: made from kind and range */
    const char *standard;     /* the default as a value; NULL: zero, or "" */
    const char *shown;        /* the default in words; NULL: made from standard */
    unsigned by;
    bool itself;              /* the command acts on its flag itself, and does not only hand the value on */
    const char *flag, *value; /* --flag VALUE; value NULL: the flag alone means on */
    const char *help;         /* {range} stands for the range */
    const char *see;          /* the place in docs/ that has the reason; NULL: none */
};

extern const struct kl_config_row kl_config_rows[];
extern const size_t kl_config_row_count;

/* The row of a key; NULL if there is none. */
const struct kl_config_row *kl_config_row(const char *key);

/* The place of a word among the row's words, or -1. */
int kl_config_word(const struct kl_config_row *row, const char *word);

/* The row's help, its default in words ("": none to speak of), and the value that an error expects. */
void kl_config_help(const struct kl_config_row *row, char out[KL_CONFIG_TEXT_MAX]);
void kl_config_shown(const struct kl_config_row *row, char out[KL_CONFIG_TEXT_MAX]);
void kl_config_expected(const struct kl_config_row *row, char out[KL_CONFIG_TEXT_MAX]);

#endif
