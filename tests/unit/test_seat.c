/* A seat is given back to the newest token and to its own key, in this session. The bytes that are signed and
 * hashed: tests/conformance/session.py. net/PROTOCOL.md §9. */
#include "tests/unit/unit.h"

#include <sodium.h>

#include "net/session/seat.h"

static const uint8_t binding[32] = "this session", other_binding[32] = "that session";

TEST(a_return_is_proved) {
    struct kl_seat_key k, other, again;
    uint8_t token[16], token2[16], sig[64];
    kl_seat_make(&k), kl_seat_make(&other);
    kl_seat_token(token), kl_seat_token(token2);
    assert_memory_not_equal(token, token2, 16);
    kl_seat_sign(&k, binding, token, sig);
    assert_true(kl_seat_verify(k.pub, binding, token, sig));
    kl_seat_from_seed(&again, k.secret);
    assert_memory_equal(&again, &k, sizeof k);
    assert_false(kl_seat_verify(other.pub, binding, token, sig));
    assert_false(kl_seat_verify(k.pub, other_binding, token, sig)); /* replayed in another session */
    assert_false(kl_seat_verify(k.pub, binding, token2, sig));
    for (size_t bit = 0; bit < 8 * sizeof sig; bit++) {
        sig[bit / 8] ^= (uint8_t)(1u << bit % 8);
        assert_false(kl_seat_verify(k.pub, binding, token, sig));
        sig[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
}

/* Keys for which anything is a signature are not taken. */
TEST(keys_that_are_none) {
    uint8_t pub[32] = {1}, token[16] = {0}, sig[64] = {1};
    assert_false(kl_seat_verify(pub, binding, token, sig));
    memset(pub, 0, sizeof pub);
    assert_false(kl_seat_verify(pub, binding, token, sig));
    memset(pub, 0xff, sizeof pub);
    assert_false(kl_seat_verify(pub, binding, token, sig));
}

TEST(a_token_and_its_hash) {
    uint8_t token[16], hash[32];
    kl_seat_token(token);
    kl_seat_token_hash(token, hash);
    assert_true(kl_seat_token_is(token, hash));
    for (size_t bit = 0; bit < 8 * sizeof token; bit++) {
        token[bit / 8] ^= (uint8_t)(1u << bit % 8);
        assert_false(kl_seat_token_is(token, hash));
        token[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
}
