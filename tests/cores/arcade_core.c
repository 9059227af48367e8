/* arcade_core.c - a libretro core made for tests, which does what FBNeo does where it matters to a room.
 *
 * - It opens its set itself, by path, and takes members by the checksums that the directory states, else by
 * their names: from the game's zip or 7z, its parent's and its BIOS's, beside the game, in the system
 * folder's "arcade", or in the system folder. Of a zip it reads the members that it needs; a 7z it unpacks
 * whole. It reads by the frontend's files (VFS), and where there are none by the C library. A seek that
 * answers anything but 0 is an error to it.
 * - A set that lacks members loads all the same: a picture says so, there are no state and no memory, and any
 *   button shuts the core down. The log names the members.
 * - It reads hiscore.dat, cheats/NAME.ini and blend/NAME.bld in the system folder's "arcade". The first goes
 * into RAM, the second too if the option arcade_cheats is on, the third into the picture.
 * - NVRAM, with the best score, is a file in the save folder's "arcade": read at the load, written at the
 * end.
 * - The clock at the load is in its state.
 * - duel and duelj, as CPS-1: the phase of the sound is not in the state, and from SOUND_FRAME on 148 bytes
 * of the state follow from it. Two machines part there once one of them has loaded a state; RAM stays equal.
 * - brawl, as Neo Geo: a load rewrites 12 bytes of the state, so that they part from those of a machine that
 *   has not loaded.
 * - A reset is no power-on: RAM and the count of frames stay.
 * - The DIP switches of the game are options, which it declares once it knows the game.
 * - duel and duelj stand upright. All run at 59.61 Hz.
 *
 * ARCADE_CORE in the environment: large:N, the state has N KiB more; version:V, it is of that version.
 * tests/content/arcade/sets.py packs the sets. */
#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

#include "tests/cores/libretro_core.h"

#define FPS         59.61
#define RATE        48000
#define WIDTH       320
#define HEIGHT      224
#define RAM_BYTES   65536
#define NVRAM_BYTES 64
#define CHIP_WORDS  37 /* 148 bytes */
#define ROMS        3
#define ROM_BYTES   8192
#define SETS        3 /* the game's, its parent's, its BIOS's */
#define PORTS       2
#define SOUND_FRAME 30
#define TAIL        1028 /* bytes in which the end record is looked for */
#define EXTRAS      3    /* hiscore.dat, cheats, blend */

struct rom {
    const char *name;
    uint32_t crc, bytes;
};

static const struct driver {
    const char *name, *other[SETS - 1]; /* other sets that it takes members from */
    bool upright;
    struct rom rom[ROMS];
} drivers[] = {
    {"duel", {NULL}, true, {{"duel.prg", 0x6e40dc74, 4096}, {"duel.gfx", 0x9c694635, 8192}}},
    {"duelj", {"duel"}, true, {{"duelj.prg", 0x2c3f8acb, 4096}, {"duel.gfx", 0x9c694635, 8192}}},
    {"brawl",
     {NULL, "arcbios"},
     false,
     {{"brawl.prg", 0xe80ade1a, 4096}, {"brawl.gfx", 0x6842ed1b, 8192}, {"arcbios.rom", 0x66e64412, 4096}}},
};

static struct {
    union {
        struct {
            uint32_t frame, chain, pad[PORTS], x[PORTS], score, dip, resets, scores, cheats;
            uint8_t nvram[NVRAM_BYTES]; /* the best score first */
        };
        uint32_t word[RAM_BYTES / 4];
    } ram;
    uint64_t made_s;
    uint32_t chip[CHIP_WORDS], timer[3];
} game;
static uint32_t phase;         /* of the sound: no part of the state */
static uint32_t extra[EXTRAS]; /* checksums of the optional files; 0: there is none */
static uint8_t roms[ROMS][ROM_BYTES], *large;
static size_t large_bytes;
static const struct driver *driver; /* NULL: nothing is loaded, or members are missing */
static char game_dir[4096], game_name[64], nvram_path[4352], dip_key[96];
static const struct retro_vfs_interface *vfs;
static uint32_t pixels[WIDTH * HEIGHT];

