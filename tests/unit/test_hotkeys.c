/* Hot keys: what counts as one, and what the game sees of it. */
#include "tests/unit/unit.h"

#include <libretro.h>

#include "core_wrapper/words/hotkeys.h"

#define BIT(id) (1u << RETRO_DEVICE_ID_JOYPAD_##id)
#define MS      UINT64_C(1000)

static struct kl_hotkeys k;
static const char *action;
static char err[300];

static uint16_t poll(unsigned port, unsigned pad, uint64_t ms) {
    return kl_hotkeys_filter(&k, port, (uint16_t)pad, 1000000 + ms * MS, &action);
}

static int set_up(void **state) {
    (void)state;
    return kl_hotkeys_parse(&k, "select+r:panel, select+l:pause,l3+r3:reset", err, sizeof err);
}

/* Polls of a story: the pad at that time, the part that the game sees, and the action, or NULL. Each story
 * begins at 0 ms. */
TEST(presses_are_hot_keys_or_the_games) {
    enum { SELECT = BIT(SELECT), R = BIT(R), L = BIT(L), A = BIT(A), L3 = BIT(L3), R3 = BIT(R3) };
    static const struct {
        unsigned port, ms, pad, game;
        const char *action;
    } poll_of[] = {
        {0, 0, SELECT, SELECT, NULL}, /* held, then pressed */
        {0, 399, SELECT, SELECT, NULL},
        {0, 400, SELECT | R, SELECT, "panel"},
        {0, 500, SELECT | R, SELECT, NULL}, /* once */
        {0, 600, R, 0, NULL},               /* nor does the game see R after Select is up */
        {0, 700, 0, 0, NULL},
        {0, 800, R, R, NULL},         /* a fresh press is its own */
        {0, 0, SELECT, SELECT, NULL}, /* too soon */
        {0, 200, SELECT | R, SELECT | R, NULL},
        {0, 900, SELECT | R, SELECT | R, NULL}, /* held on: still the game's */
        {0, 1000, SELECT, SELECT, NULL},
        {0, 1100, SELECT | R | A, SELECT | A, "panel"}, /* A is no hot key */
        {0, 0, SELECT, SELECT, NULL},                   /* let go: it counts anew */
        {0, 500, 0, 0, NULL},
        {0, 600, SELECT, SELECT, NULL},
        {0, 800, SELECT | L, SELECT | L, NULL},
        {0, 0, SELECT, SELECT, NULL}, /* pads are apart */
        {1, 500, R, R, NULL},
        {1, 600, L3, L3, NULL},
        {1, 1000, L3 | R3, L3, "reset"},
        {0, 1100, SELECT | L, SELECT, "pause"},
    };
    for (size_t i = 0; i < COUNT(poll_of); i++) {
        if (poll_of[i].ms == 0) assert_int_equal(set_up(NULL), 0);
        unsigned game = poll(poll_of[i].port, poll_of[i].pad, poll_of[i].ms);
        if (game != poll_of[i].game || !action != !poll_of[i].action)
            fail_msg("poll %zu: the game sees %x, the action is %s", i, game, action ? action : "none");
        if (action) assert_string_equal(action, poll_of[i].action);
    }
    assert_int_equal(kl_hotkeys_filter(&k, KL_MAX_SEATS, 0xffff, 0, &action), 0xffff);
}

TEST_WITH(held_until_one_button_is_up, set_up, NULL) {
    poll(0, BIT(SELECT), 0);
    poll(0, BIT(SELECT) | BIT(R), 300); /* too soon */
    assert_false(kl_hotkeys_held(&k, "panel"));
    poll(0, BIT(SELECT), 350);
    poll(0, BIT(SELECT) | BIT(R), 400);
    assert_true(kl_hotkeys_held(&k, "panel"));
    assert_false(kl_hotkeys_held(&k, "pause"));
    poll(0, BIT(SELECT) | BIT(R), 9000);
    assert_true(kl_hotkeys_held(&k, "panel"));
    poll(0, BIT(R), 9016);
    assert_false(kl_hotkeys_held(&k, "panel"));
}

