/* late_core.c - a libretro core that tells its frontend in play what others tell while they load.
 *
 * LATE_CORE holds words separated by commas, each with a frame behind ':'; read in retro_load_game:
 *   mode     another size, rate, pixel format and rotation
 *   options  declares its options again, with other values; then a button sets one by SET_VARIABLE
 *   time     a frame-time callback
 *   keys     a keyboard callback
 *   map      a larger memory map
 *   disks    a disk interface
 *   single   from the start: its states hold an address, and are for one run of it only (SINGLE_SESSION). One
 *            of another run ends the process, as a core that follows the address would
 * All that it hears goes into its RAM, so that a machine to which something was not given has other RAM. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/cores/libretro_core.h"
#include "tests/cores/words.h"

#define WIDTH  128
#define HEIGHT 96

static struct {
    uint32_t frame, sum, us, keys, changes;
    uint16_t pad;
    uint8_t wide; /* the mode */
    uint8_t disk;
    void *self; /* "single": where it lies */
} game;
static uint8_t expansion[256];
static char *place; /* "single": on the heap, so that no two runs have it at the same address */
static char words[256];

static const struct retro_variable first[] = {{"late_speed", "Speed; one|two|three"}, {NULL, NULL}};
static const struct retro_variable second[] = {{"late_speed", "Speed; two|three|four"}, {NULL, NULL}};

static void declare(void) {
    environment(RETRO_ENVIRONMENT_SET_VARIABLES, (void *)first);
}

static const char *asked(const char *word) {
    return find_word(words, word);
}

static bool now(const char *word) {
    return names_frame(words, word, game.frame);
}

static void on_time(retro_usec_t us) {
    game.us += (uint32_t)us;
}
static void on_key(bool down, unsigned code, uint32_t character, uint16_t modifiers) {
    (void)character, (void)modifiers;
    game.keys = game.keys * 31 + code * 2 + down;
}
static bool eject(bool out) {
    return (void)out, true;
}
static bool ejected(void) {
    return false;
}
static unsigned disk(void) {
    return game.disk;
}
static unsigned disks(void) {
    return 3;
}
static bool insert(unsigned index) {
    game.disk = (uint8_t)index;
    return true;
}

static void declare_map(unsigned parts) {
    static struct retro_memory_descriptor d[2];
    d[0] = (struct retro_memory_descriptor){RETRO_MEMDESC_SYSTEM_RAM, &game, 0, 0, 0, 0, sizeof game, "ram"};
    d[1] = (struct retro_memory_descriptor){RETRO_MEMDESC_SYSTEM_RAM, expansion,  0, 0x10000, 0, 0,
                                            sizeof expansion,         "expansion"};
    struct retro_memory_map map = {d, parts};
    environment(RETRO_ENVIRONMENT_SET_MEMORY_MAPS, &map);
}

static struct retro_system_av_info mode(bool wide) {
    unsigned width = wide ? 2 * WIDTH : WIDTH;
    return (struct retro_system_av_info){{width, HEIGHT, 2 * WIDTH, 2 * HEIGHT, 0},
                                         {wide ? 50.0069789 : 60, wide ? 32000 : 48000}};
}

static void change_mode(void) {
    enum retro_pixel_format format = RETRO_PIXEL_FORMAT_XRGB8888;
    unsigned quarters = 1;
    struct retro_system_av_info av = mode(true);
    game.wide = 1;
    environment(RETRO_ENVIRONMENT_SET_PIXEL_FORMAT, &format);
    environment(RETRO_ENVIRONMENT_SET_SYSTEM_AV_INFO, &av);
    environment(RETRO_ENVIRONMENT_SET_ROTATION, &quarters);
}