static void say(enum retro_log_level level, const char *what, const char *name, uint32_t crc) {
    struct retro_log_callback log = {0};
    if (environment(RETRO_ENVIRONMENT_GET_LOG_INTERFACE, &log) && log.log)
        log.log(level, "[Arcade] %s %s (CRC %08x)\n", what, name, (unsigned)crc);
}

/* --- files: the frontend's, else the C library's --- */

struct file {
    struct retro_vfs_file_handle *front;
    FILE *c;
};

static bool open_file(struct file *f, const char *path, bool writes) {
    *f = (struct file){0};
    if (vfs)
        f->front = vfs->open(path, writes ? RETRO_VFS_FILE_ACCESS_WRITE : RETRO_VFS_FILE_ACCESS_READ, 0);
    else
        f->c = fopen(path, writes ? "wb" : "rb");
    return f->front || f->c;
}
static void close_file(struct file *f) {
    if (f->front) vfs->close(f->front);
    if (f->c) fclose(f->c);
}
static int64_t seek_file(struct file *f, int64_t to, int whence) {
    return f->front ? vfs->seek(f->front, to, whence) : fseek(f->c, (long)to, whence);
}
static int64_t where(struct file *f) {
    return f->front ? vfs->tell(f->front) : ftell(f->c);
}
static bool read_at(struct file *f, int64_t at, void *out, size_t bytes) {
    if (seek_file(f, at, RETRO_VFS_SEEK_POSITION_START) != 0) return false;
    return (f->front ? vfs->read(f->front, out, bytes) : (int64_t)fread(out, 1, bytes, f->c)) ==
           (int64_t)bytes;
}
static void write_file(struct file *f, const void *data, size_t bytes) {
    if (f->front)
        vfs->write(f->front, data, bytes);
    else
        fwrite(data, 1, bytes, f->c);
}
static void make_folder(const char *path) {
    if (vfs)
        vfs->mkdir(path);
    else
        mkdir(path, 0755);
}

/* --- zips: stored and deflated members --- */

static uint32_t le(const uint8_t *p, unsigned bytes) {
    uint32_t v = 0;
    for (unsigned i = 0; i < bytes; i++)
        v |= (uint32_t)p[i] << (8 * i);
    return v;
}

static bool unpack(uint8_t *packed, uint32_t packed_bytes, uint8_t *out, uint32_t bytes) {
    z_stream z = {.next_in = packed, .avail_in = packed_bytes, .next_out = out, .avail_out = bytes};
    if (inflateInit2(&z, -MAX_WBITS) != Z_OK) return false;
    int end = inflate(&z, Z_FINISH);
    inflateEnd(&z);
    return end == Z_STREAM_END && z.total_out == bytes;
}

/* entry: of the central directory. */
static bool read_member(struct file *f, const uint8_t *entry, const struct rom *rom, uint8_t *out) {
    static uint8_t packed[2 * ROM_BYTES];
    uint8_t head[30];
    uint32_t method = le(entry + 10, 2), packed_bytes = le(entry + 20, 4), at = le(entry + 42, 4);
    if (packed_bytes > sizeof packed || le(entry + 24, 4) != rom->bytes) return false;
    if (!read_at(f, at, head, sizeof head)) return false;
    if (!read_at(f, at + 30 + le(head + 26, 2) + le(head + 28, 2), packed, packed_bytes)) return false;
    if (method == 8) return unpack(packed, packed_bytes, out, rom->bytes);
    memcpy(out, packed, rom->bytes);
    return method == 0;
}

/* True if this is the member: by its checksum, or else by its name. */
static bool is_rom(const struct rom *rom, uint32_t crc, const char *name, size_t len, bool by_name) {
    if (!rom->name) return false;
    return by_name ? strlen(rom->name) == len && !memcmp(rom->name, name, len) : rom->crc == crc;
}

