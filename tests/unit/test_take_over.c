/* Begins a room with another machine's state? The player's answer, in a match without a core. */
#include "tests/unit/unit.h"

#include <stdlib.h>

#include "core_wrapper/match/match.h"
#include "core_wrapper/match/take_over.h"

#define SECOND UINT64_C(1000000)

static struct kl_match match;
static struct kl_start start;
static uint8_t came[4096];

static bool front(unsigned cmd, void *data) {
    (void)cmd, (void)data;
    return false;
}

/* Start data with a state of that hash; 0: without one. */
static void comes(uint8_t hash) {
    start = (struct kl_start){.state = {.frame = 600,
                                        .match = "cup-3",
                                        .players = "ann (1), bob (2)",
                                        .bytes = hash ? 7 : 0,
                                        .hash = {hash},
                                        .packed = (const uint8_t *)"packed",
                                        .packed_len = 6}};
    start.memory_count = 1;
    start.memory[0] = (struct kl_start_memory){0, (const uint8_t *)"saveram", 7};
    match.status.phase = KL_PARTICIPANT_LOAD;
    match.status.start = came;
    match.status.start_len = (size_t)kl_start_encode(&start, came, sizeof came);
}

static void enter(enum kl_trust trust) {
    kl_take_over_free(&match);
    memset(&match, 0, sizeof match);
    match.front.call.environment = front;
    match.emu.runner = true;
    match.config.trust = trust;
    match.config.saves = true;
    strcpy(match.join.request.room, "anew");
    kl_take_over_joins(&match);
}

TEST(a_room_from_power_on_asks_nothing) {
    enter(KL_TRUST_AUTO);
    comes(0);
    assert_int_equal(kl_take_over_answer(&match, SECOND), KL_TAKE_OVER_GO);
    assert_string_equal(kl_take_over_asks(&match), "");
    assert_false(kl_take_over_agree(&match));
    assert_int_equal(kl_take_over_begin(&match), 0);
}

TEST(a_state_waits_for_a_yes) {
    enter(KL_TRUST_ON); /* even so */
    comes(1);
    assert_false(kl_take_over_agreed(&match, &start.state));
    assert_int_equal(kl_take_over_answer(&match, SECOND), KL_TAKE_OVER_WAIT);
    assert_string_equal(kl_take_over_asks(&match), "frame 600 of match cup-3: ann (1), bob (2)");
    assert_int_equal(kl_take_over_answer(&match, 2 * SECOND), KL_TAKE_OVER_WAIT);
    assert_true(kl_take_over_agree(&match));
    assert_int_equal(kl_take_over_answer(&match, 3 * SECOND), KL_TAKE_OVER_GO);
    assert_true(kl_take_over_agreed(&match, &start.state));
    assert_false(kl_take_over_agree(&match));
    match.status.phase = KL_PARTICIPANT_PLAYING;
    comes(1); /* the game is run from its beginning once more */
    assert_int_equal(kl_take_over_answer(&match, 4 * SECOND), KL_TAKE_OVER_GO);
}

TEST(a_yes_is_for_one_state) {
    enter(KL_TRUST_AUTO);
    comes(1);
    (void)kl_take_over_answer(&match, SECOND);
    comes(2); /* while the player reads */
    assert_true(kl_take_over_agree(&match));
    assert_int_equal(kl_take_over_answer(&match, SECOND), KL_TAKE_OVER_WAIT);
    assert_false(kl_take_over_agreed(&match, &start.state));
}

TEST(no_answer_in_time_is_a_no) {
    enter(KL_TRUST_AUTO);
    comes(1);
    assert_int_equal(kl_take_over_answer(&match, SECOND), KL_TAKE_OVER_WAIT);
    assert_int_equal(kl_take_over_answer(&match, 46 * SECOND - 1), KL_TAKE_OVER_WAIT);
    assert_int_equal(kl_take_over_answer(&match, 46 * SECOND), KL_TAKE_OVER_NO);
    assert_false(kl_take_over_agreed(&match, &start.state));
}

TEST(who_trusts_nobody_is_not_asked) {
    enter(KL_TRUST_OFF);
    comes(1);
    assert_int_equal(kl_take_over_answer(&match, SECOND), KL_TAKE_OVER_NO);
    assert_string_equal(kl_take_over_asks(&match), "");
    assert_false(kl_take_over_agree(&match));
}

TEST(its_maker_gives_it_in_that_room_alone) {
    struct kl_take_over *t = &match.join.take_over;
    uint8_t *out;
    size_t len;
    char err[100];
    enter(KL_TRUST_AUTO);
    comes(1);
    t->len = match.status.start_len;
    t->start = malloc(t->len);
    assert_non_null(t->start);
    memcpy(t->start, came, t->len);
    strcpy(t->room, "anew");
    assert_int_equal(kl_take_over_start_data(&match, &out, &len, err, sizeof err), 0);
    assert_int_equal(len, t->len);
    assert_memory_equal(out, came, len);
    free(out);
    match.status.bare = true;
    assert_int_equal(kl_take_over_start_data(&match, &out, &len, err, sizeof err), 0);
    assert_int_equal(kl_start_decode(&start, out, len), 0);
    assert_int_equal(start.memory_count, 0); /* bare: the state stays, for each is asked */
    assert_int_equal(start.state.frame, 600);
    free(out);
    strcpy(match.join.request.room, "other");
    assert_int_equal(kl_take_over_start_data(&match, &out, &len, err, sizeof err), 1);
    kl_take_over_free(&match);
}