TEST(a_hot_key_for_talking) {
    assert_int_equal(kl_hotkeys_parse(&k, KL_HOTKEYS_DEFAULT, err, sizeof err), 0);
    k.push_to_talk = true;
    poll(0, BIT(SELECT), 0);
    assert_int_equal(poll(0, BIT(SELECT) | BIT(START), 400), 0);
    assert_true(kl_hotkeys_held(&k, "talk"));
    assert_int_equal(poll(0, BIT(SELECT) | BIT(START) | BIT(UP), 5000), BIT(UP)); /* the player plays on */
    assert_int_equal(poll(0, BIT(SELECT), 5100), 0);
    assert_false(kl_hotkeys_held(&k, "talk"));
    poll(0, 0, 5200);
    assert_int_equal(poll(0, BIT(SELECT), 5300), BIT(SELECT));
}

TEST(without_push_to_talk_its_buttons_are_the_games) {
    assert_int_equal(kl_hotkeys_parse(&k, KL_HOTKEYS_DEFAULT, err, sizeof err), 0);
    poll(0, BIT(SELECT), 0);
    assert_int_equal(poll(0, BIT(SELECT) | BIT(START), 400), BIT(SELECT) | BIT(START));
    assert_false(kl_hotkeys_held(&k, "talk"));
    assert_null(action);
}

TEST(a_key_for_talking) {
    static const struct {
        const char *list, *name;
        unsigned key, count;
    } good[] = {{KL_HOTKEYS_DEFAULT, "Select+Start or rctrl", RETROK_RCTRL, 15},
                {"t:talk", "t", RETROK_t, 0},
                {"9:talk , select+r:say a, b", "9", RETROK_9, 1},
                {"select+r:say a, b,capslock:talk", "capslock", RETROK_CAPSLOCK, 1},
                {"select+r:say hm,t:talk about it", "", 0, 1},
                {"l+r:talk", "L+R", 0, 1}};
    char name[KL_HOTKEYS_NAME];
    for (size_t i = 0; i < COUNT(good); i++) {
        if (kl_hotkeys_parse(&k, good[i].list, err, sizeof err) != 0) fail_msg("%s", err);
        assert_int_equal(k.talk_key, good[i].key);
        assert_int_equal(k.count, good[i].count);
        kl_hotkeys_talk_name(&k, name);
        assert_string_equal(name, good[i].name);
    }
    assert_string_equal(k.key[0].words, "talk");
}

/* Whatever `keylock command` takes. */
TEST(any_command) {
    const char *list =
        "select+x:policy strict,select+y:say well, played, select+a:disk next ,start+b:host bob";
    static const char *const words[] = {"policy strict", "say well, played", "disk next", "host bob"};
    if (kl_hotkeys_parse(&k, list, err, sizeof err) != 0) fail_msg("%s", err);
    assert_int_equal(k.count, COUNT(words));
    for (unsigned i = 0; i < COUNT(words); i++)
        assert_string_equal(k.key[i].words, words[i]);
    poll(0, BIT(SELECT), 0);
    poll(0, BIT(SELECT) | BIT(Y), 500);
    assert_string_equal(action, "say well, played");
    assert_int_equal(kl_hotkeys_parse(&k, "select+x:policy fair", err, sizeof err), -1);
    assert_non_null(strstr(err, "select+x:policy fair: expected policy strict"));
    assert_int_equal(kl_hotkeys_parse(&k, "select+x:say a,selec+y:pause", err, sizeof err), -1);
    char line[KL_HOTKEYS_WORDS + 40] = "select+x:say ";
    memset(line + 13, 'x', KL_HOTKEYS_WORDS);
    assert_int_equal(kl_hotkeys_parse(&k, line, err, sizeof err), -1);
}

static int set_up_leave(void **state) {
    (void)state;
    return kl_hotkeys_parse(&k, "select+b:leave,select+r:panel", err, sizeof err);
}

/* Both buttons for 2 s: nobody leaves a match by a slip of the thumb. */
TEST_WITH(leaving_takes_two_seconds, set_up_leave, NULL) {
    const unsigned both = BIT(SELECT) | BIT(B);
    poll(0, BIT(SELECT), 0);
    assert_int_equal(poll(0, both, 500), BIT(SELECT));
    assert_int_equal(kl_hotkeys_leave_us(&k, 1000000 + 500 * MS), 2000000);
    poll(0, both, 2499);
    assert_null(action);
    assert_int_equal(kl_hotkeys_leave_us(&k, 1000000 + 2499 * MS), 1000);
    poll(0, both, 2500);
    assert_string_equal(action, "leave");
    assert_int_equal(kl_hotkeys_leave_us(&k, 1000000 + 2500 * MS), 0);
    assert_int_equal(poll(0, both, 2600), BIT(SELECT)); /* once, and still not the game's */
    assert_null(action);
    poll(0, 0, 2700);
}

