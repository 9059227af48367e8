/* The two hashes of a frame. */
#include "tests/unit/unit.h"

#include "core_wrapper/core/statehash.h"

#include <xxhash.h>

#include "tests/lib/unset_core.h"

static uint8_t memory[64];
static size_t state_size = 16;
static bool serialize_works = true;
static bool has_system_ram = true;

static void *memory_data(unsigned id) {
    return id == RETRO_MEMORY_SYSTEM_RAM && has_system_ram ? memory : NULL;
}
static size_t memory_size(unsigned id) {
    return id == RETRO_MEMORY_SYSTEM_RAM && has_system_ram ? 32 : 0;
}
static void *no_memory(unsigned id) {
    (void)id;
    return NULL;
}
static size_t size_now(void) {
    return state_size;
}
static bool write_half(void *data, size_t size) {
    memset(data, 0x55, size / 2);
    return serialize_works;
}

static const struct kl_core core = {.get_memory_data = memory_data,
                                    .get_memory_size = memory_size,
                                    .serialize_size = size_now,
                                    .serialize = write_half};
static struct kl_statehash_buffer buf;

static int set_up(void **state) {
    (void)state;
    for (unsigned i = 0; i < sizeof(memory); i++)
        memory[i] = (uint8_t)i;
    state_size = 16;
    serialize_works = has_system_ram = true;
    return 0;
}

static int clear(void **state) {
    (void)state;
    kl_statehash_buffer_free(&buf);
    return 0;
}

TEST_WITH(bytes_that_a_core_never_set_are_equal_everywhere, set_up, clear) {
    struct kl_core unset = core;
    struct kl_ram ram = {0};
    struct kl_statehash here, there;
    unset.serialize = write_unset;
    state_size = 1024;
    leave_on_the_stack(0x11);
    kl_statehash_take(&here, &unset, &ram, &buf);
    leave_on_the_stack(0x77);
    kl_statehash_take(&there, &unset, &ram, &buf);
    assert_true(here.has_state && there.has_state);
    assert_true(here.state == there.state);
}

TEST_WITH(without_a_map_it_is_system_ram, set_up, clear) {
    struct kl_ram ram;
    struct kl_statehash h;
    kl_ram_find(&ram, &core, NULL);
    assert_int_equal(ram.count, 1);
    kl_statehash_take(&h, &core, &ram, &buf);
    assert_true(h.has_ram);
    assert_true(h.ram == XXH3_64bits(memory, 32));
}

static struct retro_memory_descriptor piece(size_t guest, size_t offset, size_t len) {
    return (struct retro_memory_descriptor){
        .flags = RETRO_MEMDESC_SYSTEM_RAM, .ptr = memory, .offset = offset, .start = guest, .len = len};
}

TEST_WITH(a_map_is_read_in_order_of_guest_addresses, set_up, clear) {
    struct kl_ram ram;
    struct kl_statehash h;
    struct retro_memory_descriptor d[] = {piece(0x100, 32, 32), piece(0, 0, 32), {.ptr = memory, .len = 64}};
    struct retro_memory_map map = {d, 3};
    kl_ram_find(&ram, &core, &map);
    assert_int_equal(ram.count, 2);
    kl_statehash_take(&h, &core, &ram, &buf);
    assert_true(h.ram == XXH3_64bits(memory, 64));
}

TEST_WITH(a_mirror_counts_once, set_up, clear) {
    struct kl_ram ram;
    struct retro_memory_descriptor d[] = {piece(0, 0, 32), piece(0x1000, 0, 32), piece(0x2000, 16, 32)};
    struct retro_memory_map map = {d, 3};
    kl_ram_find(&ram, &core, &map);
    assert_int_equal(ram.count, 2);
    assert_ptr_equal(ram.piece[1].ptr, memory + 32); /* the new part of the third */
    assert_int_equal(ram.piece[1].len, 16);
}

TEST_WITH(a_map_without_system_ram_is_none, set_up, clear) {
    struct kl_ram ram;
    struct kl_statehash h;
    struct retro_memory_descriptor d[] = {{.ptr = memory, .len = 64}};
    struct retro_memory_map map = {d, 1};
    has_system_ram = false;
    kl_ram_find(&ram, &core, &map);
    assert_int_equal(ram.count, 0);
    kl_statehash_take(&h, &core, &ram, &buf);
    assert_false(h.has_ram);
    assert_true(h.has_state);
}

