/* forward.h - flags of `keylock play` and `keylock run` that are rows of config_table.h: their getopt
 * options, their lines of --help, and the check of their values, here rather than by the wrapper in
 * RetroArch's window. The wrapper gets the values by the environment. */
#ifndef KLT_FORWARD_H
#define KLT_FORWARD_H

#include <getopt.h>
#include <stdio.h>

#include "core_wrapper/words/config.h"
#include "core_wrapper/words/config_table.h"

#define KLT_FORWARD       1000 /* getopt's value of the first row */
#define KLT_FORWARD_LONGS (KL_CONFIG_ROWS_MAX + 32)

struct kl_forward {
    const char *value[KL_CONFIG_ROWS_MAX]; /* by row; NULL: not given */
    struct kl_config config;               /* the given values, and nothing else */
};

/* The command's own options (ended by zeros, 31 at most) and those of the rows that it hands on. */
void kl_forward_longs(unsigned by, const struct option *own, struct option out[KLT_FORWARD_LONGS]);

/* Takes an option if it is a row's (1), else 0. A bad value is wrong usage. A password in arg is wiped. */
int kl_forward_take(struct kl_forward *f, int option, char *arg);
/* The same for a key. */
void kl_forward_set(struct kl_forward *f, const char *key, char *arg);
/* NULL: not given. */
const char *kl_forward_value(const struct kl_forward *f, const char *key);

/* Sets the variables of all given values. */
void kl_forward_export(const struct kl_forward *f);

/* Writes the lines of --help of that command's rows, those that it acts on itself, too. */
void kl_forward_help(unsigned by, FILE *out);

#endif
