#include "net/engine/rhythm.h"

#include <string.h>

/* The length of a gap or a hold in the rhythm; 0: there is none. */
static unsigned usual(const uint8_t last[KL_RHYTHM_LAST]) {
    unsigned least = last[0], most = last[0], sum = 0;
    for (unsigned i = 0; i < KL_RHYTHM_LAST; i++) {
        if (last[i] < least) least = last[i];
        if (last[i] > most) most = last[i];
        sum += last[i];
    }
    bool steady = least > 0 && most <= KL_RHYTHM_MOST && most - least <= KL_RHYTHM_SPREAD;
    return steady ? (sum + KL_RHYTHM_LAST / 2) / KL_RHYTHM_LAST : 0;
}

static void see(struct kl_rhythm_button *b, bool pressed) {
    if (pressed == b->pressed) {
        if (b->since < UINT8_MAX) b->since++;
        return;
    }
    uint8_t *last = b->last[b->pressed];
    memmove(last + 1, last, KL_RHYTHM_LAST - 1);
    last[0] = b->since;
    b->pressed = pressed;
    b->since = 1;
}

void kl_rhythm_see(struct kl_rhythm *r, uint16_t pad) {
    for (unsigned i = 0; i < KL_RHYTHM_BUTTONS; i++)
        see(&r->button[i], pad >> i & 1);
}

static bool guess(const struct kl_rhythm_button *b, unsigned ahead) {
    unsigned length[2] = {usual(b->last[0]), usual(b->last[1])}, at = b->since;
    bool pressed = b->pressed;
    if (!length[0] || !length[1] || b->since > length[pressed] + KL_RHYTHM_SPREAD) return pressed;
    if (at > length[pressed]) at = length[pressed]; /* it is a little late */
    for (at += ahead; at > length[pressed]; pressed = !pressed)
        at -= length[pressed];
    return pressed;
}

uint16_t kl_rhythm_guess(const struct kl_rhythm *r, unsigned ahead) {
    uint16_t pad = 0;
    for (unsigned i = 0; i < KL_RHYTHM_BUTTONS; i++)
        pad |= (uint16_t)(guess(&r->button[i], ahead) << i);
    return pad;
}
