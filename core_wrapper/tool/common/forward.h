/* forward.h - flags of `keylock play` and `keylock run` that are rows of config_table.h: their values are
 * checked here rather than by the wrapper in RetroArch's window. The wrapper gets them by the environment. */
#ifndef KLT_FORWARD_H
#define KLT_FORWARD_H

#include "core_wrapper/words/config.h"
#include "core_wrapper/words/config_table.h"

struct kl_forward {
    const char *value[KL_CONFIG_ROWS_MAX]; /* by row; NULL: not given */
    struct kl_config config;               /* the given values, and nothing else */
};

/* The table (net/platform/options.h) of a command whose struct s has such a member f, not as its first. */
#define KLT_FORWARD(s, f, by)                                                                                \
    { kl_config_rows, by, offsetof(s, f.config), offsetof(s, f.value) }

/* Of a row with another field (const char *): checked as the row of its name, and borrowed. */
bool kl_forward_check(const struct kl_row *row, void *field, const char *value, char why[KL_ROW_TEXT]);

/* Gives a row a value, as its flag would. A bad value is wrong usage. */
void kl_forward_set(struct kl_forward *f, const char *key, const char *value);
/* NULL: not given. key: or a flag without one. */
const char *kl_forward_value(const struct kl_forward *f, const char *key);

/* Sets the variables of all given values. */
void kl_forward_export(const struct kl_forward *f);

#endif
