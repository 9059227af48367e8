/* probe_core.c - a libretro core made for tests: it looks at everything that the world turns, folds it into
 * its RAM, and misbehaves on request.
 *
 * PROBE_CORE in the environment holds words separated by commas; they are read in retro_load_game:
 *   fail-load     retro_load_game returns false
 *   crash-load    … crashes
 *   crash:N       crashes in frame N
 *   entropy:N     from frame N on, RAM takes random bytes that no world can turn (a direct system call)
 *   fault:N       goes wrong in frame N, each time that it runs it: a state of a later frame heals it
 *   state-entropy the state takes such bytes in 4 of its fields, RAM does not
 *   state-entropy-much  … in 64 bytes
 *   no-state      no savestate
 *   no-ram        neither memory map nor system RAM
 *   state-breaks:N serializing fails from frame N on
 *   crash-state   unserializing crashes
 *   grow-state    the state's size changes with the frame
 *   large:N       the state has N KiB more, a quarter of them noise, which the frames go through
 *   serialize     serializing changes the game
 *   sizes         asking for the state's size changes the game
 *   forget        a counter that the game goes by is not in the state
 *   scar          loading a state leaves a trace in the game
 *   hidden        frames without picture are played differently
 *   shutdown:N    asks to be shut down in frame N
 *   disks         has three disks; which one is in is in its RAM, and what happens to them in the log
 *   images        with disks: these are disk1.img to disk3.img beside the game, each read when it is put in
 *   late:N        opens late.dat beside the game in frame N, and goes by it
 *   size:WxH      draws a calm picture of that size, up to 640x480, instead of its RAM
 *   cost:N        every frame takes N microseconds of processor time
 *   once          a second one in the process crashes as it loads
 *   handler       handles SIGSEGV
 *   shares        counts in the process's environment: a second one in the process changes the game
 *   files         writes its frame into a file of the save folder every 4 frames, and goes by what it reads
 *                 2 frames later: another instance's frame changes the game
 *   map           maps a file of the save folder, and counts in it
 *   thread        a thread of its own, kept as long as the game, plays a part of each frame
 *   feel          the first pad's first button lights LED 0 and shakes that pad
 *   turn:N        asks for the picture to be turned by N quarters
 *   sets          looks for parent.zip and bios.zip as arcade cores do: beside the game, else in the system
 *                 folder's "probe"
 *   options-v0    declares its options by SET_VARIABLES, options-v1 by SET_CORE_OPTIONS, else by
 *                 SET_CORE_OPTIONS_V2
 *   spin          spins in each frame until the clock has moved on by 1 ms
 *   no-clock      does not look at clocks, chance and files
 *   rand-low      bears the name of a core that takes remainders and bits of rand(), and does so; rand-upper:
 *                 of one that compares with RAND_MAX and divides by it */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifndef _WIN32
#include <sys/mman.h>
#endif
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "tests/cores/libretro_core.h"
#include "tests/cores/probe_chance.h"
#include "tests/cores/probe_disks.h"
#include "tests/cores/probe_hand.h"
#include "tests/cores/words.h"

#ifdef _WIN32 /* winpthreads has the rest */
static int32_t utc_offset(const struct tm *tm) {
    struct tm utc = *tm, local = *tm;
    return (int32_t)(_mkgmtime(&utc) - mktime(&local));
}
static bool read_entropy(uint32_t *value) {
    *value = (uint32_t)__builtin_ia32_rdtsc() * 2654435761u;
    return true;
}
#else
static int32_t utc_offset(const struct tm *tm) {
    return (int32_t)tm->tm_gmtoff;
}
static bool read_entropy(uint32_t *value) {
    return syscall(SYS_getrandom, value, sizeof *value, 0) >= 0;
}
#endif

#define RAM_BYTES  4096
#define SRAM_BYTES 64
#define WIDTH      160
#define HEIGHT     120
#define WIDTH_MAX  640
#define HEIGHT_MAX 480
#define RATE       44100
#define FPS        60

/* The first words of RAM, which a test reads back. */
struct seen {
    uint32_t frame;
    uint32_t pad[4];
    int64_t time_s, real_ns, mono_ns, made_s;
    int32_t hour, year, utc_offset, timeouts;
    uint32_t random, speed, bios_bytes, disk; /* disk: from 1; 0: the tray is open, or none */
};

