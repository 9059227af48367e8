/* Scripted pads. */
#include "tests/unit/folder.h"

#include "core_wrapper/tool/headless/input_source.h"

#include <libretro.h>

#define FRAMES 3000

static struct kl_input_source *open_source(const char *spec) {
    struct kl_input_source *s = NULL;
    if (kl_input_source_open(&s, spec, err, sizeof(err)) != 0) fail_msg("%s", err);
    return s;
}

TEST(none_presses_nothing) {
    struct kl_input_source *s = open_source("none");
    assert_null(s);
    assert_int_equal(kl_input_source_joypad(s, 5, 0), 0);
    kl_input_source_close(s);
}

TEST(random_is_a_function_of_seed_frame_and_port) {
    struct kl_input_source *s = open_source("random:7"), *again = open_source("random:7"),
                           *other = open_source("random:8");
    uint16_t mask[FRAMES];
    unsigned other_differs = 0, port_differs = 0;
    for (uint32_t f = 0; f < FRAMES; f++) {
        mask[f] = kl_input_source_joypad(s, f, 0);
        other_differs += kl_input_source_joypad(other, f, 0) != mask[f];
        port_differs += kl_input_source_joypad(s, f, 1) != mask[f];
    }
    assert_true(other_differs > FRAMES / 2);
    assert_true(port_differs > FRAMES / 2);
    for (uint32_t i = 0; i < 200; i++) { /* in any order, as a rewind asks */
        uint32_t f = i * 7919 % FRAMES;
        assert_int_equal(kl_input_source_joypad(again, f, 0), mask[f]);
        assert_int_equal(kl_input_source_joypad(again, f, 0), mask[f]);
    }
    kl_input_source_close(s);
    kl_input_source_close(again);
    kl_input_source_close(other);
}

TEST(random_play_is_plausible) {
    struct kl_input_source *s = open_source("random:1");
    unsigned held = 0, pressed = 0, starts = 0;
    uint16_t ever = 0;
    for (uint32_t f = 0; f < FRAMES; f++) {
        uint16_t m = kl_input_source_joypad(s, f, 0);
        assert_true((m & 0x30) != 0x30 && (m & 0xc0) != 0xc0); /* never both ways at once */
        held += (m & 0xf0) != 0;
        pressed += (m & 0xf03) != 0;
        starts += (m & 8) != 0;
        ever |= m;
    }
    assert_true(held > FRAMES / 2 && held < FRAMES);
    assert_true(pressed > FRAMES / 2);
    assert_in_range(starts, 3, FRAMES / 20);
    assert_int_equal(ever & 0x0ff3, 0x0ff3);
    kl_input_source_close(s);
}

TEST(any_plays_every_device_and_lets_go) {
    struct kl_input_source *s = open_source("any:3"), *pads = open_source("random:3");
    uint16_t keys = 0;
    unsigned moved = 0, held = 0;
    for (uint32_t f = 0; f < FRAMES; f++) {
        uint16_t down = kl_input_source_keys(s, f);
        int16_t x = kl_input_source_other(s, f, 1, RETRO_DEVICE_MOUSE, 0, RETRO_DEVICE_ID_MOUSE_X);
        assert_int_equal(kl_input_source_joypad(s, f, 0), kl_input_source_joypad(pads, f, 0));
        if (f % KLT_INPUT_SPELL >= KLT_INPUT_SPELL / 2) assert_true(!down && !x);
        held += f && down & kl_input_source_keys(s, f - 1);
        keys |= down;
        moved += x != 0;
        assert_int_equal(kl_input_source_keys(pads, f), 0);
    }
    assert_int_equal(keys, 0xdb6); /* two keys of three */
    assert_true(moved > FRAMES / 3 && held > FRAMES / 3);
    assert_int_equal(kl_input_source_code(0), RETROK_a);
    kl_input_source_close(s);
    kl_input_source_close(pads);
}

TEST(a_file_holds_from_its_frame_on) {
    put("input", "# a comment\n\n10 0 1 # B\n20 0 81\n15 1 ffff\n20 0 0\n");
    struct kl_input_source *s = open_source(at("input"));
    assert_int_equal(kl_input_source_joypad(s, 9, 0), 0);
    assert_int_equal(kl_input_source_joypad(s, 10, 0), 1);
    assert_int_equal(kl_input_source_joypad(s, 19, 0), 1);
    assert_int_equal(kl_input_source_joypad(s, 20, 0), 0); /* the later line of a frame */
    assert_int_equal(kl_input_source_joypad(s, 14, 1), 0);
    assert_int_equal(kl_input_source_joypad(s, 4000000000u, 1), 0xffff);
    assert_int_equal(kl_input_source_joypad(s, 10, 0), 1);
    assert_int_equal(kl_input_source_joypad(s, 10, 99), 0);
    kl_input_source_close(s);
}

TEST(errors_are_named) {
    const char *const bad[] = {"x",       "1 0",    "1 16 0",       "1 0 10000",      "-1 0 0",
                               "1 0 0 0", "1 -1 0", "9 0 0\n8 0 0", "99999999999 0 0"};
    struct kl_input_source *s;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        put("input", bad[i]);
        if (kl_input_source_open(&s, at("input"), err, sizeof(err)) == 0) fail_msg("accepted: %s", bad[i]);
        assert_null(s);
        assert_non_null(strstr(err, "expected FRAME PORT MASK"));
    }
    assert_int_equal(kl_input_source_open(&s, "random:", err, sizeof(err)), -1);
    assert_int_equal(kl_input_source_open(&s, "random:1x", err, sizeof(err)), -1);
    assert_int_equal(kl_input_source_open(&s, "/nonexistent/input", err, sizeof(err)), -1);
    assert_non_null(strstr(err, "/nonexistent/input"));
}

int main(void) {
    return run_all_tests(make_folder, remove_folder);
}
