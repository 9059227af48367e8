/* strange_core.c - a libretro core made for tests: a seed draws what it declares and when, which files it
 * writes and reads back, where it takes chance from, what its states hold (strange_plan.h).
 *
 * The content says the seed: "strange 123", then words that take kinds out or put them in. Everything that
 * the core sees is mixed into its RAM, and the last value of each kind stays there, so that an inequality
 * shows at the next hash and has a name. */
#include <pthread.h>

#define TEST_CORE_PORTS /* hears of its devices */
#include "tests/cores/libretro_core.h"
#include "tests/cores/strange_plan.h"
#include "tests/cores/strange_chance.h"
#include "tests/cores/strange_files.h"

#define WIDTH         64
#define HEIGHT        48
#define LARGEST       128 /* of a picture, each way */
#define SRAM_BYTES    64
#define LATE_FROM     40 /* frames; what comes late comes between the two */
#define LATE_TO       300
#define KEYS_POLLED   5
#define LIGHT_OF_KEYS 15 /* shows how many keys are down */
#define QUIRKS_NEW    87 /* SET_SERIALIZATION_QUIRKS of newer headers */

/* The machine, as RAM and states show it. */
static struct machine {
    char mark[8]; /* "strange", for those who read a state */
    uint64_t mix; /* of everything that was seen; the game goes by it */
    uint64_t seen[KINDS_END];
    uint32_t frame, width, height, rotation, disk, ejected, rate, largest, keys_shown;
    uint32_t device[8]; /* in each port, as the frontend put it in */
    uint8_t key[64];    /* bit per code that events say is down */
    uint8_t sram[SRAM_BYTES];
    uint8_t ram[1024];
} m;

static struct plan plan;
static struct files files;
static char folder[3][PATH_BYTES], stem[256], shared[PATH_BYTES], dated[PATH_BYTES];
static uint32_t pixels[LARGEST * LARGEST];
static struct retro_perf_callback perf;
static struct retro_rumble_interface rumble;
static struct retro_led_interface led;
static uint32_t frames_here; /* run by this process */
static uint64_t option[3];   /* values, as read last */
static uint64_t missing;     /* of the states of STATE_PART */

static void see(enum strange_kind k, uint64_t value) {
    m.seen[k] = fold(m.seen[k] + 1, &value, sizeof value);
    m.mix = fold(m.mix, &m.seen[k], sizeof m.seen[k]);
    m.ram[m.mix % sizeof m.ram] ^= (uint8_t)(m.mix >> 16);
}

/* --- when --- */

static bool is_turn(enum strange_kind k) {
    return has(&plan, k) && m.frame % (3 + pick(&plan, k, 3, 11)) == 0;
}
static uint32_t turn_of(enum strange_kind k) {
    return m.frame / (3 + pick(&plan, k, 3, 11));
}
/* The first time, then the second, and no more: 0, 1, or -1. */
static int late_turn(enum strange_kind k) {
    uint32_t first = LATE_FROM + pick(&plan, k, 4, LATE_TO - LATE_FROM),
             second = first + 20 + pick(&plan, k, 5, 80);
    if (!has(&plan, k)) return -1;
    return m.frame == first ? 0 : m.frame == second && pick(&plan, k, 6, 2) ? 1 : -1;
}

/* --- declarations; the answers are seen --- */

static void ask(enum strange_kind k, unsigned cmd, void *data) {
    see(k, environment(cmd, data));
}

static void declare(void) {} /* the seed is not known yet */

static void declare_map(unsigned turn) {
    size_t half = sizeof m / 2 & ~(size_t)15, from = turn ? half : 0;
    struct retro_memory_descriptor part[2] = {
        {.flags = RETRO_MEMDESC_SYSTEM_RAM, .ptr = &m, .start = 0, .len = sizeof m - from},
        {.ptr = m.sram, .start = 0x10000, .len = sizeof m.sram}};
    struct retro_memory_map map = {part, 1 + pick(&plan, MAP, 1, 2)};
    ask(turn ? MAP_LATE : MAP, RETRO_ENVIRONMENT_SET_MEMORY_MAPS, &map);
}

static void on_key(bool down, unsigned code, uint32_t character, uint16_t modifiers) {
    uint64_t event = down | (uint64_t)code << 1 | (uint64_t)character << 20 | (uint64_t)modifiers << 48;
    if (code < 8 * sizeof m.key)
        m.key[code / 8] = (uint8_t)((m.key[code / 8] & ~(1u << code % 8)) | (unsigned)down << code % 8);
    see(KEYBOARD, event);
}

