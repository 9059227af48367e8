#include "tests/sim/player.h"

static int16_t axis(struct rng *r) {
    static const int16_t edge[] = {0, 32767, -32768, -32767, 1, -1};
    if (rng_chance(r, 0.3)) return edge[rng_range(r, 0, 5)];
    return (int16_t)((int32_t)rng_range(r, 0, 65535) - 32768);
}

static void touch(struct rng *r, struct kl_touch *t) {
    t->pressed = rng_chance(r, 0.5);
    t->x = axis(r);
    t->y = axis(r);
}

static void keys(struct player *p, struct kl_input *out) {
    unsigned count = rng_range(&p->rng, 1, KL_KEYS);
    out->key_count = (uint8_t)count;
    for (unsigned i = 0; i < count; i++) {
        struct kl_key *k = &out->key[i];
        bool any = rng_chance(&p->rng, 0.1); /* else one of a few, which players share */
        k->code = (uint16_t)(any ? rng_range(&p->rng, 0, KL_KEY_CODES - 1) : rng_range(&p->rng, 97, 103));
        k->down = rng_chance(&p->rng, 0.5);
        k->modifiers = (uint16_t)rng_range(&p->rng, 0, 255);
        k->character = (rng_chance(&p->rng, 0.3) ? rng_range(&p->rng, 0, 0x10ffff) : 0) & KL_UTF32;
    }
}

static int16_t motion(struct player *p) {
    if (p->saturating) return axis(&p->rng);
    return (int16_t)((int32_t)rng_range(&p->rng, 0, 60) - 30);
}

static bool uses(const struct player *p, enum device d) {
    return p->device == d || p->device == DEVICE_ALL;
}

void player_sample(struct player *p, struct kl_input *out) {
    struct rng *r = &p->rng;
    struct kl_input *in = &p->now;
    bool pad = p->device == DEVICE_PAD || p->device == DEVICE_ANALOG || p->device == DEVICE_ALL;
    if (pad && rng_chance(r, p->activity)) in->joypad ^= (uint16_t)(1u << rng_range(r, 0, 15));
    if (uses(p, DEVICE_ANALOG) && rng_chance(r, p->activity)) {
        in->stick[rng_range(r, 0, 3)] = axis(r);
        if (rng_chance(r, 0.3)) in->trigger[rng_range(r, 0, 1)] = axis(r);
    }
    if (uses(p, DEVICE_MOUSE) && rng_chance(r, p->activity))
        in->mouse_buttons ^= (uint16_t)(1u << rng_range(r, 0, 10));
    if (uses(p, DEVICE_POINTER) && rng_chance(r, p->activity))
        touch(r, &in->touch[rng_range(r, 0, KL_TOUCHES - 1)]);
    if (uses(p, DEVICE_GUN) && rng_chance(r, p->activity)) {
        in->gun_buttons ^= 1u << rng_range(r, 0, 19);
        in->gun_x = axis(r);
        in->gun_y = axis(r);
    }
    *out = *in;
    if (uses(p, DEVICE_MOUSE) && rng_chance(r, 2 * p->activity)) {
        out->mouse_x = motion(p);
        out->mouse_y = motion(p);
    }
    if (uses(p, DEVICE_KEYBOARD) && rng_chance(r, p->activity / 2)) keys(p, out);
    if (uses(p, DEVICE_KEYBOARD) && rng_chance(r, p->activity / 40)) out->all_up = true;
}

void player_again(struct kl_input *in) {
    in->mouse_x = in->mouse_y = 0;
    in->all_up = false;
    in->key_count = 0;
}
