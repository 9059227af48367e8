/* The headless frontend answers a core as RetroArch 1.20 does, in the environment calls that decide whether
 * and how content loads. */
#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core_wrapper/tool/headless/headless.h"
#include "net/platform/dir.h"
#include "net/platform/file.h"

static char dir[128], file[160];

static int make_file(void **state) {
    (void)state;
    char err[300];
    if (kl_dir_make_temporary(dir, sizeof dir, "test-headless", err, sizeof err) != 0) return -1;
    snprintf(file, sizeof file, "%s/ten", dir);
    FILE *f = fopen(file, "wb");
    return f && fputs("0123456789", f) >= 0 && fclose(f) == 0 ? 0 : -1;
}
static int remove_file(void **state) {
    (void)state;
    kl_dir_remove_tree(dir);
    return kl_dir_exists(dir);
}

/* --- environment --- */

TEST_WITH(an_unknown_option_is_no_refusal, make_file, remove_file) {
    static struct kl_headless h;
    struct retro_variable v = {.key = "nobody", .value = "stale"};
    assert_true(kl_headless_environment(&h, RETRO_ENVIRONMENT_GET_VARIABLE, &v));
    assert_null(v.value);
    assert_true(kl_headless_environment(&h, RETRO_ENVIRONMENT_GET_VARIABLE, NULL));
}

TEST_WITH(a_changed_option_is_news_until_a_value_is_asked_for, make_file, remove_file) {
    static struct kl_headless h;
    bool news = false;
    struct retro_variable v = {.key = "nobody"};
    h.options.updated = true;
    for (unsigned i = 0; i < 2; i++) {
        assert_true(kl_headless_environment(&h, RETRO_ENVIRONMENT_GET_VARIABLE_UPDATE, &news));
        assert_true(news);
    }
    kl_headless_environment(&h, RETRO_ENVIRONMENT_GET_VARIABLE, &v);
    kl_headless_environment(&h, RETRO_ENVIRONMENT_GET_VARIABLE_UPDATE, &news);
    assert_false(news);
}

TEST_WITH(a_machine_can_translate_code, make_file, remove_file) {
    static struct kl_headless h;
    bool can = false;
    assert_true(kl_headless_environment(&h, 74, &can)); /* GET_JIT_CAPABLE */
    assert_true(can);
}

/* --- content --- */

static void read_content(struct kl_headless *h, bool need_fullpath) {
    char err[KLT_ERR] = "";
    h->setup.content_path = file;
    h->info.need_fullpath = need_fullpath;
    if (kl_headless_read_content(h, err, sizeof err) != 0) fail_msg("%s", err);
}

TEST_WITH(content_comes_as_the_core_says_for_its_ending, make_file, remove_file) {
    static struct kl_headless h;
    static const struct retro_system_content_info_override words[] = {
        {"bin|TEN", false, false}, {"two", true, false}, {NULL, false, false}};
    const struct retro_game_info_ext *ext = NULL;
    char other[160];
    assert_true(kl_headless_environment(&h, RETRO_ENVIRONMENT_SET_CONTENT_INFO_OVERRIDE, NULL));
    assert_true(kl_headless_environment(&h, RETRO_ENVIRONMENT_SET_CONTENT_INFO_OVERRIDE, (void *)words));
    assert_false(kl_headless_environment(&h, RETRO_ENVIRONMENT_GET_GAME_INFO_EXT, &ext));
    snprintf(other, sizeof other, "%s/game.ten", dir);
    assert_int_equal(rename(file, other), 0);
    strcpy(file, other);
    read_content(&h, true);
    assert_non_null(h.game.data);
    assert_true(kl_headless_environment(&h, RETRO_ENVIRONMENT_GET_GAME_INFO_EXT, &ext));
    assert_ptr_equal(ext->data, h.game.data);
    kl_headless_free_content(&h);
    snprintf(other, sizeof other, "%s/game.two", dir);
    assert_int_equal(rename(file, other), 0);
    strcpy(file, other);
    read_content(&h, false);
    assert_null(h.game.data);
    kl_headless_free_content(&h);
}

/* --- lasting outputs --- */

TEST_WITH(what_a_core_told_is_written_in_one_form, make_file, remove_file) {
    static struct kl_headless h;
    struct retro_system_av_info av = {{64, 48, 128, 96, 1.5f}, {50, 32000}};
    struct retro_game_geometry larger = {80, 60, 1000, 1000, 0};
    struct retro_variable options[] = {
        {"core_a", "A; one|two"}, {"keylock_mode", "M; auto|alone"}, {NULL, NULL}};
    struct retro_rumble_interface rumble;
    struct retro_led_interface led;
    unsigned quarters = 3;
    char text[512] = "", path[200];
    h.wrapper = (const struct klw_api *)&h; /* not asked: no world of its own is turned */
    kl_headless_turn(&h);
    assert_true(kl_headless_environment(&h, RETRO_ENVIRONMENT_SET_SYSTEM_AV_INFO, &av));
    assert_true(kl_headless_environment(&h, RETRO_ENVIRONMENT_SET_GEOMETRY, &larger));
    assert_true(kl_headless_environment(&h, RETRO_ENVIRONMENT_SET_ROTATION, &quarters));
    assert_true(kl_headless_environment(&h, RETRO_ENVIRONMENT_SET_VARIABLES, options));
    assert_true(kl_headless_environment(&h, RETRO_ENVIRONMENT_GET_RUMBLE_INTERFACE, &rumble));
    assert_true(kl_headless_environment(&h, RETRO_ENVIRONMENT_GET_LED_INTERFACE, &led));
    assert_true(rumble.set_rumble_state(1, RETRO_RUMBLE_WEAK, 77));
    assert_false(rumble.set_rumble_state(KLT_INPUT_PORTS, RETRO_RUMBLE_WEAK, 77));
    led.set_led_state(2, 1);
    led.set_led_state(KLT_LEDS, 1);
    led.set_led_state(-1, 1);
    snprintf(path, sizeof path, "%s/told", dir);
    assert_int_equal(kl_headless_write_told(&h, path), 0);
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    text[fread(text, 1, sizeof text - 1, f)] = 0;
    fclose(f);
    assert_string_equal(text,
                        "picture 80x60 aspect=0.000000\nlargest 128x96\nrate fps=50.000000 sound=32000.000\n"
                        "rotation 3\nformat 0\noption core_a=one\nrumble 1 strong=0 weak=77\nled 2=1\n");
    kl_options_free(&h.options);
    kl_headless_turn(NULL);
}
