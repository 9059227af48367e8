#include "core_wrapper/words/own_options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CATEGORY    "keylock"
#define OPTIONS_MAX 4096 /* of a core: more is a core gone wrong */
#define V0_MAX      1024 /* bytes of an option in the oldest form */

const struct kl_own_option kl_own_option[KL_OWN_COUNT] = {
    {KL_OWN_MODE, "mode", "auto", NULL, false, false},
    {KL_OWN_ROOM, "room", "own", NULL, false, false},
    {KL_OWN_PRACTICE, "practice", "on", NULL, false, false},
    {KL_OWN_POLICY, "policy", "room", "policy ", false, false},
    {KL_OWN_BUDGET, "budget_ms", "room", "budget ", false, false},
    {KL_OWN_SPACING, "spacing", "room", "spacing ", false, false},
    {KL_OWN_AHEAD, "ahead", "auto", NULL, false, true},
    {KL_OWN_FEEL, "feel", "1", NULL, false, true},
    {KL_OWN_LINE, "line", "off", NULL, false, true},
    {KL_OWN_PANEL, "panel", "off", NULL, false, true},
    {KL_OWN_RECORD, "record", "off", NULL, false, true},
    {KL_OWN_DO, NULL, "nothing", "", true, false},
    {KL_OWN_SWAP, NULL, "nothing", "swap ", true, false},
    {KL_OWN_HOST, NULL, "nothing", "host ", true, false},
    {KL_OWN_SAY, NULL, "nothing", "say ", true, false},
};

#define V(value, label)                                                                                      \
    { value, label }
#define NOTHING    V("nothing", "Nothing")
#define ROOM       V("room", "As it is")
#define MS(n)      V(#n, #n " ms")
#define LINK       V("0", "Follows the link")
#define FR(n)      V(#n, "Fixed at " #n)
#define AHEAD(n)   V(#n, "At most " #n " frames ahead")
#define WITH(a, b) V(#a " " #b, "Players " #a " and " #b)
#define PLAYER(a)  V(#a, "Player " #a)
#define SAY(text)  V(text, text)
#define END        V(NULL, NULL)
#define AFTER                                                                                                \
    "Done by everybody's machine at the same frame, once this has stood still for a moment; then it goes "   \
    "back."

