/* A seat is given back to the newest token and to its own key, in this session; a record of a room in its
 * clients is made and read by its relay alone. The bytes that are signed and hashed:
 * tests/conformance/session.py. net/PROTOCOL.md §9. */
#include "tests/unit/unit.h"

#include <sodium.h>

#include "net/engine/engine.h"
#include "net/session/seal.h"
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

static const uint8_t secret[32] = "this relay", other[32] = "that relay";

TEST(comes_back_and_is_fresh_each_time) {
    static const size_t sizes[] = {0, 1, 100, KL_TICKET_BODY_MAX};
    static uint8_t body[KL_TICKET_BODY_MAX + 1], one[KL_TICKET_MAX], two[KL_TICKET_MAX], out[KL_TICKET_MAX];
    memset(body, 'x', sizeof body);
    for (size_t i = 0; i < COUNT(sizes); i++) {
        int len = kl_ticket_seal(secret, body, sizes[i], one);
        assert_int_equal(len, sizes[i] + KL_TICKET_OVERHEAD);
        assert_int_equal(kl_ticket_seal(secret, body, sizes[i], two), len);
        assert_memory_not_equal(one, two, (size_t)len);
        assert_int_equal(kl_ticket_open(secret, one, (size_t)len, out), sizes[i]);
        assert_memory_equal(out, body, sizes[i]);
        assert_int_equal(kl_ticket_open(other, one, (size_t)len, out), KL_E_MALFORMED);
    }
    assert_int_equal(kl_ticket_seal(secret, body, KL_TICKET_BODY_MAX + 1, one), KL_E_SPACE);
}

TEST(every_flipped_bit_and_every_cut_is_rejected) {
    uint8_t ticket[6 + KL_TICKET_OVERHEAD + 1], out[sizeof ticket];
    int len = kl_ticket_seal(secret, "arcade", 6, ticket);
    for (int bit = 0; bit < 8 * len; bit++) {
        ticket[bit / 8] ^= (uint8_t)(1u << bit % 8);
        assert_int_equal(kl_ticket_open(secret, ticket, (size_t)len, out), KL_E_MALFORMED);
        ticket[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    for (int cut = 0; cut < len; cut++)
        assert_int_equal(kl_ticket_open(secret, ticket, (size_t)cut, out), KL_E_MALFORMED);
    ticket[len] = 0;
    assert_int_equal(kl_ticket_open(secret, ticket, (size_t)len + 1, out), KL_E_MALFORMED);
    static uint8_t long_one[KL_TICKET_MAX + 1],
        room[KL_TICKET_MAX + 1]; /* longer than any, and yet authentic */
    uint8_t key[32];
    crypto_generichash(key, sizeof key, (const uint8_t *)"keylock ticket", 14, secret, sizeof secret);
    crypto_aead_xchacha20poly1305_ietf_encrypt(long_one + 24, NULL, room, KL_TICKET_BODY_MAX + 1, NULL, 0,
                                               NULL, long_one, key);
    assert_int_equal(kl_ticket_open(secret, long_one, sizeof long_one, room), KL_E_MALFORMED);
}
