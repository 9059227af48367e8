/* A profile of a core: what is taken, what is refused, and what a mask leaves of a state. */
#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <xxhash.h>

#include "core_wrapper/profile/profile.h"

static char err[300];

/* A good profile with one place changed; NULL: none. */
static int parse(struct kl_profile *p, const char *from, const char *to) {
    static const char good[] =
        "{\"keylock_profile\": 2, \"key\": {\"core\": \"Probe 1\", \"content\": {\"xxh3\": \"00ff\"}, "
        "\"state_bytes\": 1000, "
        "\"state_bytes_constant\": true}, \"room\": {\"mask\": [[4, 7], [100, 105]], \"states_equal\": "
        "false, "
        "\"load_own\": true, \"snapshots\": false, \"hide\": false, \"hash_every\": 300}, \"verdict\": "
        "\"what else is there\"}";
    char text[1000];
    const char *at = from ? strstr(good, from) : NULL;
    assert_true(!from || at);
    if (at)
        snprintf(text, sizeof text, "%.*s%s%s", (int)(at - good), good, to, at + strlen(from));
    else
        strcpy(text, good);
    err[0] = 0;
    return kl_profile_parse(p, text, strlen(text), err, sizeof err);
}

TEST(a_good_one) {
    struct kl_profile p;
    assert_int_equal(parse(&p, NULL, NULL), 0);
    assert_string_equal(p.core, "Probe 1");
    assert_string_equal(p.content, "xxh3 00ff");
    assert_int_equal(p.room.mask.state_bytes, 1000);
    assert_int_equal(p.room.mask.count, 2);
    assert_int_equal(kl_mask_bytes(&p.room.mask), 10);
    assert_true(p.room.no_snapshots && p.room.load_own && p.room.show_all && !p.room.states_equal);
    assert_int_equal(p.room.hash_every, 300);
    assert_int_equal(parse(&p, "{\"xxh3\": \"00ff\"}", "{\"name\": \"a.zip\", \"members\": \"00ff\"}"), 0);
    assert_string_equal(p.content, "a.zip members 00ff");
    assert_int_equal(parse(&p, "{\"xxh3\": \"00ff\"}", "{\"name\": \"x.cue\"}"), 0);
    assert_string_equal(p.content, "x.cue");
    assert_int_equal(parse(&p, "{\"xxh3\": \"00ff\"}", "null"), 0);
    assert_string_equal(p.content, "none");
    assert_string_equal(p.no_ahead, "");
    assert_int_equal(parse(&p, "\"verdict\"", "\"no_ahead\": \"it crashes\", \"verdict\""), 0);
    assert_string_equal(p.no_ahead, "it crashes");
}

TEST(bad_ones) {
    static const struct {
        const char *from, *to, *says;
    } bad[] = {
        {"\"keylock_profile\": 2", "\"keylock_profile\": 1", "from 2 to 2, got 1"},
        {"\"keylock_profile\": 2, ", "", "\"keylock_profile\": expected int, got none"},
        {"{\"xxh3\": \"00ff\"}", "\"xxh3 00ff\"", "\"content\": expected object, got string"},
        {"{\"xxh3\": \"00ff\"}", "{}", "\"name\": expected string, got none"},
        {"{\"keylock", "[{\"keylock", "JSON"},
        {"what else is there\"", "", "JSON"},
        {"\"room\": {", "\"rooms\": {", "\"room\": expected object, got none"},
        {"\"Probe 1\"", "7", "\"core\": expected string, got int"},
        {"1000", "-1", "\"state_bytes\": expected a number from 0"},
        {"1000", "1e3", "\"state_bytes\": expected int, got double"},
        {"1000", "99999999999999999999", "expected a"}, /* json-c from 0.17 on refuses it while it reads */
        {"1000", "999", "more than 1 %"},
        {"105]", "106]", "more than 1 %"},
        {"105]", "1000]", "reaches past the state"},
        {"105]", "99]", "ends before it begins"},
        {"[100, 105]", "[8, 9]", "not in order, or touch"},
        {"[100, 105]", "[1, 2]", "not in order, or touch"},
        {"[100, 105]", "[100]", "expected ranges [first, last]"},
        {"[100, 105]", "[100, \"b\"]", "\"mask\": expected a number"},
        {"constant\": true", "constant\": false",
         "reaches past the state"}, /* offsets in states of any size */
        {"states_equal\": false", "states_equal\": true", "beside a mask"},
        {"\"load_own\": true", "\"load_own\": \"yes\"", "\"load_own\": expected boolean, got string"},
        {"\"verdict\"", "\"no_ahead\": 7, \"verdict\"", "\"no_ahead\": expected string, got int"},
        {"300", "0", "\"hash_every\": expected a number from 1 to 65535, got 0"},
    };
    struct kl_profile p;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(parse(&p, bad[i].from, bad[i].to), -1);
        if (!strstr(err, bad[i].says))
            fail_msg("%s: expected \"%s\", got \"%s\"", bad[i].to, bad[i].says, err);
    }
    assert_int_equal(kl_profile_parse(&p, "", 0, err, sizeof err), -1);
    assert_int_equal(kl_profile_parse(&p, "{}\0{}", 5, err, sizeof err), -1);
    assert_int_equal(kl_profile_parse(&p, "null", 4, err, sizeof err), -1);
    assert_int_equal(kl_profile_read(&p, "/nowhere/at/all.json", err, sizeof err), 1);
    assert_int_equal(kl_profile_read(&p, "/", err, sizeof err), -1);
    assert_non_null(strstr(err, "plain file"));
}

