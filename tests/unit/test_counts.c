/* The counts of players' hands and machines (core_wrapper/tool/desync/counts.h), and of differing checks. */
#include "tests/unit/unit.h"

#include "core_wrapper/tool/desync/verify.h"
#include "core_wrapper/tool/probe/probe.h"

#define FRAMES 600
static struct kl_recorded_input input[FRAMES];
static struct kl_counted out[KLT_COUNTED];

/* A seat's button 8 goes down every `every` frames, for two. */
static unsigned press(unsigned count, uint8_t seat, uint32_t from, uint32_t to, uint32_t every) {
    for (uint32_t f = from; f < to; f++)
        if ((f - from) % every % 2 == 0 && (f - from) % every <= 2)
            input[count++] =
                (struct kl_recorded_input){f, seat, {.joypad = (uint16_t)((f - from) % every ? 0 : 0x100)}};
    return count;
}

TEST(each_player_has_the_presses_of_the_own_time) {
    static struct kl_recorded_seats seats[] = {{0, 0, 1, "ann"}, {240, 0, 0, "ann"}, {240, 1, 1, "bob"}};
    static struct kl_recorded_active active[] = {{0, 1}, {100, 0}, {130, 1}};
    struct kl_recording r = {.input = input,
                             .seats = seats,
                             .seatings = 3,
                             .active = active,
                             .actives = 3,
                             .frames = FRAMES,
                             .whole = FRAMES};
    r.inputs = press(0, 0, 0, 240, 4);
    r.inputs = press(r.inputs, 0, 240, FRAMES, 20);
    assert_int_equal(kl_counts(&r, out), 2);
    assert_string_equal(out[0].name, "ann");
    assert_true(out[0].presses == 60 && out[0].fastest == 15 && out[0].away == 30);
    assert_string_equal(out[1].name, "bob");
    assert_int_equal(out[1].presses, 18);
    assert_int_equal(out[1].away, 0);
    r.room.has_params = true;
    r.room.params.fps_uhz = 120000000;
    (void)kl_counts(&r, out);
    assert_int_equal(out[0].fastest, 30);
}

TEST(of_a_tie_both_sides_count) {
    static struct kl_recorded_seats seats[] = {{0, 0, 1, "ann"}, {0, 1, 2, "bob"}, {0, 2, 4, "cat"}};
    static struct kl_klr_hash hash[] = {{59, 1, KL_HASH_RAM, 5, 0, 0}, {119, 3, KL_HASH_RAM, 7, 0, 0}},
                              other[] = {{59, 2, KL_HASH_RAM, 6, 0, 0},
                                         {119, 4, KL_HASH_RAM | KL_HASH_STATE, 7, 1, 0},
                                         {119, 4, KL_HASH_RAM, 8, 0, 0}};
    struct kl_recording r = {.seats = seats,
                             .seatings = 3,
                             .hash = hash,
                             .hashes = 2,
                             .other = other,
                             .others = 3,
                             .frames = 200,
                             .whole = 200};
    hash[1].has |= KL_HASH_STATE; /* the state alone is no desync */
    assert_int_equal(kl_counts(&r, out), 3);
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(out[i].desyncs, 1);
}

TEST(checks_of_a_probe_that_differ_are_counted) {
    struct kl_measure_check one[] = {{.hash = {.frame = 9, .has_ram = true, .ram = 1}, .compared = true},
                                     {.hash = {.frame = 19, .has_ram = true}, .compared = true},
                                     {.hash = {.frame = 29, .has_ram = true, .ram = 3}}},
                            other[] = {{.hash = {.frame = 19, .has_ram = true, .ram = 2}},
                                       {.hash = {.frame = 29, .has_ram = true, .ram = 4}}};
    one[0].state_same = true;
    struct kl_probe_result a = {.check = one, .checks = COUNT(one)},
                           b = {.check = other, .checks = COUNT(other)};
    struct kl_agreement v = kl_agreement_within(&a);
    assert_true(v.compared == 2 && v.ram_bad == 2 && v.state_bad == 1 && v.has_ram);
    v = kl_agreement_between(&a, &b);
    assert_true(v.compared == 2 && v.ram_bad == 2 && v.state_bad == 0 && v.has_ram);
}