static void declare_keyboard(enum strange_kind k) {
    struct retro_keyboard_callback cb = {on_key};
    ask(k, RETRO_ENVIRONMENT_SET_KEYBOARD_CALLBACK, &cb);
}

static void on_frame_time(retro_usec_t usec) {
    see(FRAME_TIME, (uint64_t)usec);
}

static void declare_frame_time(enum strange_kind k) {
    struct retro_frame_time_callback cb = {on_frame_time, 1000 + pick(&plan, k, 7, 30000)};
    ask(k, RETRO_ENVIRONMENT_SET_FRAME_TIME_CALLBACK, &cb);
}

static void declare_options(enum strange_kind k, unsigned turn) {
    static const char *const lists[] = {"A; one|two|three", "A; three|one|two", "A; two|four"};
    struct retro_variable v0[] = {{"strange_a", lists[turn % 3]}, {"strange_b", "B; off|on"}, {NULL, NULL}};
    struct retro_core_option_definition v1[] = {
        {"strange_a", "A", NULL, {{"one", NULL}, {"two", NULL}, {NULL, NULL}}, turn ? "two" : "one"},
        {"strange_b", "B", NULL, {{"off", NULL}, {"on", NULL}, {NULL, NULL}}, "on"},
        {NULL, NULL, NULL, {{NULL, NULL}}, NULL}};
    struct retro_core_option_v2_definition defs[] = {
        {"strange_a",
         "A",
         NULL,
         NULL,
         NULL,
         NULL,
         {{"one", NULL}, {"two", NULL}, {NULL, NULL}},
         turn ? "one" : "two"},
        {"strange_c", "C", NULL, NULL, NULL, NULL, {{"x", NULL}, {"y", NULL}, {NULL, NULL}}, "y"},
        {NULL, NULL, NULL, NULL, NULL, NULL, {{NULL, NULL}}, NULL}};
    struct retro_core_options_v2 v2 = {NULL, defs};
    switch (pick(&plan, OPTIONS, 7, 3)) {
    case 0: ask(k, RETRO_ENVIRONMENT_SET_VARIABLES, v0); break;
    case 1: ask(k, RETRO_ENVIRONMENT_SET_CORE_OPTIONS, v1); break;
    default: ask(k, RETRO_ENVIRONMENT_SET_CORE_OPTIONS_V2, &v2);
    }
}

/* As cores do: values are kept beside the machine, and read again when there is news. */
static void read_options(bool anew) {
    static const char *const keys[] = {"strange_a", "strange_b", "strange_c"};
    bool updated = false;
    environment(RETRO_ENVIRONMENT_GET_VARIABLE_UPDATE, &updated);
    for (unsigned i = 0; (updated || anew) && i < 3; i++) {
        struct retro_variable v = {keys[i], NULL};
        environment(RETRO_ENVIRONMENT_GET_VARIABLE, &v);
        option[i] = fold_text(1, v.value);
    }
}

static void set_option(unsigned turn) {
    struct retro_variable v = {"strange_a", turn ? "one" : "two"};
    ask(OPTION_SET, RETRO_ENVIRONMENT_SET_VARIABLE, &v);
}

static void declare_controllers(void) {
    static const struct retro_controller_description kinds[] = {{"Pad", RETRO_DEVICE_JOYPAD},
                                                                {"Mouse", RETRO_DEVICE_MOUSE}};
    static const struct retro_controller_info ports[] = {{kinds, 2}, {kinds, 2}, {NULL, 0}};
    ask(DESCRIPTORS, RETRO_ENVIRONMENT_SET_CONTROLLER_INFO, (void *)ports);
}

static void declare_descriptors(unsigned turn) {
    struct retro_input_descriptor d[] = {
        {0, RETRO_DEVICE_JOYPAD, 0, RETRO_DEVICE_ID_JOYPAD_A, turn ? "Jump" : "Fire"},
        {1, RETRO_DEVICE_JOYPAD, 0, RETRO_DEVICE_ID_JOYPAD_B, "Duck"},
        {0, 0, 0, 0, NULL}};
    ask(DESCRIPTORS, RETRO_ENVIRONMENT_SET_INPUT_DESCRIPTORS, d);
}