TEST_WITH(letting_go_is_staying, set_up_leave, NULL) {
    static const unsigned left[] = {BIT(SELECT), BIT(B), 0};
    for (unsigned i = 0; i < COUNT(left); i++) {
        uint64_t at = 10000 * (i + 1);
        poll(1, 0, at - 100);
        poll(1, BIT(SELECT), at);
        poll(1, BIT(SELECT) | BIT(B), at + 500);
        poll(1, left[i], at + 2000);
        assert_int_equal(kl_hotkeys_leave_us(&k, 1000000 + (at + 2000) * MS), 0);
        poll(1, BIT(SELECT) | BIT(B), at + 2100); /* begins anew, if at all */
        poll(1, BIT(SELECT) | BIT(B), at + 3000);
        assert_null(action);
    }
}

/* As RetroArch's own settings for a keyboard have them. Sticks and lower shoulders have no keys there. */
TEST(keys_of_a_keyboard) {
    char typed[KL_HOTKEYS_NAME];
    kl_hotkeys_parse(&k, KL_HOTKEYS_DEFAULT, err, sizeof err);
    kl_hotkeys_typed(kl_hotkeys_find(&k, "leave"), "+", typed);
    assert_string_equal(typed, "right Shift+Z");
    kl_hotkeys_typed(kl_hotkeys_find(&k, "panel"), ", ", typed);
    assert_string_equal(typed, "right Shift, W");
    kl_hotkeys_typed(kl_hotkeys_find(&k, "say Hello!"), ", ", typed);
    assert_string_equal(typed, "right Shift, Up");
    kl_hotkeys_typed(kl_hotkeys_find(&k, "swap"), ", ", typed);
    assert_string_equal(typed, "");
    kl_hotkeys_typed(NULL, ", ", typed);
    assert_string_equal(typed, "");
}

TEST(lists) {
    static const char *const bad[] = {
        "",
        "on",
        "select+r",
        "select:panel",
        "select+r:dance",
        "select+select:pause",
        "select+r:",
        "selec+r:pause",
        "select+rr:pause",
        "select+r:panel,",
        "r:panel+select",
        "select+r:panel;select+l:pause",
        "rctrl",
        "rctrl:panel",
        "rcontrol:talk",
        "T:talk",
        "rctrl:talk,t:talk",
        ":talk",
    };
    for (size_t i = 0; i < COUNT(bad); i++) {
        err[0] = 0;
        if (kl_hotkeys_parse(&k, bad[i], err, sizeof err) == 0) fail_msg("\"%s\" was taken", bad[i]);
        assert_non_null(strstr(err, "expected"));
        assert_int_equal(k.count, 0);
        assert_int_equal(k.talk_key, 0);
    }
    assert_int_equal(kl_hotkeys_parse(&k, KL_HOTKEYS_DEFAULT, err, sizeof err), 0);
    assert_int_equal(k.count, 15);
    assert_int_equal(k.talk_key, RETROK_RCTRL);
    char name[KL_HOTKEYS_NAME];
    kl_hotkeys_name(kl_hotkeys_find(&k, "again"), "+", name);
    assert_string_equal(name, "Select+X");
    kl_hotkeys_name(kl_hotkeys_find(&k, "swap"), ", press ", name);
    assert_string_equal(name, "Select, press L3");
    kl_hotkeys_name(kl_hotkeys_find(&k, "kick bob"), "+", name);
    assert_string_equal(name, "");
    assert_int_equal(kl_hotkeys_parse(&k, "off", err, sizeof err), 0);
    poll(0, BIT(SELECT), 0);
    assert_int_equal(poll(0, BIT(SELECT) | BIT(R), 500), BIT(SELECT) | BIT(R));
    assert_null(action);
    char many[32 * (KL_HOTKEYS_MAX + 1)] = "";
    for (unsigned i = 0; i <= KL_HOTKEYS_MAX; i++)
        strcat(many, i ? ",select+r:panel" : "select+r:panel");
    assert_int_equal(kl_hotkeys_parse(&k, many, err, sizeof err), -1);
}