/* The directory's offset, by the end record in the file's last bytes; 0: no zip. */
static uint32_t find_directory(struct file *f, uint32_t *count) {
    static uint8_t tail[TAIL];
    if (seek_file(f, 0, RETRO_VFS_SEEK_POSITION_END) != 0) return 0;
    int64_t size = where(f), from = size > TAIL ? size - TAIL : 0;
    if (!read_at(f, from, tail, (size_t)(size - from))) return 0;
    for (int64_t at = size - from - 22; at >= 0; at--) {
        if (le(tail + at, 4) != 0x06054b50) continue;
        *count = le(tail + at + 10, 2);
        return le(tail + at + 16, 4);
    }
    return 0;
}

/* Takes what is still missing. */
static bool read_zip(const char *path, const struct driver *d, bool *have, bool by_name) {
    struct file f;
    uint8_t entry[46], name[64];
    uint32_t count = 0;
    if (!open_file(&f, path, false)) return false;
    uint32_t at = find_directory(&f, &count);
    for (uint32_t n = count; n && read_at(&f, at, entry, sizeof entry); n--) {
        uint32_t len = le(entry + 28, 2);
        if (len > sizeof name || !read_at(&f, at + 46, name, len)) len = 0;
        for (unsigned i = 0; i < ROMS; i++)
            if (!have[i] && is_rom(&d->rom[i], le(entry + 16, 4), (char *)name, len, by_name))
                have[i] = read_member(&f, entry, &d->rom[i], roms[i]);
        at += 46 + le(entry + 28, 2) + le(entry + 30, 2) + le(entry + 32, 2);
    }
    close_file(&f);
    return count > 0;
}

/* --- 7z: all of it is read and unpacked --- */

static bool read_7z(const char *path, const struct driver *d, bool *have, bool by_name) {
    static uint8_t whole[1 << 20], bytes[ROM_BYTES + 1];
    struct file f;
    struct archive_entry *e;
    if (!open_file(&f, path, false)) return false;
    int64_t size = seek_file(&f, 0, RETRO_VFS_SEEK_POSITION_END) == 0 ? where(&f) : 0;
    bool good = size > 0 && size <= (int64_t)sizeof whole && read_at(&f, 0, whole, (size_t)size);
    close_file(&f);
    struct archive *a = archive_read_new();
    archive_read_support_format_7zip(a);
    good = good && archive_read_open_memory(a, whole, (size_t)size) == ARCHIVE_OK;
    while (good && archive_read_next_header(a, &e) == ARCHIVE_OK) {
        const char *name = archive_entry_pathname(e);
        la_ssize_t n = archive_read_data(a, bytes, sizeof bytes);
        uint32_t crc = n > 0 ? (uint32_t)crc32(0, bytes, (uInt)n) : 0;
        for (unsigned i = 0; i < ROMS; i++) {
            if (have[i] || n != d->rom[i].bytes || !is_rom(&d->rom[i], crc, name, strlen(name), by_name))
                continue;
            memcpy(roms[i], bytes, (size_t)n);
            have[i] = true;
        }
    }
    archive_read_free(a);
    return good;
}

/* --- the set --- */

static const char *folder(unsigned cmd) {
    const char *dir = NULL;
    return environment(cmd, &dir) && dir ? dir : "/nonexistent";
}

static bool read_set(const char *set, const struct driver *d, bool *have, bool by_name) {
    const char *system = folder(RETRO_ENVIRONMENT_GET_SYSTEM_DIRECTORY);
    const char *in[] = {game_dir, system, system}, *below[] = {"", "/arcade", ""};
    bool any = false;
    for (unsigned i = 0; i < 3; i++) {
        char path[4352];
        snprintf(path, sizeof path, "%s%s/%s.zip", in[i], below[i], set);
        any |= read_zip(path, d, have, by_name);
        snprintf(path, sizeof path, "%s%s/%s.7z", in[i], below[i], set);
        any |= read_7z(path, d, have, by_name);
    }
    return any;
}

static bool read_sets(const struct driver *d, bool *have, bool by_name) {
    bool any = read_set(d->name, d, have, by_name);
    for (unsigned i = 0; i < SETS - 1; i++)
        if (d->other[i]) any |= read_set(d->other[i], d, have, by_name);
    return any;
}

static const struct driver *find_driver(void) {
    for (unsigned i = 0; i < sizeof drivers / sizeof *drivers; i++)
        if (!strcmp(drivers[i].name, game_name)) return &drivers[i];
    return NULL;
}

