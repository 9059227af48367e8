#include "tests/lib/numbers.h"

#include <stdio.h>
#include <string.h>

void numbers_write(const struct number *of, const int32_t *is, unsigned count, char *out, size_t cap) {
    size_t used = 0;
    out[0] = 0;
    for (unsigned i = 0; i < count && used < cap; i++)
        if (is[i])
            used +=
                (size_t)snprintf(out + used, cap - used, "%s%s=%d", used ? "," : "", of[i].name, (int)is[i]);
}

bool number_read(const struct number *of, int32_t *is, unsigned count, const char *name, int32_t value) {
    for (unsigned i = 0; i < count; i++)
        if (strcmp(name, of[i].name) == 0 && value >= of[i].lo && value <= of[i].hi) {
            is[i] = value;
            return true;
        }
    return false;
}

int32_t number_draw(const struct number *of, struct rng *r) {
    double u = rng_unit(r), most = of->lo < 0 && rng_chance(r, 0.4) ? of->lo : of->hi;
    int32_t value = (int32_t)(most * (rng_chance(r, 0.5) ? u * u * u : u));
    return value ? value : most < 0 ? -1 : 1;
}

void numbers_change(const struct number *of, int32_t *is, unsigned count, struct rng *r) {
    for (unsigned n = rng_range(r, 1, 2); n > 0; n--) {
        unsigned i = rng_range(r, 0, count - 1);
        for (unsigned tries = 0; is[i] == 0 && tries < 2; tries++)
            i = rng_range(r, 0, count - 1);
        double kind = rng_unit(r);
        int32_t value = is[i] == 0 || kind < 0.2 ? number_draw(&of[i], r)
                        : kind < 0.3             ? 0
                                                 : (int32_t)(is[i] * rng_between(r, 0.6, 1.6));
        is[i] = value < of[i].lo ? of[i].lo : value > of[i].hi ? of[i].hi : value;
    }
}
