#include "own_options.h"

#include <stdlib.h>
#include <string.h>

#define OWN         3
#define CATEGORY    "keylock"
#define OPTIONS_MAX 4096 /* of a core: more is a core gone wrong */

#define POLICY_DESC "Room policy (host only)"
#define POLICY_INFO                                                                                          \
    "When a frame closes: strict waits for every player, bounded for a limited time, optimistic for nobody."
#define PANEL_DESC "Panel"
#define PANEL_INFO                                                                                           \
    "Who sits where, round trip, lead and spacing, stalls, and the last ten seconds as a graph."
#define DO_DESC "Do for the whole room"
#define DO_INFO "Done by everybody's machine at the same frame; then this goes back to nothing."

static const struct retro_core_option_definition own_v1[OWN] = {
    {KL_OWN_POLICY,
     POLICY_DESC,
     POLICY_INFO,
     {{"room", "As it is"},
      {"strict", "Strict"},
      {"bounded", "Bounded"},
      {"optimistic", "Optimistic"},
      {NULL, NULL}},
     "room"},
    {KL_OWN_PANEL, PANEL_DESC, PANEL_INFO, {{"off", "Off"}, {"on", "On"}, {NULL, NULL}}, "off"},
    {KL_OWN_DO,
     DO_DESC,
     DO_INFO,
     {{"nothing", "Nothing"},
      {"pause", "Pause, or go on"},
      {"reset", "Reset"},
      {"save", "Save a state"},
      {"load", "Load the saved state"},
      {"swap", "Swap players 1 and 2"},
      {NULL, NULL}},
     "nothing"},
};

static const struct retro_variable own_v0[OWN] = {
    {KL_OWN_POLICY, POLICY_DESC "; room|strict|bounded|optimistic"},
    {KL_OWN_PANEL, PANEL_DESC "; off|on"},
    {KL_OWN_DO, DO_DESC "; nothing|pause|reset|save|load|swap"},
};

/* ---- lists with ours at the end: malloced, ended by zeros; NULL without memory ---- */

static void *grown(const void *theirs, size_t count, size_t size) {
    char *list = calloc(count + OWN + 1, size);
    if (list && count) memcpy(list, theirs, count * size);
    return list;
}

static struct retro_variable *join_v0(const struct retro_variable *theirs) {
    size_t n = 0;
    while (theirs && n < OPTIONS_MAX && theirs[n].key)
        n++;
    struct retro_variable *all = grown(theirs, n, sizeof *all);
    if (all) memcpy(all + n, own_v0, sizeof own_v0);
    return all;
}

static struct retro_core_option_definition *join_v1(const struct retro_core_option_definition *theirs) {
    size_t n = 0;
    while (theirs && n < OPTIONS_MAX && theirs[n].key)
        n++;
    struct retro_core_option_definition *all = grown(theirs, n, sizeof *all);
    if (all) memcpy(all + n, own_v1, sizeof own_v1);
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
    size_t n = 0;
    while (theirs && n < OPTIONS_MAX && theirs[n].key)
        n++;
    struct retro_core_option_v2_category *all = grown(theirs, n, sizeof *all);
    if (all) all[n] = ours;
    return all;
}

static bool join_v2(struct retro_core_options_v2 *out, const struct retro_core_options_v2 *theirs) {
    size_t n = 0;
    while (theirs && theirs->definitions && n < OPTIONS_MAX && theirs->definitions[n].key)
        n++;
    out->categories = join_categories(theirs ? theirs->categories : NULL);
    out->definitions = grown(n ? theirs->definitions : NULL, n, sizeof *out->definitions);
    for (unsigned i = 0; out->definitions && i < OWN; i++)
        own_v2(&out->definitions[n + i], &own_v1[i]);
    return out->categories && out->definitions;
}

static void free_v2(struct retro_core_options_v2 *v) {
    free(v->categories);
    free(v->definitions);
}

/* ---- forwarding ---- */

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
    switch (cmd & ~RETRO_ENVIRONMENT_EXPERIMENTAL) {
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
