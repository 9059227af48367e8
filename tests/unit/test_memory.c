/* The memory that a frontend sees in a room: copies that stay where they are, whatever becomes of the core.
 */
#include <stdlib.h>

#include "tests/unit/unit.h"

#include "core_wrapper/core/memory.h"

static uint8_t save[8], ram[16], moved[16], rom[4];

static void *data_of(unsigned id) {
    return id == RETRO_MEMORY_SAVE_RAM ? save : id == RETRO_MEMORY_SYSTEM_RAM ? (void *)ram : NULL;
}
static size_t size_of(unsigned id) {
    return id == RETRO_MEMORY_SAVE_RAM ? sizeof save : id == RETRO_MEMORY_SYSTEM_RAM ? sizeof ram : 0;
}

static struct kl_core core = {.get_memory_data = data_of, .get_memory_size = size_of};
static struct kl_memory memory;

static int setup(void **state) {
    (void)state;
    memset(save, 1, sizeof save);
    memset(ram, 2, sizeof ram);
    memset(moved, 3, sizeof moved);
    memset(rom, 4, sizeof rom);
    memset(&memory, 0, sizeof memory);
    kl_memory_make(&memory, &core, NULL, 0);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    kl_memory_free(&memory);
    return 0;
}

/* Two views of one chip, and a ROM. */
static struct retro_memory_map map_of(uint8_t *chip) {
    static struct retro_memory_descriptor d[3];
    memset(d, 0, sizeof d);
    d[0] = (struct retro_memory_descriptor){.flags = RETRO_MEMDESC_SYSTEM_RAM, .ptr = chip, .len = 8};
    d[1] = (struct retro_memory_descriptor){
        .ptr = chip, .offset = 8, .start = 0x100, .len = 8, .addrspace = "B"};
    d[2] =
        (struct retro_memory_descriptor){.flags = RETRO_MEMDESC_CONST, .ptr = rom, .start = 0x8000, .len = 4};
    return (struct retro_memory_map){d, 3};
}

TEST_WITH(views_are_copies, setup, teardown) {
    uint8_t *shown_save = kl_memory_data(&memory, RETRO_MEMORY_SAVE_RAM);
    uint8_t *shown_ram = kl_memory_data(&memory, RETRO_MEMORY_SYSTEM_RAM);
    assert_int_equal(kl_memory_size(&memory, RETRO_MEMORY_SAVE_RAM), sizeof save);
    assert_int_equal(kl_memory_size(&memory, RETRO_MEMORY_VIDEO_RAM), 0);
    assert_null(kl_memory_data(&memory, RETRO_MEMORY_VIDEO_RAM));
    assert_int_equal(shown_save[7], 1);
    memset(shown_save, 9, sizeof save); /* the frontend loads the player's file */
    memset(shown_ram, 9, sizeof ram);   /* a cheat */
    assert_int_equal(save[0], 1);
    assert_int_equal(ram[0], 2);
    save[0] = ram[0] = 7; /* the game goes on */
    kl_memory_refresh(&memory, &core);
    assert_int_equal(shown_ram[0], 7);
    assert_int_equal(shown_ram[1], 2);
    assert_int_equal(shown_save[0], 9); /* stays the player's */
}

TEST_WITH(the_map_is_told_once, setup, teardown) {
    struct retro_memory_map map = map_of(ram);
    assert_true(kl_memory_map(&memory, &map));
    struct retro_memory_map shown = kl_memory_shown(&memory);
    assert_int_equal(shown.num_descriptors, 3);
    uint8_t *chip = shown.descriptors[0].ptr, *shown_rom = shown.descriptors[2].ptr;
    assert_ptr_equal(shown.descriptors[1].ptr, chip); /* still one chip */
    assert_ptr_not_equal(chip, ram);
    assert_int_equal(chip[15], 2);
    assert_int_equal(shown_rom[3], 4);
    kl_memory_detach(&memory);
    memset(ram, 8, sizeof ram); /* unmapped, as it were */
    kl_memory_refresh(&memory, &(struct kl_core){.get_memory_data = data_of, .get_memory_size = size_of});
    assert_int_equal(chip[0], 2);
    assert_int_equal(kl_memory_inner(&memory).num_descriptors, 0);
    map = map_of(moved); /* loaded again: elsewhere */
    assert_false(kl_memory_map(&memory, &map));
    assert_int_equal(chip[15], 3);
    assert_ptr_equal(kl_memory_inner(&memory).descriptors[0].ptr, moved);
    map.num_descriptors = 2; /* another layout: the frontend must hear of it */
    assert_true(kl_memory_map(&memory, &map));
    assert_int_equal(chip[15], 3); /* and what it held is not freed */
}

TEST_WITH(odd_maps, setup, teardown) {
    struct retro_memory_descriptor d[2] = {{.ptr = ram, .start = 0xc000, .select = 0xfff0}, {.ptr = ram}};
    struct retro_memory_map map = {d, 2};
    assert_true(kl_memory_map(&memory, &map));
    struct retro_memory_map shown = kl_memory_shown(&memory);
    assert_non_null(shown.descriptors[0].ptr); /* 16 bytes by its select */
    assert_null(shown.descriptors[1].ptr);     /* says nothing of its size */
    assert_false(kl_memory_map(&memory, NULL));
    map = (struct retro_memory_map){NULL, 3};
    assert_false(kl_memory_map(&memory, &map));
}
