/* options.h - core options as a core declares them (SET_VARIABLES, SET_CORE_OPTIONS, _V2, _INTL) and their
 * values.
 *
 * Everything is copied deeply: a core's strings vanish when it is unloaded, and the frontend may keep what it
 * was given for the life of the process. Start with zeros; kl_options_free() brings zeros back. */
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
    bool updated;   /* a value changed since the core last asked (GET_VARIABLE_UPDATE) */
    char **pending; /* "key=value" set before the key was declared, or kept for the next declaration */
    unsigned pending_count;
};

void kl_options_free(struct kl_options *o);

/* Takes one of the declaring environment calls (cmd with or without the experimental flag); replaces what was
 * declared, keeps the values of keys that stay and are still allowed, and puts pending values in. Of the INTL
 * calls the US English part counts: choices must be the same in every language. False where cmd declares no
 * options or holds none. */
bool kl_options_declare(struct kl_options *o, unsigned cmd, const void *data);

/* The value of a key; NULL where it is not declared. Borrowed until the next change. */
const char *kl_options_get(const struct kl_options *o, const char *key);

/* Could kl_options_set() set it, without force? 0; else as there. */
int kl_options_check(const struct kl_options *o, const char *key, const char *value, char *err,
                     size_t err_len);

/* Sets a value. 0; -1 for an unknown key, -2 for a value that the core does not offer: err names what it
 * offers. With force a key that is not declared yet is no error: the value waits as pending, and a value that
 * is set is put in again whenever the core declares anew. */
int kl_options_set(struct kl_options *o, const char *key, const char *value, bool force, char *err,
                   size_t err_len);

#endif
