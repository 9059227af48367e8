/* A core's quirks of savestates, each for each use (core_wrapper/core/quirks.h, docs/design.md §6), and its
 * declarations. */
#include "tests/unit/unit.h"

#include <libretro.h>
#include <stdlib.h>

#include "core_wrapper/core/declare.h"
#include "core_wrapper/core/quirks.h"

/* As the table in the design has it. */
static const struct {
    uint64_t quirk;
    bool given, own, shown, compared;
} rows[] = {
    {0, true, true, true, true},
    {RETRO_SERIALIZATION_QUIRK_INCOMPLETE, false, true, false, true},
    {RETRO_SERIALIZATION_QUIRK_MUST_INITIALIZE, true, true, true, true},
    {RETRO_SERIALIZATION_QUIRK_CORE_VARIABLE_SIZE, true, true, true, true},
    {RETRO_SERIALIZATION_QUIRK_SINGLE_SESSION, false, true, false, false},
    {RETRO_SERIALIZATION_QUIRK_ENDIAN_DEPENDENT, true, true, true, true},
    {RETRO_SERIALIZATION_QUIRK_PLATFORM_DEPENDENT, true, true, true, true},
};

TEST(each_quirk_for_each_use) {
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        uint64_t q = rows[i].quirk;
        assert_int_equal(kl_quirks_allow(q, KL_STATE_GIVEN), rows[i].given);
        assert_int_equal(kl_quirks_allow(q, KL_STATE_OWN), rows[i].own);
        assert_int_equal(kl_quirks_allow(q, KL_STATE_SHOWN), rows[i].shown);
        assert_int_equal(kl_quirks_allow(q, KL_STATE_COMPARED), rows[i].compared);
        assert_int_equal(kl_quirks_warm_up(q), q == RETRO_SERIALIZATION_QUIRK_MUST_INITIALIZE);
        for (unsigned use = KL_STATE_GIVEN; use <= KL_STATE_COMPARED; use++)
            assert_true(strlen(kl_quirks_why(q, use)) < 60);
    }
    assert_false(
        kl_quirks_allow(RETRO_SERIALIZATION_QUIRK_SINGLE_SESSION | RETRO_SERIALIZATION_QUIRK_MUST_INITIALIZE,
                        KL_STATE_GIVEN));
}

TEST(the_answer_names_what_is_known) {
    assert_int_equal(kl_quirks_answer(0), 0);
    assert_int_equal(kl_quirks_answer(UINT64_MAX), 127);
    assert_int_equal(kl_quirks_answer(RETRO_SERIALIZATION_QUIRK_FRONT_VARIABLE_SIZE), 0); /* not the core's */
    assert_int_equal(kl_quirks_answer(RETRO_SERIALIZATION_QUIRK_CORE_VARIABLE_SIZE),
                     RETRO_SERIALIZATION_QUIRK_CORE_VARIABLE_SIZE |
                         RETRO_SERIALIZATION_QUIRK_FRONT_VARIABLE_SIZE);
}

TEST(states_stay_with_their_kind_of_machine) {
    char here[KL_QUIRKS_PLATFORM_MAX], there[KL_QUIRKS_PLATFORM_MAX];
    kl_quirks_platform(0, "Linux", here);
    assert_string_equal(here, "");
    kl_quirks_platform(RETRO_SERIALIZATION_QUIRK_PLATFORM_DEPENDENT, "Linux", here);
    kl_quirks_platform(RETRO_SERIALIZATION_QUIRK_PLATFORM_DEPENDENT, "Windows", there);
    assert_string_not_equal(here, there);
    kl_quirks_platform(RETRO_SERIALIZATION_QUIRK_ENDIAN_DEPENDENT, "Linux", here);
    kl_quirks_platform(RETRO_SERIALIZATION_QUIRK_ENDIAN_DEPENDENT, "Windows", there);
    assert_string_equal(here, there);
    assert_true(strlen(here) > 0);
}

TEST(devices_that_a_core_names) {
    static const struct retro_controller_description pads[] = {{"pad", 257}, {"mat", 513}, {NULL, 0}},
                                                     gun[] = {{"gun", 260}, {NULL, 0}};
    static const struct retro_controller_info info[] = {{pads, 2}, {gun, 1}, {NULL, 0}};
    struct kl_declared d = {0};
    for (unsigned device = RETRO_DEVICE_NONE; device <= RETRO_DEVICE_POINTER; device++)
        assert_true(kl_declared_device(&d, 7, device));
    assert_false(kl_declared_device(&d, 0, 257));
    assert_true(kl_declare_controllers(&d, info));
    assert_true(kl_declared_device(&d, 0, 257) && kl_declared_device(&d, 0, 513));
    assert_true(kl_declared_device(&d, 1, 260));
    assert_false(kl_declared_device(&d, 0, 260) || kl_declared_device(&d, 1, 257));
    assert_false(kl_declared_device(&d, 2, 257) || kl_declared_device(&d, 0, 7));
    assert_false(kl_declared_device(&d, 0, 0x7fffffff));
    free(d.text); /* the copy stays for ever, as frontends want it */
}
