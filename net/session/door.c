#include "net/session/door.h"

#include <assert.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "net/engine/engine.h"

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

_Static_assert(crypto_pwhash_argon2id_SALTBYTES == KL_DOOR_SALT, "salt of Argon2id");

static const struct kl_cpace_text channel = {"keylock door", 12};
static const struct kl_cpace_text relay = {"relay", 5}, client = {"client", 6};

int kl_door_stretch(const char *password, const uint8_t salt[KL_DOOR_SALT], uint8_t secret[KL_DOOR_SECRET]) {
    size_t len = strlen(password);
    if (len == 0 || len > KL_DOOR_PASSWORD_MAX) return KL_E_MALFORMED;
    if (sodium_init() < 0) abort(); /* no random numbers: no secrets */
    int failed = crypto_pwhash_argon2id(
        secret, KL_DOOR_SECRET, password, len, salt, crypto_pwhash_argon2id_OPSLIMIT_INTERACTIVE,
        crypto_pwhash_argon2id_MEMLIMIT_INTERACTIVE, crypto_pwhash_ALG_ARGON2ID13);
    return failed ? KL_E_SPACE : 0;
}

void kl_door_begin(struct kl_door *d, enum kl_door_end end, const uint8_t secret[KL_DOOR_SECRET],
                   const uint8_t binding[32]) {
    uint8_t g[32];
    if (sodium_init() < 0) abort();
    d->end = (uint8_t)end;
    memcpy(d->binding, binding, sizeof d->binding);
    kl_cpace_generator(g, (struct kl_cpace_text){secret, KL_DOOR_SECRET}, channel,
                       (struct kl_cpace_text){d->binding, sizeof d->binding});
    crypto_core_ristretto255_scalar_random(d->scalar);
    int failed = kl_cpace_share(d->share, d->scalar, g);
    assert(!failed); /* from_hash gives a point, and the neutral one once in 2^252 */
    (void)failed;
    sodium_memzero(g, sizeof g);
}

int kl_door_finish(struct kl_door *d, const uint8_t theirs[KL_DOOR_SHARE], struct kl_door_macs *out) {
    bool is_relay = d->end == KL_DOOR_RELAY;
    struct kl_cpace_text sid = {d->binding, sizeof d->binding};
    struct kl_cpace_said said = {
        .ya = is_relay ? d->share : theirs, .yb = is_relay ? theirs : d->share, .ada = relay, .adb = client};
    uint8_t isk[64];
    int result = kl_cpace_isk(isk, d->scalar, theirs, sid, &said) == 0 ? 0 : KL_E_MALFORMED;
    if (result == 0)
        kl_cpace_tags(is_relay ? out->own : out->expected, is_relay ? out->expected : out->own, isk, sid,
                      &said);
    sodium_memzero(isk, sizeof isk);
    sodium_memzero(d, sizeof *d);
    return result;
}

bool kl_door_mac_equal(const uint8_t a[KL_DOOR_MAC], const uint8_t b[KL_DOOR_MAC]) {
    return crypto_verify_16(a, b) == 0;
}
