#include "tests/sim/ref_keys.h"

#include <string.h>

static void say(bool keys[KL_KEY_CODES], const struct kl_key *k) {
    if (k->code > 0) keys[k->code] = k->down;
}

/* The last of its code. */
static bool is_last(const struct kl_key *at, unsigned count, unsigned i) {
    for (unsigned n = i + 1; n < count; n++)
        if (at[n].code == at[i].code) return false;
    return true;
}

static void add(struct ref_keys *k, const struct kl_key *key) {
    static struct kl_key all[REF_KEYS + 1];
    unsigned count = k->count;
    memcpy(all, k->at, count * sizeof *all);
    all[count++] = *key;
    k->count = 0;
    for (unsigned i = 0; i < count; i++)
        if (count <= REF_KEYS || is_last(all, count, i)) k->at[k->count++] = all[i];
    say(k->said, key);
}

void ref_keys_put(struct ref_keys *k, const struct kl_input *in) {
    if (in->all_up) ref_keys_drop(k, true);
    for (unsigned i = 0; i < in->key_count; i++)
        add(k, &in->key[i]);
}

void ref_keys_take(struct ref_keys *k, struct kl_input *out) {
    out->all_up = k->all_up;
    k->all_up = false;
    for (out->key_count = 0; out->key_count < 4 && k->count > 0; out->key_count++) {
        out->key[out->key_count] = k->at[0];
        memmove(k->at, k->at + 1, --k->count * sizeof *k->at);
    }
}

void ref_keys_drop(struct ref_keys *k, bool all_up) {
    k->all_up = all_up;
    k->count = 0;
    memset(k->said, 0, sizeof k->said);
}

void ref_keys_all_up(struct ref_keys *k) {
    k->all_up = true;
    memset(k->said, 0, sizeof k->said);
    for (unsigned i = 0; i < k->count; i++)
        say(k->said, &k->at[i]);
}

/* --- the keyboard --- */

static bool anybody_holds(const struct ref_keyboard *b, unsigned code) {
    bool held = false;
    for (unsigned s = 0; s < KL_MAX_SEATS; s++)
        held = held || b->held[s][code];
    return held;
}

/* A key that its seat presses once more is told once more. */
static void core_hears(void *ctx, const struct kl_key *k) {
    struct ref_keyboard *b = ctx;
    if (!k->down && !b->core[k->code] && k->code) b->twice = true;
    say(b->core, k);
}

static bool has_keys(const struct kl_input in[KL_MAX_SEATS]) {
    bool has = false;
    for (unsigned s = 0; s < KL_MAX_SEATS; s++)
        has = has || in[s].all_up || in[s].key_count > 0;
    return has;
}

const char *ref_keyboard_play(struct ref_keyboard *b, const struct kl_input in[KL_MAX_SEATS]) {
    bool pressed[KL_KEY_CODES] = {false}, had = b->had;
    b->had = has_keys(in);
    if (!b->had && !had) return NULL; /* nothing has changed */
    for (unsigned s = 0; s < KL_MAX_SEATS; s++) {
        if (in[s].all_up) memset(b->held[s], 0, sizeof b->held[s]);
        for (unsigned i = 0; i < in[s].key_count; i++) {
            say(b->held[s], &in[s].key[i]);
            if (in[s].key[i].down) pressed[in[s].key[i].code] = true;
        }
    }
    kl_keyboard_play(&b->engine, in, core_hears, b);
    if (b->twice) return "the core is told of a key that goes up and is not down";
    for (unsigned code = 1; code < KL_KEY_CODES; code++) {
        bool held = anybody_holds(b, code);
        if (b->core[code] != held) return "the core has a key down that no seat holds, or up that one does";
        if (kl_keyboard_down(&b->engine, code) != (held || pressed[code])) return "a key reads wrong";
    }
    return NULL;
}

void ref_keyboard_clear(struct ref_keyboard *b, unsigned seat) {
    memset(b->held[seat], 0, sizeof b->held[seat]);
    memset(&b->engine.held[seat], 0, sizeof b->engine.held[seat]);
    for (unsigned code = 1; code < KL_KEY_CODES; code++)
        b->core[code] = anybody_holds(b, code);
}
