/* video_core.c - a libretro core made for tests: a machine with RAM, video RAM and sound, whose states and
 * whose RAM are seen as those of cores that people play. The game does not go by its video RAM: a wrong byte
 * there is in the state and in the picture, and never in RAM.
 *
 * VIDEO_CORE in the environment holds words separated by commas:
 *   addresses     the state holds addresses of the host (Genesis Plus GX)
 *   grows         the state's size changes from frame to frame (PrBoom)
 *   no-ram        neither memory map nor system RAM
 *   no-state      no savestate
 *   null          most of the RAM is at address 0 of the host: NULL in the memory map (PCSX-ReARMed, as root)
 *   map           shows the same memory map, with the real addresses
 *   dupes         gives no picture where it is the same as before
 *   hardware      says that its pictures lie in the frontend's framebuffer
 *   vram:N        before frame N a byte of video RAM goes wrong, once in this process
 *   flash:N       the picture of frame N alone is wrong, once in this process
 *   click:N       the sound of frame N alone is wrong, once in this process */
#include "tests/cores/libretro_core.h"
#include "tests/cores/words.h"

#define WIDTH     160
#define HEIGHT    120
#define FPS       60
#define RATE      48000
#define PADS      4
#define ADDRESSES 4
#define SCRATCH   64

static struct {
    uint32_t frame, sum;
    uint16_t pad[PADS];
    uint8_t ram[4096], scratch[SCRATCH];
    uint8_t vram[2048];
} game;

/* --- VIDEO_CORE --- */

static const char *asked(const char *word) {
    return find_word(getenv("VIDEO_CORE"), word);
}

/* Once in the process, also if the frame runs again or the library is loaded again. */
static bool goes_wrong(const char *word) {
    if (!names_frame(getenv("VIDEO_CORE"), word, game.frame) || getenv("VIDEO_CORE_WENT_WRONG")) return false;
    setenv("VIDEO_CORE_WENT_WRONG", "1", 1);
    return true;
}

/* --- the machine --- */

static void declare(void) {}

/* The picture changes every fourth frame. */
static void draw(void) {
    static uint32_t pixels[WIDTH * HEIGHT];
    bool flash = goes_wrong("flash"), same = game.frame % 4 && !flash;
    for (unsigned i = 0; i < WIDTH * HEIGHT; i++)
        pixels[i] = game.vram[(i / 16 + game.frame / 4) % sizeof game.vram] * 0x010101u;
    if (flash) pixels[0] ^= 0xffffff;
    if (asked("hardware"))
        video(RETRO_HW_FRAME_BUFFER_VALID, WIDTH, HEIGHT, 0);
    else if (asked("dupes") && same)
        video(NULL, WIDTH, HEIGHT, WIDTH * 4);
    else
        video(pixels, WIDTH, HEIGHT, WIDTH * 4);
}

static void sound(void) {
    static int16_t samples[2 * RATE / FPS];
    for (unsigned i = 0; i < RATE / FPS; i++)
        samples[2 * i] = samples[2 * i + 1] = (int16_t)((game.sum + i * 7) % 1000);
    if (goes_wrong("click")) samples[0] ^= 1;
    audio(samples, RATE / FPS);
}

API void retro_run(void) {
    poll_input();
    for (unsigned port = 0; port < PADS; port++) {
        game.pad[port] = read_pad(port);
        game.sum = (game.sum ^ game.pad[port]) * 16777619u + port;
    }
    game.ram[game.frame % sizeof game.ram] = (uint8_t)game.sum;
    game.scratch[game.frame % SCRATCH] = (uint8_t)(game.sum >> 8);
    game.vram[game.frame % 1024] ^= (uint8_t)(game.sum >> 16); /* the upper half is never written */
    if (goes_wrong("vram")) game.vram[1024] ^= 1;
    draw();
    sound();
    game.frame++;
}

static void show_memory(void) {
    static struct retro_memory_descriptor d[2];
    static struct retro_memory_map map = {d, 2};
    if (!asked("null") && !asked("map")) return;
    d[0] = (struct retro_memory_descriptor){
        .flags = RETRO_MEMDESC_SYSTEM_RAM, .ptr = asked("null") ? NULL : game.ram, .len = sizeof game.ram};
    d[1] = (struct retro_memory_descriptor){
        .flags = RETRO_MEMDESC_SYSTEM_RAM, .ptr = game.scratch, .start = 0x1f800000, .len = SCRATCH};
    environment(RETRO_ENVIRONMENT_SET_MEMORY_MAPS, &map);
}

API bool retro_load_game(const struct retro_game_info *info) {
    enum retro_pixel_format format = RETRO_PIXEL_FORMAT_XRGB8888;
    (void)info;
    environment(RETRO_ENVIRONMENT_SET_PIXEL_FORMAT, &format);
    memset(&game, 0, sizeof game);
    game.sum = 2166136261u;
    for (unsigned i = 0; i < sizeof game.vram; i++)
        game.vram[i] = (uint8_t)(i * 37);
    show_memory();
    return true;
}

/* --- states --- */

static size_t tail_bytes(void) {
    return asked("grows") ? game.frame / 8 % 16 * 32 : 0;
}

API size_t retro_serialize_size(void) {
    return asked("no-state") ? 0 : sizeof game + ADDRESSES * sizeof(void *) + tail_bytes();
}

API bool retro_serialize(void *data, size_t size) {
    uint8_t *out = data;
    const void *address[ADDRESSES] = {0};
    if (asked("no-state") || size < retro_serialize_size()) return false;
    for (unsigned i = 0; i < ADDRESSES && asked("addresses"); i++)
        address[i] = game.ram + 512 * i;
    memcpy(out, &game, sizeof game);
    memcpy(out + sizeof game, address, sizeof address);
    memset(out + sizeof game + sizeof address, 0x5a, tail_bytes());
    return true;
}

API bool retro_unserialize(const void *data, size_t size) {
    if (size < sizeof game + ADDRESSES * sizeof(void *)) return false;
    memcpy(&game, data, sizeof game);
    return true;
}

API void *retro_get_memory_data(unsigned id) {
    bool shown = id == RETRO_MEMORY_SYSTEM_RAM && !asked("no-ram") && !asked("null");
    return shown ? game.ram : NULL;
}

API size_t retro_get_memory_size(unsigned id) {
    return id == RETRO_MEMORY_SYSTEM_RAM && !asked("no-ram") ? sizeof game.ram : 0;
}

/* --- the rest --- */

API void retro_get_system_info(struct retro_system_info *info) {
    *info = (struct retro_system_info){"Video core", "1", "video|bin|nes", false, false};
}

API void retro_get_system_av_info(struct retro_system_av_info *info) {
    *info = (struct retro_system_av_info){{WIDTH, HEIGHT, WIDTH, HEIGHT, 4.0f / 3.0f}, {FPS, RATE}};
}

API void retro_reset(void) {
    retro_load_game(NULL);
}
API void retro_unload_game(void) {}
