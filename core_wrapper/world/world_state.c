#include "core_wrapper/world/world_private.h"

#include <stdatomic.h>
#include <string.h>
#include <strings.h>

/* --- worlds --- */

/* The worlds of this process, and their lists of turned and remaining facts, for people. */

struct kl_world kl_world_at[KL_WORLDS];

static bool listed(const char *list, const char *word) {
    size_t len = strlen(word);
    for (const char *at = list; (at = strstr(at, word)); at += len)
        if ((at == list || at[-1] == ' ') && (at[len] == ' ' || at[len] == '\0')) return true;
    return false;
}

void kl_world_list(char *list, size_t cap, const char *word, const char *reason) {
    size_t used = strlen(list);
    if (!listed(list, word))
        snprintf(list + used, cap - used, reason ? "%s%s (%s)" : "%s%s", used ? " " : "", word, reason);
}

void kl_world_leaves(struct kl_world *w, const char *what, const char *reason) {
    if (!w->report) return;
    kl_mutex_lock(&w->asking);
    kl_world_list(w->report->left, sizeof w->report->left, what, reason);
    kl_mutex_unlock(&w->asking);
}

/* A list is "NAME (REASON) NAME (REASON)". A name that does not fit is left out, with all behind it. */
const char *kl_world_left_names(const char *left, char *out, size_t cap) {
    size_t used = 0;
    *out = 0;
    for (int wanted = 0; wanted < 3; wanted++)
        for (const char *at = left; *at;) {
            const char *reason = strstr(at, " ("), *end = reason ? strchr(reason, ')') : NULL;
            size_t len = reason ? (size_t)(reason - at) : strlen(at), comma = used ? 2 : 0;
            /* 0 to 2: how likely it is the reason that machines part. */
            bool first = *at == '/' || strncmp(at, "rd", 2) == 0 || strncmp(at, "rndr", 4) == 0 ||
                         strncmp(at, "cntvct", 6) == 0 || strncmp(at, "threads", 7) == 0;
            if ((first ? 0 : *at == '$' ? 2 : 1) == wanted) {
                if (used + comma + len >= cap) return out;
                used += (size_t)snprintf(out + used, cap - used, "%s%.*s", comma ? ", " : "", (int)len, at);
            }
            at = end ? end + 1 : at + strlen(at);
            at += *at == ' ';
        }
    return out;
}

/* --- the host's facts --- */

/* The host's facts, as far as both systems have them. The replacements of the calls are in elf/ and pe/. */

bool kl_world_own_name(const struct kl_world *w, const char *path, unsigned long real,
                       char out[KL_FILE_PATH]) {
    char number[16], own[48];
    snprintf(number, sizeof number, "%d", KL_HOST_PID);
    const char *at = strstr(path, number);
    bool process = strncmp(path, "/proc/", 6) == 0;
    snprintf(own, sizeof own, process ? "%lu" : "%lu-%d", real, (int)(w - kl_world_at));
    return at && (size_t)snprintf(out, KL_FILE_PATH, "%.*s%s%s", (int)(at - path), path, own,
                                  at + strlen(number)) < KL_FILE_PATH;
}

const char *kl_world_variable(struct kl_world *w, const char *name, bool there) {
    static const char *const constant[][2] = {{"TZ", "UTC0"},
                                              {"LANG", "C"},
                                              {"LANGUAGE", "C"},
                                              {"USER", KL_HOST_NAME},
                                              {"LOGNAME", KL_HOST_NAME},
                                              {"USERNAME", KL_HOST_NAME},
                                              {"HOSTNAME", KL_HOST_NAME},
                                              {"COMPUTERNAME", KL_HOST_NAME}};
    char what[64];
    for (size_t i = 0; i < sizeof constant / sizeof *constant; i++)
        if (strcasecmp(name, constant[i][0]) == 0) return constant[i][1];
    if (strncasecmp(name, "LC_", 3) == 0) return "C";
    snprintf(what, sizeof what, "$%s", name);
    if (there) kl_world_leaves(w, what, KL_PLAYER_REASON);
    return NULL;
}

/* --- chance --- */

/* The virtual chance: one generator for every call by which a core asks the C library for random numbers.
 * SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number generators", 2014): a counter and a
 * mix, so that threads of a core need no lock. */

uint64_t kl_world_mix(uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

uint64_t kl_world_draw(struct kl_world *w) {
    return kl_world_mix(atomic_fetch_add(&w->chance, KL_CHANCE_STEP));
}

/* KL_RAND_UPPER: 31 bits are n / 32767 of RAND_MAX, as 15 bits are, but for the rest of a division. The exact
 * value is n * 65538 + n / 32767. It is rounded up from 18200 on, because Genesis Plus GX's product is equal
 * for all n then (tests/unit/test_rand_use.c). */
int kl_world_rand_of(uint64_t drawn, enum kl_rand_use use, int rand_max) {
    int n = (int)(drawn >> 49);
    if (rand_max <= 32767 || use == KL_RAND_LOW) return n;
    return use == KL_RAND_UPPER ? n * 65538 + (n >= 18200) : (int)(drawn >> 33);
}

void kl_world_rand_use(struct kl_world *w, enum kl_rand_use use) {
    w->rand_use = use;
}

void kl_world_random_start(struct kl_world *w, uint64_t seed) {
    atomic_store(&w->chance, kl_world_mix(seed ^ 0x6b65796c6f636b21u));
}

uint64_t kl_world_chance(const struct kl_world *w) {
    return atomic_load(&w->chance);
}
void kl_world_chance_set(struct kl_world *w, uint64_t chance) {
    atomic_store(&w->chance, chance);
}

void kl_world_draw_bytes(struct kl_world *w, void *buf, size_t n) {
    uint8_t *p = buf;
    for (size_t i = 0; i < n; i++)
        p[i] = (uint8_t)(kl_world_draw(w) >> 56);
}
