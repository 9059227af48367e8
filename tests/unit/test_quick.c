/* The choice of a quick match among a relay's rooms. */
#include "tests/unit/unit.h"

#include <stdio.h>

#include "core_wrapper/match/quick.h"

static const struct kl_quick_want want = {.identity = {7}, .seats = 1};

enum { NAMED = 1, PASSWORD = 2, LOCKED = 4, OTHER_GAME = 8, FULL = 16 };

/* Of a quick match, and open, unless it is some of these. */
static struct kl_room_line room(const char *name, unsigned is) {
    struct kl_room_line l = {
        .identity = {7}, .players = 2, .filled = 1, .open = !(is & FULL), .lead_max = 12};
    l.identity[15] = is & OTHER_GAME ? 1 : 0;
    l.quick = !(is & NAMED);
    l.password = is & PASSWORD;
    l.locked = is & LOCKED;
    snprintf(l.name, sizeof l.name, "%s", name);
    return l;
}

/* Beside: told while a player waits in room m, any open room of this game but the own one; in a quick match,
 * one that somebody named, for another quick match is entered without a word. */
TEST(takes_what_is_open) {
    static const struct {
        const char *name;
        unsigned is;
        const char *own, *left;
        bool fits, beside, beside_in_quick;
    } of[] = {
        {"a", 0, "", "", true, true, false},
        {"z", 0, "", "", true, true, false}, /* also of a greater name */
        {"a", 0, "", "a", false, true, false},
        {"a", NAMED, "", "", false, true, true}, /* a room that friends named */
        {"a", NAMED, "quick-zzz", "", false, true, true},
        {"m", NAMED, "", "", false, false, false},
        {"a", PASSWORD, "", "", false, false, false},
        {"a", NAMED | PASSWORD, "", "", false, false, false},
        {"a", NAMED | LOCKED, "", "", false, false, false},
        {"a", LOCKED, "", "", false, false, false},
        {"a", NAMED | OTHER_GAME, "", "", false, false, false},
        {"a", OTHER_GAME, "", "", false, false, false},
        {"a", NAMED | FULL, "", "", false, false, false},
        {"a", FULL, "", "", false, false, false},
    };
    for (size_t i = 0; i < COUNT(of); i++) {
        struct kl_room_line l = room(of[i].name, of[i].is);
        struct kl_quick_want beside = {.identity = {7}, .seats = 1, .beside = "m"};
        if (kl_quick_fits(&l, &want, of[i].own, of[i].left) != of[i].fits)
            fail_msg("row %zu: a quick match", i);
        if (kl_quick_is_beside(&l, &beside) != of[i].beside) fail_msg("row %zu: beside", i);
        beside.named = true;
        if (kl_quick_is_beside(&l, &beside) != of[i].beside_in_quick)
            fail_msg("row %zu: in a quick match", i);
    }
}

TEST(seats_and_distance_must_fit) {
    struct kl_room_line l = room("a", 0);
    struct kl_quick_want other = want;
    other.seats = 2;
    assert_false(kl_quick_fits(&l, &other, "", ""));
    other.seats = 1;
    other.rtt_ms = 199; /* 12 frames last 200 ms */
    assert_true(kl_quick_fits(&l, &other, "", ""));
    other.rtt_ms = 201;
    assert_false(kl_quick_fits(&l, &other, "", ""));
}

/* Of two that each made a room, exactly one goes to the other's. */
TEST(two_meet) {
    char a[KL_NAME_MAX], b[KL_NAME_MAX];
    for (unsigned i = 0; i < 100; i++) {
        kl_quick_name(a);
        kl_quick_name(b);
        assert_true(strlen(a) < KL_NAME_MAX && strncmp(a, KL_QUICK_PREFIX, strlen(KL_QUICK_PREFIX)) == 0);
        struct kl_room_line of_a = room(a, 0), of_b = room(b, 0);
        assert_int_equal(kl_quick_fits(&of_b, &want, a, "") + kl_quick_fits(&of_a, &want, b, ""), 1);
        assert_false(kl_quick_fits(&of_a, &want, a, ""));
    }
}
