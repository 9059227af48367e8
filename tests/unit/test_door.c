/* A room's password: CPace against the draft's own vectors, and what a wrong end learns. net/PROTOCOL.md §9.
 */
#include "tests/unit/unit.h"

#include <sodium.h>

#include "net/session/door.h"
#include "net/engine/engine.h"

static void hex(uint8_t *out, size_t len, const char *text) {
    size_t got;
    assert_int_equal(sodium_hex2bin(out, len, text, strlen(text), NULL, &got, NULL), 0);
    assert_int_equal(got, len);
}
static struct kl_cpace_text text_of(const char *s) {
    return (struct kl_cpace_text){s, strlen(s)};
}

/* draft-irtf-cfrg-cpace, appendix "CPace using group ristretto255 and hash SHA-512". */
TEST(the_drafts_vectors) {
    uint8_t sid[16], expected[64], g[32], ya[32], yb[32], a[32], b[32], isk[64], other[64];
    hex(sid, 16, "7e4b4791d6a8ef019b936c79fb7f2c57");
    hex(ya, 32, "da3d23700a9e5699258aef94dc060dfda5ebb61f02a5ea77fad53f4ff0976d08");
    hex(yb, 32, "d2316b454718c35362d83d69df6320f38578ed5984651435e2949762d900b80d");
    struct kl_cpace_text s = {sid, sizeof sid};
    kl_cpace_generator(g, text_of("Password"), text_of("\nAinitiator\nBresponder"), s);
    hex(expected, 32, "5e25411ca1ad7c9debfd0b33ad987a95cefef2d3f15dcc8bd26415a5dfe2e15a");
    assert_memory_equal(g, expected, 32);
    assert_int_equal(kl_cpace_share(a, ya, g), 0);
    hex(expected, 32, "383a85dd236978f17f8c8545b50dabc52a39fcdab2cf8bc531ce040ff77ca82d");
    assert_memory_equal(a, expected, 32);
    assert_int_equal(kl_cpace_share(b, yb, g), 0);
    hex(expected, 32, "a6206309c0e8e5f579295e35997ac4300ab3fecec3c17f7b604f3e698fa1383c");
    assert_memory_equal(b, expected, 32);
    struct kl_cpace_said said = {a, b, text_of("ADa"), text_of("ADb")};
    assert_int_equal(kl_cpace_isk(isk, ya, b, s, &said), 0);
    assert_int_equal(kl_cpace_isk(other, yb, a, s, &said), 0);
    hex(expected, 64,
        "e91ccb2c0f5e0d0993a33956e3be59754f3f2b07db57631f5394452ea2e7b435"
        "4674eb1f5686c078462bf83bec72e8743df440108e638f3526d9b90e85be096f");
    assert_memory_equal(isk, expected, 64);
    assert_memory_equal(other, expected, 64);
}

TEST(the_drafts_wrong_points) {
    uint8_t scalar[32], good[32], bad[32], neutral[32] = {0}, isk[64];
    hex(scalar, 32, "7cd0e075fa7955ba52c02759a6c90dbbfc10e6d40aea8d283e407d88cf538a05");
    hex(good, 32, "2c3c6b8c4f3800e7aef6864025b4ed79bd599117e427c41bd47d93d654b4a51c");
    hex(bad, 32, "2b3c6b8c4f3800e7aef6864025b4ed79bd599117e427c41bd47d93d654b4a51c");
    struct kl_cpace_said said = {good, good, text_of(""), text_of("")};
    assert_int_equal(kl_cpace_isk(isk, scalar, good, text_of("sid"), &said), 0);
    assert_int_equal(kl_cpace_isk(isk, scalar, bad, text_of("sid"), &said), -1);
    assert_int_equal(kl_cpace_isk(isk, scalar, neutral, text_of("sid"), &said), -1);
}

static const uint8_t binding[32] = "this session", other_binding[32] = "that session";
static const uint8_t secret[32] = "what both know", wrong[32] = "what one thinks";

