/* What a client does not take from a relay that cannot prove the room's password. */
#include "tests/unit/link_bare.h"

/* true: done with it. */
static bool take(uint8_t kind, uint8_t first) {
    struct kl_msg m = {.kind = kind};
    if (kind == KL_MSG_PROVED) m.proved.mac[0] = first;
    return kl_link_door_take(l, &m);
}
static void check_ended(const char *words) {
    assert_true(l->over);
    assert_int_equal(l->shared.status.phase, KL_LINK_ENDED);
    assert_non_null(strstr(l->shared.status.reason, words));
}

static void no_password_no_door(void **state) {
    (void)state;
    assert_int_equal(kl_link_door_init(&l->door, NULL, false), 0);
    assert_false(take(KL_MSG_WELCOME, 0));
    assert_false(take(KL_MSG_ROSTER, 0));
    assert_false(l->over);
    assert_true(take(KL_MSG_DOOR, 0));
    check_ended("has a password, and none was given");
}

static void passwords_out_of_bounds(void **state) {
    (void)state;
    char text[KL_DOOR_PASSWORD_MAX + 2] = "";
    assert_int_equal(kl_link_door_init(&l->door, "", false), -1);
    memset(text, 'x', sizeof text - 1);
    assert_int_equal(kl_link_door_init(&l->door, text, false), -1);
    text[KL_DOOR_PASSWORD_MAX] = 0;
    assert_int_equal(kl_link_door_init(&l->door, text, false), 0);
}

static void welcome_unasked(void **state) {
    (void)state;
    kl_link_door_init(&l->door, "swordfish", false);
    assert_true(take(KL_MSG_PROVED, 0)); /* of nothing */
    assert_false(l->over);
    assert_true(take(KL_MSG_WELCOME, 0));
    check_ended("without the room's password");
}

static void welcome_before_the_proof(void **state) {
    (void)state;
    kl_link_door_init(&l->door, "swordfish", false);
    l->door.state = KL_DOOR_PROVING;
    assert_true(take(KL_MSG_WELCOME, 0));
    check_ended("without the room's password");
}

static void the_relay_proves_it(void **state) {
    (void)state;
    kl_link_door_init(&l->door, "swordfish", false);
    l->door.state = KL_DOOR_PROVING;
    l->door.expected[0] = 9;
    assert_true(take(KL_MSG_PROVED, 9));
    assert_false(take(KL_MSG_WELCOME, 0));
    assert_false(l->over);
}

static void the_relay_does_not(void **state) {
    (void)state;
    kl_link_door_init(&l->door, "swordfish", false);
    l->door.state = KL_DOOR_PROVING;
    l->door.expected[0] = 9;
    assert_true(take(KL_MSG_PROVED, 8));
    check_ended("does not know the room's password itself");
}

static void back_to_a_seat(void **state) {
    (void)state;
    kl_link_door_init(&l->door, "swordfish", true);
    assert_false(take(KL_MSG_WELCOME, 0));
    assert_false(l->over);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make, drop)
int main(void) {
    static const struct CMUnitTest tests[] = {
        TEST(no_password_no_door),      TEST(passwords_out_of_bounds), TEST(welcome_unasked),
        TEST(welcome_before_the_proof), TEST(the_relay_proves_it),     TEST(the_relay_does_not),
        TEST(back_to_a_seat),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
