/* The wrapper's options beside a core's own, in each of the ways that cores declare theirs. */
#include "tests/unit/unit.h"

#include <stdio.h>

#include "net/session/command_words.h"
#include "core_wrapper/words/config.h"
#include "core_wrapper/words/config_table.h"
#include "core_wrapper/core/options.h"
#include "core_wrapper/words/own_options.h"

static struct kl_options heard; /* the frontend's copy of it */
static unsigned heard_cmd, version;
static bool has_version, keylock_category, core_category, local_too;

static bool front(unsigned cmd, void *data) {
    if (cmd == RETRO_ENVIRONMENT_GET_CORE_OPTIONS_VERSION) {
        *(unsigned *)data = version;
        return has_version;
    }
    heard_cmd = cmd;
    const struct retro_core_options_v2 *v2 = cmd == RETRO_ENVIRONMENT_SET_CORE_OPTIONS_V2 ? data : NULL;
    if (cmd == RETRO_ENVIRONMENT_SET_CORE_OPTIONS_V2_INTL) {
        v2 = ((const struct retro_core_options_v2_intl *)data)->us;
        local_too = ((const struct retro_core_options_v2_intl *)data)->local != NULL;
    }
    for (const struct retro_core_option_v2_category *c = v2 ? v2->categories : NULL; c && c->key; c++) {
        keylock_category |= !strcmp(c->key, "keylock");
        core_category |= !strcmp(c->key, "video");
    }
    return kl_options_declare(&heard, cmd, data);
}

static int set_up(void **state) {
    (void)state;
    kl_options_free(&heard);
    heard_cmd = version = 0;
    has_version = keylock_category = core_category = local_too = false;
    return 0;
}
static int tear_down(void **state) {
    (void)state;
    kl_options_free(&heard);
    return 0;
}

static void both_are_there(unsigned cores) {
    assert_int_equal(heard.count, cores + kl_own_count());
    if (cores) assert_string_equal(kl_options_get(&heard, "speed"), "normal");
    for (unsigned i = 0; i < kl_own_count(); i++)
        assert_string_equal(kl_options_get(&heard, kl_own_option(i)->key), kl_own_option(i)->neutral);
    char err[200];
    assert_int_equal(kl_options_check(&heard, KL_OWN_SWAP, "7 8", err, sizeof err), 0);
    assert_int_equal(kl_options_check(&heard, KL_OWN_SPACING, "30", err, sizeof err), 0);
    assert_int_equal(kl_options_check(&heard, KL_OWN_SAY, "Bye!", err, sizeof err), 0);
    assert_int_equal(kl_options_check(&heard, KL_OWN_DO, "reset", err, sizeof err), 0);
    assert_int_equal(kl_options_check(&heard, KL_OWN_POLICY, "optimistic", err, sizeof err), 0);
}

TEST_WITH(version_0, set_up, tear_down) {
    static const struct retro_variable core[] = {{"speed", "Speed; normal|fast"}, {NULL, NULL}};
    assert_true(kl_own_options_declare(front, RETRO_ENVIRONMENT_SET_VARIABLES, core));
    both_are_there(1);
}

static const struct retro_core_option_definition v1[] = {
    {"speed", "Speed", NULL, {{"slow", NULL}, {"normal", NULL}, {NULL, NULL}}, "normal"},
    {NULL, NULL, NULL, {{NULL, NULL}}, NULL}};

TEST_WITH(version_1, set_up, tear_down) {
    assert_true(kl_own_options_declare(front, RETRO_ENVIRONMENT_SET_CORE_OPTIONS, v1));
    both_are_there(1);
    struct retro_core_options_intl intl = {(struct retro_core_option_definition *)v1, NULL};
    set_up(NULL);
    assert_true(kl_own_options_declare(front, RETRO_ENVIRONMENT_SET_CORE_OPTIONS_INTL, &intl));
    assert_int_equal(heard_cmd, RETRO_ENVIRONMENT_SET_CORE_OPTIONS_INTL);
    both_are_there(1);
}

