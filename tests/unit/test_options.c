/* Core options: defaults, values that are set, and a new declaration. */
#include "tests/unit/unit.h"

#include "core_wrapper/core/options.h"

#include <stdlib.h>

static char err[512];
static struct kl_options o;

static int clear(void **state) {
    (void)state;
    kl_options_free(&o);
    assert_null(o.at);
    assert_null(o.pending);
    return 0;
}

static void declare_v0(void) {
    struct retro_variable v[] = {
        {"speed", "Speed; normal|slow|fast"}, {"odd", "no choices at all"}, {NULL, NULL}};
    assert_true(kl_options_declare(&o, RETRO_ENVIRONMENT_SET_VARIABLES, v));
}

TEST_WITH(v0_first_choice_is_default, NULL, clear) {
    declare_v0();
    assert_int_equal(o.count, 2);
    assert_string_equal(o.at[0].desc, "Speed");
    assert_int_equal(o.at[0].choice_count, 3);
    assert_string_equal(kl_options_get(&o, "speed"), "normal");
    assert_string_equal(kl_options_get(&o, "odd"), "no choices at all");
    assert_null(kl_options_get(&o, "speedy"));
    assert_null(kl_options_get(&o, NULL));
}

/* All versions, each in both languages: test_own_options. */
TEST_WITH(a_default_that_is_not_offered_is_the_first, NULL, clear) {
    struct retro_core_option_definition d[] = {
        {"lives", "Lives", NULL, {{"3", NULL}, {"5", NULL}, {NULL, NULL}}, "9"},
        {NULL, NULL, NULL, {{NULL, NULL}}, NULL}};
    assert_true(kl_options_declare(&o, RETRO_ENVIRONMENT_SET_CORE_OPTIONS, d));
    assert_string_equal(kl_options_get(&o, "lives"), "3");
}

TEST_WITH(others_declare_nothing, NULL, clear) {
    unsigned format = 1;
    declare_v0();
    assert_false(kl_options_declare(&o, RETRO_ENVIRONMENT_SET_PIXEL_FORMAT, &format));
    assert_false(kl_options_declare(&o, RETRO_ENVIRONMENT_SET_VARIABLES, NULL));
    assert_int_equal(o.count, 2);
}

TEST_WITH(a_set_value_is_checked_and_told, NULL, clear) {
    declare_v0();
    o.updated = false;
    assert_int_equal(kl_options_set(&o, "speed", "normal", false, err, sizeof(err)), 0);
    assert_false(o.updated);
    assert_int_equal(kl_options_set(&o, "speed", "fast", false, err, sizeof(err)), 0);
    assert_true(o.updated);
    assert_string_equal(kl_options_get(&o, "speed"), "fast");
    assert_int_equal(kl_options_set(&o, "speed", "warp", false, err, sizeof(err)), -2);
    assert_non_null(strstr(err, "normal, slow, fast"));
    assert_int_equal(kl_options_set(&o, "sped", "fast", false, err, sizeof(err)), -1);
    assert_non_null(strstr(err, "speed, odd"));
    assert_string_equal(kl_options_get(&o, "speed"), "fast");
}

TEST_WITH(a_forced_value_waits_for_its_key, NULL, clear) {
    assert_int_equal(kl_options_set(&o, "speed", "slow", true, err, sizeof(err)), 0);
    assert_int_equal(kl_options_set(&o, "speed", "fast", true, err, sizeof(err)), 0); /* the later counts */
    assert_int_equal(kl_options_set(&o, "odd", "even", true, err, sizeof(err)), 0);   /* no choice of it */
    assert_int_equal(kl_options_set(&o, "none", "fast", true, err, sizeof(err)), 0);  /* no option */
    assert_null(kl_options_get(&o, "speed"));
    declare_v0();
    assert_string_equal(kl_options_get(&o, "speed"), "fast");
    assert_string_equal(kl_options_get(&o, "odd"), "no choices at all");
}

TEST_WITH(a_new_declaration_keeps_values_still_allowed, NULL, clear) {
    struct retro_variable less[] = {{"speed", "Speed; normal|fast"}, {NULL, NULL}};
    struct retro_variable none[] = {{"speed", "Speed; normal|slow"}, {NULL, NULL}};
    declare_v0();
    assert_int_equal(kl_options_set(&o, "speed", "fast", false, err, sizeof(err)), 0);
    assert_true(kl_options_declare(&o, RETRO_ENVIRONMENT_SET_VARIABLES, less));
    assert_string_equal(kl_options_get(&o, "speed"), "fast");
    assert_true(kl_options_declare(&o, RETRO_ENVIRONMENT_SET_VARIABLES, none));
    assert_string_equal(kl_options_get(&o, "speed"), "normal");
}

TEST_WITH(an_error_is_cut_where_it_does_not_fit, NULL, clear) {
    char small[24];
    declare_v0();
    assert_int_equal(kl_options_set(&o, "speed", "warp", false, small, sizeof(small)), -2);
    assert_true(strlen(small) < sizeof(small));
}

/* A list of a snapshot has no descriptions: the frontend shows the key in place of an empty title. */
TEST_WITH(a_line_without_description_has_the_key, NULL, clear) {
    struct kl_option *p = kl_options_add(&o, "late_key", "");
    kl_options_add_choice(p, "one", 3);
    kl_options_add_choice(p, "two", 3);
    assert_true(kl_options_settle(p, "two"));
    char *line = kl_options_line(p);
    assert_string_equal(line, "late_key; two|one");
    free(line);
}