static union {
    struct seen seen;
    uint8_t bytes[RAM_BYTES];
} ram;
static uint8_t sram[SRAM_BYTES];
static uint32_t state_extra, hidden_frames, forgotten;
static uint32_t pixels[WIDTH_MAX * HEIGHT_MAX];
static unsigned shown_width = WIDTH, shown_height = HEIGHT;

/* --- PROBE_CORE --- */

static const char *asked(const char *word) {
    return find_word(getenv("PROBE_CORE"), word);
}

static bool is_time(const char *word) {
    const char *frame = asked(word);
    return frame && ram.seen.frame >= strtoul(frame, NULL, 10);
}

static uint32_t real_entropy(void) {
    uint32_t value = 0;
    return read_entropy(&value) ? value : 1;
}

static void crash(void) {
    volatile int *nowhere = NULL;
    *nowhere = 1;
}

/* --- options --- */

static void declare(void) {
    static const struct retro_variable v0[] = {
        {"probe_speed", "Speed; normal|slow|fast"}, {"probe_lives", "Lives; 3|5"}, {NULL, NULL}};
    static const struct retro_core_option_definition v1[] = {
        {"probe_speed",
         "Speed",
         "how fast",
         {{"slow", NULL}, {"normal", NULL}, {"fast", "Fast!"}, {NULL, NULL}},
         "normal"},
        {"probe_lives", "Lives", NULL, {{"3", NULL}, {"5", NULL}, {NULL, NULL}}, NULL},
        {NULL, NULL, NULL, {{NULL, NULL}}, NULL}};
    static struct retro_core_option_v2_definition v2[] = {
        {"probe_speed",
         "Speed",
         NULL,
         "how fast",
         NULL,
         NULL,
         {{"slow", NULL}, {"normal", NULL}, {"fast", "Fast!"}, {NULL, NULL}},
         "normal"},
        {"probe_lives", "Lives", NULL, NULL, NULL, NULL, {{"3", NULL}, {"5", NULL}, {NULL, NULL}}, NULL},
        {NULL, NULL, NULL, NULL, NULL, NULL, {{NULL, NULL}}, NULL}};
    static struct retro_core_options_v2 both = {NULL, v2};
    if (asked("options-v0"))
        environment(RETRO_ENVIRONMENT_SET_VARIABLES, (void *)v0);
    else if (asked("options-v1"))
        environment(RETRO_ENVIRONMENT_SET_CORE_OPTIONS, (void *)v1);
    else
        environment(RETRO_ENVIRONMENT_SET_CORE_OPTIONS_V2, &both);
}

static uint32_t read_speed(void) {
    struct retro_variable v = {"probe_speed", NULL};
    if (!environment(RETRO_ENVIRONMENT_GET_VARIABLE, &v) || !v.value) return 0;
    return strcmp(v.value, "slow") == 0 ? 1 : strcmp(v.value, "normal") == 0 ? 2 : 3;
}

/* --- looking at the world --- */

static int64_t ns(const struct timespec *ts) {
    return ts->tv_sec * 1000000000LL + ts->tv_nsec;
}

static void look_at_clocks(void) {
    struct timespec real, mono;
    struct timeval tv;
    time_t now = time(NULL);
    struct tm *tm = localtime(&now), made = *tm;
    clock_gettime(CLOCK_REALTIME, &real);
    clock_gettime(CLOCK_MONOTONIC, &mono);
    gettimeofday(&tv, NULL);
    ram.seen.time_s = tv.tv_sec == now || tv.tv_sec == now + 1 ? now : -1;
    ram.seen.real_ns = ns(&real);
    ram.seen.mono_ns = ns(&mono);
    ram.seen.hour = tm->tm_hour;
    ram.seen.year = tm->tm_year;
    ram.seen.utc_offset = utc_offset(tm);
    ram.seen.made_s = mktime(&made);
}

/* Nobody signals: it must time out, soon, whatever the clock is that made the deadline. */
static void wait_a_little(void) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
    struct timespec deadline;
    clock_gettime(CLOCK_REALTIME, &deadline);
    deadline.tv_nsec += 1000000;
    if (deadline.tv_nsec >= 1000000000) deadline.tv_nsec -= 1000000000, deadline.tv_sec++;
    pthread_mutex_lock(&lock);
    if (pthread_cond_timedwait(&never, &lock, &deadline) == ETIMEDOUT) ram.seen.timeouts++;
