#include "core_wrapper/core/options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/platform/buffer.h"

static char *copy(const char *s) {
    return strdup(s ? s : "");
}

static void free_strings(char **list, unsigned count) {
    for (unsigned i = 0; i < count; i++)
        free(list[i]);
    free(list);
}

static void free_declared(struct kl_options *o) {
    for (unsigned i = 0; i < o->count; i++) {
        struct kl_option *p = &o->at[i];
        free(p->key);
        free(p->desc);
        free(p->default_value);
        free(p->value);
        free_strings(p->choices, p->choice_count);
    }
    free(o->at);
    o->at = NULL;
    o->count = 0;
}

void kl_options_free(struct kl_options *o) {
    uint32_t version = o->version + 1;
    free_declared(o);
    free_strings(o->pending, o->pending_count);
    memset(o, 0, sizeof(*o));
    o->version = version;
}

static struct kl_option *find(const struct kl_options *o, const char *key) {
    for (unsigned i = 0; i < o->count; i++)
        if (strcmp(o->at[i].key, key) == 0) return &o->at[i];
    return NULL;
}

static bool offers(const struct kl_option *p, const char *value) {
    for (unsigned i = 0; i < p->choice_count; i++)
        if (strcmp(p->choices[i], value) == 0) return true;
    return false;
}

/* --- a core's declarations --- */

struct kl_option *kl_options_add(struct kl_options *o, const char *key, const char *desc) {
    struct kl_option *grown = realloc(o->at, (o->count + 1) * sizeof(*grown));
    if (!grown) return NULL;
    o->at = grown;
    struct kl_option *p = &o->at[o->count++];
    *p = (struct kl_option){.key = copy(key), .desc = copy(desc)};
    return p;
}

void kl_options_add_choice(struct kl_option *p, const char *text, size_t len) {
    char **grown = realloc(p->choices, (p->choice_count + 1) * sizeof(*grown));
    if (!grown) return;
    p->choices = grown;
    p->choices[p->choice_count++] = kl_buffer_copy(text, len);
}

/* Without a default, or with one that is not among the choices, the first choice is the default. */
static void settle_default(struct kl_option *p, const char *wanted) {
    const char *value = wanted && offers(p, wanted) ? wanted : p->choice_count ? p->choices[0] : "";
    (void)kl_options_settle(p, value);
}

/* "Description; first|second|third", the first being the default. */
static void declare_v0(struct kl_options *o, const struct retro_variable *v) {
    for (; v && v->key; v++) {
        const char *text = v->value ? v->value : "", *semicolon = strchr(text, ';');
        struct kl_option *p = kl_options_add(o, v->key, text);
        if (!p) return;
        if (semicolon) p->desc[semicolon - text] = '\0';
        const char *at = semicolon ? semicolon + 1 : text;
        at += strspn(at, " ");
        while (*at) {
            size_t len = strcspn(at, "|");
            kl_options_add_choice(p, at, len);
            at += len + (at[len] == '|');
        }
        settle_default(p, NULL);
    }
}

static void declare_one(struct kl_options *o, const char *key, const char *desc,
                        const struct retro_core_option_value *values, const char *default_value) {
    struct kl_option *p = kl_options_add(o, key, desc);
    if (!p) return;
    for (unsigned i = 0; i < RETRO_NUM_CORE_OPTION_VALUES_MAX && values[i].value; i++)
        kl_options_add_choice(p, values[i].value, strlen(values[i].value));
    settle_default(p, default_value);
}

static void declare_v1(struct kl_options *o, const struct retro_core_option_definition *d) {
    for (; d && d->key; d++)
        declare_one(o, d->key, d->desc, d->values, d->default_value);
}

static void declare_v2(struct kl_options *o, const struct retro_core_options_v2 *v2) {
    for (const struct retro_core_option_v2_definition *d = v2 ? v2->definitions : NULL; d && d->key; d++)
        declare_one(o, d->key, d->desc, d->values, d->default_value);
}

static bool declare_any(struct kl_options *o, unsigned cmd, const void *data) {
    switch (cmd & ~RETRO_ENVIRONMENT_EXPERIMENTAL) {
    case RETRO_ENVIRONMENT_SET_VARIABLES: declare_v0(o, data); return true;
    case RETRO_ENVIRONMENT_SET_CORE_OPTIONS: declare_v1(o, data); return true;
    case RETRO_ENVIRONMENT_SET_CORE_OPTIONS_INTL:
        declare_v1(o, ((const struct retro_core_options_intl *)data)->us);
        return true;
    case RETRO_ENVIRONMENT_SET_CORE_OPTIONS_V2: declare_v2(o, data); return true;
    case RETRO_ENVIRONMENT_SET_CORE_OPTIONS_V2_INTL:
        declare_v2(o, ((const struct retro_core_options_v2_intl *)data)->us);
        return true;
    default: return false;
    }
}

