#include "tests/net/net_gap.h"

#include <poll.h>

#include "net/platform/clock.h"
#include "tests/net/net_hitch.h"

void gap_turn(struct gap *g, struct player *p, unsigned count, unsigned watched) {
    uint64_t now_us = kl_now_us();
    uint32_t least = UINT32_MAX;
    for (unsigned i = 0; i < count; i++) {
        player_turn(&p[i]);
        if (i < watched && p[i].frames < least) least = p[i].frames;
    }
    if (least <= g->frames) return;
    uint64_t still_now_us = hitch_us(), gap_us = now_us - g->last_us, still_us = still_now_us - g->still_us;
    if (g->last_us && gap_us > still_us + g->longest_us) g->longest_us = gap_us - still_us;
    g->frames = least;
    g->last_us = now_us;
    g->still_us = still_now_us;
}

void gap_turns(struct gap *g, struct player *p, unsigned count, unsigned watched, unsigned ms) {
    for (uint64_t end_us = kl_now_us() + ms * UINT64_C(1000); kl_now_us() < end_us; poll(NULL, 0, 1))
        gap_turn(g, p, count, watched);
}
