/* Instructions of a core that ask the processor past every call: for its counter, for chance. They are looked
 * for by their bytes and by what compilers put around them, because the bytes alone occur by chance. */
#include "core_wrapper/world/world_private.h"

#include <string.h>

#define REASON "an instruction that it may have"

#if defined(__x86_64__)

#define NEAR 24 /* bytes behind an instruction in which its result is used */

/* The upper half of the counter is shifted, or the lower one is stored from eax. */
static bool used_as_counter(const uint8_t *at, const uint8_t *end) {
    if (end - at >= 2 && at[0] == 0x89 && (at[1] & 0x38) == 0) return true;
    for (int i = 0; i < NEAR && end - at - i >= 3; i++)
        if (at[i] == 0xc1 && (at[i + 1] & 0xf8) == 0xe0 && at[i + 2] == 0x20) return true;
    return false;
}
/* The carry says whether there was a number. */
static bool used_as_chance(const uint8_t *at, const uint8_t *end) {
    for (int i = 0; i < NEAR && end - at - i >= 2; i++)
        if ((at[i] == 0x0f &&
             ((at[i + 1] & 0xfe) == 0x92 || (at[i + 1] & 0xfe) == 0x42 || (at[i + 1] & 0xfe) == 0x82)) ||
            (at[i] & 0xfe) == 0x72)
            return true;
    return false;
}

static const char *instruction(const uint8_t *at, const uint8_t *end) {
    if (end - at < 3) return NULL;
    if (at[1] == 0x31 && used_as_counter(at + 2, end)) return "rdtsc";
    if (at[1] == 0x01 && at[2] == 0xf9 && used_as_counter(at + 3, end)) return "rdtscp";
    if (at[1] == 0xc7 && at[2] >= 0xf0 && used_as_chance(at + 3, end))
        return at[2] < 0xf8 ? "rdrand" : "rdseed";
    return NULL;
}

void kl_world_scan(struct kl_world *w, const void *code, size_t len) {
    const uint8_t *at = code, *end = at + len;
    while (at < end && (at = memchr(at, 0x0f, (size_t)(end - at)))) {
        const char *name = instruction(at++, end);
        if (name) kl_world_leaves(w, name, REASON);
    }
}

#elif defined(__aarch64__)

void kl_world_scan(struct kl_world *w, const void *code, size_t len) {
    const uint32_t *at = code;
    for (size_t i = 0; i < len / sizeof *at; i++) {
        uint32_t is = at[i] & ~0x1fu; /* without the register: mrs */
        if (is == 0xd53be040 || is == 0xd53be020) kl_world_leaves(w, "cntvct_el0", REASON);
        if (is == 0xd53b2400 || is == 0xd53b2420) kl_world_leaves(w, "rndr", REASON);
    }
}

#else

void kl_world_scan(struct kl_world *w, const void *code, size_t len) {
    (void)w, (void)code, (void)len;
}

#endif