static uint32_t layout_of(struct retro_memory_descriptor *d, unsigned count) {
    struct kl_ram ram;
    struct retro_memory_map map = {d, count};
    kl_ram_find(&ram, &core, &map);
    return ram.layout;
}

/* Address 0 of the host is nowhere: what a core maps there is not read, and the layout says that it is
 * missing. */
TEST_WITH(ram_at_null_is_not_read_and_changes_the_layout, set_up, clear) {
    struct kl_ram ram;
    struct retro_memory_descriptor d[] = {piece(0, 0, 32), piece(0x1000, 32, 16)};
    struct retro_memory_map map = {d, 2};
    uint64_t hash;
    uint32_t whole = layout_of(d, 2);
    d[0].ptr = NULL;
    d[0].offset = 8;
    kl_ram_find(&ram, &core, &map);
    assert_int_equal(ram.count, 1);
    assert_true(kl_ram_hash(&ram, &hash) && hash == XXH3_64bits(memory + 32, 16));
    assert_int_not_equal(ram.layout, whole);
    map.num_descriptors = 1; /* nothing is left; nor is it searched elsewhere */
    kl_ram_find(&ram, &core, &map);
    assert_false(kl_ram_hash(&ram, &hash));
    assert_int_not_equal(ram.layout, 0);
    struct kl_core no_data = core;
    no_data.get_memory_data = no_memory;
    kl_ram_find(&ram, &no_data, NULL);
    assert_false(kl_ram_hash(&ram, &hash));
    assert_int_not_equal(ram.layout, 0);
    has_system_ram = false;
    kl_ram_find(&ram, &core, NULL);
    assert_int_equal(ram.layout, 0);
}

TEST_WITH(a_layout_is_of_the_guest, set_up, clear) {
    static uint8_t elsewhere[64];
    struct retro_memory_descriptor d[] = {piece(0, 0, 32), piece(0x1000, 32, 16)};
    uint32_t is = layout_of(d, 2);
    d[0].ptr = d[1].ptr = elsewhere;
    assert_int_equal(layout_of(d, 2), is);
    d[1].start++;
    assert_int_not_equal(layout_of(d, 2), is);
    d[1].start--, d[1].len++;
    assert_int_not_equal(layout_of(d, 2), is);
}

TEST_WITH(more_pieces_than_kept_are_no_crash, set_up, clear) {
    struct kl_ram ram;
    struct retro_memory_descriptor d[300];
    struct retro_memory_map map = {d, 300};
    for (unsigned i = 0; i < 300; i++)
        d[i] = piece(i * 2, i % 64, 1);
    kl_ram_find(&ram, &core, &map);
    assert_int_equal(ram.count, KL_RAM_PIECES);
}

TEST_WITH(bytes_a_core_never_writes_are_zero, set_up, clear) {
    struct kl_ram ram = {0};
    struct kl_statehash a, b;
    uint8_t expected[16] = {0x55, 0x55, 0x55, 0x55, 0x55, 0x55, 0x55, 0x55};
    kl_statehash_take(&a, &core, &ram, &buf);
    memset(buf.data, 0xee, buf.cap);
    kl_statehash_take(&b, &core, &ram, &buf);
    assert_true(a.state == b.state);
    assert_true(a.state == XXH3_64bits(expected, 16));
}

TEST_WITH(sizes_may_change, set_up, clear) {
    struct kl_ram ram = {0};
    struct kl_statehash h;
    kl_statehash_take(&h, &core, &ram, &buf);
    assert_int_equal(h.state_bytes, 16);
    state_size = 4000;
    kl_statehash_take(&h, &core, &ram, &buf);
    assert_int_equal(h.state_bytes, 4000);
    assert_int_equal(buf.size, 4000);
    state_size = 8;
    kl_statehash_take(&h, &core, &ram, &buf);
    assert_int_equal(h.state_bytes, 8);
}

TEST_WITH(no_state_is_none, set_up, clear) {
    struct kl_ram ram = {0};
    struct kl_statehash h;
    state_size = 0;
    kl_statehash_take(&h, &core, &ram, &buf);
    assert_false(h.has_state);
    state_size = 16;
    serialize_works = false;
    kl_statehash_take(&h, &core, &ram, &buf);
    assert_false(h.has_state);
    assert_int_equal(buf.size, 0);
}
