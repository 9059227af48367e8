#include "core_wrapper/core/quirks.h"

#include <libretro.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define USE(use) (1u << KL_STATE_##use)

/* The uses that each quirk forbids. FRONT_VARIABLE_SIZE is the frontend's word. Sizes are asked for at every
 * use, and a core that must run before it takes a state is run (kl_quirks_warm_up). */
static const struct {
    uint64_t quirk;
    unsigned forbids;
    const char *why;
} table[] = {
    {RETRO_SERIALIZATION_QUIRK_SINGLE_SESSION, USE(GIVEN) | USE(SHOWN) | USE(COMPARED),
     "the core's states are for one run of it only"},
    /* All machines go back to the same frame, so what a state lacks is lacking everywhere. */
    {RETRO_SERIALIZATION_QUIRK_INCOMPLETE, USE(GIVEN) | USE(SHOWN),
     "the core says that its states are incomplete"},
    {RETRO_SERIALIZATION_QUIRK_PLATFORM_DEPENDENT, 0, ""}, /* kl_quirks_platform() */
    {RETRO_SERIALIZATION_QUIRK_ENDIAN_DEPENDENT, 0, ""},
    {RETRO_SERIALIZATION_QUIRK_MUST_INITIALIZE, 0, ""},
    {RETRO_SERIALIZATION_QUIRK_CORE_VARIABLE_SIZE, 0, ""},
    {RETRO_SERIALIZATION_QUIRK_FRONT_VARIABLE_SIZE, 0, ""},
};
#define ROWS (sizeof table / sizeof table[0])

uint64_t kl_quirks_answer(uint64_t declared) {
    uint64_t known = 0;
    for (size_t i = 0; i < ROWS; i++)
        known |= table[i].quirk;
    known &= ~(uint64_t)RETRO_SERIALIZATION_QUIRK_FRONT_VARIABLE_SIZE;
    uint64_t answer = declared & known;
    if (answer & RETRO_SERIALIZATION_QUIRK_CORE_VARIABLE_SIZE)
        answer |= RETRO_SERIALIZATION_QUIRK_FRONT_VARIABLE_SIZE;
    return answer;
}

const char *kl_quirks_why(uint64_t quirks, enum kl_state_use use) {
    for (size_t i = 0; i < ROWS; i++)
        if (quirks & table[i].quirk && table[i].forbids >> use & 1) return table[i].why;
    return "";
}

bool kl_quirks_allow(uint64_t quirks, enum kl_state_use use) {
    return !*kl_quirks_why(quirks, use);
}

bool kl_quirks_warm_up(uint64_t quirks) {
    return quirks & RETRO_SERIALIZATION_QUIRK_MUST_INITIALIZE;
}

#if defined(__x86_64__)
#define PROCESSOR "x86-64"
#elif defined(__aarch64__)
#define PROCESSOR "arm64"
#else
#define PROCESSOR "other"
#endif

void kl_quirks_platform(uint64_t quirks, const char *system, char platform[KL_QUIRKS_PLATFORM_MAX]) {
    bool little = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;
    *platform = 0;
    if (quirks & RETRO_SERIALIZATION_QUIRK_PLATFORM_DEPENDENT)
        snprintf(platform, KL_QUIRKS_PLATFORM_MAX, "%s %s", PROCESSOR, system);
    else if (quirks & RETRO_SERIALIZATION_QUIRK_ENDIAN_DEPENDENT)
        strcpy(platform, little ? "little-endian" : "big-endian");
}
