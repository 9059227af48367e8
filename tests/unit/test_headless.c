/* The headless runner: content comes to a core as it says, and the core's words are written in one form. */
#include "tests/unit/folder.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core_wrapper/env/env.h"
#include "core_wrapper/tool/headless/headless.h"

static char file[400];

static int make_file(void **state) {
    int failed = make_folder(state);
    put("ten", "0123456789");
    snprintf(file, sizeof file, "%s", at("ten"));
    return failed;
}

/* --- content --- */

static void begin(struct kl_headless *h) {
    static const struct kl_emulator_hooks none = {0};
    memset(h, 0, sizeof *h);
    kl_headless_turn(h);
    assert_int_equal(kl_emulator_begin(&h->emu, &kl_headless_front, &none), 0);
    (void)kl_emulator_environment(&h->emu); /* its place is taken */
}

static void end(struct kl_headless *h) {
    kl_content_free(&h->emu.content);
    kl_options_free(&h->emu.options);
    kl_audio_free(&h->emu.audio);
    kl_emulator_end(&h->emu);
    kl_headless_turn(NULL);
}

static void read_content(struct kl_headless *h, const char *ending, bool need_fullpath) {
    char other[400];
    snprintf(other, sizeof other, "%s/game.%s", dir, ending);
    assert_int_equal(rename(file, other), 0);
    strcpy(file, other);
    h->setup.content_path = file;
    h->info.need_fullpath = need_fullpath;
    if (kl_headless_name_content(h, err, sizeof err) != 0 ||
        kl_headless_read_content(h, err, sizeof err) != 0)
        fail_msg("%s", err);
}

TEST_WITH(content_comes_as_the_core_says_for_its_ending, make_file, remove_folder) {
    static struct kl_headless h;
    static const struct retro_system_content_info_override words[] = {
        {"bin|TEN", false, false}, {"two", true, false}, {NULL, false, false}};
    const struct retro_game_info_ext *ext = NULL;
    begin(&h);
    assert_true(kl_env_call(&h.emu, RETRO_ENVIRONMENT_SET_CONTENT_INFO_OVERRIDE, NULL));
    assert_true(kl_env_call(&h.emu, RETRO_ENVIRONMENT_SET_CONTENT_INFO_OVERRIDE, (void *)words));
    assert_false(kl_env_call(&h.emu, RETRO_ENVIRONMENT_GET_GAME_INFO_EXT, &ext));
    read_content(&h, "ten", true);
    const struct retro_game_info *game = &h.emu.content.item[0];
    assert_memory_equal(game->data, "0123456789", 10);
    assert_true(kl_env_call(&h.emu, RETRO_ENVIRONMENT_GET_GAME_INFO_EXT, &ext));
    assert_ptr_equal(ext->data, game->data);
    assert_int_equal(ext->size, 10);
    assert_true(ext->persistent_data);
    assert_string_equal(ext->name, "game");
    assert_string_equal(ext->ext, "ten");
    kl_content_free(&h.emu.content);
    read_content(&h, "two", false);
    assert_null(game->data);
    assert_false(h.emu.content.none);
    end(&h);
}

TEST(a_core_without_content_must_say_so) {
    static struct kl_headless h;
    bool yes = true;
    begin(&h);
    assert_int_equal(kl_headless_name_content(&h, err, sizeof err), 0);
    assert_int_equal(kl_headless_read_content(&h, err, sizeof err), -1);
    assert_true(kl_env_call(&h.emu, RETRO_ENVIRONMENT_SET_SUPPORT_NO_GAME, &yes));
    assert_int_equal(kl_headless_read_content(&h, err, sizeof err), 0);
    assert_true(h.emu.content.none);
    end(&h);
}

/* --- lasting outputs --- */

TEST_WITH(what_a_core_told_is_written_in_one_form, make_file, remove_folder) {
    static struct kl_headless h;
    struct retro_system_av_info av = {{64, 48, 128, 96, 1.5f}, {50, 32000}};
    struct retro_game_geometry larger = {80, 60, 1000, 1000, 0};
    struct retro_variable options[] = {
        {"core_a", "A; one|two"}, {"keylock_mode", "M; auto|alone"}, {NULL, NULL}};
    struct retro_rumble_interface rumble;
    struct retro_led_interface led;
    unsigned quarters = 3;
    begin(&h);
    assert_true(kl_env_call(&h.emu, RETRO_ENVIRONMENT_SET_SYSTEM_AV_INFO, &av));
    assert_true(kl_env_call(&h.emu, RETRO_ENVIRONMENT_SET_GEOMETRY, &larger));
    assert_true(kl_env_call(&h.emu, RETRO_ENVIRONMENT_SET_ROTATION, &quarters));
    assert_true(kl_env_call(&h.emu, RETRO_ENVIRONMENT_SET_VARIABLES, options));
    assert_true(kl_env_call(&h.emu, RETRO_ENVIRONMENT_GET_RUMBLE_INTERFACE, &rumble));
    assert_true(kl_env_call(&h.emu, RETRO_ENVIRONMENT_GET_LED_INTERFACE, &led));
    assert_true(rumble.set_rumble_state(1, RETRO_RUMBLE_WEAK, 77));
    rumble.set_rumble_state(KL_MAX_SEATS, RETRO_RUMBLE_WEAK, 77);
    led.set_led_state(2, 1);
    led.set_led_state(KL_LASTING_LIGHTS, 1);
    led.set_led_state(-1, 1);
    assert_int_equal(kl_headless_write_told(&h, at("told")), 0);
    has("told", "picture 80x60 aspect=0.000000\nlargest 128x96\nrate fps=50.000000 sound=32000.000\n"
                "rotation 3\nformat 0\noption core_a=one\nrumble 1 strong=0 weak=77\nled 2=1\n");
    end(&h);
}
