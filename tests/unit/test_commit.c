/* test_commit.c - a commitment is to one message, of one client, of one room: nothing else fits it.
 * PROTOCOL.md §7. */
#include "tests/unit/unit.h"

#include <sodium.h>

#include "net/session/commit.h"

static const uint8_t room[KL_ROOM_ID_BYTES] = {1, 2, 3}, other_room[KL_ROOM_ID_BYTES] = {1, 2, 4};
static uint8_t made[KL_COMMITMENT_BYTES];

static struct kl_msg a_hash(void) {
    return (struct kl_msg){.kind = KL_MSG_HASH,
                           .nonce = {9},
                           .hash = {.frame = 59, .has_ram = true, .ram = 7, .has_state = true, .state = 8}};
}

static int make(void **state) {
    (void)state;
    struct kl_msg m = a_hash();
    assert_int_equal(kl_commit_make(&m, room, 3, made), KL_OK);
    assert_true(kl_commit_fits(&m, room, 3, made));
    return 0;
}

static void another_message(void **state) {
    (void)state;
    for (unsigned i = 0; i < 6; i++) {
        struct kl_msg m = a_hash();
        if (i == 0) m.nonce[15] ^= 1; /* what hides it is bound as well: nobody finds another one that fits */
        if (i == 1) m.hash.frame++;
        if (i == 2) m.hash.ram++;
        if (i == 3) m.hash.state++;
        if (i == 4) m.hash.has_state = false;
        if (i == 5) m.hash.full = true;
        assert_false(kl_commit_fits(&m, room, 3, made));
    }
}

/* So it is of no use to who has seen it: not in this room, nor anywhere. */
static void somebody_else(void **state) {
    (void)state;
    struct kl_msg m = a_hash();
    assert_false(kl_commit_fits(&m, room, 2, made));
    assert_false(kl_commit_fits(&m, other_room, 3, made));
}

static void another_commitment(void **state) {
    (void)state;
    struct kl_msg m = a_hash();
    for (unsigned i = 0; i < sizeof made; i++) {
        made[i] ^= 0x80;
        assert_false(kl_commit_fits(&m, room, 3, made));
        made[i] ^= 0x80;
    }
}

/* It tells nothing of what is said: with another nonce it is another. */
static void the_nonce_hides(void **state) {
    (void)state;
    struct kl_msg m = a_hash();
    uint8_t again[KL_COMMITMENT_BYTES];
    m.nonce[0]++;
    assert_int_equal(kl_commit_make(&m, room, 3, again), KL_OK);
    assert_memory_not_equal(made, again, sizeof made);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(another_message),
        cmocka_unit_test(somebody_else),
        cmocka_unit_test(another_commitment),
        cmocka_unit_test(the_nonce_hides),
    };
    return sodium_init() < 0 ? 1 : cmocka_run_group_tests_name("commit", tests, make, NULL);
}
