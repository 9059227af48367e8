/* The choice of a quick match among a relay's rooms. */
#include "tests/unit/unit.h"

#include <stdio.h>

#include "core_wrapper/match/quick.h"

static const struct kl_quick_want want = {.identity = {7}, .seats = 1};

static struct kl_room_line room(const char *name) {
    struct kl_room_line l = {
        .identity = {7}, .players = 2, .filled = 1, .open = 1, .quick = true, .lead_max = 12};
    snprintf(l.name, sizeof l.name, "%s", name);
    return l;
}

TEST(takes_what_is_open) {
    struct kl_room_line l = room("a");
    struct kl_quick_want two = want;
    two.seats = 2;
    assert_true(kl_quick_fits(&l, &want, "", ""));
    assert_false(kl_quick_fits(&l, &want, "", "a"));
    assert_false(kl_quick_fits(&l, &two, "", ""));
    l.password = true;
    assert_false(kl_quick_fits(&l, &want, "", ""));
    l = room("a");
    l.locked = true;
    assert_false(kl_quick_fits(&l, &want, "", ""));
    l = room("a");
    l.quick = false; /* a room that friends named */
    assert_false(kl_quick_fits(&l, &want, "", ""));
    assert_false(kl_quick_fits(&l, &want, "quick-zzz", ""));
    l = room("a");
    two.seats = 1;
    two.rtt_ms = 199; /* 12 frames last 200 ms */
    assert_true(kl_quick_fits(&l, &two, "", ""));
    two.rtt_ms = 201;
    assert_false(kl_quick_fits(&l, &two, "", ""));
    l.open = 0;
    assert_false(kl_quick_fits(&l, &want, "", ""));
    l = room("a");
    l.identity[15] = 1;
    assert_false(kl_quick_fits(&l, &want, "", ""));
}

/* Told while a player waits: any open room of this game but the own one; in a quick match, one that somebody
 * named, for another quick match is entered without a word. */
TEST(a_room_beside_the_own_one) {
    struct kl_quick_want beside = {.identity = {7}, .seats = 1, .beside = "m"};
    struct kl_room_line l = room("a");
    assert_true(kl_quick_is_beside(&l, &beside));
    l.quick = false;
    assert_true(kl_quick_is_beside(&l, &beside));
    l = room("z"); /* also of a greater name */
    assert_true(kl_quick_is_beside(&l, &beside));
    beside.named = true;
    assert_false(kl_quick_is_beside(&l, &beside));
    l.quick = false;
    assert_true(kl_quick_is_beside(&l, &beside));
    assert_false(kl_quick_fits(&l, &want, "", "")); /* and no quick match goes there */
    l.locked = true;
    assert_false(kl_quick_is_beside(&l, &beside));
    l = room("m");
    l.quick = false;
    assert_false(kl_quick_is_beside(&l, &beside));
    l = room("a");
    l.quick = false;
    l.password = true;
    assert_false(kl_quick_is_beside(&l, &beside));
    l.password = false;
    l.identity[0] = 8;
    assert_false(kl_quick_is_beside(&l, &beside));
    l.identity[0] = 7;
    l.open = 0;
    assert_false(kl_quick_is_beside(&l, &beside));
}

/* Of two that each made a room, exactly one goes to the other's. */
TEST(two_meet) {
    char a[KL_NAME_MAX], b[KL_NAME_MAX];
    for (unsigned i = 0; i < 100; i++) {
        kl_quick_name(a);
        kl_quick_name(b);
        assert_true(strlen(a) < KL_NAME_MAX && strncmp(a, KL_QUICK_PREFIX, strlen(KL_QUICK_PREFIX)) == 0);
        struct kl_room_line of_a = room(a), of_b = room(b);
        assert_int_equal(kl_quick_fits(&of_b, &want, a, "") + kl_quick_fits(&of_a, &want, b, ""), 1);
        assert_false(kl_quick_fits(&of_a, &want, a, ""));
    }
}