static void declare_subsystem(void) {
    static const struct retro_subsystem_memory_info memory[] = {{"srm", RETRO_MEMORY_SAVE_RAM}};
    static const struct retro_subsystem_rom_info roms[] = {{"Cart", "bin", false, false, true, memory, 1}};
    static const struct retro_subsystem_info all[] = {{"Link", "link", roms, 1, 1}, {NULL, NULL, NULL, 0, 0}};
    unsigned level = 1 + pick(&plan, SUBSYSTEM, 7, 10);
    bool yes = true;
    ask(SUBSYSTEM, RETRO_ENVIRONMENT_SET_SUBSYSTEM_INFO, (void *)all);
    environment(RETRO_ENVIRONMENT_SET_PERFORMANCE_LEVEL, &level);
    environment(RETRO_ENVIRONMENT_SET_SUPPORT_ACHIEVEMENTS, &yes);
}

static bool disk_eject(bool out) {
    m.ejected = out;
    see(DISK, out);
    return true;
}
static bool disk_ejected(void) {
    return m.ejected;
}
static unsigned disk_index(void) {
    return m.disk;
}
static bool disk_put(unsigned i) {
    if (!m.ejected) return false;
    m.disk = i;
    see(DISK, i + 2);
    return true;
}
static unsigned disk_count(void) {
    return 3;
}
static bool disk_replace(unsigned i, const struct retro_game_info *info) {
    return (void)i, (void)info, false;
}
static bool disk_add(void) {
    return false;
}

static void declare_disks(void) {
    struct retro_disk_control_callback cb = {disk_eject, disk_ejected, disk_index, disk_put,
                                             disk_count, disk_replace, disk_add};
    ask(DISK, RETRO_ENVIRONMENT_SET_DISK_CONTROL_INTERFACE, &cb);
}

static void declare_quirks(void) {
    uint64_t quirks = has(&plan, STATE_SESSION) ? RETRO_SERIALIZATION_QUIRK_SINGLE_SESSION
                      : has(&plan, STATE_PART)  ? RETRO_SERIALIZATION_QUIRK_INCOMPLETE
                      : has(&plan, STATE_LATE)  ? RETRO_SERIALIZATION_QUIRK_MUST_INITIALIZE
                      : has(&plan, STATE_SIZE)  ? RETRO_SERIALIZATION_QUIRK_CORE_VARIABLE_SIZE
                                                : 0;
    if (!quirks) return;
    unsigned cmd = pick(&plan, STATE_SESSION, 7, 2) ? QUIRKS_NEW : RETRO_ENVIRONMENT_SET_SERIALIZATION_QUIRKS;
    ask(STATE_SESSION, cmd, &quirks);
}

static const double rates[] = {60, 50, 59.94, 75, 60.0988, 30};

static struct retro_system_av_info av_now(void) {
    static const double sound[] = {32000, 44100, 48000};
    return (struct retro_system_av_info){
        {m.width, m.height, m.largest, m.largest, (float)m.width / (float)m.height},
        {rates[m.rate % 6], sound[(m.largest + plan.seed) % 3]}};
}

static void change_modes(void) {
    int turn;
    if ((turn = late_turn(GEOMETRY)) >= 0) {
        m.width = WIDTH / 2 + pick(&plan, GEOMETRY, 7 + (uint32_t)turn, WIDTH / 2);
        struct retro_game_geometry g = av_now().geometry;
        ask(GEOMETRY, RETRO_ENVIRONMENT_SET_GEOMETRY, &g);
    }
    if ((turn = late_turn(ROTATION)) >= 0) {
        m.rotation = (m.rotation + 1 + pick(&plan, ROTATION, 7, 3)) % 4;
        ask(ROTATION, RETRO_ENVIRONMENT_SET_ROTATION, &m.rotation);
    }
    int rate = late_turn(RATE), largest = late_turn(AV_INFO);
    if (rate >= 0) m.rate += 1 + pick(&plan, RATE, 7, 5);
    if (largest >= 0)
        m.largest = WIDTH + 1 + pick(&plan, AV_INFO, 7 + (uint32_t)largest, LARGEST - WIDTH - 1);
    if (rate < 0 && largest < 0) return;
    struct retro_system_av_info av = av_now();
    ask(rate >= 0 ? RATE : AV_INFO, RETRO_ENVIRONMENT_SET_SYSTEM_AV_INFO, &av);
}

