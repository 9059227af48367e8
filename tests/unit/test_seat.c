/* A seat is given back to the newest token and the seat's own key, in this session. net/PROTOCOL.md §9. */
#include "tests/unit/unit.h"

#include <sodium.h>

#include "net/session/seat.h"

static const uint8_t binding[32] = "this session", other_binding[32] = "that session";

TEST(a_return_is_proved) {
    struct kl_seat_key k, other;
    uint8_t token[16], token2[16], sig[64];
    kl_seat_make(&k), kl_seat_make(&other);
    kl_seat_token(token), kl_seat_token(token2);
    assert_memory_not_equal(token, token2, 16);
    kl_seat_sign(&k, binding, token, sig);
    assert_true(kl_seat_verify(k.pub, binding, token, sig));
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

/* The signed text is that of PROTOCOL.md, by Ed25519 as everybody has it. */
TEST(the_text_that_is_signed) {
    struct kl_seat_key k, again;
    uint8_t token[16] = "a token of 16 b", text[14 + 32 + 16], sig[64], expected[64];
    kl_seat_make(&k);
    kl_seat_sign(&k, binding, token, sig);
    memcpy(text, "keylock return", 14);
    memcpy(text + 14, binding, 32);
    memcpy(text + 46, token, 16);
    crypto_sign_detached(expected, NULL, text, sizeof text, k.secret);
    assert_memory_equal(sig, expected, 64);
    kl_seat_from_seed(&again, k.secret);
    assert_memory_equal(&again, &k, sizeof k);
}

TEST(a_token_and_its_hash) {
    static const uint8_t known[32] = {0xc7, 0xcb, 0x5d, 0x1a, 0x1a, 0x21, 0x4f, 0x1d, 0x83, 0x3a, 0x21,
                                      0xfe, 0x6c, 0x7b, 0x24, 0x20, 0xe4, 0x17, 0xc2, 0xf2, 0x20, 0x78,
                                      0x4c, 0xbe, 0x90, 0x07, 0x29, 0x75, 0x13, 0x1b, 0xc3, 0x67};
    uint8_t token[16], hash[32];
    for (unsigned i = 0; i < 16; i++)
        token[i] = (uint8_t)i;
    kl_seat_token_hash(token, hash);
    assert_memory_equal(hash, known, 32); /* by Python's hashlib */
    assert_true(kl_seat_token_is(token, hash));
    for (size_t bit = 0; bit < 8 * sizeof token; bit++) {
        token[bit / 8] ^= (uint8_t)(1u << bit % 8);
        assert_false(kl_seat_token_is(token, hash));
        token[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
}
