#include "core_wrapper/screen/away.h"

#include <math.h>

static bool turn_seat(struct kl_away *p, unsigned seat, bool away, uint64_t now_us) {
    uint8_t bit = (uint8_t)(1u << seat);
    bool shown = p->shown & bit;
    if (away == shown) {
        p->turned_us[seat] = 0;
        return false;
    }
    if (!p->turned_us[seat]) p->turned_us[seat] = now_us;
    if (now_us - p->turned_us[seat] < (away ? KL_AWAY_SHOWN_US : KL_AWAY_BACK_US)) return false;
    p->shown ^= bit;
    if (away) {
        p->away_us[seat] = p->turned_us[seat];
        p->turned_us[seat] = 0;
    }
    return true;
}

uint8_t kl_away_turn(struct kl_away *p, uint8_t away, uint64_t now_us) {
    uint8_t changed = 0;
    for (unsigned s = 0; s < KL_MAX_SEATS; s++)
        if (turn_seat(p, s, away >> s & 1, now_us)) changed |= (uint8_t)(1u << s);
    return changed;
}

/* turned_us is the time of the return, until the next call. */
uint64_t kl_away_time_us(const struct kl_away *p, unsigned seat) {
    return p->turned_us[seat] > p->away_us[seat] ? p->turned_us[seat] - p->away_us[seat] : 0;
}

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