static void declare_late(void) {
    int turn;
    if ((turn = late_turn(MAP_LATE)) >= 0) declare_map((unsigned)turn + 1);
    if (late_turn(KEYBOARD_LATE) == 0) declare_keyboard(KEYBOARD_LATE);
    if (late_turn(FRAME_TIME_LATE) >= 0) declare_frame_time(FRAME_TIME_LATE);
    if ((turn = late_turn(OPTIONS_LATE)) >= 0) {
        declare_options(OPTIONS_LATE, (unsigned)turn + 1);
        read_options(true);
    }
    if ((turn = late_turn(OPTION_SET)) >= 0) set_option((unsigned)turn);
    if ((turn = late_turn(DESCRIPTORS)) >= 0) declare_descriptors((unsigned)turn + 1);
}

static void declare_at_load(void) {
    enum retro_pixel_format format =
        has(&plan, PIXELS) ? RETRO_PIXEL_FORMAT_RGB565 : RETRO_PIXEL_FORMAT_XRGB8888;
    ask(PIXELS, RETRO_ENVIRONMENT_SET_PIXEL_FORMAT, &format);
    if (has(&plan, MAP)) declare_map(0);
    if (has(&plan, KEYBOARD)) declare_keyboard(KEYBOARD);
    if (has(&plan, FRAME_TIME)) declare_frame_time(FRAME_TIME);
    if (has(&plan, OPTIONS) || has(&plan, OPTION_SET)) declare_options(OPTIONS, 0);
    if (has(&plan, DESCRIPTORS)) declare_controllers();
    if (has(&plan, DESCRIPTORS)) declare_descriptors(0);
    if (has(&plan, SUBSYSTEM)) declare_subsystem();
    if (has(&plan, DISK)) declare_disks();
    declare_quirks();
    memset(&perf, 0, sizeof perf);
    if (has(&plan, C_PERF)) environment(RETRO_ENVIRONMENT_GET_PERF_INTERFACE, &perf);
    if (has(&plan, RUMBLE)) environment(RETRO_ENVIRONMENT_GET_RUMBLE_INTERFACE, &rumble);
    environment(RETRO_ENVIRONMENT_GET_LED_INTERFACE, &led);
}

/* --- loading --- */

static void find_folders(const char *content) {
    const char *slash = strrchr(content, '/'), *back = strrchr(content, '\\'), *dir = NULL;
    const char *cut = !slash || (back && back > slash) ? back : slash;
    const char *base = cut ? cut + 1 : content;
    snprintf(stem, sizeof stem, "%.*s", (int)strcspn(base, "."), base);
    snprintf(folder[2], PATH_BYTES, "%.*s", cut ? (int)(cut - content) : 1, cut ? content : ".");
    if (environment(RETRO_ENVIRONMENT_GET_SAVE_DIRECTORY, &dir) && dir)
        snprintf(folder[0], PATH_BYTES, "%s", dir);
    if (environment(RETRO_ENVIRONMENT_GET_SYSTEM_DIRECTORY, &dir) && dir)
        snprintf(folder[1], PATH_BYTES, "%s", dir);
    snprintf(shared, sizeof shared, "%.4000s/shared", folder[1]);
    snprintf(dated, sizeof dated, "%.4000s/shared/dated", folder[1]);
    files = (struct files){.plan = &plan, .folder = {folder[0], folder[1], folder[2]}, .stem = stem};
}

API bool retro_load_game(const struct retro_game_info *info) {
    char text[512];
    if (!info || !info->data || !info->path) return false;
    snprintf(text, sizeof text, "%.*s", (int)info->size, (const char *)info->data);
    if (!read_plan(&plan, text)) return false;
    memset(&m, 0, sizeof m);
    memcpy(m.mark, "strange", 8);
    m.mix = plan.seed;
    m.width = WIDTH, m.height = HEIGHT, m.largest = WIDTH;
    m.rate = pick(&plan, KINDS_END, 1, 4);
    frames_here = 0, missing = 0;
    find_folders(info->path);
    declare_at_load();
    read_options(true);
    open_at_load(&files);
    srand((unsigned)plan.seed);
    return true;
}

API void retro_unload_game(void) {
    close_files(&files);
}

API void retro_reset(void) {
    see(KINDS_END - 1, 1);
}

