#include "core_wrapper/words/own_options.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/platform/buffer.h"

#define POOL        8192 /* bytes of the settings' keys, values and labels */
#define CATEGORY    "keylock"
#define OPTIONS_MAX 4096 /* of a core: more is a core gone wrong */
#define V0_MAX      1024 /* bytes of an option in the oldest form */

#define V(value, label)                                                                                      \
    { value, label }
#define NOTHING    V("nothing", "Nothing")
#define WITH(a, b) V(#a " " #b, "Players " #a " and " #b)
#define PLAYER(a)  V(#a, "Player " #a)
#define SAY(text)  V(text, text)
#define END        V(NULL, NULL)
#define AFTER                                                                                                \
    "Done by everybody's machine at the same frame, once this has stood still for a moment; then it goes "   \
    "back."

/* Behind the settings. */
static const struct retro_core_option_definition actions[] = {
    {KL_OWN_DO,
     "Do for the whole room",
     AFTER,
     {NOTHING, V("pause", "Pause, or go on"), V("reset", "Reset: a rematch"),
      V("next", "Hand on your seat, or wait for one"), V("save", "Save a state"),
      V("load", "Load the saved state"), V("disk next", "Next disk"), V("disk previous", "Previous disk"),
      END},
     "nothing"},
    {KL_OWN_SWAP,
     "Swap two players (host only)",
     AFTER,
     {NOTHING,    WITH(1, 2), WITH(1, 3), WITH(1, 4), WITH(1, 5), WITH(1, 6), WITH(1, 7), WITH(1, 8),
      WITH(2, 3), WITH(2, 4), WITH(2, 5), WITH(2, 6), WITH(2, 7), WITH(2, 8), WITH(3, 4), WITH(3, 5),
      WITH(3, 6), WITH(3, 7), WITH(3, 8), WITH(4, 5), WITH(4, 6), WITH(4, 7), WITH(4, 8), WITH(5, 6),
      WITH(5, 7), WITH(5, 8), WITH(6, 7), WITH(6, 8), WITH(7, 8), END},
     "nothing"},
    {KL_OWN_HOST,
     "Make another player the host (host only)",
     AFTER,
     {NOTHING, PLAYER(1), PLAYER(2), PLAYER(3), PLAYER(4), PLAYER(5), PLAYER(6), PLAYER(7), PLAYER(8), END},
     "nothing"},
    {KL_OWN_SAY,
     "Say",
     AFTER,
     {NOTHING, SAY("Hello!"), SAY("Ready?"), SAY("Ready."), SAY("One moment."), SAY("Back again."),
      SAY("Well played!"), SAY("Sorry!"), SAY("Again?"), SAY("Last game."), SAY("Bye!"), END},
     "nothing"},
};

static const char *const verbs[] = {"", "swap ", "host ", "say "};

/* --- the options --- */

static struct retro_core_option_definition own_v1[KL_OWN_MAX];
static struct kl_own_option own[KL_OWN_MAX];
static unsigned count; /* 0: not made yet */

__attribute__((format(__printf__, 1, 2))) static const char *keep(const char *format, ...) {
    static char pool[POOL];
    static size_t used;
    int len = KL_FORMAT(pool + used, POOL - used, format);
    const char *text = pool + used;
    if (len >= 0 && used + (size_t)len + 1 < POOL) used += (size_t)len + 1;
    return text;
}

static const char *label_of(const char *label, unsigned place, const char *value) {
    for (; label && place && strchr(label, '|'); place--)
        label = strchr(label, '|') + 1;
    if (!label) return keep("%c%s", toupper((unsigned char)*value), value + 1);
    int len = (int)strcspn(label, "|"), before = (int)strcspn(label, "*|");
    if (before == len) return keep("%.*s", len, label);
    return keep("%.*s%s%.*s", before, label, value, len - before - 1, label + before + 1);
}

static const char *values_of(const struct kl_row *row) {
    static char numbers[KL_ROW_TEXT];
    size_t used = 0;
    if (row->menu->values || row->words) return row->menu->values ? row->menu->values : row->words;
    if (row->kind == KL_KIND_SWITCH) return "off on";
    for (uint64_t n = row->min; n <= row->max && used < sizeof numbers; n++)
        used += (size_t)snprintf(numbers + used, sizeof numbers - used, "%s%" PRIu64, used ? " " : "", n);
    return numbers;
}

