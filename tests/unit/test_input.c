/* One seat's devices: folding, the map from samples to frames, and codes that are refused; those that are
 * taken: tests/conformance/decode.py, fuzz_input. net/PROTOCOL.md §3, docs/design.md §3. */
#include "tests/unit/unit.h"

#include "net/engine/input.h"

static struct kl_input everything(void) {
    return (struct kl_input){
        .joypad = 0xa5a5,
        .stick = {-32768, 32767, 1, -1},
        .trigger = {32767, 0},
        .mouse_x = -32768,
        .mouse_y = 32767,
        .mouse_buttons = 0xffff,
        .gun_x = -5,
        .gun_y = 5,
        .gun_buttons = (1u << 20) - 1,
        .touch = {{-32767, 32767, true}, {1, 2, false}},
        .all_up = true,
        .key_count = KL_KEYS,
        .key = {{1, 2, 3, true}, {343, 65535, 0x10ffff, false}, {0, 0, 0, true}, {7, 0, 97, false}}};
}

/* Reads an input; true where it was accepted and nothing is left over. */
static bool decode(const uint8_t *b, size_t len, struct kl_input *out) {
    struct kl_input_decoder d;
    kl_input_decoder_init(&d);
    struct kl_reader r = kl_reader(b, len);
    kl_input_decode(&d, &r, out);
    return !r.failed && kl_reader_left(&r) == 0 && d.run_left == 0;
}

TEST(a_reader_rejects_malformed_inputs) {
    static const struct {
        const char *b;
        size_t len;
    } bad[] = {
        {"\x00", 1},                          /* no group */
        {"\x01\x00\x00", 3},                  /* a joypad that says nothing new */
        {"\x03\x01\x00\0\0\0\0\0\0\0\0", 11}, /* sticks that say nothing new */
        {"\x08\x80\x80\x04\x00\x00", 6},      /* motion of 32768 */
        {"\x08\x02\x00\x80\x80\x04", 6},      /* mouse buttons of 65536 */
        {"\x10\0\0\0\0\x02\0\0\0\0\0", 11},   /* pressed = 2 */
        {"\x20\0\0\0\0\x80\x80\x40", 8},      /* gun buttons of 2^20 */
        {"\x40\x00", 2},                      /* no key */
        {"\x40\x05\x01\0\0\0\x01\0\0\0\x01\0\0\0\x01\0\0\0\x01\0\0\0", 22}, /* five keys */
        {"\x40\x01\x01\0\x80\x80\x88\x01\0", 9},                            /* a character of 0x110000 */
        {"\x40\x01\x01\0\0\x80\x80\x04", 8},                                /* modifiers of 65536 */
        {"\x40\x01\x58\x01\0\0", 6},                                        /* a code of 344 */
        {"\x40\x85\x01\0\0\0\x01\0\0\0\x01\0\0\0\x01\0\0\0\x01\0\0\0", 22},
        {"\x81", 1}, /* a run past the end */
    };
    struct kl_input out;
    for (size_t i = 0; i < COUNT(bad); i++)
        if (decode((const uint8_t *)bad[i].b, bad[i].len, &out)) fail_msg("case %zu is accepted", i);
}

TEST(the_map_by_hand) {
    static const struct {
        uint32_t o, n, m, lo, hi;
    } table[] = {
        {0, 4, 4, 0, 1},   {3, 4, 4, 3, 4},                    /* as long: one to one */
        {0, 5, 3, 0, 1},   {1, 5, 3, 1, 3},   {2, 5, 3, 3, 5}, /* shorter: some take two */
        {0, 3, 5, 0, 1},   {1, 3, 5, 0, 1},   {2, 3, 5, 1, 2},
        {3, 3, 5, 1, 2},   {4, 3, 5, 2, 3},   /* longer: some repeat */
        {0, 1, 30, 0, 1},  {29, 1, 30, 0, 1}, /* subframes off */
        {0, 30, 1, 0, 30},                    /* all of them at once */
        {0, 3, 2, 0, 1},   {1, 3, 2, 1, 3},   {0, 2, 3, 0, 1},
        {1, 2, 3, 0, 1},   {2, 2, 3, 1, 2},
    };
    for (size_t i = 0; i < COUNT(table); i++) {
        uint32_t lo, hi;
        kl_input_map(table[i].o, table[i].n, table[i].m, &lo, &hi);
        assert_int_equal(lo, table[i].lo);
        assert_int_equal(hi, table[i].hi);
    }
}