TEST(names_and_fit) {
    struct kl_profile p;
    char name[KL_PROFILE_NAME_MAX];
    assert_int_equal(parse(&p, NULL, NULL), 0);
    kl_profile_name(name, "Probe 1", "xxh3 00ff (3 bytes, x.nes)");
    assert_string_equal(name, "Probe_1-xxh3_00ff.json");
    kl_profile_name(name, "../a/b", "..");
    assert_string_equal(name, "_._a_b-...json");
    assert_true(kl_profile_fits(&p, "Probe 1", "xxh3 00ff (3 bytes, y.nes)", err, sizeof err));
    assert_false(kl_profile_fits(&p, "Probe 2", "xxh3 00ff", err, sizeof err));
    assert_string_equal(err, "expected a profile of the core Probe 2, found one of Probe 1");
    assert_false(kl_profile_fits(&p, "Probe 1", "xxh3 00fe (3 bytes, x.nes)", err, sizeof err));
    assert_string_equal(err, "expected a profile of the content xxh3 00fe, found one of xxh3 00ff");
}

TEST(a_hash_leaves_out_masked_bytes) {
    uint8_t a[1000], b[1000];
    struct kl_mask m = {.state_bytes = 1000, .count = 2, .range = {{0, 3}, {996, 999}}}, none = {0};
    bool used;
    for (unsigned i = 0; i < 1000; i++)
        a[i] = b[i] = (uint8_t)i;
    b[3] = b[996] = 77;
    assert_true(kl_mask_hash(&m, a, 1000, &used) == kl_mask_hash(&m, b, 1000, &used) && used);
    assert_true(kl_mask_hash(&m, a, 1000, &used) == XXH3_64bits(a + 4, 992));
    assert_true(kl_mask_hash(&none, b, 1000, &used) == XXH3_64bits(b, 1000) && used);
    b[4] ^= 1;
    assert_true(kl_mask_hash(&m, a, 1000, &used) != kl_mask_hash(&m, b, 1000, &used));
    assert_true(kl_mask_hash(&m, b, 999, &used) == XXH3_64bits(b, 999) &&
                !used); /* of another size: all of it */
}

TEST(costly_states_are_hashed_more_seldom) {
    assert_int_equal(kl_profile_hash_every(0), 60);
    assert_int_equal(kl_profile_hash_every(400), 60);
    assert_int_equal(kl_profile_hash_every(2000), 60);
    assert_int_equal(kl_profile_hash_every(10000), 300);
    assert_int_equal(kl_profile_hash_every(1e9), 3600);
}

static struct kl_mask mask_of(uint32_t from, uint32_t to, uint32_t from2, uint32_t to2) {
    return (struct kl_mask){.state_bytes = 100000, .count = 2, .range = {{from, to}, {from2, to2}}};
}

TEST(masks_of_two_games_are_added) {
    static struct kl_mask a, b;
    a = mask_of(10, 19, 100, 109);
    b = mask_of(15, 20, 110, 119);
    assert_true(kl_mask_add(&a, &b));
    assert_int_equal(a.count, 2);
    assert_int_equal(a.range[0].from, 10);
    assert_int_equal(a.range[0].to, 20);
    assert_int_equal(a.range[1].to, 119);
    b = mask_of(5, 8, 30, 33);
    assert_true(kl_mask_add(&a, &b));
    assert_int_equal(a.count, 4);
    assert_null(kl_mask_bad(&a));
}

TEST(a_sum_of_masks_over_a_percent_is_refused) {
    static struct kl_mask a, b, before;
    a = before = mask_of(0, 499, 1000, 1399);
    b = mask_of(2000, 2099, 3000, 3000);
    assert_false(kl_mask_add(&a, &b));
    assert_memory_equal(&a, &before, sizeof a);
    b.state_bytes = 4;
    assert_false(kl_mask_add(&a, &b));
}

TEST(a_core_keeps_the_findings_of_all_its_games) {
    static struct kl_profile_room core, game;
    char any[KL_FACT_VAL_MAX];
    core = game = (struct kl_profile_room){0};
    core.mask = mask_of(10, 19, 100, 109);
    game.mask = mask_of(200, 209, 300, 309);
    game.load_own = true;
    kl_profile_any_add(&core, &game);
    assert_int_equal(core.mask.count, 4);
    assert_true(core.load_own);
    assert_false(core.show_all);
    kl_profile_any(any, 100000);
    assert_string_equal(any, "any with states of 100000 bytes");
}
