/* How a client catches up: each kind of case by name, and the steps.
 * net/ROOMS.md §7, Joining a game under way. */
#include "tests/unit/unit.h"

#include "net/relay/room/catchup.h"

#define SECOND UINT64_C(1000000)

/* A game of 10,000 frames, of which 300 may always be replayed. */
static const struct named {
    const char *name;
    enum kl_catchup_by by;
    struct kl_catchup_facts f;
} cases[] = {
    {"a short game is replayed",
     KL_CATCHUP_HISTORY,
     {.end = 300, .history = true, .start = true, .another = true}},
    {"... and one frame more is not",
     KL_CATCHUP_ORDER,
     {.end = 301, .history = true, .start = true, .another = true}},
    {"without start data nobody comes from nothing",
     KL_CATCHUP_NONE,
     {.end = 300, .history = true, .snapshot = true, .keyframe = 290, .another = true}},
    {"... but from some frame there is", KL_CATCHUP_HISTORY, {.end = 300, .have = 1, .history = true}},
    {"a short gap is replayed",
     KL_CATCHUP_HISTORY,
     {.end = 10000, .have = 9700, .history = true, .another = true}},
    {"a recent snapshot",
     KL_CATCHUP_SNAPSHOT,
     {.end = 10000, .start = true, .history = true, .snapshot = true, .keyframe = 9700, .another = true}},
    {"an old one: another is ordered",
     KL_CATCHUP_ORDER,
     {.end = 10000, .start = true, .history = true, .snapshot = true, .keyframe = 9699, .another = true}},
    {"... but not if it was made for this client",
     KL_CATCHUP_SNAPSHOT,
     {.end = 10000, .start = true, .snapshot = true, .keyframe = 8000, .made = 8000, .another = true}},
    {"... nor if none can be had",
     KL_CATCHUP_SNAPSHOT,
     {.end = 10000, .start = true, .history = true, .snapshot = true, .keyframe = 8000}},
    {"... nor if the room stands still",
     KL_CATCHUP_SNAPSHOT,
     {.end = 10000, .start = true, .snapshot = true, .keyframe = 8000, .another = true, .stuck = true}},
    {"one that was made for this client, and is gone",
     KL_CATCHUP_ORDER,
     {.end = 10000, .start = true, .keyframe = 8000, .made = 8000, .another = true}},
    {"one that is coming up",
     KL_CATCHUP_COMING,
     {.end = 10000, .start = true, .history = true, .coming = true, .another = true}},
    {"a core without states: all is replayed",
     KL_CATCHUP_HISTORY,
     {.end = 10000, .start = true, .history = true}},
    {"... and without the beginning nobody does", KL_CATCHUP_NONE, {.end = 10000, .start = true}},
    {"a room that stands still: all is replayed",
     KL_CATCHUP_HISTORY,
     {.end = 10000, .start = true, .history = true, .another = true, .stuck = true}},
    {"... and without the beginning the client waits",
     KL_CATCHUP_ORDER,
     {.end = 10000, .start = true, .another = true, .stuck = true}},
    /* with a delay, of which the frames may be seen 3,000 later; replaying goes five times as fast */
    {"a delay: replaying is quicker than waiting",
     KL_CATCHUP_HISTORY,
     {.end = 10000, .start = true, .history = true, .another = true, .another_end = 13000}},
    {"a delay: waiting is quicker than replaying",
     KL_CATCHUP_ORDER,
     {.end = 15001, .start = true, .history = true, .another = true, .another_end = 18001}},
    {"a delay: an old snapshot is quicker than another",
     KL_CATCHUP_SNAPSHOT,
     {.end = 30000,
      .start = true,
      .snapshot = true,
      .keyframe = 15000,
      .another = true,
      .another_end = 33000}},
    {"a delay: without the beginning the client waits",
     KL_CATCHUP_ORDER,
     {.end = 10000, .start = true, .another = true, .another_end = 13000}},
    /* out of sync: have = end, and history is of no use */
    {"healing by a snapshot",
     KL_CATCHUP_SNAPSHOT,
     {.end = 10000, .have = 10000, .snapshot = true, .keyframe = 9800, .another = true}},
    {"healing: another is ordered",
     KL_CATCHUP_ORDER,
     {.end = 10000, .have = 10000, .snapshot = true, .keyframe = 9000, .another = true}},
    {"healing: nothing helps", KL_CATCHUP_NONE, {.end = 10000, .have = 10000, .start = true}},
};

TEST(each_case) {
    for (unsigned i = 0; i < COUNT(cases); i++) {
        struct kl_catchup_facts f = cases[i].f;
        f.limit = 300;
        if (f.another_end == 0) f.another_end = f.end;
        if (kl_catchup_choose(&f) != cases[i].by)
            fail_msg("%s: by %d, not %d", cases[i].name, kl_catchup_choose(&f), cases[i].by);
    }
}

TEST(the_limit) {
    assert_int_equal(kl_catchup_limit(0, 60000000, 10), 3000);
    assert_int_equal(kl_catchup_limit(200, 60000000, 10), 2000);
    assert_int_equal(kl_catchup_limit(1e9, 60000000, 86400), UINT32_MAX);
}

TEST(the_steps) {
    struct kl_catchup t = {.have = 7};
    assert_false(kl_catchup_is_stuck(&t, false, 100 * SECOND));
    kl_catchup_set_out(&t, SECOND);
    assert_false(kl_catchup_is_stuck(&t, false, 6 * SECOND - 1));
    assert_true(kl_catchup_is_stuck(&t, false, 6 * SECOND));
    assert_false(kl_catchup_is_stuck(&t, true, 6 * SECOND));
    kl_catchup_load(&t, 60, 8192, 7 * SECOND); /* ten seconds, and one for its bytes */
    assert_false(kl_catchup_is_stuck(&t, false, 100 * SECOND));
    assert_false(kl_catchup_is_late(&t, 18 * SECOND - 1));
    assert_true(kl_catchup_is_late(&t, 18 * SECOND));
    assert_int_equal(t.begins, 60);
    assert_true(t.offered);
    assert_int_equal(kl_catchup_loaded(&t, &(struct kl_healed){59, 61, KL_HEALED_SAME}),
                     KL_CATCHUP_LOADED_NOTHING);
    assert_int_equal(kl_catchup_loaded(&t, &(struct kl_healed){60, 61, KL_HEALED_SAME}), KL_CATCHUP_LOADED);
    assert_int_equal(kl_catchup_loaded(&t, &(struct kl_healed){60, 61, KL_HEALED_SAME}),
                     KL_CATCHUP_LOADED_NOTHING);
    assert_false(kl_catchup_is_late(&t, 100 * SECOND));
    assert_true(t.unproved);
    assert_false(t.no_states);
}

/* Whoever heals keeps the frames from where they begin, and is not timed: its frontend may stand still. */
TEST(healing) {
    struct kl_catchup t = {.heals = true, .begins = 60};
    kl_catchup_set_out(&t, SECOND);
    kl_catchup_load(&t, 600, 100, SECOND);
    assert_int_equal(t.begins, 60);
    assert_false(kl_catchup_is_late(&t, 1000 * SECOND));
    assert_int_equal(kl_catchup_loaded(&t, &(struct kl_healed){600, 601, KL_HEALED_NOT}),
                     KL_CATCHUP_NOT_LOADED);
    assert_true(t.no_states);
    assert_false(t.unproved);
}