static bool load_set(const struct driver *d) {
    bool have[ROMS] = {false}, all = true, any = read_sets(d, have, false);
    for (unsigned i = 0; i < ROMS; i++)
        all = all && (have[i] || !d->rom[i].name);
    if (any && !all) read_sets(d, have, true);
    all = true;
    for (unsigned i = 0; i < ROMS && any; i++) {
        if (!d->rom[i].name || have[i]) continue;
        say(RETRO_LOG_ERROR, "a required file is missing:", d->rom[i].name, d->rom[i].crc);
        all = false;
    }
    if (!any) say(RETRO_LOG_ERROR, "no set was found of", d->name, 0);
    return any && all;
}

/* Optional files beside the sets; a machine may lack them. */
static uint32_t read_extra(const char *path) {
    static uint8_t bytes[4096];
    struct file f;
    uint32_t sum = 0;
    if (!open_file(&f, path, false)) return 0;
    int64_t size = seek_file(&f, 0, RETRO_VFS_SEEK_POSITION_END) == 0 ? where(&f) : 0;
    if (size > (int64_t)sizeof bytes) size = sizeof bytes;
    if (read_at(&f, 0, bytes, (size_t)size)) sum = (uint32_t)crc32(0, bytes, (uInt)size);
    close_file(&f);
    return sum;
}
static void read_extras(void) {
    const char *system = folder(RETRO_ENVIRONMENT_GET_SYSTEM_DIRECTORY);
    const char *name[] = {"", game_name, game_name}, *before[] = {"hiscore", "cheats/", "blend/"},
               *after[] = {".dat", ".ini", ".bld"};
    for (unsigned i = 0; i < EXTRAS; i++) {
        char path[4352];
        snprintf(path, sizeof path, "%s/arcade/%s%s%s", system, before[i], name[i], after[i]);
        extra[i] = read_extra(path);
        if (extra[i]) say(RETRO_LOG_WARN, "reads", path + strlen(system) + strlen("/arcade/"), extra[i]);
    }
    game.ram.scores = extra[0];
}

static void read_nvram(void) {
    struct file f;
    char dir[4200];
    snprintf(dir, sizeof dir, "%s/arcade", folder(RETRO_ENVIRONMENT_GET_SAVE_DIRECTORY));
    make_folder(dir);
    snprintf(nvram_path, sizeof nvram_path, "%s/%s.nv", dir, game_name);
    if (!open_file(&f, nvram_path, false)) return;
    read_at(&f, 0, game.ram.nvram, NVRAM_BYTES);
    close_file(&f);
}

/* --- options --- */

static void declare_options(bool knows_game) {
    static struct retro_core_option_v2_definition all[4];
    static struct retro_core_options_v2 both = {NULL, all};
    all[0] = (struct retro_core_option_v2_definition){
        "arcade_speed", "Speed", NULL, NULL, NULL, NULL, {{"100%", NULL}, {"200%", NULL}, {NULL, NULL}},
        "100%"};
    all[1] = (struct retro_core_option_v2_definition){
        "arcade_cheats", "Cheats", NULL, NULL, NULL, NULL, {{"0", NULL}, {"1", NULL}, {NULL, NULL}}, "0"};
    snprintf(dip_key, sizeof dip_key, "arcade_dip_%s_lives", game_name);
    all[2] = (struct retro_core_option_v2_definition){knows_game ? dip_key : NULL,
                                                      "Lives",
                                                      NULL,
                                                      NULL,
                                                      NULL,
                                                      NULL,
                                                      {{"3", NULL}, {"5", NULL}, {NULL, NULL}},
                                                      "3"};
    environment(RETRO_ENVIRONMENT_SET_CORE_OPTIONS_V2, &both);
}

static void declare(void) {
    bool no = false;
    environment(RETRO_ENVIRONMENT_SET_SUPPORT_NO_GAME, &no);
    declare_options(false);
}

