/* The room of a player who named none: it depends on the game. */
#include "tests/unit/unit.h"

#include <stdio.h>
#include <string.h>

#include <sodium.h>

#include "core_wrapper/match/wanted_room.h"

static struct kl_facts content(const char *value) {
    struct kl_facts f = {0};
    kl_facts_add(&f, "core", "the version is none of it");
    kl_facts_add(&f, "content", value);
    return f;
}

static const char *name_of(const char *core, const char *value, bool password, unsigned nth) {
    static char out[8][KL_NAME_MAX];
    static unsigned next;
    struct kl_facts f = content(value);
    kl_room_name(out[next = (next + 1) % 8], core, &f, password, nth);
    return out[next];
}

TEST(depends_on_core_and_game) {
    const char *a = name_of("Nestopia", "xxh3 0123456789abcdef (24592 bytes, a.nes)", false, 0);
    assert_int_equal(strncmp(a, "nestopia-", 9), 0);
    assert_int_equal(strlen(a), 15);
    assert_string_equal(a,
                        name_of("Nestopia", "xxh3 0123456789abcdef (24592 bytes, other name.nes)", false, 0));
    assert_string_not_equal(a, name_of("Nestopia", "xxh3 0123456789abcdee (24592 bytes, a.nes)", false, 0));
    assert_string_not_equal(a + 9,
                            name_of("Mesen", "xxh3 0123456789abcdef (24592 bytes, a.nes)", false, 0) + 6);
    assert_string_not_equal(a, name_of("Nestopia", "xxh3 0123456789abcdef (24592 bytes, a.nes)", true, 0));
    assert_string_not_equal(a, name_of("Nestopia", "none", false, 0));
}

/* Two friends whose sets differ meet, and are told the difference. */
TEST(a_set_counts_by_its_name) {
    const char *a = name_of("FinalBurn Neo", "kof98.zip members 01 (12 of them)", false, 0);
    const char *b = name_of("FinalBurn Neo", "set kof98 (kof98.zip)", false, 0);
    assert_string_equal(b, name_of("FinalBurn Neo", "set kof98 (kof98.7z)", false, 0));
    assert_string_not_equal(b, name_of("FinalBurn Neo", "set kof99 (kof99.zip)", false, 0));
    assert_int_equal(strncmp(a, "finalburn-", 10), 0);
    assert_string_equal(a, name_of("FinalBurn Neo", "kof98.7z members 02 (13 of them)", false, 0));
    assert_string_not_equal(a, name_of("FinalBurn Neo", "kof99.zip members 01 (12 of them)", false, 0));
}

TEST(the_next_one_of_the_game) {
    char expected[KL_NAME_MAX + 2];
    const char *a = name_of("A core of a very long name indeed", "none", false, 0);
    snprintf(expected, sizeof expected, "%s-2", a);
    assert_string_equal(name_of("A core of a very long name indeed", "none", false, 1), expected);
    const char *long_one = name_of("abcdefghijklmnopqrstuvw", "none", false, KL_ROOM_NAMES - 1);
    assert_int_equal(strlen(long_one), 12 + 1 + 6 + 2);
    assert_int_equal(strncmp(name_of("\xc3\xa9 \"../", "none", false, 0), "game-", 5), 0);
}

TEST(games_for_people) {
    static const char *const t[][2] = {
        {"xxh3 0123456789abcdef (24592 bytes, my game.nes)", "my game.nes"},
        {"xxh3 0123456789abcdef (24592 bytes, a name that is cut by the li", "a name that is cut by the li"},
        {"kof98.zip members 0123456789abcdef (12 of them)", "kof98.zip"},
        {"set kof98 (kof98.7z)", "kof98.7z"},
        {"set a very long name (a very long na", "a very long na"},
        {"none", "none"},
        {"", ""},
        {" members ", " members "},
    };
    char game[KL_FACT_NAME_MAX];
    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
        kl_fact_name(game, t[i][0]);
        assert_string_equal(game, t[i][1]);
    }
}

int main(void) {
    return sodium_init() < 0 ? 1 : run_all_tests(NULL, NULL);
}