static void say_late(void) {
    struct retro_frame_time_callback time = {on_time, 16667};
    struct retro_keyboard_callback keys = {on_key};
    struct retro_disk_control_callback drive = {.set_eject_state = eject,
                                                .get_eject_state = ejected,
                                                .get_image_index = disk,
                                                .set_image_index = insert,
                                                .get_num_images = disks};
    if (now("mode")) change_mode();
    if (now("options")) environment(RETRO_ENVIRONMENT_SET_VARIABLES, (void *)second);
    if (now("time")) environment(RETRO_ENVIRONMENT_SET_FRAME_TIME_CALLBACK, &time);
    if (now("keys")) environment(RETRO_ENVIRONMENT_SET_KEYBOARD_CALLBACK, &keys);
    if (now("map")) declare_map(2);
    if (now("disks")) environment(RETRO_ENVIRONMENT_SET_DISK_CONTROL_INTERFACE, &drive);
}

/* A fresh press asks for the next speed; only some are on the list that was declared last. */
static void choose(uint16_t pad) {
    static const char *const speeds[] = {"one", "two", "three", "four"};
    if (!(pad & (uint16_t)~game.pad)) return;
    struct retro_variable v = {"late_speed", speeds[++game.changes % 4]};
    game.sum += environment(RETRO_ENVIRONMENT_SET_VARIABLE, &v);
}

static uint32_t speed(void) {
    struct retro_variable v = {"late_speed", NULL};
    uint32_t sum = 7;
    environment(RETRO_ENVIRONMENT_GET_VARIABLE, &v);
    for (const char *p = v.value; p && *p; p++)
        sum = sum * 31 + (uint8_t)*p;
    return sum;
}

static void draw(void) {
    static uint32_t pixels[2 * WIDTH * HEIGHT];
    unsigned width = game.wide ? 2 * WIDTH : WIDTH;
    memset(pixels, (int)(game.sum & 0xff), sizeof pixels);
    video(pixels, width, HEIGHT, width * (game.wide ? 4 : 2));
}

API void retro_run(void) {
    static const int16_t silence[2 * 960];
    poll_input();
    say_late();
    uint16_t pad = read_pad(0);
    const char *options = asked("options");
    if (options && game.frame > strtoul(options, NULL, 10)) choose(pad);
    game.pad = pad;
    game.sum = (game.sum ^ pad ^ (uint32_t)read_pad(1) << 16) * 16777619u + speed() + game.us + game.keys;
    game.frame++;
    draw();
    audio(silence, game.wide ? 640 : 800);
}

API bool retro_load_game(const struct retro_game_info *info) {
    const char *list = getenv("LATE_CORE");
    uint64_t quirks = RETRO_SERIALIZATION_QUIRK_SINGLE_SESSION;
    (void)info;
    snprintf(words, sizeof words, "%s", list ? list : "");
    memset(&game, 0, sizeof game);
    if (!asked("single")) {
        declare_map(1);
        return true;
    }
    place = malloc(1 << 20);
    game.self = place;
    environment(RETRO_ENVIRONMENT_SET_SERIALIZATION_QUIRKS, &quirks);
    return true;
}

API void retro_unload_game(void) {
    free(place);
    place = NULL;
}

API size_t retro_serialize_size(void) {
    return sizeof game;
}
API bool retro_serialize(void *data, size_t size) {
    if (size < sizeof game) return false;
    memcpy(data, &game, sizeof game);
    return true;
}
API bool retro_unserialize(const void *data, size_t size) {
    if (size < sizeof game) return false;
    memcpy(&game, data, sizeof game);
    if (game.self != place) abort();
    return true;
}

/* With the address in it, it is another on every machine: such a core shows no RAM. */
API void *retro_get_memory_data(unsigned id) {
    return id == RETRO_MEMORY_SYSTEM_RAM && !asked("single") ? &game : NULL;
}
API size_t retro_get_memory_size(unsigned id) {
    return retro_get_memory_data(id) ? sizeof game : 0;
}

API void retro_get_system_info(struct retro_system_info *info) {
    *info = (struct retro_system_info){"Late core", "1", "nes|bin", false, false};
}
API void retro_get_system_av_info(struct retro_system_av_info *info) {
    *info = mode(game.wide);
}
API void retro_reset(void) {
    game.frame = game.sum = 0;
}