struct run {
    struct kl_door relay, client;
    struct kl_door_macs at_relay, at_client;
};
static struct run meet(const uint8_t *relay_secret, const uint8_t *client_secret,
                       const uint8_t *client_binding) {
    struct run r;
    kl_door_begin(&r.relay, KL_DOOR_RELAY, relay_secret, binding);
    kl_door_begin(&r.client, KL_DOOR_CLIENT, client_secret, client_binding);
    uint8_t from_relay[32], from_client[32];
    memcpy(from_relay, r.relay.share, 32);
    memcpy(from_client, r.client.share, 32);
    assert_memory_not_equal(from_relay, from_client, 32);
    assert_int_equal(kl_door_finish(&r.client, from_relay, &r.at_client), 0);
    assert_int_equal(kl_door_finish(&r.relay, from_client, &r.at_relay), 0);
    assert_true(sodium_is_zero((uint8_t *)&r.relay, sizeof r.relay));
    assert_true(sodium_is_zero((uint8_t *)&r.client, sizeof r.client));
    return r;
}

TEST(a_client_that_knows_it_gets_in) {
    struct run r = meet(secret, secret, binding);
    assert_true(kl_door_mac_equal(r.at_client.own, r.at_relay.expected));
    assert_true(kl_door_mac_equal(r.at_relay.own, r.at_client.expected));
    assert_false(kl_door_mac_equal(r.at_relay.own, r.at_client.own)); /* sent back, it proves nothing */
    struct run again = meet(secret, secret, binding);
    assert_false(kl_door_mac_equal(again.at_client.own, r.at_client.own)); /* nor does an old one */
}

TEST(a_client_without_the_password_stays_out) {
    struct run r = meet(secret, wrong, binding);
    assert_false(kl_door_mac_equal(r.at_client.own, r.at_relay.expected));
    assert_false(kl_door_mac_equal(r.at_relay.own, r.at_client.expected));
    r = meet(secret, secret, other_binding); /* carried over from another session: a relay in between */
    assert_false(kl_door_mac_equal(r.at_client.own, r.at_relay.expected));
    assert_false(kl_door_mac_equal(r.at_relay.own, r.at_client.expected));
}

TEST(shares_that_are_none) {
    uint8_t bad[3][32] = {{0}, {1}, {0}};
    memset(bad[2], 0xff, 32);
    for (size_t i = 0; i < COUNT(bad); i++) {
        struct kl_door d;
        struct kl_door_macs m;
        kl_door_begin(&d, KL_DOOR_RELAY, secret, binding);
        assert_int_equal(kl_door_finish(&d, bad[i], &m), KL_E_MALFORMED);
        assert_true(sodium_is_zero((uint8_t *)&d, sizeof d));
    }
}

/* Without knowing the password, a share sent back to its sender. */
TEST(a_reflected_share_proves_nothing) {
    struct kl_door d;
    struct kl_door_macs m;
    uint8_t share[32];
    kl_door_begin(&d, KL_DOOR_RELAY, secret, binding);
    memcpy(share, d.share, 32);
    assert_int_equal(kl_door_finish(&d, share, &m), 0);
    assert_false(kl_door_mac_equal(m.own, m.expected));
}

TEST(stretching) {
    static const uint8_t salt[16] = "0123456789abcdef", salt2[16] = "0123456789abcdeg";
    uint8_t one[32], two[32], expected[32];
    char text[KL_DOOR_PASSWORD_MAX + 2];
    assert_int_equal(kl_door_stretch("correct horse", salt, one), 0);
    assert_int_equal(crypto_pwhash_argon2id(expected, 32, "correct horse", 13, salt, 2, 64 << 20,
                                            crypto_pwhash_ALG_ARGON2ID13),
                     0); /* the figures of the document, whatever a later libsodium calls interactive */
    assert_memory_equal(one, expected, 32);
    assert_int_equal(kl_door_stretch("correct horse", salt2, two), 0);
    assert_memory_not_equal(one, two, 32);
    assert_int_equal(kl_door_stretch("correct horsf", salt, two), 0);
    assert_memory_not_equal(one, two, 32);
    assert_int_equal(kl_door_stretch("", salt, two), KL_E_MALFORMED);
    memset(text, 'x', sizeof text);
    text[KL_DOOR_PASSWORD_MAX + 1] = 0;
    assert_int_equal(kl_door_stretch(text, salt, two), KL_E_MALFORMED);
    text[KL_DOOR_PASSWORD_MAX] = 0;
    assert_int_equal(kl_door_stretch(text, salt, two), 0);
}
