/* Signatures under a match: a relay's, and a player's under his hashes. runs: working, check, 1 s */
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

/* --- a client's own hashes --- */

static struct kl_sign own;
static struct kl_seat_key seat;
static const uint8_t room[KL_ROOM_ID_BYTES] = {1};

static void say(uint32_t frame, uint8_t has) {
    const struct kl_hash h = {.frame = frame, .has = has, .ram = frame, .state = 2, .picture = 3, .sound = 4};
    kl_sign_add(&own, &h);
}

static int sign_own(void **state) {
    static const uint8_t seed[KL_SEAT_SEED] = {9};
    (void)state;
    own = (struct kl_sign){0};
    kl_seat_from_seed(&seat, seed);
    say(59, KL_HASH_RAM);
    say(119, KL_HASH_RAM | KL_HASH_STATE | KL_HASH_FULL);
    kl_sign_make(&own, room, &seat);
    return 0;
}

TEST_WITH(own_hashes_are_signed, sign_own, NULL) {
    static const uint8_t other_room[KL_ROOM_ID_BYTES] = {2};
    assert_true(kl_sign_is_good(&own, room, seat.pub));
    assert_false(kl_sign_is_good(&own, other_room, seat.pub));
    assert_int_equal(own.count, 2);
    assert_int_equal(own.label, 119);
    assert_int_equal(own.has, KL_HASH_RAM | KL_HASH_STATE); /* flags are not under it */
    say(179, KL_HASH_SOUND);                                /* nothing that a recording has */
    assert_true(kl_sign_is_good(&own, room, seat.pub));
    say(179, KL_HASH_RAM);
    assert_false(kl_sign_is_good(&own, room, seat.pub));
}

TEST_WITH(other_hashes_are_not_signed, sign_own, NULL) {
    uint8_t *byte = (uint8_t *)&own;
    const size_t at[] = {offsetof(struct kl_sign, count), offsetof(struct kl_sign, chain),
                         offsetof(struct kl_sign, label), offsetof(struct kl_sign, ram),
                         offsetof(struct kl_sign, state), offsetof(struct kl_sign, signature)};
    for (unsigned i = 0; i < sizeof at / sizeof *at; i++) {
        byte[at[i]] ^= 1;
        assert_false(kl_sign_is_good(&own, room, seat.pub));
        byte[at[i]] ^= 1;
    }
    seat.pub[0] ^= 1;
    assert_false(kl_sign_is_good(&own, room, seat.pub));
}