static void make_setting(const struct kl_row *row) {
    const struct kl_menu *m = row->menu;
    struct retro_core_option_definition *d = &own_v1[count];
    char shown[KL_ROW_TEXT];
    unsigned n = 0, place = 0;
    size_t len;
    kl_row_shown(row, NULL, shown);
    d->key = keep("keylock_%s", row->name);
    d->desc = m->title;
    d->info = m->info;
    if (m->extra) {
        d->values[n].value = keep("%.*s", (int)strcspn(m->extra, "="), m->extra);
        d->values[n++].label = strchr(m->extra, '=') + 1;
    }
    for (const char *v = values_of(row); *v && n < RETRO_NUM_CORE_OPTION_VALUES_MAX - 1;
         v += len, v += *v == ' ') {
        len = strcspn(v, " ");
        d->values[n].value = keep("%.*s", (int)len, v);
        d->values[n].label = label_of(m->labels, place++, d->values[n].value);
        n++;
    }
    d->default_value = m->extra ? d->values[0].value : keep("%s", shown);
    own[count++] = (struct kl_own_option){d->key, row->key, d->default_value, m->verb, false, m->here};
}

static void make_own(void) {
    if (count) return;
    for (const struct kl_row *row = kl_config_rows; kl_row_is(row); row++)
        if (row->menu && count < KL_OWN_MAX) make_setting(row);
    for (unsigned i = 0; i < sizeof actions / sizeof *actions && count < KL_OWN_MAX; i++) {
        own_v1[count] = actions[i];
        own[count++] = (struct kl_own_option){actions[i].key, NULL, "nothing", verbs[i], true, false};
    }
}

unsigned kl_own_count(void) {
    make_own();
    return count;
}

const struct kl_own_option *kl_own_option(unsigned i) {
    make_own();
    return &own[i];
}

bool kl_own_offers(unsigned i, const char *word) {
    size_t len = strlen(word);
    for (const struct retro_core_option_value *v = own_v1[i].values; v->value; v++)
        if (!strncmp(v->value, word, len) && (!v->value[len] || v->value[len] == ' ')) return true;
    return false;
}

/* "Panel; off|on": the oldest form has values without labels, and begins with the default. */
static void make_v0(struct retro_variable out[KL_OWN_MAX]) {
    static char text[KL_OWN_MAX][V0_MAX];
    for (unsigned i = 0; i < count; i++) {
        const char *standard = own_v1[i].default_value;
        size_t used = (size_t)snprintf(text[i], V0_MAX, "%s; %s", own_v1[i].desc, standard);
        for (unsigned k = 0; own_v1[i].values[k].value && used < V0_MAX; k++)
            if (strcmp(own_v1[i].values[k].value, standard) != 0)
                used += (size_t)snprintf(text[i] + used, V0_MAX - used, "|%s", own_v1[i].values[k].value);
        out[i] = (struct retro_variable){own_v1[i].key, text[i]};
    }
}

/* --- lists with ours at the end: malloced, ended by zeros; NULL without memory --- */

/* Entries begin with their key. *n: those of theirs, which may be NULL. */
static void *grown(const void *theirs, size_t size, size_t *n) {
    const char *at = theirs;
    for (*n = 0; at && *n < OPTIONS_MAX && *(const char *const *)(const void *)at; ++*n)
        at += size;
    char *list = calloc(*n + kl_own_count() + 1, size);
    if (list && *n) memcpy(list, theirs, *n * size);
    return list;
}

static struct retro_variable *join_v0(const struct retro_variable *theirs) {
    size_t n;
    struct retro_variable *all = grown(theirs, sizeof *all, &n);
    if (all) make_v0(all + n);
    return all;
}

static struct retro_core_option_definition *join_v1(const struct retro_core_option_definition *theirs) {
    size_t n;
    struct retro_core_option_definition *all = grown(theirs, sizeof *all, &n);
    if (all) memcpy(all + n, own_v1, count * sizeof *own_v1);
    return all;
}

