/* Speech and silence: what is sent, and that a word's end is. */
#include <math.h>

#include "tests/unit/unit.h"

#include "core_wrapper/voice/activity.h"

#define UNIT 960

/* Noise of that level, with a hum. */
static bool unit_of(struct kl_activity *a, double level_db) {
    static uint32_t seed = 1;
    int16_t sample[UNIT];
    double loud = 32768 * pow(10, level_db / 20) * sqrt(3);
    for (unsigned i = 0; i < UNIT; i++) {
        seed = seed * 1664525 + 1013904223;
        sample[i] = (int16_t)lrint(loud * ((double)(seed >> 8) / (1 << 23) - 1));
    }
    return kl_activity_unit(a, sample, UNIT);
}

static unsigned units_of(struct kl_activity *a, double level_db, unsigned count) {
    unsigned speech = 0;
    while (count--)
        speech += unit_of(a, level_db);
    return speech;
}

TEST(a_still_room_is_silence) {
    struct kl_activity a = {0};
    assert_int_equal(units_of(&a, -70, 500), 0);
    assert_true(a.level_db < -69 && a.level_db > -71);
}

TEST(speech_begins_at_once_and_ends_with_a_tail) {
    struct kl_activity a = {0};
    units_of(&a, -60, 100);
    assert_true(unit_of(&a, -30));
    assert_int_equal(units_of(&a, -30, 49), 49);
    assert_int_equal(units_of(&a, -60, 100), KL_ACTIVITY_TAIL - 1);
}

TEST(a_short_pause_between_words_is_no_end) {
    struct kl_activity a = {0};
    units_of(&a, -60, 100);
    for (unsigned i = 0; i < 20; i++) {
        assert_int_equal(units_of(&a, -30, 10), 10);
        assert_int_equal(units_of(&a, -60, 10), 10);
    }
}

TEST(a_fan_becomes_part_of_the_room) {
    struct kl_activity a = {0};
    units_of(&a, -65, 100);
    units_of(&a, -48, 500);
    assert_int_equal(units_of(&a, -48, 100), 0);
    assert_true(unit_of(&a, -30));
}

TEST(digital_silence_is_silence) {
    struct kl_activity a = {0};
    int16_t none[UNIT] = {0};
    for (unsigned i = 0; i < 100; i++)
        assert_false(kl_activity_unit(&a, none, UNIT));
    assert_true(unit_of(&a, -30));
}
