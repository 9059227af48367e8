#include "net/session/proof.h"

#include <string.h>

#include <sodium.h>

#include "net/engine/wire.h"

static const char label[] = "keylock seal 1";
enum { TEXT = 192 };

void kl_proof_start(const void *data, size_t len, uint8_t out[KL_PROOF_START]) {
    crypto_generichash(out, KL_PROOF_START, data, len, NULL, 0);
}

/* Those that are not there as zero. */
static void put_hashes(struct kl_writer *w, uint32_t frame, uint8_t has, const uint64_t value[3]) {
    kl_write_u32(w, frame);
    kl_write_u8(w, has);
    for (unsigned i = 0; i < 3; i++)
        kl_write_u64(w, has >> i & 1 ? value[i] : 0);
}

static size_t text_of(uint8_t text[TEXT], const struct kl_proof *p, const struct kl_proof_match *of) {
    struct kl_writer w = kl_writer(text, TEXT);
    kl_write_bytes(&w, label, sizeof label - 1);
    kl_write_bytes(&w, of->room_id, sizeof of->room_id);
    kl_write_bytes(&w, of->identity, sizeof of->identity);
    kl_write_bytes(&w, of->start, sizeof of->start);
    kl_write_u64(&w, of->epoch_s);
    kl_write_u32(&w, p->intervals);
    kl_write_u32(&w, p->end);
    kl_write_bytes(&w, p->digest, sizeof p->digest);
    put_hashes(&w, p->label, p->has, (const uint64_t[]){p->ram, p->state, p->picture});
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

/* --- a client's own hashes --- */

static const char own_label[] = "keylock hashes 1";

void kl_sign_add(struct kl_sign *s, const struct kl_hash *h) {
    uint8_t text[KL_DIGEST_BYTES + 4 + 1 + 3 * 8];
    uint8_t has = h->has & (KL_HASH_RAM | KL_HASH_STATE | KL_HASH_PICTURE);
    if (!has) return;
    struct kl_writer w = kl_writer(text, sizeof text);
    kl_write_bytes(&w, s->chain, sizeof s->chain);
    put_hashes(&w, h->frame, has, (const uint64_t[]){h->ram, h->state, h->picture});
    crypto_generichash(s->chain, sizeof s->chain, text, sizeof text, NULL, 0);
    s->count++;
    s->label = h->frame;
    s->has = has;
    s->ram = has & KL_HASH_RAM ? h->ram : 0;
    s->state = has & KL_HASH_STATE ? h->state : 0;
    s->picture = has & KL_HASH_PICTURE ? h->picture : 0;
}

static size_t own_text(uint8_t text[TEXT], const struct kl_sign *s, const uint8_t *room_id) {
    struct kl_writer w = kl_writer(text, TEXT);
    kl_write_bytes(&w, own_label, sizeof own_label - 1);
    kl_write_bytes(&w, room_id, KL_ROOM_ID_BYTES);
    kl_write_u32(&w, s->count);
    kl_write_bytes(&w, s->chain, sizeof s->chain);
    put_hashes(&w, s->label, s->has, (const uint64_t[]){s->ram, s->state, s->picture});
    return (size_t)(w.at - text);
}

void kl_sign_make(struct kl_sign *s, const uint8_t room_id[KL_ROOM_ID_BYTES], const struct kl_seat_key *k) {
    uint8_t text[TEXT];
    crypto_sign_ed25519_detached(s->signature, NULL, text, own_text(text, s, room_id), k->secret);
}

bool kl_sign_is_good(const struct kl_sign *s, const uint8_t room_id[KL_ROOM_ID_BYTES],
                     const uint8_t seat_pub[KL_SEAT_PUB]) {
    uint8_t text[TEXT];
    return crypto_sign_ed25519_verify_detached(s->signature, text, own_text(text, s, room_id), seat_pub) == 0;
}

/* --- a player's wish --- */

static const char delete_label[] = "keylock delete 1";

static size_t delete_text(uint8_t text[TEXT], const struct kl_delete *d, const uint8_t relay_pub[32]) {
    struct kl_writer w = kl_writer(text, TEXT);
    kl_write_bytes(&w, delete_label, sizeof delete_label - 1);
    kl_write_bytes(&w, relay_pub, 32);
    kl_write_bytes(&w, d->room_id, sizeof d->room_id);
    return (size_t)(w.at - text);
}

void kl_delete_sign(struct kl_delete *d, const uint8_t relay_pub[32], const struct kl_seat_key *k) {
    uint8_t text[TEXT];
    memcpy(d->seat_key, k->pub, sizeof d->seat_key);
    crypto_sign_ed25519_detached(d->signature, NULL, text, delete_text(text, d, relay_pub), k->secret);
}

bool kl_delete_is_good(const struct kl_delete *d, const uint8_t relay_pub[32]) {
    uint8_t text[TEXT];
    return crypto_sign_ed25519_verify_detached(d->signature, text, delete_text(text, d, relay_pub),
                                               d->seat_key) == 0;
}
