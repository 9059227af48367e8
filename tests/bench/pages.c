/* pages.c - a core that goes back by the pages of its memory (core_wrapper/world/pages.h), beside savestates:
 * `make bench-pages`.
 *
 *   pages CORE CONTENT [SYSTEM]     prints a line of JSON, for pages.py; times in microseconds
 *
 * Each part runs in a process of its own:
 *
 * - the cost, in the thread's processor time, of frames that are kept by pages, by a savestate or not at all,
 *   by turns; and of going back and running seven frames again;
 * - whether it is right: in every eighth frame the core runs seven frames with other presses and goes back.
 *   Its pictures and its sound, and its RAM at the end, are compared with a run that never went back. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>

#include "core_wrapper/tool/headless/headless.h"

#define KEPT      9
#define AGAIN     7
#define WARM      100
#define FRAMES    1000
#define TRUTH     304
#define ROUNDS    72
#define TURN      5 /* frames of a way in a round */
#define REPLAYS   2 /* of a way in a round */
#define STATE_MAX (16u << 20)

/* --- findings, shared by all parts --- */

enum way { BARE, PAGES, STATES, WAYS };
static const char *const way_name[WAYS] = {"bare", "pages", "states"};

struct truth {
    uint64_t picture[TRUTH], sound[TRUTH], ram;
    bool done;
};
static struct found {
    char name[128];
    double frame_us[WAYS][ROUNDS * TURN];
    double bare_us[WAYS][ROUNDS * TURN]; /* frames that are not kept, in the process of the way */
    double back_us[WAYS][ROUNDS * REPLAYS], replay_us[WAYS][ROUNDS * REPLAYS]; /* back and seven frames */
    size_t kept_bytes[WAYS];
    bool paged, stated;
    struct truth truth[2][WAYS]; /* [with X and Y] */
} * found;

static _Noreturn void die(const char *why) {
    fprintf(stderr, "pages: %s\n", why);
    exit(1);
}

