/* A client takes little from a relay that cannot prove the room's password, and proves it itself. */
#include "tests/lib/participant_bare.h"

/* true: done with it. */
static bool take(uint8_t kind, uint8_t first) {
    struct kl_msg m = {.kind = kind};
    if (kind == KL_MSG_PROVED) m.proved.mac[0] = first;
    return kl_participant_door_take(s, &m);
}
static void check_ended(const char *words) {
    assert_true(kl_participant_is_over(s));
    assert_non_null(strstr(s->status.reason, words));
}

TEST_WITH(no_password_no_door, make, drop) {
    assert_false(take(KL_MSG_WELCOME, 0));
    assert_false(take(KL_MSG_ROSTER, 0));
    assert_false(kl_participant_is_over(s));
    assert_true(take(KL_MSG_DOOR, 0));
    check_ended("has a password, and none was given");
}

/* The client's half of a run, with the relay's made here. */
TEST_WITH(the_password_is_proved, make, drop) {
    static const uint8_t secret[KL_DOOR_SECRET] = {3}, binding[32];
    struct kl_msg m = {.kind = KL_MSG_DOOR, .door = {.salt = {5}}}, said;
    struct kl_channels c = {0};
    struct kl_door run;
    struct kl_door_macs macs;
    uint8_t salt[KL_DOOR_SALT];
    begin_participant(true, false);
    kl_door_begin(&run, KL_DOOR_RELAY, secret, binding);
    memcpy(m.door.share, run.share, sizeof m.door.share);
    assert_false(kl_participant_wants_secret(s, salt));
    assert_true(kl_participant_door_take(s, &m));
    assert_true(kl_participant_wants_secret(s, salt) && salt[0] == 5);
    kl_participant_secret(s, secret);
    assert_false(kl_participant_wants_secret(s, salt));
    assert_true(kl_participant_say(s, &c, 1, &said) && said.kind == KL_MSG_PROVE);
    assert_int_equal(kl_door_finish(&run, said.prove.share, &macs), KL_OK);
    assert_true(kl_door_mac_equal(said.prove.mac, macs.expected));
    m = (struct kl_msg){.kind = KL_MSG_PROVED};
    memcpy(m.proved.mac, macs.own, sizeof m.proved.mac);
    assert_true(kl_participant_door_take(s, &m));
    assert_false(take(KL_MSG_WELCOME, 0));
    assert_false(kl_participant_is_over(s));
}

TEST_WITH(no_memory_for_the_password, make, drop) {
    begin_participant(true, false);
    assert_true(take(KL_MSG_DOOR, 0));
    kl_participant_secret(s, NULL);
    check_ended("no memory");
}

TEST_WITH(welcome_unasked, make, drop) {
    begin_participant(true, false);
    assert_true(take(KL_MSG_PROVED, 0)); /* of nothing */
    assert_false(kl_participant_is_over(s));
    assert_true(take(KL_MSG_WELCOME, 0));
    check_ended("without the room's password");
}

TEST_WITH(welcome_before_the_proof, make, drop) {
    begin_participant(true, false);
    s->door.state = KL_PARTICIPANT_PROVING;
    assert_true(take(KL_MSG_WELCOME, 0));
    check_ended("without the room's password");
}

TEST_WITH(the_relay_proves_it, make, drop) {
    begin_participant(true, false);
    s->door.state = KL_PARTICIPANT_PROVING;
    s->door.expected[0] = 9;
    assert_true(take(KL_MSG_PROVED, 9));
    assert_false(take(KL_MSG_WELCOME, 0));
    assert_false(kl_participant_is_over(s));
}

TEST_WITH(the_relay_does_not, make, drop) {
    begin_participant(true, false);
    s->door.state = KL_PARTICIPANT_PROVING;
    s->door.expected[0] = 9;
    assert_true(take(KL_MSG_PROVED, 8));
    check_ended("does not know the room's password itself");
}

TEST_WITH(back_to_a_seat, make, drop) {
    begin_participant(true, true);
    assert_false(take(KL_MSG_WELCOME, 0));
    assert_false(kl_participant_is_over(s));
}
