#include "net/transport/path.h"

#include <string.h>

#include <sodium.h>

/* An unproved address gets at most so many times the bytes that came from there. */
#define AMPLIFICATION 3

void kl_path_init(struct kl_path *p, const struct kl_address *proved) {
    memset(p, 0, sizeof *p);
    p->proved = *proved;
}

bool kl_path_moving(const struct kl_path *p) {
    return p->claim[0].open || p->claim[1].open;
}

static struct kl_path_claim *claim_of(struct kl_path *p, const struct kl_address *at) {
    for (unsigned i = 0; i < KL_PATH_CLAIMS; i++)
        if (p->claim[i].at.port && kl_address_same(&p->claim[i].at, at)) return &p->claim[i];
    return NULL;
}

/* The place of the claim that was heard longest ago. Its challenge is no longer good. */
static struct kl_path_claim *new_claim(struct kl_path *p, const struct kl_address *at) {
    struct kl_path_claim *c = &p->claim[p->claim[1].heard_us < p->claim[0].heard_us];
    memset(c, 0, sizeof *c);
    c->at = *at;
    randombytes_buf(c->challenge, sizeof c->challenge);
    return c;
}

void kl_path_heard(struct kl_path *p, uint64_t now_us, const struct kl_address *from, uint32_t counter,
                   bool newest, bool repeated, size_t len) {
    bool present = newest || (kl_path_moving(p) && repeated && counter >= p->since);
    if (kl_address_same(from, &p->proved)) {
        for (unsigned i = 0; present && i < KL_PATH_CLAIMS; i++)
            p->claim[i].open = false;
        return;
    }
    struct kl_path_claim *c = claim_of(p, from);
    if (!present && !(c && c->open)) return;
    if (!kl_path_moving(p)) p->since = counter;
    if (!c) c = new_claim(p, from);
    c->open = true;
    c->heard_us = now_us;
    c->credit += AMPLIFICATION * len;
}

bool kl_path_spend(struct kl_path_claim *c, size_t len) {
    if (!c->open || c->credit < len) return false;
    c->credit -= len;
    return true;
}

struct kl_path_claim *kl_path_due(struct kl_path *p, uint64_t now_us) {
    for (unsigned i = 0; i < KL_PATH_CLAIMS; i++) {
        struct kl_path_claim *c = &p->claim[i];
        if (!c->open || now_us < c->challenge_us) continue;
        c->challenge_us = now_us + KL_CHALLENGE_US;
        return c;
    }
    return NULL;
}

bool kl_path_answer(struct kl_path *p, const struct kl_address *from, uint32_t counter,
                    const uint8_t challenge[KL_CHALLENGE]) {
    struct kl_path_claim *c = claim_of(p, from);
    if (!c || counter < p->since || sodium_memcmp(challenge, c->challenge, KL_CHALLENGE) != 0) return false;
    kl_path_init(p, from);
    return true;
}
