#include "core_wrapper/screen/away.h"

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