API void retro_get_system_info(struct retro_system_info *info) {
    *info = (struct retro_system_info){"Strange core", "1", "strange", false, false};
}

API void retro_get_system_av_info(struct retro_system_av_info *info) {
    *info = av_now();
}

API void retro_set_controller_port_device(unsigned port, unsigned device) {
    if (port >= 8) return;
    m.device[port] = device;
    see(DEVICES, device + port);
}

/* --- a frame --- */

static const unsigned polled[KEYS_POLLED] = {RETROK_a, RETROK_b, RETROK_UP, RETROK_SPACE, RETROK_KP0};

static void look_at_pads(void) {
    static const unsigned devices[] = {RETRO_DEVICE_MOUSE, RETRO_DEVICE_ANALOG, RETRO_DEVICE_POINTER};
    poll_input();
    for (unsigned port = 0; port < 4; port++)
        m.mix = fold(m.mix + port, &(uint16_t){read_pad(port)}, 2);
    if (has(&plan, DEVICES))
        for (unsigned i = 0; i < 3 * 2 * 3; i++)
            see(DEVICES, (uint16_t)input_state(i / 9, devices[i % 3], 0, i / 3 % 3));
    if (has(&plan, KEYS))
        for (unsigned i = 0; i < KEYS_POLLED; i++)
            see(KEYS, (uint16_t)input_state(0, RETRO_DEVICE_KEYBOARD, 0, polled[i]));
}

/* The keys that are down, by events or as polled: the light shows at the end whether one stayed down. */
static void show_keys(void) {
    unsigned down = 0;
    for (unsigned i = 0; i < sizeof m.key; i++)
        down += (unsigned)__builtin_popcount(m.key[i]);
    for (unsigned i = 0; has(&plan, KEYS) && i < KEYS_POLLED; i++)
        down += input_state(0, RETRO_DEVICE_KEYBOARD, 0, polled[i]) != 0;
    if (led.set_led_state && down != m.keys_shown) led.set_led_state(LIGHT_OF_KEYS, (int)down);
    m.keys_shown = down;
}

static void use_outputs(void) {
    if (has(&plan, KEYS) || has(&plan, KEYBOARD) || has(&plan, KEYBOARD_LATE)) show_keys();
    if (m.frame >= LATE_TO) return; /* as they are now, they stay */
    if (rumble.set_rumble_state && is_turn(RUMBLE))
        for (unsigned port = 0; port < 4; port++)
            rumble.set_rumble_state(port, turn_of(RUMBLE) & 1 ? RETRO_RUMBLE_WEAK : RETRO_RUMBLE_STRONG,
                                    (uint16_t)m.mix);
    if (led.set_led_state && is_turn(LEDS)) led.set_led_state((int)(m.mix % 7), (int)(m.mix >> 8 & 3));
}

static void *play_part(void *arg) {
    uint64_t *part = arg;
    *part = dice(*part);
    return NULL;
}

static void use_thread(void) {
    pthread_t thread;
    uint64_t part = m.mix;
    if (pthread_create(&thread, NULL, play_part, &part) != 0) return;
    pthread_join(thread, NULL);
    see(THREAD, part);
}

static void play(void) {
    for (enum strange_kind k = F_WHOLE; k <= F_HIDDEN; k++)
        if (is_turn(k)) see(k, use_file(&files, k, dice(m.mix + k), turn_of(k)));
    for (enum strange_kind k = C_RAND; k <= C_LOCALE; k++)
        if (is_turn(k)) see(k, take_chance(k, pick(&plan, k, 7, 4), shared, dated));
    if (is_turn(C_PERF) && perf.get_time_usec) see(C_PERF, (uint64_t)perf.get_time_usec());
    if (has(&plan, OPTIONS) || has(&plan, OPTION_SET) || has(&plan, OPTIONS_LATE)) {
        read_options(false);
        if (m.frame % 8 == 0) see(OPTIONS, option[0] ^ option[1] << 1 ^ option[2] << 2);
    }
    if (is_turn(THREAD)) use_thread();
    if (is_turn(SRAM)) see(SRAM, m.sram[m.mix % SRAM_BYTES]++);
    if (has(&plan, STATE_PART)) see(STATE_PART, missing++);
}

