#include "net/session/cpace.h"

#include <assert.h>
#include <string.h>

#include <sodium.h>

#define DSI        "CPaceRistretto255"
#define HASH_BLOCK 128 /* bytes: H.s_in_bytes of SHA-512 */

static struct kl_cpace_text text_of(const char *s) {
    return (struct kl_cpace_text){s, strlen(s)};
}
static struct kl_cpace_text point_of(const uint8_t p[32]) {
    return (struct kl_cpace_text){p, 32};
}

/* One field of lv_cat: its length, then it. The length is LEB128, so one byte up to 127. */
static void hash_field(crypto_hash_sha512_state *h, struct kl_cpace_text t) {
    assert(t.len < 128);
    uint8_t len = (uint8_t)t.len;
    crypto_hash_sha512_update(h, &len, 1);
    crypto_hash_sha512_update(h, t.bytes, t.len);
}

void kl_cpace_generator(uint8_t g[32], struct kl_cpace_text prs, struct kl_cpace_text ci,
                        struct kl_cpace_text sid) {
    static const uint8_t zeros[HASH_BLOCK];
    size_t used = 1 + strlen(DSI) + 1 + prs.len + 1; /* the padding's own length, too */
    crypto_hash_sha512_state h;
    uint8_t hash[64];
    crypto_hash_sha512_init(&h);
    hash_field(&h, text_of(DSI));
    hash_field(&h, prs);
    hash_field(&h, (struct kl_cpace_text){zeros, used < HASH_BLOCK ? HASH_BLOCK - used : 0});
    hash_field(&h, ci);
    hash_field(&h, sid);
    crypto_hash_sha512_final(&h, hash);
    crypto_core_ristretto255_from_hash(g, hash);
    sodium_memzero(&h, sizeof h);
    sodium_memzero(hash, sizeof hash);
}

int kl_cpace_share(uint8_t share[32], const uint8_t scalar[32], const uint8_t g[32]) {
    return crypto_scalarmult_ristretto255(share, scalar, g);
}

int kl_cpace_isk(uint8_t isk[64], const uint8_t scalar[32], const uint8_t theirs[32],
                 struct kl_cpace_text sid, const struct kl_cpace_said *said) {
    uint8_t k[32];
    crypto_hash_sha512_state h;
    if (crypto_scalarmult_ristretto255(k, scalar, theirs) != 0) return -1; /* no point, or the neutral one */
    crypto_hash_sha512_init(&h);
    hash_field(&h, text_of(DSI "_ISK"));
    hash_field(&h, sid);
    hash_field(&h, point_of(k));
    hash_field(&h, point_of(said->ya));
    hash_field(&h, said->ada);
    hash_field(&h, point_of(said->yb));
    hash_field(&h, said->adb);
    crypto_hash_sha512_final(&h, isk);
    sodium_memzero(&h, sizeof h);
    sodium_memzero(k, sizeof k);
    return 0;
}

static void tag(uint8_t out[16], const uint8_t key[64], const uint8_t share[32], struct kl_cpace_text ad) {
    const uint8_t share_len = 32, ad_len = (uint8_t)ad.len;
    crypto_auth_hmacsha512_state h;
    uint8_t whole[64];
    crypto_auth_hmacsha512_init(&h, key, 64);
    crypto_auth_hmacsha512_update(&h, &share_len, 1);
    crypto_auth_hmacsha512_update(&h, share, 32);
    crypto_auth_hmacsha512_update(&h, &ad_len, 1);
    crypto_auth_hmacsha512_update(&h, ad.bytes, ad.len);
    crypto_auth_hmacsha512_final(&h, whole);
    memcpy(out, whole, 16);
    sodium_memzero(&h, sizeof h);
    sodium_memzero(whole, sizeof whole);
}

void kl_cpace_tags(uint8_t ta[16], uint8_t tb[16], const uint8_t isk[64], struct kl_cpace_text sid,
                   const struct kl_cpace_said *said) {
    static const char label[] = "CPaceMac";
    crypto_hash_sha512_state h;
    uint8_t key[64];
    crypto_hash_sha512_init(&h);
    crypto_hash_sha512_update(&h, (const uint8_t *)label, sizeof label - 1);
    crypto_hash_sha512_update(&h, sid.bytes, sid.len);
    crypto_hash_sha512_update(&h, isk, 64);
    crypto_hash_sha512_final(&h, key);
    tag(ta, key, said->ya, said->ada);
    tag(tb, key, said->yb, said->adb);
    sodium_memzero(&h, sizeof h);
    sodium_memzero(key, sizeof key);
}