static uint32_t option(const char *key) {
    struct retro_variable v = {key, NULL};
    environment(RETRO_ENVIRONMENT_GET_VARIABLE, &v);
    return v.value ? (uint32_t)strtoul(v.value, NULL, 10) : 0;
}
static void read_options(void) {
    game.ram.dip = option("arcade_speed") << 8 | option(dip_key);
    game.ram.cheats = option("arcade_cheats") ? extra[1] : 0;
}

/* --- a frame --- */

/* All that a player can do goes into the chain, and the chain into RAM. */
static void stir(void) {
    uint32_t at = game.ram.frame % (ROM_BYTES / 2), h = game.ram.chain;
    for (unsigned i = 0; i < ROMS; i++)
        h = (h ^ roms[i][at]) * 16777619u;
    for (unsigned p = 0; p < PORTS; p++)
        h = (h ^ game.ram.pad[p] ^ game.ram.x[p]) * 16777619u;
    h = (h ^ game.ram.dip ^ game.ram.scores ^ game.ram.cheats ^ game.ram.resets ^
         game.ram.nvram[game.ram.frame % NVRAM_BYTES]) *
        16777619u;
    if (large_bytes) h ^= large[game.ram.frame * 7919u % large_bytes] ^= (uint8_t)h;
    for (unsigned i = 0; i < 64; i++)
        game.ram.word[64 + (game.ram.frame * 64 + i) % (RAM_BYTES / 4 - 64)] ^= h * (i + 1);
    game.ram.chain = h;
}

static void play(void) {
    for (unsigned p = 0; p < PORTS; p++) {
        uint32_t pad = game.ram.pad[p] = read_pad(p);
        game.ram.x[p] += (pad >> RETRO_DEVICE_ID_JOYPAD_RIGHT & 1) - (pad >> RETRO_DEVICE_ID_JOYPAD_LEFT & 1);
        game.ram.x[p] %= WIDTH;
        game.ram.score += pad >> RETRO_DEVICE_ID_JOYPAD_B & 1;
    }
    uint32_t best = le(game.ram.nvram, 4);
    if (game.ram.score > best) memcpy(game.ram.nvram, &game.ram.score, 4);
}

static void sound(void) {
    static int16_t samples[2 * (RATE / 59 + 1)];
    double from = game.ram.frame * (RATE / FPS), to = (game.ram.frame + 1) * (RATE / FPS);
    size_t frames = (size_t)to - (size_t)from;
    bool plays = game.ram.frame >= SOUND_FRAME;
    if (plays) phase++;
    for (size_t i = 0; i < frames; i++)
        samples[2 * i] = samples[2 * i + 1] = (int16_t)(plays ? ((phase * 805 + i) % 109) * 40 - 2000 : 0);
    for (unsigned i = 0; i < CHIP_WORDS && plays && driver->upright; i++)
        game.chip[i] = (phase + i) * 2654435761u;
    for (unsigned i = 0; i < 3 && !driver->upright; i++)
        game.timer[i]++;
    audio(samples, frames);
}

static void draw(void) {
    for (unsigned y = 0; y < HEIGHT; y++)
        for (unsigned x = 0; x < WIDTH; x++)
            pixels[y * WIDTH + x] = (y / 28 + x / 40) % 2 ? 0x203060 : 0x182850 ^ (extra[2] & 0x3f3f3f);
    for (unsigned p = 0; p < PORTS; p++)
        for (unsigned i = 0; i < 24 * 24; i++)
            pixels[(60 + 90 * p + i / 24) * WIDTH + (game.ram.x[p] + i % 24) % WIDTH] =
                p ? 0xe06040 : 0x60e040;
    video(pixels, WIDTH, HEIGHT, WIDTH * 4);
}

/* Red, with bars, until somebody presses a button. */
static void show_error(void) {
    static const int16_t silence[2 * (RATE / 59 + 1)];
    for (unsigned i = 0; i < WIDTH * HEIGHT; i++)
        pixels[i] = i / WIDTH % 16 < 2 ? 0xffffff : 0xa00000;
    video(pixels, WIDTH, HEIGHT, WIDTH * 4);
    audio(silence, (size_t)(RATE / FPS));
    if (read_pad(0)) environment(RETRO_ENVIRONMENT_SHUTDOWN, NULL);
}