#ifndef _WIN32 /* winpthreads does so itself */
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &deadline);
    deadline.tv_nsec += 1000000;
    if (deadline.tv_nsec >= 1000000000) deadline.tv_nsec -= 1000000000, deadline.tv_sec++;
    do { /* as wait_for() of C++ waits for a condition */
        pthread_cond_clockwait(&never, &lock, CLOCK_MONOTONIC, &deadline);
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while (ns(&now) < ns(&deadline));
#endif
    pthread_mutex_unlock(&lock);
}

/* A constructor runs before the first call of the core, and sees the world all the same. */
static int64_t constructed_s;
__attribute__((constructor)) static void construct(void) {
    constructed_s = time(NULL);
}
API int64_t probe_constructed_s(void) {
    return constructed_s;
}

static void spin(void) {
    struct timespec start, now;
    clock_gettime(CLOCK_MONOTONIC, &start);
    do
        clock_gettime(CLOCK_MONOTONIC, &now);
    while (ns(&now) - ns(&start) < 1000000);
}

static void read_bios(void) {
    const char *dir = NULL;
    char path[4096], byte;
    if (!environment(RETRO_ENVIRONMENT_GET_SYSTEM_DIRECTORY, &dir) || !dir) return;
    snprintf(path, sizeof(path), "%s/probe.bios", dir);
    FILE *f = fopen(path, "rb");
    while (f && fread(&byte, 1, 1, f) == 1)
        ram.seen.bios_bytes++;
    if (f) fclose(f);
    snprintf(path, sizeof(path), "%s/probe.second", dir);
    int fd = open(path, O_RDONLY);
    if (fd >= 0) close(fd);
}

/* Wherever it is found first. Read whole, so all members count. */
static void read_set(const char *game, const char *name) {
    const char *slash = game ? strrchr(game, '/') : NULL, *dir = NULL;
    char path[4096], bytes[4096];
    snprintf(path, sizeof(path), "%.*s/%s", slash ? (int)(slash - game) : 0, game, name);
    FILE *f = slash ? fopen(path, "rb") : NULL;
    if (!f && environment(RETRO_ENVIRONMENT_GET_SYSTEM_DIRECTORY, &dir) && dir) {
        snprintf(path, sizeof(path), "%s/probe/%s", dir, name);
        f = fopen(path, "rb");
    }
    while (f && fread(bytes, 1, sizeof bytes, f) > 0) {
    }
    if (f) fclose(f);
}

/* Folds a file beside the game into the game. False: there is none. */
static void stir(uint32_t with);
static char game_dir[4096]; /* with a slash */
static bool go_by_file(const char *name) {
    char path[8192];
    int c;
    snprintf(path, sizeof path, "%s%s", game_dir, name);
    FILE *f = fopen(path, "rb");
    while (f && (c = fgetc(f)) != EOF)
        stir((uint32_t)c);
    if (f) fclose(f);
    return f;
}

/* Whether the file of the save folder holds another frame than the one that was written last. */
static uint32_t use_file(void) {
    const char *dir = NULL;
    char path[4096];
    uint32_t there = 0, last = ram.seen.frame & ~3u;
    unsigned turn = ram.seen.frame % 4;
    if (turn % 2 || !environment(RETRO_ENVIRONMENT_GET_SAVE_DIRECTORY, &dir) || !dir) return 0;
    snprintf(path, sizeof(path), "%s/probe.frame", dir);
    FILE *f = fopen(path, turn ? "rb" : "wb");
    if (!f) return turn;
    size_t n = turn ? fread(&there, sizeof(there), 1, f) : fwrite(&last, sizeof(last), 1, f);
    fclose(f);
    return n != 1 || (turn && there != last);
}

