#include "net/session/proof.h"

#include <string.h>

#include <sodium.h>

#include "net/engine/wire.h"

static const char label[] = "keylock seal 1";
enum { TEXT = 192 };

void kl_proof_start(const void *data, size_t len, uint8_t out[KL_PROOF_START]) {
    crypto_generichash(out, KL_PROOF_START, data, len, NULL, 0);
}

/* Hashes that are not there are zero in it. */
static size_t text_of(uint8_t text[TEXT], const struct kl_proof *p, const struct kl_proof_match *of) {
    struct kl_writer w;
    kl_writer_init(&w, text, TEXT);
    kl_write_bytes(&w, label, sizeof label - 1);
    kl_write_bytes(&w, of->room_id, sizeof of->room_id);
    kl_write_bytes(&w, of->identity, sizeof of->identity);
    kl_write_bytes(&w, of->start, sizeof of->start);
    kl_write_u64(&w, of->epoch_s);
    kl_write_u32(&w, p->intervals);
    kl_write_u32(&w, p->end);
    kl_write_bytes(&w, p->digest, sizeof p->digest);
    kl_write_u32(&w, p->label);
    kl_write_u8(&w, p->has);
    kl_write_u64(&w, p->has & KL_HASH_RAM ? p->ram : 0);
    kl_write_u64(&w, p->has & KL_HASH_STATE ? p->state : 0);
    kl_write_u64(&w, p->has & KL_HASH_PICTURE ? p->picture : 0);
    return (size_t)(w.at - text);
}

void kl_proof_sign(struct kl_proof *p, const struct kl_proof_match *of, const struct kl_relay_key *k) {
    uint8_t text[TEXT];
    memcpy(p->sign_pub, k->sign_pub, sizeof p->sign_pub);
    crypto_sign_ed25519_detached(p->signature, NULL, text, text_of(text, p, of), k->sign_secret);
}

enum kl_proof_is kl_proof_check(const struct kl_proof *p, const struct kl_proof_match *of,
                                const uint8_t relay_pub[32]) {
    uint8_t text[TEXT];
    if (crypto_sign_ed25519_verify_detached(p->signature, text, text_of(text, p, of), p->sign_pub) != 0)
        return KL_PROOF_FALSE;
    return kl_relay_key_is(p->sign_pub, relay_pub) ? KL_PROOF_GOOD : KL_PROOF_FOREIGN;
}