/* In the order of kl_own_option. */
static const struct retro_core_option_definition own_v1[KL_OWN_COUNT] = {
    {KL_OWN_MODE,
     "Play",
     "Alone; a quick match with somebody else who wants one of this very game; the room named below; or "
     "watch "
     "that room. Automatic: alone until a relay is set, then the room.",
     {V("auto", "Automatic"), V("alone", "Alone"), V("quick", "Quick match"), V("room", "Named room"),
      V("spectate", "Watch the named room"), END},
     "auto"},
    {KL_OWN_ROOM,
     "Named room",
     "Players who choose the same room on the same relay meet there. As set up: room = NAME in keylock.cfg, "
     "else "
     "the room of this game.",
     {V("own", "As set up"), V("red", "Red"), V("orange", "Orange"), V("yellow", "Yellow"),
      V("green", "Green"), V("blue", "Blue"), V("violet", "Violet"), V("white", "White"), V("black", "Black"),
      END},
     "own"},
    {KL_OWN_PRACTICE,
     "Practise while waiting",
     "The game runs until another player comes. The match then starts from power-on, without what you did "
     "before. Off: the game stands still at its first picture.",
     {V("on", "On"), V("off", "Off"), END},
     "on"},
    {KL_OWN_POLICY,
     "Room policy (host only)",
     "When a frame closes. Strict: waits for every player. Bounded: waits for a limited time. Optimistic: "
     "waits for no player.",
     {ROOM, V("strict", "Strict"), V("bounded", "Bounded"), V("optimistic", "Optimistic"), END},
     "room"},
    {KL_OWN_BUDGET,
     "Wait budget (host only)",
     "How long a bounded room waits for a player, and how long an optimistic room repeats a silent player's "
     "input.",
     {ROOM, MS(50), MS(100), MS(150), MS(200), MS(250), MS(300), MS(400), MS(500), MS(750), MS(1000),
      MS(1500), MS(2000), MS(3000), MS(5000), MS(10000), END},
     "room"},
    {KL_OWN_SPACING,
     "Spacing (host only)",
     "The number of frames from a press to its play. It follows the link unless it is fixed here.",
     {ROOM,   LINK,   FR(1),  FR(2),  FR(3),  FR(4),  FR(5),  FR(6),  FR(7),  FR(8),  FR(9),
      FR(10), FR(11), FR(12), FR(13), FR(14), FR(15), FR(16), FR(17), FR(18), FR(19), FR(20),
      FR(21), FR(22), FR(23), FR(24), FR(25), FR(26), FR(27), FR(28), FR(29), FR(30), END},
     "room"},
    {KL_OWN_AHEAD,
     "Show my presses at once",
     "Your own presses are on your screen in the next picture, whatever the link: a second copy of the game "
     "runs ahead and guesses the others' buttons, and corrects itself as their news comes. Your screen alone "
     "does this; the match itself stays as it is. It takes processor time: automatic uses what is there.",
     {V("off", "Off"), V("auto", "Automatic"), AHEAD(1), AHEAD(2), AHEAD(3), AHEAD(4), AHEAD(5), AHEAD(6),
      AHEAD(7), AHEAD(8), AHEAD(9), AHEAD(10), AHEAD(11), AHEAD(12), END},
     "auto"},
    {KL_OWN_FEEL,
     "Sharper or calmer",
     "While your presses show at once: the frames that they wait. Sharper: none, and more pictures are "
     "guessed wrong and jump. Calmer: a few, and fewer pictures jump.",
     {V("0", "0 frames: sharper"), V("1", "1 frame"), V("2", "2 frames"), V("3", "3 frames"),
      V("4", "4 frames: calmer"), END},
     "1"},
    {KL_OWN_LINE,
     "One line",
     "Shows the players, the round trip and the delay in one line at the bottom, for as long as you like.",
     {V("off", "Off"), V("on", "On"), END},
     "off"},
    {KL_OWN_PANEL,
     "Panel",
     "Shows the players, round trip, delay, stops and the last ten seconds as a graph.",
     {V("off", "Off"), V("on", "On"), END},
     "off"},
    {KL_OWN_RECORD,
     "Record matches",
     "Writes each match from its beginning into a file on this machine, with the inputs and names of all "
     "players and the host's saves. From the next match on.",
     {V("off", "Off"), V("on", "On"), END},
     "off"},
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

/* "Panel; off|on": the oldest form has values without labels, and begins with the default. */
static void make_v0(struct retro_variable out[KL_OWN_COUNT]) {
    static char text[KL_OWN_COUNT][V0_MAX];
    for (unsigned i = 0; i < KL_OWN_COUNT; i++) {
        const char *standard = own_v1[i].default_value;
        size_t used = (size_t)snprintf(text[i], V0_MAX, "%s; %s", own_v1[i].desc, standard);
        for (unsigned k = 0; own_v1[i].values[k].value && used < V0_MAX; k++)
            if (strcmp(own_v1[i].values[k].value, standard) != 0)
                used += (size_t)snprintf(text[i] + used, V0_MAX - used, "|%s", own_v1[i].values[k].value);
        out[i] = (struct retro_variable){own_v1[i].key, text[i]};
    }
}

/* --- lists with ours at the end: malloced, ended by zeros; NULL without memory --- */

static void *grown(const void *theirs, size_t count, size_t size) {
    char *list = calloc(count + KL_OWN_COUNT + 1, size);
    if (list && count) memcpy(list, theirs, count * size);
    return list;
}

static struct retro_variable *join_v0(const struct retro_variable *theirs) {
    size_t n = 0;
    while (theirs && n < OPTIONS_MAX && theirs[n].key)
        n++;
    struct retro_variable *all = grown(theirs, n, sizeof *all);
    if (all) make_v0(all + n);
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
    for (unsigned i = 0; out->definitions && i < KL_OWN_COUNT; i++)
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