/* A map that outlives its descriptor. */
static void use_map(void) {
#ifndef _WIN32
    static uint8_t *bytes;
    const char *dir = NULL;
    char path[4096];
    if (!bytes && environment(RETRO_ENVIRONMENT_GET_SAVE_DIRECTORY, &dir) && dir) {
        snprintf(path, sizeof(path), "%s/probe.map", dir);
        int fd = open(path, O_RDWR | O_CREAT, 0600);
        if (fd < 0 || ftruncate(fd, 1) != 0) return;
        void *at = mmap(NULL, 1, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        close(fd);
        if (at != MAP_FAILED) bytes = at;
    }
    if (bytes) (*bytes)++;
#endif
}

static void look_at_world(void) {
    if (asked("no-clock")) return;
    look_at_clocks();
    ram.seen.random = (uint32_t)rand();
    if (ram.seen.frame % 30 == 0) wait_a_little();
    if (asked("spin")) spin();
}

/* --- a frame --- */

static void read_pads(void) {
    poll_input();
    for (unsigned port = 0; port < 4; port++)
        ram.seen.pad[port] = read_pad(port);
}

/* All of RAM behind `seen` is stirred by what was seen, so one difference stays for good. */
static void stir(uint32_t with) {
    uint32_t *words = (uint32_t *)ram.bytes, n = RAM_BYTES / 4, h = with * 2654435761u;
    for (uint32_t i = 0; i < sizeof(ram.seen) / 4; i++)
        h = (h ^ words[i]) * 16777619u;
    for (uint32_t i = sizeof(ram.seen) / 4; i < n; i++)
        words[i] = h = (h ^ words[i]) * 16777619u + i;
}

static void hand_works(void) {
    stir(ram.seen.frame);
}

/* --- a large machine --- */

static uint8_t *large;
static size_t large_bytes;

static void make_large(void) {
    const char *kib = asked("large");
    uint32_t seed = 5;
    free(large);
    large_bytes = kib ? strtoul(kib, NULL, 10) * 1024 : 0;
    large = large_bytes ? calloc(1, large_bytes) : NULL;
    if (!large) large_bytes = 0;
    for (size_t i = 0; i < large_bytes; i++) {
        seed = seed * 1664525u + 1013904223u;
        if (i / 4096 % 4 == 0) large[i] = (uint8_t)(seed >> 24);
    }
}

/* Its bytes change the game, and the game changes its bytes. */
static void use_large(void) {
    if (!large_bytes) return;
    for (unsigned i = 0; i < 64; i++)
        large[(ram.seen.frame * 4099u + i * 65537u) % large_bytes] ^= ram.bytes[RAM_BYTES - 1 - i];
    ram.bytes[RAM_BYTES - 1] ^= large[ram.seen.frame * 7919u % large_bytes];
}

/* Hills in the dusk, scrolling. */
static void draw_calm(void) {
    for (unsigned x = 0; x < shown_width; x++) {
        unsigned at = (x + 2 * ram.seen.frame) % 320, slope = at < 160 ? at : 320 - at;
        for (unsigned y = 0; y < shown_height; y++) {
            bool hill = y + slope > shown_height * 3 / 4 + 40;
            pixels[y * shown_width + x] = hill ? 0x305030 : 0x6080c0 - y * 0x40 / shown_height * 0x010100;
        }
    }
}

static void show(void) {
    static int16_t samples[2 * RATE / FPS];
    const uint32_t *words = (const uint32_t *)ram.bytes;
    for (unsigned i = 0; i < WIDTH * HEIGHT; i++)
        pixels[i] = words[(i / 8 + ram.seen.frame) % (RAM_BYTES / 4)];
    for (unsigned i = 0; i < RATE / FPS; i++)
        samples[2 * i] = samples[2 * i + 1] = (int16_t)(((ram.seen.frame + i) % 100) * 40 - 2000);
    if (asked("size")) draw_calm();
    video(pixels, shown_width, shown_height, shown_width * 4);
    audio(samples, RATE / FPS);
}

/* --- lights and motors --- */

static struct retro_led_interface lights;
static struct retro_rumble_interface motors;

static void find_feel(void) {
    if (!environment(RETRO_ENVIRONMENT_GET_LED_INTERFACE, &lights)) lights.set_led_state = NULL;
    if (!environment(RETRO_ENVIRONMENT_GET_RUMBLE_INTERFACE, &motors)) motors.set_rumble_state = NULL;
}

static void give_feel(void) {
    unsigned on = ram.seen.pad[0] & 1;
    if (lights.set_led_state) lights.set_led_state(0, (int)on);
    if (motors.set_rumble_state) motors.set_rumble_state(0, RETRO_RUMBLE_STRONG, (uint16_t)(on * 1000));
}

/* --- a second one in the process: they share its environment, and its signals --- */

static void share(void) {
    static uint32_t own;
    const char *runs = getenv("PROBE_CORE_RUNS");
    uint32_t all = (runs ? (uint32_t)strtoul(runs, NULL, 10) : 0) + 1;
    char text[16];
    snprintf(text, sizeof text, "%u", all);
    setenv("PROBE_CORE_RUNS", text, 1);
    if (all != ++own) stir(all);
}

static void on_signal(int number) {
    (void)number;
}

static void meet_others(void) {
    if (asked("once") && getenv("PROBE_CORE_LOADED")) crash();
    setenv("PROBE_CORE_LOADED", "1", 1);
    if (asked("handler")) signal(SIGSEGV, on_signal);
}

/* The machine's own clock: the world's stands still within a frame. */
static void burn(uint64_t from_us) {
    const char *cost = asked("cost");
    uint64_t us = cost ? strtoul(cost, NULL, 10) : 0;
    while (us && wall_us() - from_us < us) {
    }
}

API void retro_run(void) {
    uint64_t from_us = wall_us();
    int enabled = 3;
    bool updated = false;
    if (is_time("crash")) crash();
    if (is_time("shutdown")) environment(RETRO_ENVIRONMENT_SHUTDOWN, NULL);
    if (environment(RETRO_ENVIRONMENT_GET_VARIABLE_UPDATE, &updated) && updated)
        ram.seen.speed = read_speed();
    environment(RETRO_ENVIRONMENT_GET_AUDIO_VIDEO_ENABLE, &enabled);
    read_pads();
    look_at_world();
    if (!(enabled & 1) && asked("hidden")) hidden_frames++;
    if (asked("forget")) forgotten++;
    use_large();
    if (asked("feel")) give_feel();
    if (asked("shares")) share();
    if (asked("map")) use_map();
    if (names_frame(getenv("PROBE_CORE"), "late", ram.seen.frame)) stir(go_by_file("late.dat"));
    stir(hidden_frames + forgotten + (asked("rand-low") ? remainder_of_rand() : 0) +
         (asked("rand-upper") ? share_of_rand() : 0) + (is_time("entropy") ? real_entropy() : 0) +
         (names_frame(getenv("PROBE_CORE"), "fault", ram.seen.frame) ? 77 : 0) +
         (asked("files") ? use_file() : 0));
    tell_hand(HAND_WORKS);
    ram.seen.frame++;
    sram[0]++;
    burn(from_us);
    show();
}

/* --- disks --- */

static void tray_moved(bool open, unsigned in) {
    struct retro_log_callback log = {0};
    ram.seen.disk = open ? 0 : in;
    if (environment(RETRO_ENVIRONMENT_GET_LOG_INTERFACE, &log) && log.log)
        log.log(RETRO_LOG_INFO, "probe: frame %u: tray %s, disk %u\n", ram.seen.frame,
                open ? "open" : "closed", in);
}
static void disk_inserted(const char *image) {
    stir(go_by_file(image));
}

/* --- the rest of libretro --- */

static void show_memory(void) {
    static struct retro_memory_descriptor
        d[3]; /* the upper half first, and a mirror: the hash must not mind */
    static struct retro_memory_map map = {d, 3};
    memset(d, 0, sizeof(d));
    for (unsigned i = 0; i < 3; i++)
        d[i].flags = RETRO_MEMDESC_SYSTEM_RAM, d[i].len = RAM_BYTES / 2;
    d[0].ptr = ram.bytes + RAM_BYTES / 2;
    d[0].start = RAM_BYTES / 2;
    d[1].ptr = ram.bytes;
    d[1].start = 0;
    d[2].ptr = ram.bytes;
    d[2].start = 0x10000;
    environment(RETRO_ENVIRONMENT_SET_MEMORY_MAPS, &map);
}

static void set_picture(void) {
    const char *size = asked("size"), *turn = asked("turn");
    unsigned w, h, quarters = turn ? (unsigned)strtoul(turn, NULL, 10) : 0;
    if (size && sscanf(size, "%ux%u", &w, &h) == 2 && w <= WIDTH_MAX && h <= HEIGHT_MAX) {
        shown_width = w;
        shown_height = h;
    }
    if (turn) environment(RETRO_ENVIRONMENT_SET_ROTATION, &quarters);
}

API bool retro_load_game(const struct retro_game_info *game) {
    enum retro_pixel_format format = RETRO_PIXEL_FORMAT_XRGB8888;
    if (asked("fail-load")) return false;
    if (asked("crash-load")) crash();
    meet_others();
    environment(RETRO_ENVIRONMENT_SET_PIXEL_FORMAT, &format);
    set_picture();
    if (!asked("no-ram")) show_memory();
    const char *slash = game && game->path ? strrchr(game->path, '/') : NULL;
    snprintf(game_dir, sizeof game_dir, "%.*s", slash ? (int)(slash + 1 - game->path) : 0,
             slash ? game->path : "");
    if (asked("disks")) {
        offer_disks(asked("images") ? game_dir : NULL);
        ram.seen.disk = disk + 1;
    }
    if (asked("feel")) find_feel();
    ram.seen.speed = read_speed();
    make_large();
    if (asked("thread")) start_hand();
    if (asked("sets") && game) {
        read_set(game->path, "parent.zip");
        read_set(game->path, "bios.zip");
    }
    if (asked("no-clock")) return true;
    read_bios();
    srand((unsigned)time(NULL));
    return true;
}

static size_t state_bytes(void) {
    return RAM_BYTES + SRAM_BYTES + 16 + large_bytes + (asked("grow-state") ? ram.seen.frame % 64 : 0);
}

API size_t retro_serialize_size(void) {
    if (asked("sizes")) stir(1);
    return asked("no-state") ? 0 : state_bytes();
}

API bool retro_serialize(void *data, size_t size) {
    uint8_t *out = data;
    if (asked("no-state") || is_time("state-breaks") || size < state_bytes()) return false;
    if (asked("serialize")) stir(1);
    if (asked("state-entropy")) state_extra = real_entropy();
    memcpy(out, ram.bytes, RAM_BYTES);
    memcpy(out + RAM_BYTES, sram, SRAM_BYTES);
    for (unsigned i = 0; i < SRAM_BYTES && asked("state-entropy-much"); i++)
        out[RAM_BYTES + i] = (uint8_t)real_entropy();
    memcpy(out + RAM_BYTES + SRAM_BYTES, &state_extra, 4);
    memcpy(out + RAM_BYTES + SRAM_BYTES + 4, &hidden_frames, 4);
    if (large_bytes) memcpy(out + RAM_BYTES + SRAM_BYTES + 16, large, large_bytes);
    return true;
}

API bool retro_unserialize(const void *data, size_t size) {
    const uint8_t *in = data;
    if (asked("crash-state")) crash();
    if (size < RAM_BYTES + SRAM_BYTES + 16 + large_bytes) return false;
    memcpy(ram.bytes, in, RAM_BYTES);
    memcpy(sram, in + RAM_BYTES, SRAM_BYTES);
    memcpy(&state_extra, in + RAM_BYTES + SRAM_BYTES, 4);
    memcpy(&hidden_frames, in + RAM_BYTES + SRAM_BYTES + 4, 4);
    if (large_bytes) memcpy(large, in + RAM_BYTES + SRAM_BYTES + 16, large_bytes);
    if (asked("scar")) stir(7);
    return true;
}

API void *retro_get_memory_data(unsigned id) {
    if (id == RETRO_MEMORY_SAVE_RAM) return sram;
    return id == RETRO_MEMORY_SYSTEM_RAM && !asked("no-ram") ? ram.bytes : NULL;
}

API size_t retro_get_memory_size(unsigned id) {
    if (id == RETRO_MEMORY_SAVE_RAM) return SRAM_BYTES;
    return id == RETRO_MEMORY_SYSTEM_RAM && !asked("no-ram") ? RAM_BYTES : 0;
}

API void retro_get_system_info(struct retro_system_info *info) {
    const char *name = asked("rand-low")     ? "Nestopia"
                       : asked("rand-upper") ? "Genesis Plus GX"
                                             : "Probe core";
    *info = (struct retro_system_info){name, "1", "probe|bin|nes", false, false};
}

API void retro_get_system_av_info(struct retro_system_av_info *info) {
    *info = (struct retro_system_av_info){{shown_width, shown_height, shown_width, shown_height, 4.0f / 3.0f},
                                          {FPS, RATE}};
}

API void retro_reset(void) {
    memset(ram.bytes, 0, sizeof(ram.bytes));
}
API void retro_unload_game(void) {
    unsetenv("PROBE_CORE_LOADED");
    end_hand();
}
