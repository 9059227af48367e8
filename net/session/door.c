#include "net/session/door.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "net/session/cpace.h"
#include "net/engine/engine.h"

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