static void own_v2(struct retro_core_option_v2_definition *out,
                   const struct retro_core_option_definition *from) {
    out->key = from->key;
    out->desc = out->desc_categorized = from->desc;
    out->info = out->info_categorized = from->info;
    out->category_key = CATEGORY;
    out->default_value = from->default_value;
    memcpy(out->values, from->values, sizeof out->values);
}

static struct retro_core_option_v2_category *
join_categories(const struct retro_core_option_v2_category *theirs) {
    static const struct retro_core_option_v2_category ours = {CATEGORY, "Keylock",
                                                              "The room that this machine plays in."};
    size_t n;
    struct retro_core_option_v2_category *all = grown(theirs, sizeof *all, &n);
    if (all) all[n] = ours;
    return all;
}

static bool join_v2(struct retro_core_options_v2 *out, const struct retro_core_options_v2 *theirs) {
    size_t n;
    out->categories = join_categories(theirs ? theirs->categories : NULL);
    out->definitions = grown(theirs ? theirs->definitions : NULL, sizeof *out->definitions, &n);
    for (unsigned i = 0; out->definitions && i < count; i++)
        own_v2(&out->definitions[n + i], &own_v1[i]);
    return out->categories && out->definitions;
}

static void free_v2(struct retro_core_options_v2 *v) {
    free(v->categories);
    free(v->definitions);
}

/* --- forwarding --- */

static void forward_v0(retro_environment_t front, unsigned cmd, const void *data) {
    struct retro_variable *all = join_v0(data);
    front(cmd, all ? all : (void *)data);
    free(all);
}

static void forward_v1(retro_environment_t front, unsigned cmd, const void *data) {
    struct retro_core_option_definition *all = join_v1(data);
    front(cmd, all ? all : (void *)data);
    free(all);
}

static void forward_v1_intl(retro_environment_t front, unsigned cmd,
                            const struct retro_core_options_intl *data) {
    struct retro_core_options_intl all = {0};
    if (data && data->us) all.us = join_v1(data->us);
    if (data && data->local) all.local = join_v1(data->local);
    front(cmd, all.us ? &all : (void *)data);
    free(all.us);
    free(all.local);
}

static void forward_v2(retro_environment_t front, unsigned cmd, const void *data) {
    struct retro_core_options_v2 all = {0};
    front(cmd, join_v2(&all, data) ? &all : (void *)data);
    free_v2(&all);
}

static void forward_v2_intl(retro_environment_t front, unsigned cmd,
                            const struct retro_core_options_v2_intl *data) {
    struct retro_core_options_v2 us = {0}, local = {0};
    struct retro_core_options_v2_intl all = {&us, data && data->local ? &local : NULL};
    bool ok = data && join_v2(&us, data->us) && (!data->local || join_v2(&local, data->local));
    front(cmd, ok ? &all : (void *)data);
    free_v2(&us);
    free_v2(&local);
}

bool kl_own_options_declare(retro_environment_t front, unsigned cmd, const void *data) {
    switch (cmd & ~(unsigned)RETRO_ENVIRONMENT_EXPERIMENTAL) {
    case RETRO_ENVIRONMENT_SET_VARIABLES: forward_v0(front, cmd, data); return true;
    case RETRO_ENVIRONMENT_SET_CORE_OPTIONS: forward_v1(front, cmd, data); return true;
    case RETRO_ENVIRONMENT_SET_CORE_OPTIONS_INTL: forward_v1_intl(front, cmd, data); return true;
    case RETRO_ENVIRONMENT_SET_CORE_OPTIONS_V2: forward_v2(front, cmd, data); return true;
    case RETRO_ENVIRONMENT_SET_CORE_OPTIONS_V2_INTL: forward_v2_intl(front, cmd, data); return true;
    default: return false;
    }
}

void kl_own_options_alone(retro_environment_t front) {
    unsigned version = 0;
    if (!front(RETRO_ENVIRONMENT_GET_CORE_OPTIONS_VERSION, &version)) version = 0;
    if (version >= 2)
        forward_v2(front, RETRO_ENVIRONMENT_SET_CORE_OPTIONS_V2, NULL);
    else if (version == 1)
        forward_v1(front, RETRO_ENVIRONMENT_SET_CORE_OPTIONS, NULL);
    else
        forward_v0(front, RETRO_ENVIRONMENT_SET_VARIABLES, NULL);
}
