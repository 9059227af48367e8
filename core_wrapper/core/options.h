/* options.h - core options as a core declares them (SET_VARIABLES, SET_CORE_OPTIONS, _V2, _INTL) and their
 * values.
 *
 * Everything is copied deeply: a core's strings vanish when it is unloaded, and the frontend may keep its
 * pointers for the life of the process. Start with zeros; kl_options_free() brings zeros back. */
#ifndef KLW_OPTIONS_H
#define KLW_OPTIONS_H

#include <libretro.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kl_option {
    char *key, *desc, *default_value, *value; /* value: in force */
    char **choices;
    unsigned choice_count;
};

struct kl_options {
    struct kl_option *at;
    unsigned count;
    bool updated;     /* a value changed since the core last asked (GET_VARIABLE_UPDATE) */
    uint32_t version; /* changes with each change of the list or of a value */
    char **pending;   /* "key=value" set before the key was declared, or kept for the next declaration */
    unsigned pending_count;
};

void kl_options_free(struct kl_options *o);

/* Takes one of the declaring environment calls (cmd with or without the experimental flag). Replaces the old
 * declaration, keeps the values of keys that stay and are still allowed, and puts pending values in. For the
 * INTL calls the US English part counts, because choices must be the same in every language. False if cmd
 * declares no options or holds none. */
bool kl_options_declare(struct kl_options *o, unsigned cmd, const void *data);

/* The value of a key, borrowed until the next change; NULL for an undeclared key. */
const char *kl_options_get(const struct kl_options *o, const char *key);

/* Could kl_options_set() set it, without force? 0; else as there. */
int kl_options_check(const struct kl_options *o, const char *key, const char *value, char *err,
                     size_t err_len);

/* Sets a value. Returns 0; -1 for an unknown key; -2 for a value that the core does not offer, and err lists
 * the offered values. With force an undeclared key is no error: the value waits as pending, and a set value
 * is put in again whenever the core declares anew. */
int kl_options_set(struct kl_options *o, const char *key, const char *value, bool force, char *err,
                   size_t err_len);

/* --- building a list: options_form.c --- */

/* Adds an option without choices and without a value, and gives it; NULL without memory. */
struct kl_option *kl_options_add(struct kl_options *o, const char *key, const char *desc);
void kl_options_add_choice(struct kl_option *p, const char *text, size_t len);
/* Its value, and a default: the value as well. False without memory. */
bool kl_options_settle(struct kl_option *p, const char *value);
/* A value that waits for a declaration. False without memory. */
bool kl_options_wait(struct kl_options *o, const char *key, const char *value);
/* "Description; value|other|third", the value in force first: a declaration for SET_VARIABLES. The key stands
 * for a description that is not known. Heap. */
char *kl_options_line(const struct kl_option *p);
/* The description of a key; "" if there is none. */
const char *kl_options_described(const struct kl_options *o, const char *key);

#endif
