#include "net/session/voice_key.h"

#include <string.h>

#include <sodium.h>

#define COUNTER 4
#define NONCE   12
#define TAG     16
#define ALSO    3 /* bytes that are not sealed, and that the tag covers: flags, number */

_Static_assert(COUNTER + TAG == KL_VOICE_SEAL, "bytes of a seal");
_Static_assert(crypto_aead_chacha20poly1305_IETF_ABYTES == TAG, "tag of ChaCha20-Poly1305");

int kl_voice_room_key(const char *password, const uint8_t salt[KL_DOOR_SALT], uint8_t key[KL_VOICE_KEY]) {
    static const char label[] = "keylock voice";
    const size_t head = sizeof label - 1, len = strlen(password);
    char text[sizeof label - 1 + KL_DOOR_PASSWORD_MAX];
    if (len == 0 || len > KL_DOOR_PASSWORD_MAX) return KL_E_MALFORMED;
    if (sodium_init() < 0) abort(); /* no random numbers: no secrets */
    memcpy(text, label, head);
    memcpy(text + head, password, len);
    int failed = crypto_pwhash_argon2id(
        key, KL_VOICE_KEY, text, head + len, salt, crypto_pwhash_argon2id_OPSLIMIT_INTERACTIVE,
        crypto_pwhash_argon2id_MEMLIMIT_INTERACTIVE, crypto_pwhash_ALG_ARGON2ID13);
    sodium_memzero(text, sizeof text);
    return failed ? KL_E_SPACE : 0;
}

void kl_voice_speaker_key(const uint8_t room[KL_VOICE_KEY], const struct kl_voice_speaker *s,
                          uint8_t key[KL_VOICE_KEY]) {
    static const uint8_t label[] = "keylock speaker";
    crypto_generichash_state h;
    crypto_generichash_init(&h, room, KL_VOICE_KEY, KL_VOICE_KEY);
    crypto_generichash_update(&h, label, sizeof label - 1);
    crypto_generichash_update(&h, s->room_id, sizeof s->room_id);
    crypto_generichash_update(&h, &s->client, sizeof s->client);
    crypto_generichash_update(&h, s->id, sizeof s->id);
    crypto_generichash_final(&h, key, KL_VOICE_KEY);
}

static void put_counter(uint32_t counter, uint8_t out[COUNTER]) {
    for (unsigned i = 0; i < COUNTER; i++)
        out[i] = (uint8_t)(counter >> (8 * i));
}

static void put_also(const struct kl_voice *v, uint8_t out[ALSO]) {
    out[0] = v->flags;
    out[1] = (uint8_t)v->number;
    out[2] = (uint8_t)(v->number >> 8);
}

/* Four zero bytes and the counter as u64. */
static void put_nonce(uint32_t counter, uint8_t out[NONCE]) {
    memset(out, 0, NONCE);
    put_counter(counter, out + 4);
}

bool kl_voice_seal(const uint8_t key[KL_VOICE_KEY], uint32_t *counter, struct kl_voice *v) {
    uint8_t also[ALSO], nonce[NONCE];
    if (v->len > KL_VOICE_BYTES || *counter == UINT32_MAX) return false;
    ++*counter;
    v->flags |= KL_VOICE_SHUT;
    put_also(v, also);
    put_nonce(*counter, nonce);
    memmove(v->bytes + COUNTER, v->bytes, v->len);
    put_counter(*counter, v->bytes);
    crypto_aead_chacha20poly1305_ietf_encrypt(v->bytes + COUNTER, NULL, v->bytes + COUNTER, v->len, also,
                                              sizeof also, NULL, nonce, key);
    v->len += KL_VOICE_SEAL;
    return true;
}

static bool is_fresh(const struct kl_voice_seen *seen, uint32_t counter) {
    if (counter == 0 || counter == seen->highest) return false;
    if (counter > seen->highest) return true;
    uint32_t back = seen->highest - 1 - counter;
    return back < 64 && !(seen->below >> back & 1);
}

static void note(struct kl_voice_seen *seen, uint32_t counter) {
    if (counter < seen->highest) {
        seen->below |= UINT64_C(1) << (seen->highest - 1 - counter);
        return;
    }
    uint32_t up = counter - seen->highest; /* 1 or more */
    seen->below = up < 64 ? seen->below << up : 0;
    if (seen->highest && up <= 64) seen->below |= UINT64_C(1) << (up - 1);
    seen->highest = counter;
}

bool kl_voice_open(const uint8_t key[KL_VOICE_KEY], struct kl_voice_seen *seen, struct kl_voice *v) {
    uint8_t also[ALSO], nonce[NONCE], *b = v->bytes;
    if (!(v->flags & KL_VOICE_SHUT) || v->len < KL_VOICE_SEAL) return false;
    uint32_t counter = kl_u32_at(b);
    if (!is_fresh(seen, counter)) return false;
    put_also(v, also);
    put_nonce(counter, nonce);
    if (crypto_aead_chacha20poly1305_ietf_decrypt(b + COUNTER, NULL, NULL, b + COUNTER, v->len - COUNTER,
                                                  also, sizeof also, nonce, key) != 0)
        return false;
    note(seen, counter);
    v->len -= KL_VOICE_SEAL;
    memmove(b, b + COUNTER, v->len);
    v->flags &= (uint8_t)~KL_VOICE_SHUT;
    return true;
}
