#include "core_wrapper/env/lasting.h"

#include <string.h>

void kl_lasting_motor(struct kl_lasting *c, unsigned port, unsigned effect, uint16_t strength) {
    if (port < KL_MAX_SEATS && effect <= RETRO_RUMBLE_WEAK) c->motor[port][effect] = strength;
}

void kl_lasting_light(struct kl_lasting *c, int light, int state) {
    if (light < 0 || light >= KL_LASTING_LIGHTS) return;
    c->light[light] = (uint16_t)(state < 0 || state > 0xffff ? 0xffff : state);
}

bool kl_lasting_stands(const struct kl_lasting_game *g) {
    return !g->runs || g->healing || g->catching_up || !g->ran_us ||
           g->now_us - g->ran_us > KL_LASTING_WAIT_US;
}

/* By pad, of values by port. */
static void by_pad(struct kl_lasting *out, const struct kl_lasting *asked,
                   const struct kl_lasting_front *front) {
    memset(out, 0, sizeof *out);
    if (!asked) return;
    for (unsigned port = 0; port < KL_MAX_SEATS; port++) {
        int pad = front->pad ? front->pad(front->ctx, port) : -1;
        if (pad >= 0 && pad < KL_MAX_SEATS)
            memcpy(out->motor[pad], asked->motor[port], sizeof out->motor[pad]);
    }
    memcpy(out->light, asked->light, sizeof out->light);
}

void kl_lasting_tell(struct kl_lasting_told *t, const struct kl_lasting *asked,
                     const struct kl_lasting_front *front, uint64_t now_us) {
    struct kl_lasting now;
    bool gap = t->call_us && now_us - t->call_us > KL_LASTING_WAIT_US;
    t->call_us = now_us;
    by_pad(&now, asked, front);
    for (unsigned pad = 0; pad < KL_MAX_SEATS; pad++)
        for (unsigned effect = RETRO_RUMBLE_STRONG; effect <= RETRO_RUMBLE_WEAK; effect++) {
            uint16_t strength = now.motor[pad][effect];
            bool told = strength == t->is.motor[pad][effect] && !(gap && strength);
            if (!told && front->motor) front->motor(pad, (enum retro_rumble_effect)effect, strength);
        }
    for (int i = 0; i < KL_LASTING_LIGHTS; i++) {
        bool told = now.light[i] == t->is.light[i] && !(gap && now.light[i]);
        if (!told && front->light) front->light(i, now.light[i]);
    }
    t->is = now;
}
