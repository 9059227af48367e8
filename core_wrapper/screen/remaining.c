#include "core_wrapper/screen/remaining.h"

#include <math.h>

#define LOOK_US 500000
#define OVER    4      /* looks that the pace is smoothed over */
#define MOST_S  359999 /* 99 hours and more are all the same */

void kl_remaining_turn(struct kl_remaining *r, uint32_t frames, uint64_t now_us) {
    if (frames == 0 || r->at_us == 0) {
        *r = (struct kl_remaining){frames ? now_us : 0, frames, 0};
        return;
    }
    if (now_us < r->at_us + LOOK_US) return;
    double per_s = ((double)r->frames - frames) * 1e6 / (double)(now_us - r->at_us);
    r->per_s = r->per_s == 0 ? per_s : r->per_s + (per_s - r->per_s) / OVER;
    r->at_us = now_us;
    r->frames = frames;
}

unsigned kl_remaining_s(const struct kl_remaining *r) {
    if (r->at_us == 0 || r->per_s <= 0) return 0;
    double s = ceil(r->frames / r->per_s);
    return s > MOST_S ? MOST_S : s < 1 ? 1 : (unsigned)s;
}
