/* Players who load no bytes of others. net/ROOMS.md §7, Consent. */
#include "tests/unit/unit.h"
#include "tests/lib/lobby_machines.h"

static void begin_with(uint32_t those) {
    strangers = those;
    begin_machines();
}

static int all_consent_again(void **state) {
    strangers = 0;
    return tear_down(state);
}

static bool asked_bare(uint8_t first, uint8_t second, uint8_t door) {
    struct kl_msg m = a_hello(0, "room", 1, 2, "x");
    m.hello.door = door;
    m.hello.consent = first;
    enter(0, &m);
    m = a_hello(1, "room", 1, 2, "x");
    m.hello.consent = second;
    enter(1, &m);
    bool bare = heard(0, KL_MSG_SEND)->bare;
    begin_again();
    return bare;
}

/* One is enough. A room that the relay lists is not what the players take it for. */
TEST_WITH(the_game_begins_without_saves, set_up, all_consent_again) {
    assert_false(asked_bare(KL_CONSENT_ROOM, KL_CONSENT_ROOM, 0));
    assert_true(asked_bare(KL_CONSENT_ROOM, KL_CONSENT_NONE, 0));
    assert_true(asked_bare(KL_CONSENT_NONE, KL_CONSENT_ROOM, 0));
    assert_true(asked_bare(KL_CONSENT_UNLISTED, KL_CONSENT_ROOM, 0));
    assert_false(asked_bare(KL_CONSENT_UNLISTED, KL_CONSENT_UNLISTED, KL_DOOR_UNLISTED));
    assert_true(asked_bare(KL_CONSENT_UNLISTED, KL_CONSENT_NONE, KL_DOOR_UNLISTED));
}

/* Against two a stranger goes back to its own state, and nobody else does. */
TEST_WITH(its_own_state, set_up, all_consent_again) {
    begin_with(1 << 1);
    go_on(2 * SECOND);
    machine[1] = 8;
    go_on(4 * SECOND);
    assert_true(rewinds[1] == 1 && !rewinds[0] && !rewinds[2]);
    assert_int_equal(offers[0] + offers[1] + offers[2], 0);
    expect_in_sync(1);
}

/* The others' states are still for those that want them. */
TEST_WITH(one_of_each, set_up, all_consent_again) {
    begin_with(1 << 1);
    go_on(2 * SECOND);
    machine[2] = 8;
    go_on(4 * SECOND);
    assert_int_equal(offers[2], 1);
    assert_int_equal(rewinds[2], 0);
    expect_in_sync(1);
}

/* Its state led it astray again: it runs the game from the beginning, where that is kept. */
TEST_WITH(from_the_beginning, set_up, all_consent_again) {
    begin_with(1 << 1);
    go_on(2 * SECOND);
    machine[1] = 8;
    at_once[1] = true;
    go_on_until(the_room()->member[1]->heal.anew);
    assert_int_equal(rewinds[1], 1);
    assert_int_equal(offers[1], 0);
    assert_int_equal(the_room()->member[1]->heal.anew, 1);
    assert_int_equal(the_room()->member[1]->v.state, KL_MEMBER_LOADING);
}

TEST_WITH(else_it_is_put_out, set_up, all_consent_again) {
    begin_with(1 << 1);
    go_on(2 * SECOND);
    kl_lobby_start_free(the_room());
    has_own[1] = false;
    machine[1] = 8;
    go_on(6 * SECOND);
    vanish(1);
    expect_refusal(1, KL_REFUSE_DESYNC, "out of sync");
    assert_int_equal(offers[1], 0);
    go_on(2 * SECOND);
    assert_true(verdict.complete && !verdict.differs);
}
