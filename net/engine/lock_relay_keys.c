/* The keys of a room's seats (keyboard.h): events that wait for a frame, by the seat whose pads gave them;
 * and "all up" in frames, by the seat that these pads play. */
#include "net/engine/lock_relay_private.h"

static void all_up(struct kl_lock_relay *r, unsigned pad) {
    if (r->keys[pad])
        r->keys[pad]->all_up = true;
    else
        r->up |= (uint8_t)(1u << pad);
}

void kl_lock_keys_anew(struct kl_lock_relay *r, uint8_t pads, uint32_t sample) {
    for (KL_EACH(s, pads)) {
        if (r->keys[s]) kl_keys_clear(r->keys[s]);
        if (r->keys[s]) r->keys[s]->next = sample;
        all_up(r, s);
    }
}

/* Also those of samples that were to be in no frame, because the client was returning. */
void kl_lock_keys_put(struct kl_lock_relay *r, unsigned pad, uint32_t end) {
    uint32_t oldest = end > KL_WINDOW_FRAMES ? end - KL_WINDOW_FRAMES : 0;
    struct kl_keys *q = r->keys[pad];
    if (q && q->next < oldest) q->next = oldest;
    for (; q && q->next < end; q->next++) {
        struct kl_input in;
        kl_inputs_get(&r->sample[pad], q->next, &in);
        kl_keys_put(q, &in);
    }
}

void kl_lock_keys_take(struct kl_lock_relay *r, unsigned pad, struct kl_input *in) {
    if (r->keys[pad]) {
        kl_keys_take(r->keys[pad], in);
        return;
    }
    in->all_up = r->up >> pad & 1;
    r->up &= (uint8_t) ~(1u << pad);
}

/* It takes the place of one that no frame may have used: a returning client can send more than a window. */
void kl_lock_keys_keep(struct kl_lock_relay *r, unsigned pad, uint32_t sample) {
    if (r->keys[pad] && sample >= r->keys[pad]->next + KL_WINDOW_FRAMES)
        kl_lock_keys_put(r, pad, sample - KL_WINDOW_FRAMES + 1);
}

/* Both seats say so, if one does: each client looks at the seat that its pads play from now on. */
void kl_lock_keys_swapped(struct kl_lock_relay *r, unsigned a, unsigned b) {
    uint8_t both = (uint8_t)(1u << a | 1u << b);
    if (r->keyed & both) r->keyed |= both;
    for (unsigned s = 0; s < KL_MAX_SEATS; s++)
        if (r->plays[s] == a || r->plays[s] == b) all_up(r, s);
}

/* Frames without keys stay as they are: "all up" costs bytes only where keys may be down. */
void kl_lock_keys_settle(struct kl_lock_relay *r, uint8_t made, uint8_t played, struct kl_frame *f) {
    if (!r->keyed && !r->keyboards) { /* as nearly always: no keys, and none to let go */
        for (KL_EACH(s, played))
            f->in[s].all_up = false;
        r->up &= made;
        return;
    }
    for (unsigned s = 0; s < KL_MAX_SEATS; s++) {
        struct kl_input *in = &f->in[s];
        if (!(made >> s & 1) && r->keys[s]) kl_keys_clear(r->keys[s]);
        if (!(made >> s & 1)) r->up &= (uint8_t) ~(1u << s);
        in->all_up = (in->all_up || !(played >> s & 1)) && (r->keyed >> s & 1);
    }
    kl_lock_keys_note(r, f);
}

void kl_lock_keys_note(struct kl_lock_relay *r, const struct kl_frame *f) {
    for (unsigned s = 0; s < KL_MAX_SEATS; s++) {
        if (f->in[s].all_up) r->keyed &= (uint8_t) ~(1u << s);
        if (f->in[s].key_count > 0) r->keyed |= (uint8_t)(1u << s);
    }
}