static double now_us(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

/* --- the core --- */

static struct kl_headless h;
static struct kl_input_source *played, *guessed, *presses; /* presses: the second player's */
static uint32_t pads_off;                                  /* buttons that nobody presses */
static bool hashes;
static uint64_t picture, sound; /* hashes of a frame's */

static void on_video(const void *data, unsigned width, unsigned height, size_t pitch) {
    for (unsigned y = 0; hashes && data && y < height; y++)
        picture = XXH3_64bits_withSeed(
            (const uint8_t *)data + y * pitch,
            (size_t)width * (h.emu.picture.format == RETRO_PIXEL_FORMAT_XRGB8888 ? 4 : 2), picture);
}
static size_t on_batch(const int16_t *data, size_t frames) {
    if (hashes) sound = XXH3_64bits_withSeed(data, frames * 4, sound);
    return frames;
}
static void on_sample(int16_t left, int16_t right) {
    on_batch((int16_t[2]){left, right}, 1);
}
static int16_t on_input(unsigned port, unsigned device, unsigned index, unsigned id) {
    (void)index;
    if (port > 1 || (device & RETRO_DEVICE_MASK) != RETRO_DEVICE_JOYPAD) return 0;
    uint16_t mask = kl_input_source_joypad(port ? presses : played, h.frame, port) & (uint16_t)~pads_off;
    if (id == RETRO_DEVICE_ID_JOYPAD_MASK) return (int16_t)mask;
    return id < 16 && mask >> id & 1;
}

static void open_core(const char *core, const char *content, const char *system_dir) {
    const struct kl_headless_setup setup = {.core_path = core,
                                            .content_path = content,
                                            .system_dir = system_dir,
                                            .virtual_clock = true,
                                            .own_heap = true,
                                            .epoch_s = KLT_EPOCH_DEFAULT,
                                            .quiet = true};
    char err[KLT_ERR];
    if (kl_input_source_open(&played, "random:1", err, sizeof err) != 0 ||
        kl_input_source_open(&guessed, "random:2", err, sizeof err) != 0 ||
        kl_headless_open(&h, &setup, err, sizeof err) != 0)
        die(err);
    if (!h.emu.pages) die("it cannot have a heap of its own");
    presses = played;
    h.emu.core.set_video_refresh(on_video);
    h.emu.core.set_audio_sample(on_sample);
    h.emu.core.set_audio_sample_batch(on_batch);
    h.emu.core.set_input_state(on_input);
}

static void warm_up(unsigned frames) {
    while (h.frame < frames)
        kl_headless_run(&h);
}

/* --- keeping and going back --- */

struct kept {
    uint8_t *bytes; /* STATES */
    size_t len;
    uint64_t chance;
    struct kl_world_time time;
};
static struct kept ring[KEPT];

static void open_ring(enum way way) {
    for (unsigned i = 0; i < KEPT && way == STATES; i++)
        if (!(ring[i].bytes = calloc(1, STATE_MAX))) die("no memory");
    if (way == PAGES && !kl_pages_begin(h.emu.pages)) die(kl_pages_unfit(h.emu.pages));
}

/* The core before h.frame. */
static void keep(enum way way) {
    struct kept *k = &ring[h.frame % KEPT];
    k->chance = kl_world_chance(h.emu.world);
    k->time = kl_world_time(h.emu.world);
    if (way == PAGES && !kl_pages_keep(h.emu.pages, h.frame % KEPT)) die("its pages cannot be kept");
    if (way != STATES) return;
    k->len = h.emu.core.serialize_size();
    if (k->len > STATE_MAX || !h.emu.core.serialize(k->bytes, k->len)) die("no state");
}

static void back(enum way way, uint32_t frame) {
    struct kept *k = &ring[frame % KEPT];
    if (way == PAGES && !kl_pages_back(h.emu.pages, frame % KEPT)) die("it does not go back");
    if (way == STATES && !h.emu.core.unserialize(k->bytes, k->len)) die("it refuses its state");
    kl_world_time_set(h.emu.world, &k->time);
    kl_headless_rewind(&h, frame, k->chance);
}

/* --- the parts --- */

static void time_frames(enum way way, unsigned round, double *us) {
    for (unsigned f = 0; f < TURN + 1; f++) {
        double from = now_us();
        keep(way);
        kl_headless_run(&h);
        if (f > 0) us[round * TURN + f - 1] = now_us() - from;
    }
}

static void run_again(enum way way) {
    for (unsigned f = 0; f < AGAIN; f++) {
        keep(way);
        kl_headless_run(&h);
    }
}

/* Seven frames are kept and run, and from there it goes back and runs them again. */
static void time_replays(enum way way, unsigned round) {
    for (unsigned i = round * REPLAYS; i < (round + 1) * REPLAYS; i++) {
        run_again(way);
        double from = now_us();
        back(way, h.frame - AGAIN);
        found->back_us[way][i] = now_us() - from;
        run_again(way);
        found->replay_us[way][i] = now_us() - from;
    }
}

/* Frames of this way and bare ones, by turns. */
static void time_way(enum way way) {
    for (unsigned round = 0; round < ROUNDS; round++) {
        time_frames(BARE, round, found->bare_us[way]);
        time_frames(way, round, found->frame_us[way]);
        time_replays(way, round);
    }
    found->kept_bytes[way] = KEPT * (way == PAGES ? kl_pages_bytes(h.emu.pages) : ring[0].len);
}

static void time_pages(void) {
    warm_up(WARM);
    open_ring(PAGES);
    warm_up(WARM + FRAMES);
    time_way(PAGES);
    found->paged = true;
}

static void time_states(void) {
    warm_up(WARM + FRAMES);
    open_ring(STATES);
    time_way(STATES);
    found->stated = true;
}

/* BARE: it never goes back. */
static void tell_truth(enum way way, bool turbo) {
    struct truth *t = &found->truth[turbo][way];
    struct kl_statehash ram;
    pads_off = turbo ? 0 : 1u << RETRO_DEVICE_ID_JOYPAD_X | 1u << RETRO_DEVICE_ID_JOYPAD_Y;
    warm_up(WARM);
    open_ring(way);
    for (unsigned f = 0; f < TRUTH; f++) {
        if (way != BARE && f % 8 == 0) {
            uint32_t at = h.frame;
            presses = guessed;
            run_again(way);
            back(way, at);
            presses = played;
        }
        hashes = true;
        picture = sound = f;
        kl_headless_run(&h);
        hashes = false;
        t->picture[f] = picture;
        t->sound[f] = sound;
    }
    kl_headless_hash_ram(&h, &ram);
    t->ram = ram.ram;
    t->done = true;
}

/* --- the report --- */

static void print_list(const char *name, const double *us, unsigned n) {
    printf(", \"%s\": [", name);
    for (unsigned i = 0; i < n; i++)
        printf("%s%.2f", i ? ", " : "", us[i]);
    printf("]");
}

static void print_truth(bool turbo) {
    const struct truth *t = found->truth[turbo];
    for (enum way way = PAGES; way < WAYS; way++) {
        unsigned pictures = 0, sounds = 0;
        for (unsigned f = 0; f < TRUTH; f++) {
            pictures += t[way].picture[f] != t[BARE].picture[f];
            sounds += t[way].sound[f] != t[BARE].sound[f];
        }
        printf(", \"%s_%s\": {\"done\": %d, \"pictures\": %u, \"sounds\": %u, \"ram\": %d}",
               turbo ? "turbo" : "plain", way_name[way], t[way].done && t[BARE].done, pictures, sounds,
               t[way].ram == t[BARE].ram);
    }
}

static void print_report(void) {
    const struct found *x = found;
    printf("{\"name\": \"%s\", \"paged\": %d, \"stated\": %d", x->name, x->paged, x->stated);
    for (enum way way = PAGES; way < WAYS; way++) {
        printf(", \"%s\": {\"kept\": %zu", way_name[way], x->kept_bytes[way]);
        print_list("bare", x->bare_us[way], ROUNDS * TURN);
        print_list("frame", x->frame_us[way], ROUNDS * TURN);
        print_list("back", x->back_us[way], ROUNDS * REPLAYS);
        print_list("replay", x->replay_us[way], ROUNDS * REPLAYS);
        printf("}");
    }
    print_truth(false);
    print_truth(true);
    printf("}\n");
}

/* --- the processes --- */

static void do_part(unsigned part, char **argv) {
    open_core(argv[1], argv[2], argv[3]);
    if (part == 0) {
        snprintf(found->name, sizeof found->name, "%s", h.name);
        time_pages();
    } else if (part == 1) {
        time_states();
    } else {
        tell_truth((part - 2) % WAYS, part - 2 >= WAYS);
    }
}

int main(int argc, char **argv) {
    if (argc < 3 || argc > 4) die("expected CORE CONTENT [SYSTEM]");
    found = mmap(NULL, sizeof *found, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (found == MAP_FAILED) return 1;
    for (unsigned part = 0; part < 2 + 2 * WAYS; part++) {
        int status = 0;
        pid_t child = fork();
        if (child == 0) {
            do_part(part, argv);
            _Exit(0);
        }
        if (child < 0 || waitpid(child, &status, 0) < 0) return 1;
        if (status) fprintf(stderr, "pages: part %u of %s ended with %d\n", part, argv[1], status);
    }
    print_report();
    return 0;
}
