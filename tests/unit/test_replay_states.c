/* The states of a recording that is played. */
#include <stdlib.h>
#include <string.h>

#include "tests/unit/unit.h"

#include "core_wrapper/match/own_states.h"

#define LEN    5000
#define FRAMES 216000

static struct kl_replay_states states;

static int clear(void **unused) {
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

TEST_WITH(each_is_had_again, NULL, clear) {
    assert_true(kl_replay_states_init(&states, FRAMES, KL_REPLAY_MOST));
    for (uint32_t f = 60; f < FRAMES; f += 60)
        lay(f);
    for (uint32_t f = 1200; f < FRAMES; f += 997)
        check_at(f, 1200);
    assert_true(states.bytes < FRAMES / KL_REPLAY_APART * LEN / 4);
    assert_null(kl_replay_states_find(&states, 59, 0));
}

/* A later visit begins in the middle of a group, after another place. */
TEST_WITH(groups_grow_on, NULL, clear) {
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

TEST_WITH(it_stays_in_its_bound, NULL, clear) {
    assert_true(kl_replay_states_init(&states, FRAMES, 30000));
    for (uint32_t f = 60; f < FRAMES; f += 60) {
        lay(f);
        assert_true(states.bytes <= 30000);
    }
    assert_true(states.step > 1);
    check_at(FRAMES / 2, states.step * KL_REPLAY_GROUP * KL_REPLAY_APART);
}

TEST_WITH(another_save_in_the_slot, NULL, clear) {
    size_t len;
    assert_true(kl_replay_states_init(&states, FRAMES, KL_REPLAY_MOST));
    lay(60);
    uint8_t *bytes = state_of(660, &len);
    kl_replay_states_add(&states, 660, 301, bytes, len, NULL);
    assert_int_equal(kl_replay_states_find(&states, 700, 301)->frame, 660);
    assert_int_equal(kl_replay_states_find(&states, 700, 0)->frame, 60);
    assert_int_equal(kl_replay_states_find(&states, 700, 2001)->frame, 60);
}
