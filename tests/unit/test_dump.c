/* The first difference of two series of memory, the memories that a core shows, and the JSON of the tools. */
#include "tests/unit/unit.h"

#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>

#include "core_wrapper/tool/common/dump.h"
#include "core_wrapper/tool/common/report.h"

static char err[256];

static struct kl_dump two(uint8_t *ram, uint64_t ram_len, uint8_t *state, uint64_t state_len) {
    struct kl_dump d = {.count = 2};
    d.at[0] =
        (struct kl_region){.name = "system RAM", .mapped = true, .start = 0xc000, .len = ram_len, .ptr = ram};
    d.at[1] = (struct kl_region){.name = KLT_DUMP_STATE, .len = state_len, .ptr = state};
    return d;
}

TEST(neighbours_are_one_range_and_are_counted) {
    uint8_t a[16] = {0}, b[16] = {0};
    struct kl_comparison c = {0};
    struct kl_dump x = two(a, 16, NULL, 0), y = two(b, 16, NULL, 0);
    struct kl_range r;
    assert_int_equal(kl_comparison_add(&c, &x, &y, 7, err, sizeof err), 0);
    assert_int_equal(c.differing, 0);
    b[3] = 1, b[4] = 2, b[9] = 3;
    assert_int_equal(kl_comparison_add(&c, &x, &y, 8, err, sizeof err), 0);
    b[4] = 0, b[3] = 9;
    assert_int_equal(kl_comparison_add(&c, &x, &y, 9, err, sizeof err), 0);
    assert_int_equal(c.moments, 3);
    assert_int_equal(c.differing, 2);
    assert_int_equal(c.first, 8);
    assert_int_equal(c.at[0].bytes, 3);
    assert_int_equal(kl_differ_ranges(&c.at[0]), 2);
    assert_true(kl_differ_next(&c.at[0], 0, &r));
    assert_true(r.from == 3 && r.to == 4 && r.least == 1 && r.most == 2);
    assert_int_equal(c.at[0].b[3], 1); /* the value when it first differed */
    assert_true(kl_differ_next(&c.at[0], r.to + 1, &r));
    assert_true(r.from == 9 && r.to == 9);
    assert_false(kl_differ_next(&c.at[0], 10, &r));
    kl_comparison_free(&c);
}

TEST(bytes_of_a_memory_are_not_told_again_in_the_state) {
    uint8_t a[128], b[128], sa[140] = {9, 8, 7, 6, 5, 4, 3, 2}, sb[140] = {9, 8, 7, 6, 5, 4, 3, 2};
    struct kl_comparison c = {0};
    struct kl_range r;
    for (unsigned i = 0; i < 128; i++)
        a[i] = b[i] = (uint8_t)(i * 5 + 1);
    b[100] ^= 0xff;
    memcpy(sa + 8, a, 128);
    memcpy(sb + 8, b, 128);
    sb[2] = 1;
    struct kl_dump x = two(a, 128, sa, 140), y = two(b, 128, sb, 140);
    assert_int_equal(kl_comparison_add(&c, &x, &y, 0, err, sizeof err), 0);
    assert_true(c.at[0].held && c.at[0].held_at == 8);
    assert_int_equal(kl_comparison_hide(&c), 1);
    assert_int_equal(c.at[1].bytes, 2);
    assert_true(kl_differ_next(&c.at[1], 0, &r));
    assert_int_equal(r.from, 2);
    assert_false(kl_differ_next(&c.at[1], 3, &r));
    kl_comparison_free(&c);
}

TEST(states_may_differ_in_size_memories_not) {
    uint8_t a[16] = {0}, b[16] = {0};
    struct kl_comparison c = {0};
    struct kl_dump x = two(a, 8, a, 16), y = two(b, 8, b, 12);
    assert_int_equal(kl_comparison_add(&c, &x, &y, 0, err, sizeof err), 0);
    assert_int_equal(c.differing, 1);
    assert_int_equal(c.at[1].sizes, 1);
    y = two(b, 4, b, 12);
    assert_int_equal(kl_comparison_add(&c, &x, &y, 1, err, sizeof err), -1);
    assert_non_null(strstr(err, "same memories"));
    kl_comparison_free(&c);
}

/* --- the memories of a core --- */

static uint8_t memory[256], sram[32];
static void *plain_data(unsigned id) {
    return id == RETRO_MEMORY_SYSTEM_RAM ? memory : id == RETRO_MEMORY_SAVE_RAM ? sram : NULL;
}
static size_t plain_size(unsigned id) {
    return id == RETRO_MEMORY_SYSTEM_RAM ? 128 : id == RETRO_MEMORY_SAVE_RAM ? 32 : 0;
}

TEST(each_byte_is_listed_once) {
    struct kl_core core = {.get_memory_data = plain_data, .get_memory_size = plain_size};
    struct retro_memory_descriptor d[4] = {
        {.ptr = memory, .start = 0x8000, .len = 128}, /* a mirror of the next but one */
        {.ptr = memory + 128, .start = 0x2000, .len = 128, .flags = RETRO_MEMDESC_VIDEO_RAM},
        {.ptr = memory, .start = 0, .len = 128},
        {.ptr = sram, .start = 0x100, .len = 32, .flags = RETRO_MEMDESC_CONST},
    };
    struct retro_memory_map map = {d, 4};
    struct kl_region r[KLT_REGIONS];
    unsigned n = kl_regions_find(r, &core, &map);
    assert_int_equal(n, 3);
    assert_string_equal(r[0].name,
                        "system RAM"); /* no flag says so: it is what retro_get_memory_data gives */
    assert_true(r[0].mapped && r[0].start == 0);
    assert_string_equal(r[1].name, "video RAM");
    assert_string_equal(r[2].name, "save RAM");
    assert_false(r[2].mapped);
}

TEST(addresses_leave_out_lines_that_are_not_wired) {
    struct kl_region r = {.start = 0x4000, .disconnect = 0x10};
    assert_int_equal(kl_region_address(&r, 0x0f), 0x400f);
    assert_int_equal(kl_region_address(&r, 0x10), 0x4020);
    assert_int_equal(kl_region_address(&r, 0x1f), 0x402f);
}

/* The words of strangers move no cursor and turn no line, and read as the same when they are parsed. */
TEST(no_terminal_gets_control_characters) {
    static const char name[] = "a\xc2\x9b"
                               "2J\xe2\x80\xae=\x7f\x1b J\xc3\xb6rg \xe6\xb0\xb4 \xf0\x9f\x8e\xae \"\\";
    char line[300] = "";
    FILE *f = tmpfile();
    assert_non_null(f);
    assert_int_equal(kl_report_put(f, json_object_new_string(name)), 0);
    rewind(f);
    assert_non_null(fgets(line, sizeof line, f));
    fclose(f);
    assert_string_equal(
        line, "\"a\\u009b2J\\u202e=\\u007f\\u001b J\xc3\xb6rg \xe6\xb0\xb4 \xf0\x9f\x8e\xae \\\"\\\\\"\n");
    json_object *back = json_tokener_parse(line);
    assert_string_equal(json_object_get_string(back), name);
    json_object_put(back);
}