static void put(struct kl_options *o, struct kl_option *p, const char *value) {
    if (strcmp(p->value, value) == 0) return;
    char *fresh = copy(value);
    if (!fresh) return;
    free(p->value);
    p->value = fresh;
    o->updated = true;
    o->version++;
}

bool kl_options_declare(struct kl_options *o, unsigned cmd, const void *data) {
    struct kl_options fresh = {0};
    if (!data || !declare_any(&fresh, cmd, data)) return false;
    for (unsigned i = 0; i < fresh.count; i++) {
        const struct kl_option *before = find(o, fresh.at[i].key);
        if (before && offers(&fresh.at[i], before->value)) put(&fresh, &fresh.at[i], before->value);
    }
    free_declared(o);
    o->at = fresh.at;
    o->count = fresh.count;
    o->version++;
    for (unsigned i = 0; i < o->pending_count; i++) {
        char *equals = strchr(o->pending[i], '=');
        *equals = '\0';
        struct kl_option *p = find(o, o->pending[i]);
        *equals = '=';
        if (p && offers(p, equals + 1)) put(o, p, equals + 1);
    }
    return true;
}

/* --- values --- */

const char *kl_options_get(const struct kl_options *o, const char *key) {
    const struct kl_option *p = key ? find(o, key) : NULL;
    return p ? p->value : NULL;
}

bool kl_options_wait(struct kl_options *o, const char *key, const char *value) {
    char *line = NULL;
    size_t len = strlen(key);
    if (asprintf(&line, "%s=%s", key, value) < 0) return false;
    o->version++;
    for (unsigned i = 0; i < o->pending_count; i++) {
        if (strncmp(o->pending[i], line, len + 1) != 0) continue;
        free(o->pending[i]);
        o->pending[i] = line;
        return true;
    }
    char **grown = realloc(o->pending, (o->pending_count + 1) * sizeof(*grown));
    if (!grown) {
        free(line);
        return false;
    }
    o->pending = grown;
    o->pending[o->pending_count++] = line;
    return true;
}

bool kl_options_settle(struct kl_option *p, const char *value) {
    p->default_value = copy(value);
    p->value = copy(value);
    return p->default_value && p->value;
}

char *kl_options_line(const struct kl_option *p) {
    const char *title = p->desc && *p->desc ? p->desc : p->key; /* known of a snapshot alone */
    size_t len = strlen(title) + strlen(p->value) + 3;
    for (unsigned i = 0; i < p->choice_count; i++)
        len += strlen(p->choices[i]) + 1;
    char *line = malloc(len);
    if (!line) return NULL;
    int at = snprintf(line, len, "%s; %s", title, p->value);
    for (unsigned i = 0; i < p->choice_count; i++)
        if (strcmp(p->choices[i], p->value) != 0)
            at += snprintf(line + at, len - (size_t)at, "|%s", p->choices[i]);
    return line;
}

const char *kl_options_described(const struct kl_options *o, const char *key) {
    const struct kl_option *p = find(o, key);
    return p && p->desc ? p->desc : "";
}

/* Appends the names: "a, b, c", cut at the end of err. */
static void name_all(char *err, size_t err_len, const struct kl_options *o, const struct kl_option *p) {
    size_t used = strlen(err);
    unsigned count = p ? p->choice_count : o->count;
    for (unsigned i = 0; i < count && used < err_len; i++, used = strlen(err))
        snprintf(err + used, err_len - used, "%s%s", i ? ", " : "", p ? p->choices[i] : o->at[i].key);
}

int kl_options_check(const struct kl_options *o, const char *key, const char *value, char *err,
                     size_t err_len) {
    const struct kl_option *p = find(o, key);
    if (!p) {
        snprintf(err, err_len, "the core has no option \"%s\"; it has: ", key);
        name_all(err, err_len, o, NULL);
        return -1;
    }
    if (offers(p, value)) return 0;
    snprintf(err, err_len, "option %s: the core does not offer \"%s\"; it offers: ", key, value);
    name_all(err, err_len, o, p);
    return -2;
}

int kl_options_set(struct kl_options *o, const char *key, const char *value, bool force, char *err,
                   size_t err_len) {
    struct kl_option *p = find(o, key);
    int result = p || !force ? kl_options_check(o, key, value, err, err_len) : 0;
    if (result != 0) return result;
    if (p) put(o, p, value);
    if (force) (void)kl_options_wait(o, key, value);
    return 0;
}
