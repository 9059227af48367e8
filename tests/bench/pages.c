/* pages.c - a core that goes back by the pages of its memory (core_wrapper/world/pages.h), beside savestates:
 * `make bench-pages`.
 *
 *   pages CORE CONTENT [SYSTEM]     prints a line of JSON, for pages.py; times in microseconds
 *
 * Each part runs in a process of its own:
 *
 * - the pages that change in a frame, by comparing copies of all of the core's memory;
 * - the cost, in the thread's processor time, of frames that are kept by pages, by a savestate or not at all,
 *   by turns; and of going back and running seven frames again;
 * - whether it is right: in every eighth frame the core runs seven frames with other presses and goes back.
 *   Its pictures and its sound, and its RAM at the end, are compared with a run that never went back. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>

#include "core_wrapper/tool/headless/headless.h"
#include "core_wrapper/world/elf/arena.h"
#include "net/platform/library.h"

#define PAGE      ((size_t)4096)
#define AREAS_MAX 17
#define KEPT      9
#define AGAIN     7
#define WARM      100
#define FRAMES    1000
#define TRUTH     304
#define ROUNDS    72
#define TURN      5 /* frames of a way in a round */
#define REPLAYS   2 /* of a way in a round */
#define SAVES     60
#define TOUCHED   200 /* pages that are written once, for the cost of that */
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
    size_t segment_bytes, heap_bytes, tls_bytes, state_bytes;
    unsigned threads, files;
    unsigned own, others;   /* allocations in play, by the core, and by the C and C++ libraries for it */
    double changed[FRAMES]; /* pages */
    unsigned ever;
    size_t hot_early, hot_late;
    double fault_us;
    double load_us, frame_us[WAYS][ROUNDS * TURN];
    double bare_us[WAYS][ROUNDS * TURN]; /* frames that are not kept, in the process of the way */
    double serialize_us[SAVES], unserialize_us[SAVES];
    double back_us[WAYS][ROUNDS * REPLAYS], replay_us[WAYS][ROUNDS * REPLAYS]; /* back and seven frames */
    size_t kept_bytes[WAYS];
    bool counted, paged, stated;
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

/* --- memory that is taken in play --- */

static bool inside; /* the core runs, and allocations count */

/* clang-format off */
#define TAKERS(X) X(malloc) X(calloc) X(realloc) X(memalign) X(aligned_alloc) X(posix_memalign) X(strdup) X(__strdup) \
    X(_Znwm) X(_Znam)
/* clang-format on */

/* Each counts and goes on to the world's; none of them has more than three arguments. */
typedef uintptr_t (*taker)(uintptr_t, uintptr_t, uintptr_t);
#define COUNTER(name)                                                                                        \
    static taker real_##name;                                                                                \
    static uintptr_t count_##name(uintptr_t a, uintptr_t b, uintptr_t c) {                                   \
        found->own += inside;                                                                                \
        return real_##name(a, b, c);                                                                         \
    }
TAKERS(COUNTER)

