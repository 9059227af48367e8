/* rand(), whose range is compiled into a core: the cores whose use of it is known, and what they get on Linux
 * and on Windows. */
#include "tests/unit/unit.h"

#include <stdlib.h>

#include "core_wrapper/start/identity.h"
#include "core_wrapper/start/rand_use.h"
#include "core_wrapper/world/world_private.h"

#define LINUX   2147483647 /* RAND_MAX */
#define WINDOWS 32767

TEST(cores_are_known_by_their_names) {
    assert_int_equal(kl_rand_use("FinalBurn Neo", NULL), KL_RAND_LOW);
    assert_int_equal(kl_rand_use("FinalBurn Neo (cpsneo subset)", "/games/1941.zip"), KL_RAND_LOW);
    assert_int_equal(kl_rand_use("Nestopia ", "a.nes"), KL_RAND_LOW);
    assert_int_equal(kl_rand_use("Genesis Plus GX", "a.md"), KL_RAND_UPPER);
    assert_int_equal(kl_rand_use("Genesis Plus", "a.md"), KL_RAND_SYSTEM);
    assert_int_equal(kl_rand_use("Genesis Plus GX Wide", "a.md"), KL_RAND_SYSTEM);
    assert_int_equal(kl_rand_use("Nestopia UE", NULL), KL_RAND_SYSTEM);
    assert_int_equal(kl_rand_use("", "a.nes"), KL_RAND_SYSTEM);
    assert_int_equal(kl_rand_use(" (", "a.nes"), KL_RAND_SYSTEM);
    assert_int_equal(kl_rand_use(NULL, "a.nes"), KL_RAND_SYSTEM);
}

/* Radar Scope is another game on another system, FBNeo's others are not. */
TEST(a_game_of_an_arcade_core_may_have_a_use_of_its_own) {
    assert_int_equal(kl_rand_use("FinalBurn Neo", "/games/radarscp.zip"), KL_RAND_SYSTEM);
    assert_int_equal(kl_rand_use("FinalBurn Neo (x subset)", "radarscp1.7z"), KL_RAND_SYSTEM);
    assert_int_equal(kl_rand_use("FinalBurn Neo", "radarscpc"), KL_RAND_SYSTEM);
    assert_int_equal(kl_rand_use("FinalBurn Neo", "radarscp/dkong.zip"), KL_RAND_LOW);
    assert_int_equal(kl_rand_use("FinalBurn Neo", "radarsc.zip"), KL_RAND_LOW);
    assert_int_equal(kl_rand_use("MAME 2003-Plus", "radarscp.zip"), KL_RAND_SYSTEM);
    assert_int_equal(kl_rand_use("MAME 2003-Plus", "pacman.zip"), KL_RAND_LOW);
}

static uint64_t draws_upper(unsigned n) {
    return (uint64_t)n << 49 | (kl_world_mix(n) >> 15); /* any bits below */
}

/* Genesis Plus GX, core/genesis.c: the 68000's place in the frame at a reset; lines: 262 or 313. */
static uint32_t cycles_at_reset(int drawn, int rand_max, int lines) {
    return (uint32_t)((3420 * lines) * ((double)drawn / (double)rand_max)) / 7 * 7;
}

TEST(all_numbers_serve_both_systems) {
    for (unsigned n = 0; n <= WINDOWS; n++) {
        uint64_t drawn = draws_upper(n);
        int low = kl_world_rand_of(drawn, KL_RAND_LOW, LINUX),
            all = kl_world_rand_of(drawn, KL_RAND_UPPER, LINUX);
        assert_int_equal(low, n);
        assert_int_equal(kl_world_rand_of(drawn, KL_RAND_LOW, WINDOWS), n);
        assert_int_equal(kl_world_rand_of(drawn, KL_RAND_UPPER, WINDOWS), n);
        assert_int_equal(kl_world_rand_of(drawn, KL_RAND_SYSTEM, WINDOWS), n);
        assert_int_equal(kl_world_rand_of(drawn, KL_RAND_SYSTEM, LINUX), drawn >> 33);
        assert_int_equal(all > LINUX / 2, n > WINDOWS / 2);
        assert_int_equal(cycles_at_reset(all, LINUX, 262), cycles_at_reset((int)n, WINDOWS, 262));
        assert_int_equal(cycles_at_reset(all, LINUX, 313), cycles_at_reset((int)n, WINDOWS, 313));
    }
    assert_int_equal(kl_world_rand_of(draws_upper(0), KL_RAND_UPPER, LINUX), 0);
    assert_int_equal(kl_world_rand_of(draws_upper(WINDOWS), KL_RAND_UPPER, LINUX), LINUX);
}

static void value_of(char out[KL_FACT_VAL_MAX], enum kl_rand_use use) {
    struct kl_facts facts = {0};
    kl_identity_rand(&facts, &(struct kl_world_report){.rand = true}, use);
    assert_int_equal(facts.count, 1);
    assert_string_equal(facts.fact[0].key, "rand()");
    memcpy(out, facts.fact[0].value, KL_FACT_VAL_MAX);
    out[kl_fact_length(out)] = 0;
}

TEST(the_identity_tells_the_use) {
    char value[KL_FACT_VAL_MAX];
    struct kl_facts facts = {0};
    kl_identity_rand(&facts, &(struct kl_world_report){.rand = false}, KL_RAND_LOW);
    assert_int_equal(facts.count, 0);
    value_of(value, KL_RAND_LOW);
    assert_string_equal(value, "lower 15 bits");
    value_of(value, KL_RAND_UPPER);
    assert_string_equal(value, "upper 15 bits");
    value_of(value, KL_RAND_SYSTEM);
    assert_string_equal(value, RAND_MAX > WINDOWS ? "31 bits" : "15 bits");
}
