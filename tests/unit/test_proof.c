/* A relay's signature under a match. runs: working, check, 1 s */
#include "tests/unit/unit.h"

#include "net/session/proof.h"

static struct kl_relay_key key;
static struct kl_proof_match of;
static struct kl_proof proof;

static int sign(void **state) {
    static const uint8_t seed[KL_RELAY_SEED] = {7};
    (void)state;
    kl_relay_key_from_seed(&key, seed);
    of = (struct kl_proof_match){.room_id = {1}, .identity = {2}, .epoch_s = 946684800};
    kl_proof_start("start", 5, of.start);
    proof = (struct kl_proof){
        .intervals = 9, .end = 60, .digest = {3}, .label = 59, .has = KL_HASH_RAM, .ram = 4};
    kl_proof_sign(&proof, &of, &key);
    return 0;
}

static enum kl_proof_is check(void) {
    return kl_proof_check(&proof, &of, key.exchange.pub);
}

TEST_WITH(it_is_good_for_what_was_signed, sign, NULL) {
    assert_int_equal(check(), KL_PROOF_GOOD);
    proof.state = 77; /* it has none */
    assert_int_equal(check(), KL_PROOF_GOOD);
}

#define CHANGED(what)                                                                                        \
    do {                                                                                                     \
        what ^= 1;                                                                                           \
        assert_int_equal(check(), KL_PROOF_FALSE);                                                           \
        what ^= 1;                                                                                           \
    } while (0)

TEST_WITH(anything_else_is_false, sign, NULL) {
    CHANGED(of.room_id[15]);
    CHANGED(of.identity[15]);
    CHANGED(of.start[15]);
    CHANGED(of.epoch_s);
    CHANGED(proof.intervals);
    CHANGED(proof.end);
    CHANGED(proof.digest[15]);
    CHANGED(proof.label);
    CHANGED(proof.ram);
    CHANGED(proof.sign_pub[0]);
    for (unsigned i = 0; i < sizeof proof.signature; i++)
        CHANGED(proof.signature[i]);
    proof.has |= KL_HASH_STATE;
    assert_int_equal(check(), KL_PROOF_FALSE);
    proof.has = KL_HASH_RAM;
    assert_int_equal(check(), KL_PROOF_GOOD);
}

TEST_WITH(another_relay_signed_it, sign, NULL) {
    static const uint8_t seed[KL_RELAY_SEED] = {8};
    struct kl_relay_key other;
    kl_relay_key_from_seed(&other, seed);
    assert_int_equal(kl_proof_check(&proof, &of, other.exchange.pub), KL_PROOF_FOREIGN);
}