API void retro_run(void) {
    bool updated = false;
    poll_input();
    if (!driver) {
        show_error();
        return;
    }
    if (environment(RETRO_ENVIRONMENT_GET_VARIABLE_UPDATE, &updated) && updated) read_options();
    play();
    stir();
    sound();
    game.ram.frame++;
    draw();
}

/* --- the rest of libretro --- */

static void make_large(void) {
    const char *asked = getenv("ARCADE_CORE");
    free(large);
    large_bytes = asked && !strncmp(asked, "large:", 6) ? strtoul(asked + 6, NULL, 10) * 1024 : 0;
    large = large_bytes ? calloc(1, large_bytes) : NULL;
    if (!large) large_bytes = 0;
}

static void know_game(const char *path) {
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
    snprintf(game_dir, sizeof game_dir, "%.*s", slash ? (int)(slash - path) : 1, slash ? path : ".");
    snprintf(game_name, sizeof game_name, "%.*s", (int)strcspn(base, "."), base);
}

API bool retro_load_game(const struct retro_game_info *info) {
    enum retro_pixel_format format = RETRO_PIXEL_FORMAT_XRGB8888;
    struct retro_vfs_interface_info files = {.required_interface_version = 3};
    vfs = environment(RETRO_ENVIRONMENT_GET_VFS_INTERFACE, &files) ? files.iface : NULL;
    driver = NULL;
    if (!info || !info->path || !environment(RETRO_ENVIRONMENT_SET_PIXEL_FORMAT, &format)) return false;
    know_game(info->path);
    say(RETRO_LOG_WARN, "a load of", game_name, 0);
    const struct driver *d = find_driver();
    if (!d) say(RETRO_LOG_ERROR, "not known here:", game_name, 0);
    if (!d || !load_set(d)) return true; /* the picture says so */
    memset(&game, 0, sizeof game);
    phase = 0;
    driver = d;
    unsigned quarters = d->upright ? 1 : 0;
    environment(RETRO_ENVIRONMENT_SET_ROTATION, &quarters);
    declare_options(true);
    read_extras();
    read_options();
    read_nvram();
    make_large();
    game.made_s = (uint64_t)time(NULL);
    return true;
}

API void retro_unload_game(void) {
    struct file f;
    if (driver && open_file(&f, nvram_path, true)) {
        write_file(&f, game.ram.nvram, NVRAM_BYTES);
        close_file(&f);
    }
    driver = NULL;
}

API size_t retro_serialize_size(void) {
    return driver ? sizeof game + large_bytes : 0;
}

API bool retro_serialize(void *data, size_t size) {
    if (!driver || size < retro_serialize_size()) return false;
    memcpy(data, &game, sizeof game);
    if (large_bytes) memcpy((uint8_t *)data + sizeof game, large, large_bytes);
    return true;
}

API bool retro_unserialize(const void *data, size_t size) {
    if (!driver || size < retro_serialize_size()) return false;
    memcpy(&game, data, sizeof game);
    if (large_bytes) memcpy(large, (const uint8_t *)data + sizeof game, large_bytes);
    for (unsigned i = 0; i < 3 && !driver->upright; i++)
        game.timer[i] = 0x80000000u * (i + 1);
    return true;
}

API void *retro_get_memory_data(unsigned id) {
    return driver && id == RETRO_MEMORY_SYSTEM_RAM ? &game.ram : NULL;
}
API size_t retro_get_memory_size(unsigned id) {
    return driver && id == RETRO_MEMORY_SYSTEM_RAM ? sizeof game.ram : 0;
}

API void retro_get_system_info(struct retro_system_info *info) {
    const char *asked = getenv("ARCADE_CORE");
    const char *version = asked && !strncmp(asked, "version:", 8) ? asked + 8 : "1";
    *info = (struct retro_system_info){"Arcade core", version, "zip|7z", true, true};
}
API void retro_get_system_av_info(struct retro_system_av_info *info) {
    *info = (struct retro_system_av_info){{WIDTH, HEIGHT, WIDTH, HEIGHT, 4.0f / 3.0f}, {FPS, RATE}};
}
API void retro_reset(void) {
    game.ram.score = 0;
    game.ram.resets++;
}
