#include "net/engine/keyboard.h"

#include <string.h>

/* --- sets of keys --- */

void kl_key_put(struct kl_key_set *set, unsigned code, bool in) {
    uint8_t bit = (uint8_t)(1u << code % 8);
    if (code == 0 || code >= KL_KEY_CODES) return;
    if (in)
        set->bits[code / 8] |= bit;
    else
        set->bits[code / 8] &= (uint8_t)~bit;
}

/* --- the keyboard --- */

static bool held_by_another(const struct kl_keyboard *k, unsigned seat, unsigned code) {
    for (unsigned s = 0; s < KL_MAX_SEATS; s++)
        if (s != seat && kl_key_in(&k->held[s], code)) return true;
    return false;
}

/* The second of two seats on one key changes nothing, nor does the first of them that lets go. A key that its
 * own seat presses again is a repetition, which brings characters. */
static void play_event(struct kl_keyboard *k, unsigned seat, const struct kl_key *key, kl_key_fn *tell,
                       void *ctx) {
    bool mine = kl_key_in(&k->held[seat], key->code), others = held_by_another(k, seat, key->code);
    kl_key_put(&k->held[seat], key->code, key->down);
    if (key->down) kl_key_put(&k->pressed, key->code, true);
    if (key->code == 0 || (key->down ? mine || !others : mine && !others)) {
        if (tell) tell(ctx, key);
    }
}

void kl_keyboard_play(struct kl_keyboard *k, const struct kl_input in[KL_MAX_SEATS], kl_key_fn *tell,
                      void *ctx) {
    memset(&k->pressed, 0, sizeof k->pressed);
    for (unsigned s = 0; s < KL_MAX_SEATS; s++) {
        if (in[s].all_up) {
            for (unsigned code = 1; code < KL_KEY_CODES; code++) {
                struct kl_key up = {.code = (uint16_t)code};
                if (kl_key_in(&k->held[s], code)) play_event(k, s, &up, tell, ctx);
            }
        }
        for (unsigned i = 0; i < in[s].key_count; i++)
            play_event(k, s, &in[s].key[i], tell, ctx);
    }
}

bool kl_keyboard_down(const struct kl_keyboard *k, unsigned code) {
    return kl_key_in(&k->pressed, code) || held_by_another(k, KL_MAX_SEATS, code);
}

bool kl_keyboard_holds(const struct kl_keyboard *k, unsigned seat) {
    static const struct kl_key_set none;
    return memcmp(&k->held[seat], &none, sizeof none) != 0;
}

/* --- events that wait --- */

/* `next`: the code of the event that is to come. */
static void keep_last_of_each(struct kl_keys *q, unsigned next) {
    bool seen[KL_KEY_CODES] = {[0] = false};
    unsigned to = q->count;
    seen[next] = true;
    for (unsigned i = q->count; i-- > 0;) {
        if (seen[q->at[i].code]) continue;
        seen[q->at[i].code] = true;
        q->at[--to] = q->at[i];
    }
    q->count = (uint16_t)(q->count - to);
    memmove(q->at, q->at + to, q->count * sizeof q->at[0]);
}

void kl_keys_add(struct kl_keys *q, const struct kl_key *key) {
    if (key->code >= KL_KEY_CODES) return;
    if (q->count == KL_KEYS_WAITING) keep_last_of_each(q, key->code);
    q->at[q->count++] = *key;
}

void kl_keys_put(struct kl_keys *q, const struct kl_input *in) {
    if (in->all_up) q->count = 0;
    q->all_up |= in->all_up;
    for (unsigned i = 0; i < in->key_count; i++)
        kl_keys_add(q, &in->key[i]);
}

void kl_keys_take(struct kl_keys *q, struct kl_input *in) {
    unsigned n = q->count < KL_KEYS ? q->count : KL_KEYS;
    in->all_up = q->all_up;
    in->key_count = (uint8_t)n;
    memcpy(in->key, q->at, n * sizeof in->key[0]);
    q->all_up = false;
    q->count = (uint16_t)(q->count - n);
    memmove(q->at, q->at + n, q->count * sizeof q->at[0]);
}
