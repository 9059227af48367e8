#include "tests/lib/search.h"

#include <stdio.h>
#include <string.h>

bool search_run(const struct search *s, uint64_t seed, uint64_t count) {
    _Alignas(16) static unsigned char kept[SEARCH_KEPT][SEARCH_BYTES], item[SEARCH_BYTES],
        drawn[SEARCH_BYTES];
    double worst[SEARCH_KEPT] = {0};
    struct rng seeds = {seed * 0x9e3779b97f4a7c15u + 29}, r = rng_fork(&seeds);
    bool held = true;
    for (uint64_t n = 0; n < count; n++) {
        s->draw(drawn, &r);
        unsigned of = rng_range(&r, 0, SEARCH_KEPT - 1), least = 0;
        bool changes = 2 * n >= count && worst[of] > 0;
        memcpy(item, changes ? kept[of] : drawn, s->bytes);
        if (changes) s->change(item, &r);
        if (n < s->known) s->know(item, (unsigned)n);
        double is = s->play(item, s->ctx);
        if (is > 1) s->show(item);
        held &= is <= 1;
        for (unsigned i = 1; i < SEARCH_KEPT; i++)
            if (worst[i] < worst[least]) least = i;
        if (is <= worst[least]) continue;
        memcpy(kept[least], item, s->bytes);
        worst[least] = is;
    }
    puts("the worst:");
    for (unsigned i = 0; i < SEARCH_KEPT; i++)
        if (worst[i] > 0) s->show(kept[i]);
    return held;
}
