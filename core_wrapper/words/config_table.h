/* config_table.h - the one table of the player's settings (net/platform/options.h).
 *
 * A row with a key is a setting of the wrapper: a line of keylock.cfg, a KEYLOCK_ variable, and a wish of a
 * frontend with Keylock in its menu (keylock_api.h). Flags of `keylock play` and `keylock run` come from the
 * same rows (tool.h), core options refer to them (own_options.h), and tests/tools/option_tables.c makes
 * the table of docs/options.md from them. A row without a key is a flag of `keylock play` and nothing else.
 */
#ifndef KLW_CONFIG_TABLE_H
#define KLW_CONFIG_TABLE_H

#include "net/platform/options.h"

#define KL_CONFIG_ROWS_MAX 64

/* The commands that may set it. File, environment and frontend may set every row with a key. */
enum { KL_BY_PLAY = 1, KL_BY_RUN = 2 };

/* A row that is one of the wrapper's core options, too (own_options.h). Labels stand by value with | between;
 * the last one is that of all values that follow, * in it stands for the value. */
struct kl_menu {
    const char *title, *info;
    const char *extra;  /* VALUE=LABEL, before the row's values: asks for nothing. NULL: the default does */
    const char *values; /* with blanks between; NULL: the row's words, off and on, or its range */
    const char *labels; /* NULL: the value itself, with a capital */
    const char *verb;   /* its value behind this word is a command; NULL: a local setting */
    bool here;          /* it counts on this screen alone, at once */
};

/* In the order in which they take effect, and in which they stand in the menu. */
extern const struct kl_row kl_config_rows[];

/* The row of a key, or of a flag without a key; NULL if there is none. */
const struct kl_row *kl_config_row(const char *word);

#endif
