/* Every environment call has its place in the table, once, with a reason. */
#include <stdio.h>

#include "tests/unit/unit.h"

#include "core_wrapper/env/env.h"

TEST(nothing_is_missing) {
    for (unsigned n = 1; n <= 91; n++) {
        if (n == 4 || n == 5 || n == 20) continue; /* no longer calls */
        if (!kl_env_find(n) && !kl_env_find(n | RETRO_ENVIRONMENT_EXPERIMENTAL))
            fail_msg("call %u is missing", n);
    }
}

TEST(every_entry_is_whole) {
    unsigned count;
    const struct kl_env_entry *all = kl_env_all(&count);
    for (unsigned i = 0; i < count; i++) {
        assert_non_null(all[i].name);
        assert_true(all[i].why && *all[i].why);
        assert_int_equal(all[i].room == KL_ENV_ANSWER, all[i].answer != NULL);
        assert_ptr_equal(kl_env_find(all[i].cmd), &all[i]); /* no number twice */
    }
}

/* A SET_* call declares something. A late player needs it by a snapshot, or cannot have it so, or does not
 * need it (outside.h). A newcomer's machine would be another one if nobody had asked. */
TEST(every_declaration_has_its_part) {
    unsigned count, locked = 0, core = 0;
    const struct kl_env_entry *all = kl_env_all(&count);
    for (unsigned i = 0; i < count; i++) {
        bool declares = strstr(all[i].name, "SET_") && !strstr(all[i].name, "GET_");
        if (declares && all[i].part == KL_PART_NONE) fail_msg("%s has no part", all[i].name);
        if (strstr(all[i].name, "GET_") && all[i].part != KL_PART_NONE) fail_msg("%s asks", all[i].name);
        locked += all[i].part == KL_PART_LOCKED;
        core += all[i].part == KL_PART_CORE;
        if (all[i].part == KL_PART_CORE) assert_true(strlen(all[i].name) < KL_CORE_ONLY_NAME);
        /* nobody answers it from what is in the agreed bytes if it only goes by */
        if (all[i].part == KL_PART_LOCKED) assert_int_equal(all[i].room, KL_ENV_ANSWER);
    }
    assert_true(locked >= 14 && core >= 9);
    assert_ptr_equal(kl_env_find(44)->answer, kl_env_find(87)->answer);
}

/* The flags are part of the number: two calls share 44. */
TEST(flags_count) {
    const struct kl_env_entry *quirks = kl_env_find(RETRO_ENVIRONMENT_SET_SERIALIZATION_QUIRKS);
    const struct kl_env_entry *shared = kl_env_find(RETRO_ENVIRONMENT_SET_HW_SHARED_CONTEXT);
    assert_non_null(quirks);
    assert_non_null(shared);
    assert_ptr_not_equal(quirks, shared);
    assert_non_null(strstr(shared->name, "HW_SHARED"));
    assert_null(kl_env_find(RETRO_ENVIRONMENT_GET_VARIABLE | RETRO_ENVIRONMENT_EXPERIMENTAL));
    assert_null(kl_env_find(999));
}

/* As the header numbers them. */
TEST(flags_are_the_headers) {
    static const unsigned header[] = {
        RETRO_ENVIRONMENT_SET_ROTATION,
        RETRO_ENVIRONMENT_SET_MEMORY_MAPS,
        RETRO_ENVIRONMENT_GET_VFS_INTERFACE,
        RETRO_ENVIRONMENT_GET_AUDIO_VIDEO_ENABLE,
        RETRO_ENVIRONMENT_GET_FASTFORWARDING,
        RETRO_ENVIRONMENT_GET_INPUT_BITMASKS,
        RETRO_ENVIRONMENT_GET_CORE_OPTIONS_VERSION,
        RETRO_ENVIRONMENT_SET_FASTFORWARDING_OVERRIDE,
        RETRO_ENVIRONMENT_SET_CONTENT_INFO_OVERRIDE,
        RETRO_ENVIRONMENT_GET_THROTTLE_STATE,
        RETRO_ENVIRONMENT_GET_SAVESTATE_CONTEXT,
        RETRO_ENVIRONMENT_GET_HW_RENDER_INTERFACE,
        RETRO_ENVIRONMENT_SET_VARIABLE,
        RETRO_ENVIRONMENT_GET_CURRENT_SOFTWARE_FRAMEBUFFER,
        RETRO_ENVIRONMENT_SET_SUPPORT_ACHIEVEMENTS,
        RETRO_ENVIRONMENT_GET_LED_INTERFACE,
        RETRO_ENVIRONMENT_GET_MIDI_INTERFACE,
        RETRO_ENVIRONMENT_GET_TARGET_REFRESH_RATE,
        RETRO_ENVIRONMENT_SET_HW_RENDER_CONTEXT_NEGOTIATION_INTERFACE,
    };
    for (size_t i = 0; i < sizeof header / sizeof *header; i++)
        if (!kl_env_find(header[i])) fail_msg("call %#x is missing", header[i]);
}
