#include "core_wrapper/frame/chain.h"

#include <xxhash.h>

void kl_chain_begin(struct kl_chain *c) {
    *c = (struct kl_chain){.known = true};
}

void kl_chain_picture(struct kl_chain *c, uint64_t hash) {
    c->last = hash;
    c->known = hash != 0;
}

void kl_chain_sound(struct kl_chain *c, const int16_t *stereo, size_t frames) {
    c->sound = XXH3_64bits_withSeed(stereo, frames * 4, c->sound);
}

void kl_chain_frame(struct kl_chain *c) {
    uint8_t last[8];
    if (!c->known) c->blind = true;
    for (unsigned i = 0; i < 8; i++)
        last[i] = (uint8_t)(c->last >> 8 * i);
    c->picture = XXH3_64bits_withSeed(last, sizeof last, c->picture);
}

void kl_chain_label(struct kl_chain *c) {
    c->picture = c->sound = 0;
    c->blind = c->deaf = false;
}

void kl_chain_loaded(struct kl_chain *c) {
    c->known = false;
    c->blind = c->deaf = true;
}

void kl_chain_reloaded(struct kl_chain *c) {
    c->reloaded = true;
}

bool kl_chain_sees(const struct kl_chain *c) {
    return !c->blind && c->known && c->last;
}

bool kl_chain_hears(const struct kl_chain *c) {
    return !c->deaf && !c->reloaded;
}
