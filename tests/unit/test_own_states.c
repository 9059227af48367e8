/* The states to which a machine can go back, and those of a recording that is played. */
#include "tests/unit/unit.h"

#include <stdlib.h>
#include <string.h>

#include "core_wrapper/match/own_states.h"

static struct kl_own_states own;

static int clear(void **unused) {
    (void)unused;
    kl_own_states_clear(&own);
    return 0;
}

static void keep(uint32_t frame, size_t len) {
    uint8_t *bytes = malloc(4);
    assert_non_null(bytes);
    kl_own_states_keep(&own, frame, bytes, len, NULL);
}

static uint32_t found(uint32_t keyframe) {
    const struct kl_own_state *s = kl_own_states_find(&own, keyframe);
    return s ? s->frame : 0;
}

TEST_WITH(the_agreed_one_and_those_after_it, NULL, clear) {
    assert_int_equal(found(1000), 0);
    for (uint32_t f = 60; f <= 240; f += 60)
        keep(f, 100);
    kl_own_states_agreed(&own, 59);
    assert_int_equal(found(60), 60);
    kl_own_states_agreed(&own, 120);
    assert_int_equal(found(119), 60);
    assert_int_equal(found(120), 120);
    assert_int_equal(found(200), 180);
    kl_own_states_agreed(&own, 1000); /* all are; the newest stays, and an older one */
    assert_true(own.count == 2 && own.older == 1 && found(1000) == 240 && found(239) == 60);
}

/* A relay that lost up to 600 frames finds one that its record covers. */
TEST_WITH(older_ones_reach_far_back, NULL, clear) {
    for (uint32_t f = 60; f <= 20000; f += 60) {
        keep(f, 100);
        kl_own_states_agreed(&own, f - 60);
        assert_true(own.count <= KL_OWN_STATES_ALL && own.older <= KL_OWN_STATES_OLDER);
        if (f > 660) assert_in_range(found(f - 600), f > 1800 ? f - 1800 : 1, f - 600);
    }
    kl_own_states_after(&own, found(19400));
    assert_true(own.older < own.count);
}

/* However long no verdict comes, the agreed one stays. */
TEST_WITH(a_new_one_takes_the_place_of_the_newest, NULL, clear) {
    for (uint32_t f = 60; f <= 6000; f += 60)
        keep(f, 100);
    assert_int_equal(own.count, KL_OWN_STATES);
    assert_int_equal(found(60), 60);
    assert_int_equal(found(5999), 180);
    assert_int_equal(found(6000), 6000);
}

TEST_WITH(after_going_back, NULL, clear) {
    for (uint32_t f = 60; f <= 240; f += 60)
        keep(f, 100);
    kl_own_states_after(&own, 120);
    assert_int_equal(found(1000), 120);
    keep(180, 100);
    keep(180, 100); /* the same frame again */
    assert_true(own.count == 3 && found(1000) == 180);
}

TEST_WITH(of_large_states_fewer, NULL, clear) {
    for (uint32_t f = 60; f <= 600; f += 60)
        keep(f, KL_OWN_STATES_MAX / 2);
    assert_true(own.count == 2 && found(60) == 60 && found(600) == 600);
    assert_true(kl_own_states_takes(KL_OWN_STATES_MAX / 2));
    assert_false(kl_own_states_takes(KL_OWN_STATES_MAX / 2 + 1));
    assert_false(kl_own_states_takes(0));
    keep(660, KL_OWN_STATES_MAX / 2 + 1); /* it has grown */
    assert_int_equal(found(660), 600);
}

TEST_WITH(of_large_states_older_ones_go_first, NULL, clear) {
    for (uint32_t f = 60; f <= 3000; f += 60) {
        keep(f, KL_OWN_STATES_MAX / 5);
        kl_own_states_agreed(&own, f - 60);
        assert_true(own.count <= 5);
    }
    keep(3060, KL_OWN_STATES_MAX / 2); /* they have grown */
    assert_true(own.older == 0 && found(2940) == 2940);
}

#define LEN    5000
#define FRAMES 216000

static struct kl_replay_states states;

static int clear_replay(void **unused) {
    (void)unused;
    kl_replay_states_free(&states);
    return 0;
}

/* Bytes that say their frame; their number differs a little. */
static uint8_t *state_of(uint32_t frame, size_t *len) {
    uint8_t *bytes = malloc(LEN + 8);
    assert_non_null(bytes);
    *len = LEN + frame / 600 % 8;
    for (size_t i = 0; i < *len; i++)
        bytes[i] = (uint8_t)(i * 7 + (i % 100 == 0 ? frame / 60 * (i + 1) : 0));
    return bytes;
}

static void lay(uint32_t frame) {
    size_t len;
    if (!kl_replay_states_wants(&states, frame)) return;
    uint8_t *bytes = state_of(frame, &len);
    kl_replay_states_add(&states, frame, 0, bytes, len, NULL);
}

static void check_at(uint32_t frame, uint32_t reach) {
    const struct kl_replay_state *at = kl_replay_states_find(&states, frame, 0);
    size_t len;
    assert_non_null(at);
    assert_in_range(at->frame, frame > reach ? frame - reach : 0, frame);
    uint8_t *is = kl_replay_states_unpack(&states, at), *was = state_of(at->frame, &len);
    assert_non_null(is);
    assert_int_equal(at->len, len);
    assert_memory_equal(is, was, len);
    free(is);
    free(was);
}

TEST_WITH(each_is_had_again, NULL, clear_replay) {
    assert_true(kl_replay_states_init(&states, FRAMES, KL_REPLAY_MOST));
    for (uint32_t f = 60; f < FRAMES; f += 60)
        lay(f);
    for (uint32_t f = 1200; f < FRAMES; f += 997)
        check_at(f, 1200);
    assert_true(states.bytes < FRAMES / KL_REPLAY_APART * LEN / 4);
    assert_null(kl_replay_states_find(&states, 59, 0));
}

/* A later visit begins in the middle of a group, after another place. */
TEST_WITH(groups_grow_on, NULL, clear_replay) {
    assert_true(kl_replay_states_init(&states, FRAMES, KL_REPLAY_MOST));
    lay(60);
    lay(660);
    lay(7200);
    lay(1260);
    lay(660);
    check_at(1259, 599);
    check_at(1260, 0);
    check_at(7300, 100);
}

TEST_WITH(it_stays_in_its_bound, NULL, clear_replay) {
    assert_true(kl_replay_states_init(&states, FRAMES, 30000));
    for (uint32_t f = 60; f < FRAMES; f += 60) {
        lay(f);
        assert_true(states.bytes <= 30000);
    }
    assert_true(states.step > 1);
    check_at(FRAMES / 2, states.step * KL_REPLAY_GROUP * KL_REPLAY_APART);
}

TEST_WITH(another_save_in_the_slot, NULL, clear_replay) {
    size_t len;
    assert_true(kl_replay_states_init(&states, FRAMES, KL_REPLAY_MOST));
    lay(60);
    uint8_t *bytes = state_of(660, &len);
    kl_replay_states_add(&states, 660, 301, bytes, len, NULL);
    assert_int_equal(kl_replay_states_find(&states, 700, 301)->frame, 660);
    assert_int_equal(kl_replay_states_find(&states, 700, 0)->frame, 60);
    assert_int_equal(kl_replay_states_find(&states, 700, 2001)->frame, 60);
}
