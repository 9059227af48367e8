#include "net/session/identity.h"

#include <string.h>

#include <sodium.h>

static void add(crypto_generichash_state *s, const char *text, size_t len) {
    static const uint8_t zero;
    crypto_generichash_update(s, (const uint8_t *)text, len);
    crypto_generichash_update(s, &zero, 1);
}

void kl_identity(const struct kl_facts *f, uint8_t out[16]) {
    const struct kl_fact *sorted[KL_FACTS_MAX];
    crypto_generichash_state s;
    for (unsigned i = 0; i < f->count; i++) {
        unsigned at = i;
        for (; at > 0 && strcmp(sorted[at - 1]->key, f->fact[i].key) > 0; at--)
            sorted[at] = sorted[at - 1];
        sorted[at] = &f->fact[i];
    }
    crypto_generichash_init(&s, NULL, 0, 16);
    for (unsigned i = 0; i < f->count; i++) {
        add(&s, sorted[i]->key, strlen(sorted[i]->key));
        add(&s, sorted[i]->value, kl_fact_length(sorted[i]->value));
    }
    crypto_generichash_final(&s, out, 16);
}
