/* quick_curve.c - a stand-in for X25519, for tests with more handshakes than that would leave time for. The
 * real one is in test_handshake, test_hub and fuzz_session.
 *
 * A program that is linked with it takes it in the place of libsodium's. Four products modulo a prime: both
 * ends have the same secret, and a key of zeros has none. */
#include <stdint.h>
#include <string.h>

#include <sodium.h>

#define QUICK_PRIME ((UINT64_C(1) << 61) - 1)

static uint64_t quick_product(const uint8_t *a, const uint8_t *b) {
    uint64_t x, y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return (uint64_t)((unsigned __int128)(x % QUICK_PRIME) * (y % QUICK_PRIME) % QUICK_PRIME);
}
int crypto_scalarmult(unsigned char *q, const unsigned char *n, const unsigned char *p) {
    uint64_t out[4];
    for (unsigned i = 0; i < 4; i++)
        out[i] = quick_product(n + 8 * i, p + 8 * i);
    memcpy(q, out, sizeof out);
    return sodium_is_zero(q, sizeof out) ? -1 : 0;
}
int crypto_scalarmult_base(unsigned char *q, const unsigned char *n) {
    static const uint64_t base[4] = {9, 9, 9, 9};
    return crypto_scalarmult(q, n, (const uint8_t *)base);
}