static void show(void) {
    static int16_t silence[2 * 2000];
    unsigned bytes = has(&plan, PIXELS) ? 2 : 4;
    silence[0] = silence[1] = (int16_t)m.mix;
    for (uint32_t i = 0; i < m.width * m.height; i++)
        pixels[i] = (uint32_t)(m.mix >> i % 33) & 0xffffff;
    bool dupe = has(&plan, DUPES) && m.mix % 5 == 0 && m.frame;
    video(dupe ? NULL : pixels, m.width, m.height, (size_t)m.width * bytes);
    struct retro_system_av_info av = av_now();
    audio(silence, (size_t)(av.timing.sample_rate / av.timing.fps));
}

API void retro_run(void) {
    look_at_pads();
    change_modes();
    declare_late();
    play();
    use_outputs();
    show();
    m.frame++;
    frames_here++;
}

/* --- RAM and states --- */

API void *retro_get_memory_data(unsigned id) {
    if (id == RETRO_MEMORY_SAVE_RAM && has(&plan, SRAM)) return m.sram;
    bool shown = !has(&plan, RAM_NONE) && (!has(&plan, MAP) || pick(&plan, MAP, 7, 2));
    return id == RETRO_MEMORY_SYSTEM_RAM && shown ? &m : NULL;
}

API size_t retro_get_memory_size(unsigned id) {
    if (!retro_get_memory_data(id)) return 0;
    return id == RETRO_MEMORY_SAVE_RAM ? SRAM_BYTES : sizeof m;
}

/* Follows the machine in a state. */
struct rest {
    const struct machine *self;
    void *heap;
};
#define ROUGH_BYTES 256

static bool has_states(void) {
    if (has(&plan, STATE_LATE)) return frames_here > pick(&plan, STATE_LATE, 7, 10);
    return !has(&plan, STATE_NONE);
}

API size_t retro_serialize_size(void) {
    size_t size = sizeof m;
    if (!has_states()) return 0;
    if (has(&plan, STATE_ROUGH)) size += ROUGH_BYTES;
    if (has(&plan, STATE_SIZE)) size += (1 + m.frame / 16 % 8) * 32;
    if (has(&plan, STATE_ADDRESS) || has(&plan, STATE_SESSION)) size += sizeof(struct rest);
    return size;
}

API bool retro_serialize(void *data, size_t size) {
    uint8_t *rest = (uint8_t *)data + sizeof m;
    if (!has_states() || size < retro_serialize_size()) return false;
    memcpy(data, &m, sizeof m);
    if (has(&plan, STATE_SIZE)) memset(rest, 5, retro_serialize_size() - sizeof m);
    if (has(&plan, STATE_ROUGH)) {
        void *rough = malloc(ROUGH_BYTES);
        if (rough) memcpy(rest, rough, ROUGH_BYTES);
        free(rough);
    }
    if (has(&plan, STATE_ADDRESS) || has(&plan, STATE_SESSION)) {
        void *heap = malloc(16);
        memcpy(rest, &(struct rest){&m, heap}, sizeof(struct rest));
        free(heap);
    }
    return true;
}

API bool retro_unserialize(const void *data, size_t size) {
    struct rest rest;
    if (!has_states() || size < sizeof m) return false;
    memcpy(&m, data, sizeof m);
    if (!has(&plan, STATE_SESSION) || size < sizeof m + sizeof rest) return true;
    memcpy(&rest, (const uint8_t *)data + sizeof m, sizeof rest);
    return *(const volatile char *)rest.self->mark == *m.mark; /* another process's: a crash */
}

/* --- for the driver --- */

/* The plan of a content's text: its kinds, separated by blanks. NULL for another content. Not thread-safe. */
API const char *strange_plan(const char *content) {
    static char text[2048];
    struct plan p;
    size_t used = 0;
    if (!read_plan(&p, content)) return NULL;
    for (uint32_t k = 0; k < KINDS_END; k++)
        if (has(&p, k))
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", used ? " " : "", kind_name[k]);
    return text;
}

/* The place of the last value of a kind in a state, or in RAM: bytes from its beginning. -1: no such kind. */
API int strange_seen_at(const char *kind) {
    for (uint32_t k = 0; k < KINDS_END; k++)
        if (strcmp(kind, kind_name[k]) == 0)
            return (int)(offsetof(struct machine, seen) + k * sizeof(uint64_t));
    return -1;
}

/* The place of bytes that the game does not go by. */
API int strange_ram_at(void) {
    return (int)offsetof(struct machine, ram);
}