TEST_WITH(version_2, set_up, tear_down) {
    static struct retro_core_option_v2_category categories[] = {{"video", "Video", NULL}, {NULL, NULL, NULL}};
    static struct retro_core_option_v2_definition definitions[] = {
        {"speed",
         "Speed",
         NULL,
         NULL,
         NULL,
         "video",
         {{"fast", NULL}, {"normal", NULL}, {NULL, NULL}},
         "normal"},
        {NULL, NULL, NULL, NULL, NULL, NULL, {{NULL, NULL}}, NULL}};
    struct retro_core_options_v2 core = {categories, definitions};
    assert_true(kl_own_options_declare(front, RETRO_ENVIRONMENT_SET_CORE_OPTIONS_V2, &core));
    both_are_there(1);
    assert_true(keylock_category && core_category);
    core.categories = NULL; /* a core without */
    set_up(NULL);
    assert_true(kl_own_options_declare(front, RETRO_ENVIRONMENT_SET_CORE_OPTIONS_V2, &core));
    both_are_there(1);
    assert_true(keylock_category && !core_category);
    struct retro_core_options_v2_intl intl = {&core, &core};
    set_up(NULL);
    assert_true(kl_own_options_declare(front, RETRO_ENVIRONMENT_SET_CORE_OPTIONS_V2_INTL, &intl));
    both_are_there(1);
    assert_true(local_too);
}

TEST_WITH(alone, set_up, tear_down) {
    static const unsigned cmds[] = {RETRO_ENVIRONMENT_SET_VARIABLES, RETRO_ENVIRONMENT_SET_CORE_OPTIONS,
                                    RETRO_ENVIRONMENT_SET_CORE_OPTIONS_V2};
    for (unsigned v = 0; v < 3; v++) {
        set_up(NULL);
        version = v;
        has_version = v > 0;
        kl_own_options_alone(front);
        assert_int_equal(heard_cmd, cmds[v]);
        both_are_there(0);
    }
}

/* Each value of each is a command, or asks for nothing. */
TEST_WITH(values_are_commands, set_up, tear_down) {
    version = 2;
    has_version = true;
    kl_own_options_alone(front);
    unsigned commands = 0;
    for (unsigned i = 0; i < heard.count; i++) {
        const struct kl_own_option *o = kl_own_option(i);
        assert_string_equal(heard.at[i].key, o->key);
        for (unsigned k = 0; o->verb && k < heard.at[i].choice_count; k++) {
            char line[KL_WORDS_MAX], err[KL_WORDS_MAX];
            struct kl_words w;
            if (!strcmp(heard.at[i].choices[k], o->neutral)) continue;
            snprintf(line, sizeof line, "%s%s", o->verb, heard.at[i].choices[k]);
            if (kl_words_parse(&w, line, err, sizeof err) != 0) fail_msg("%s: %s", line, err);
            commands++;
        }
    }
    assert_int_equal(commands, 3 + 15 + 31 + 7 + 28 + 8 + 10);
}

static bool neutral_only(const struct kl_own_option *o, const char *value) {
    char err[512];
    struct kl_config c = {0};
    return !strcmp(value, o->neutral) && kl_config_set(&c, o->setting, value, err, sizeof err) != 0;
}

/* An option of the menu that is a setting has the setting's words and no others. */
TEST_WITH(values_are_those_of_the_setting, set_up, tear_down) {
    version = 2;
    has_version = true;
    kl_own_options_alone(front);
    unsigned settings = 0;
    for (unsigned i = 0; i < heard.count; i++) {
        const struct kl_own_option *o = kl_own_option(i);
        if (!o->setting) continue;
        const struct kl_row *row = kl_config_row(o->setting);
        char err[512], shown[KL_ROW_TEXT];
        assert_non_null(row);
        unsigned own = 0;
        for (unsigned k = 0; k < heard.at[i].choice_count; k++) {
            struct kl_config c = {0};
            own += neutral_only(o, heard.at[i].choices[k]);
            if (neutral_only(o, heard.at[i].choices[k])) continue;
            if (kl_config_set(&c, o->setting, heard.at[i].choices[k], err, sizeof err) != 0)
                fail_msg("%s", err);
        }
        kl_row_shown(row, NULL, shown);
        if (!own && strcmp(row->key, "room") != 0) assert_string_equal(o->neutral, shown);
        unsigned words = row->kind == KL_KIND_SWITCH ? 2 : 0;
        for (const char *w = row->words; w && *w; w += strcspn(w, " "), w += *w == ' ')
            words++;
        if (words) assert_int_equal(heard.at[i].choice_count, words + own);
        settings++;
    }
    assert_int_equal(settings, 12);
}

TEST_WITH(other_calls_are_not_ours, set_up, tear_down) {
    assert_false(kl_own_options_declare(front, RETRO_ENVIRONMENT_SET_MESSAGE, NULL));
    assert_int_equal(heard_cmd, 0);
}