static void *turn_taker(void *user, enum kl_from from, const char *name, void *now) {
    (void)user, (void)from;
#define TURNED(taken)                                                                                        \
    if (!strcmp(name, #taken)) {                                                                             \
        *(void **)&real_##taken = now;                                                                       \
        return (void *)count_##taken;                                                                        \
    }
    TAKERS(TURNED)
    return NULL;
}

/* Memory that the C and C++ libraries take. */
#define VISIBLE __attribute__((visibility("default")))
extern void *__libc_malloc(size_t n);
extern void *__libc_calloc(size_t n, size_t each);
extern void *__libc_realloc(void *p, size_t n);
VISIBLE void *malloc(size_t n) {
    if (inside) found->others++;
    return __libc_malloc(n);
}
VISIBLE void *calloc(size_t n, size_t each) {
    if (inside) found->others++;
    return __libc_calloc(n, each);
}
VISIBLE void *realloc(void *p, size_t n) {
    if (inside) found->others++;
    return __libc_realloc(p, n);
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

static unsigned entries(const char *folder) {
    DIR *d = opendir(folder);
    unsigned n = 0;
    if (!d) die("no /proc");
    while (readdir(d))
        n++;
    closedir(d);
    return n - 2;
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

static void run_frame(void) {
    inside = true;
    kl_headless_run(&h);
    inside = false;
}

static void warm_up(unsigned frames) {
    while (h.frame < frames)
        run_frame();
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

static struct area {
    const uint8_t *from;
    size_t bytes;
} areas[AREAS_MAX];
static unsigned area_count;

/* The segments, and the part of the heap that is in use. */
static void find_areas(void) {
    struct kl_library_part part[AREAS_MAX - 1];
    unsigned parts = kl_library_parts(h.emu.core.handle, part, AREAS_MAX - 1);
    if (parts > AREAS_MAX - 1) die("too many segments");
    for (unsigned i = 0; i < parts; i++) {
        if (part[i].thread_local_block)
            found->tls_bytes = part[i].bytes;
        else
            areas[area_count++] = (struct area){part[i].from, part[i].bytes};
    }
    areas[area_count].from = kl_arena_used(&areas[area_count].bytes);
    area_count++;
}

static void count_changed(unsigned f) {
    static uint8_t *copy[AREAS_MAX], *ever[AREAS_MAX];
    for (unsigned i = 0; i < area_count; i++) {
        const struct area *a = &areas[i];
        if (!copy[i] && !((copy[i] = calloc(1, a->bytes)) && (ever[i] = calloc(1, a->bytes / PAGE))))
            die("no memory");
        for (size_t at = 0; at < a->bytes; at += PAGE) {
            if (!memcmp(copy[i] + at, a->from + at, PAGE)) continue;
            memcpy(copy[i] + at, a->from + at, PAGE);
            if (f == 0) continue; /* the first copy */
            found->changed[f - 1]++;
            found->ever += !ever[i][at / PAGE];
            ever[i][at / PAGE] = 1;
        }
    }
}

static void count_pages(void) {
    char err[KLT_ERR];
    size_t had;
    warm_up(WARM);
    find_areas();
    for (unsigned i = 0; i + 1 < area_count; i++)
        found->segment_bytes += areas[i].bytes;
    if (kl_world_imports(h.emu.world, h.emu.core.handle, turn_taker, NULL, err, sizeof err) != 0) die(err);
    found->own = found->others = 0;
    count_changed(0);
    for (unsigned f = 1; f <= FRAMES; f++) {
        run_frame();
        count_changed(f);
    }
    (void)kl_arena_used(&found->heap_bytes);
    found->threads = entries("/proc/self/task") - 1;
    had = areas[area_count - 1].bytes;
    if (found->heap_bytes > had) die("the heap has grown: its new pages were not compared");
    found->counted = true;
}

static size_t hot_pages(void) {
    return (kl_pages_bytes(h.emu.pages) - found->tls_bytes) / PAGE;
}

/* The first write to a page, of the pages that are not hot yet. */
static void time_faults(void) {
    size_t hot = hot_pages();
    unsigned touched = 0;
    find_areas();
    double from = now_us();
    for (unsigned i = 0; i < area_count; i++)
        for (size_t at = 0; at < areas[i].bytes && touched < TOUCHED; at += PAGE, touched++) {
            volatile uint8_t *byte = (volatile uint8_t *)(uintptr_t)(areas[i].from + at);
            *byte = *byte;
        }
    double us = now_us() - from;
    hot = hot_pages() - hot;
    found->fault_us = hot ? us / (double)hot : 0;
}

static void time_frames(enum way way, unsigned round, double *us) {
    for (unsigned f = 0; f < TURN + 1; f++) {
        double from = now_us();
        keep(way);
        run_frame();
        if (f > 0) us[round * TURN + f - 1] = now_us() - from;
    }
}

static void run_again(enum way way) {
    for (unsigned f = 0; f < AGAIN; f++) {
        keep(way);
        run_frame();
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
    warm_up(WARM + 100);
    found->hot_early = hot_pages();
    warm_up(WARM + FRAMES);
    found->hot_late = hot_pages();
    time_way(PAGES);
    time_faults();
    found->paged = true;
}

static void time_states(void) {
    static uint8_t state[STATE_MAX];
    warm_up(WARM + FRAMES);
    open_ring(STATES);
    found->state_bytes = h.emu.core.serialize_size();
    if (found->state_bytes > STATE_MAX) die("its states are too large");
    for (unsigned i = 0; i < SAVES; i++) {
        double from = now_us();
        h.emu.core.serialize(state, found->state_bytes);
        double middle = now_us();
        h.emu.core.unserialize(state, found->state_bytes);
        found->serialize_us[i] = middle - from;
        found->unserialize_us[i] = now_us() - middle;
        run_frame();
    }
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
        run_frame();
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

static void print_report(const char *core) {
    const struct found *x = found;
    printf("{\"core\": \"%s\", \"name\": \"%s\", \"counted\": %d, \"paged\": %d, \"stated\": %d", core,
           x->name, x->counted, x->paged, x->stated);
    printf(", \"segments\": %zu, \"heap\": %zu, \"tls\": %zu, \"threads\": %u, \"files\": %u, \"own\": %u, "
           "\"others\": %u",
           x->segment_bytes, x->heap_bytes, x->tls_bytes, x->threads, x->files, x->own, x->others);
    printf(", \"ever\": %u, \"hot_100\": %zu, \"hot\": %zu, \"fault_us\": %.2f, \"load_us\": %.0f, "
           "\"state\": %zu",
           x->ever, x->hot_early, x->hot_late, x->fault_us, x->load_us, x->state_bytes);
    print_list("changed", x->changed, FRAMES);
    print_list("serialize", x->serialize_us, SAVES);
    print_list("unserialize", x->unserialize_us, SAVES);
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
    double from = now_us();
    unsigned files = entries("/proc/self/fd");
    open_core(argv[1], argv[2], argv[3]);
    if (part == 0) {
        found->load_us = now_us() - from;
        found->files = entries("/proc/self/fd") - files;
        snprintf(found->name, sizeof found->name, "%s", h.name);
        count_pages();
    } else if (part == 1) {
        time_pages();
    } else if (part == 2) {
        time_states();
    } else {
        tell_truth((part - 3) % WAYS, part - 3 >= WAYS);
    }
}

int main(int argc, char **argv) {
    if (argc < 3 || argc > 4) die("expected CORE CONTENT [SYSTEM]");
    found = mmap(NULL, sizeof *found, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (found == MAP_FAILED) return 1;
    for (unsigned part = 0; part < 3 + 2 * WAYS; part++) {
        int status = 0;
        pid_t child = fork();
        if (child == 0) {
            do_part(part, argv);
            _Exit(0);
        }
        if (child < 0 || waitpid(child, &status, 0) < 0) return 1;
        if (status) fprintf(stderr, "pages: part %u of %s ended with %d\n", part, argv[1], status);
    }
    print_report(strrchr(argv[1], '/') ? strrchr(argv[1], '/') + 1 : argv[1]);
    return 0;
}