/* Every sample is used, in order, and none is skipped, for every pair of lengths there is. */
TEST(the_map_leaves_nothing_out) {
    for (uint32_t n = 1; n <= KL_SPACING_MAX; n++)
        for (uint32_t m = 1; m <= KL_SPACING_MAX; m++) {
            uint32_t lo, hi, lo_before = 0, hi_before = 0;
            for (uint32_t o = 0; o < m; o++) {
                kl_input_map(o, n, m, &lo, &hi);
                assert_true(lo < hi && hi <= n && lo >= lo_before && hi >= hi_before && lo <= hi_before);
                if (lo < hi_before) assert_int_equal(hi, lo + 1); /* only ever one sample again */
                lo_before = lo;
                hi_before = hi;
            }
            assert_int_equal(hi, n);
        }
}

TEST(folding) {
    struct kl_input a = {.joypad = 1,
                         .stick = {1, 2, 3, 4},
                         .trigger = {5, 6},
                         .mouse_x = 30000,
                         .mouse_y = -30000,
                         .mouse_buttons = 1,
                         .gun_x = 1,
                         .gun_buttons = 4,
                         .touch = {{1, 2, true}, {3, 4, false}},
                         .key_count = 3,
                         .key = {{.code = 1}, {.code = 2}, {.code = 3}}};
    struct kl_input b = {.joypad = 2,
                         .stick = {9, 9, 9, 9},
                         .trigger = {8, 8},
                         .mouse_x = 30000,
                         .mouse_y = -30000,
                         .mouse_buttons = 2,
                         .gun_x = 7,
                         .gun_buttons = 8,
                         .touch = {{5, 6, false}, {7, 8, true}},
                         .key_count = 2,
                         .key = {{.code = 4}, {.code = 5}}};
    kl_input_fold(&a, &b);
    assert_int_equal(a.joypad, 3);
    assert_int_equal(a.stick[2], 9);
    assert_int_equal(a.trigger[1], 8);
    assert_int_equal(a.mouse_x, 32767);
    assert_int_equal(a.mouse_y, -32768);
    assert_int_equal(a.mouse_buttons, 3);
    assert_int_equal(a.gun_x, 7);
    assert_int_equal(a.gun_buttons, 12);
    assert_true(a.touch[0].pressed && a.touch[0].x == 1 &&
                a.touch[0].y == 2); /* lifted: stays where it touched */
    assert_true(a.touch[1].pressed && a.touch[1].x == 7);
    assert_int_equal(a.key_count, 3); /* keys are folded by their list */
}

TEST(repeating_and_equality) {
    struct kl_input a = everything(), b = a;
    kl_input_repeat(&b);
    assert_int_equal(b.mouse_x, 0);
    assert_int_equal(b.mouse_y, 0);
    assert_int_equal(b.key_count, 0);
    assert_false(b.all_up);
    assert_int_equal(b.mouse_buttons, a.mouse_buttons);
    assert_int_equal(b.joypad, a.joypad);
    assert_false(kl_input_equal(&a, &b));
    memset(&a, 0xff, sizeof a); /* padding and unused slots do not count */
    memset(&b, 0x00, sizeof b);
    kl_input_neutral(&a);
    assert_true(kl_input_equal(&a, &b));
    b.key[0].code = 7;
    assert_true(kl_input_equal(&a, &b));
}
