#include "net/transport/half_open.h"

#include <stdlib.h>
#include <string.h>

#define PROBES 4

struct kl_half_opens *kl_half_open_make(unsigned cells) {
    struct kl_half_opens *t = calloc(1, sizeof *t + cells * sizeof t->cell[0]);
    if (!t) return NULL;
    t->cells = cells;
    randombytes_buf(t->secret, sizeof t->secret);
    return t;
}

void kl_half_open_free(struct kl_half_opens *t) {
    if (t) sodium_memzero(t, sizeof *t + t->cells * sizeof t->cell[0]);
    free(t);
}

/* The cells that this INIT may have. */
static void probe(const struct kl_half_opens *t, const uint8_t init[KL_INIT_BYTES], unsigned at[PROBES]) {
    uint16_t hash[PROBES];
    crypto_shorthash((uint8_t *)hash, init, KL_INIT_BYTES, t->secret);
    for (unsigned i = 0; i < PROBES; i++)
        at[i] = hash[i] % t->cells;
}

struct kl_half_open *kl_half_open_of(struct kl_half_opens *t, const uint8_t init[KL_INIT_BYTES]) {
    unsigned at[PROBES];
    probe(t, init, at);
    for (unsigned i = 0; i < PROBES; i++) {
        struct kl_half_open *h = &t->cell[at[i]];
        if (h->number && memcmp(h->init, init, KL_INIT_BYTES) == 0) return h;
    }
    return NULL;
}

struct kl_half_open *kl_half_open_find(struct kl_half_opens *t, uint32_t number) {
    unsigned cell = number >> (32 - KL_HALF_OPEN_BITS);
    return number && cell < t->cells && t->cell[cell].number == number ? &t->cell[cell] : NULL;
}

/* A free one, else one of those that ask often, else any. */
static unsigned cell_for(const struct kl_half_opens *t, const uint8_t init[KL_INIT_BYTES]) {
    unsigned at[PROBES], first = randombytes_uniform(PROBES);
    probe(t, init, at);
    unsigned cell = at[first];
    for (unsigned i = 0; i < PROBES; i++) {
        unsigned n = at[(first + i) % PROBES];
        if (!t->cell[n].number) return n;
        if (t->cell[cell].seldom && !t->cell[n].seldom) cell = n;
    }
    return cell;
}

struct kl_half_open *kl_half_open_add(struct kl_half_opens *t, const uint8_t init[KL_INIT_BYTES],
                                      const struct kl_address *from, bool seldom, uint32_t low,
                                      uint64_t now_us) {
    unsigned cell = cell_for(t, init);
    struct kl_half_open *h = &t->cell[cell];
    if (h->number) kl_half_open_forget(t, h);
    h->number = (uint32_t)cell << (32 - KL_HALF_OPEN_BITS) | low;
    h->from = *from;
    h->seldom = seldom;
    h->until_us = now_us + KL_HALF_OPEN_US;
    memcpy(h->init, init, KL_INIT_BYTES);
    t->count++;
    return h;
}

void kl_half_open_forget(struct kl_half_opens *t, struct kl_half_open *h) {
    sodium_memzero(h, sizeof *h);
    t->count--;
}

void kl_half_open_sweep(struct kl_half_opens *t, uint64_t now_us) {
    for (unsigned i = 0; i < t->cells && t->count; i++)
        if (t->cell[i].number && now_us >= t->cell[i].until_us) kl_half_open_forget(t, &t->cell[i]);
}
