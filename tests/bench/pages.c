/* pages.c - a core that goes back by the pages of its memory, without savestates: `make bench-pages`.
 *
 *   pages CORE CONTENT [SYSTEM]     prints a line of JSON
 *
 * The core's writable segments, its heap (its imports of malloc and the like lead to an arena here) and its
 * thread-local block are its memory. All pages are write-protected; the first write to one keeps its bytes
 * and opens it for good: it is hot. Before each frame the hot pages are kept, in one of two ways: all of
 * them, or those that have changed since the frame before. Each part runs in a process of its own:
 *
 * - the pages that change in a frame, by comparing copies of all of them;
 * - the cost, in the thread's processor time, of frames that are kept in either way, by a savestate or not at
 *   all, by turns; and of going back and running seven frames again;
 * - whether it is right: in every eighth frame the core runs seven frames with other presses and goes back.
 *   Its pictures and its sound, and its RAM at the end, are compared with a run that never went back. */
#include <dirent.h>
#include <errno.h>
#include <link.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>

#include "core_wrapper/tool/headless/headless.h"
#include "core_wrapper/world/world_private.h"
#include "net/platform/library.h"

#define PAGE       ((size_t)4096)
#define HEAP_BYTES ((size_t)1 << 30) /* of addresses */
#define HEAP_SLACK ((size_t)4 << 20) /* it may grow by this while copies are compared */
#define HOT_MAX    ((size_t)32768)
#define AREAS_MAX  8
#define KEPT       9
#define AGAIN      7
#define WARM       100
#define FRAMES     1000
#define TRUTH      304
#define ROUNDS     72
#define TURN       5 /* frames of a way in a round */
#define REPLAYS    2 /* of a way in a round */
#define SAVES      60
#define STATE_MAX  (16u << 20)
#define FRAME_US   16667.0

/* --- findings, shared by all parts --- */

/* Calls that take memory: by the core, and by the C and C++ libraries while they work for it. Blocks of the
 * one kind that the other side frees or enlarges. */
struct counts {
    unsigned own, others, core_frees_others, others_free_own;
    unsigned maps, other_maps; /* without a file, for reading and writing; all others */
};

enum way { BARE, ALL, CHANGED, STATES, WAYS };
static const char *const way_name[WAYS] = {"bare", "all", "changed", "states"};

struct truth {
    uint64_t picture[TRUTH], sound[TRUTH], ram;
    bool done;
};
static struct found {
    char name[128];
    size_t segment_bytes, heap_bytes, tls_bytes, state_bytes;
    unsigned threads, files;
    struct counts load, play;
    unsigned changed[FRAMES], ever;
    unsigned hot_early, hot_late;
    double fault_us; /* of one */
    double load_us, frame_us[WAYS][ROUNDS * TURN];
    double beside_states_us[ROUNDS * TURN]; /* BARE in the process of STATES, whose states are of the heap */
    double serialize_us[SAVES], unserialize_us[SAVES];
    double back_us[WAYS][ROUNDS * REPLAYS], replay_us[WAYS][ROUNDS * REPLAYS]; /* back and seven frames */
    size_t kept_bytes[WAYS];
    bool counted, paged, stated;
    struct truth truth[2][WAYS]; /* [with X and Y] */
} * found;

/* --- the core's heap --- */

/* Blocks by size class, the freed ones of each in a list. All of it stands in the arena, so that it goes back
 * with the pages. */
#define CLASSES 160
struct block {
    uint32_t class;
    uint32_t before; /* bytes of padding before it */
    size_t bytes;
};
static struct heap {
    size_t top;
    struct block *freed[CLASSES];
} * heap;
static bool inside; /* the core, not a callback of ours */
static struct counts counts;

extern void *__libc_malloc(size_t n);
extern void *__libc_calloc(size_t n, size_t each);
extern void *__libc_realloc(void *p, size_t n);
extern void __libc_free(void *p);

static bool in_heap(const void *p) {
    return heap && (const uint8_t *)p >= (uint8_t *)heap && (const uint8_t *)p < (uint8_t *)heap + HEAP_BYTES;
}

/* Four classes for each power of two, from 16 bytes on. */
static size_t class_bytes(unsigned class) {
    return ((size_t)4 + class % 4) << (class / 4 + 2);
}
static unsigned class_of(size_t n) {
    unsigned class = 0;
    while (class_bytes(class) < n)
        class ++;
    return class;
}

static void *heap_take(size_t n, size_t align) {
    size_t room = align > 16 ? n + align : n;
    if (room > HEAP_BYTES / 4) return NULL;
    unsigned class = class_of(room);
    struct block *b = heap->freed[class];
    counts.own++;
    if (b) {
        heap->freed[class] = *(struct block **)(b + 1);
        memset(b + 1, 0, class_bytes(class));
    } else {
        size_t bytes = (sizeof *b + class_bytes(class) + 15) & ~(size_t)15;
        if (heap->top + bytes > HEAP_BYTES) return NULL;
        b = (struct block *)((uint8_t *)heap + heap->top);
        heap->top += bytes;
    }
    uintptr_t at = (uintptr_t)(b + 1), to = align > 16 ? (at + align - 1) & ~(uintptr_t)(align - 1) : at;
    *b = (struct block){class, 0, n};
    struct block *mine = (struct block *)to - 1;
    *mine = (struct block){class, (uint32_t)(to - at), n};
    return (void *)to;
}

static void *k_malloc(size_t n) {
    return heap_take(n, 16);
}
static void *k_calloc(size_t n, size_t each) {
    return heap_take(n * each, 16);
}
static void *k_new_aligned(size_t n, size_t align) {
    return heap_take(n, align);
}
static void *k_memalign(size_t align, size_t n) {
    return heap_take(n, align);
}
static int k_posix_memalign(void **out, size_t align, size_t n) {
    *out = heap_take(n, align);
    return *out ? 0 : ENOMEM;
}

/* Memory that is not of the arena stays: a frame that is run again may free it once more. */
static void k_free(void *p) {
    if (!p) return;
    if (!in_heap(p)) {
        counts.core_frees_others++;
        return;
    }
    struct block *b = (struct block *)p - 1;
    b = (struct block *)((uint8_t *)b - b->before);
    *(struct block **)(b + 1) = heap->freed[b->class];
    heap->freed[b->class] = b;
}

static void *k_realloc(void *p, size_t n) {
    if (p && !in_heap(p)) {
        counts.core_frees_others++;
        return __libc_realloc(p, n);
    }
    size_t had = p ? ((struct block *)p - 1)->bytes : 0;
    void *q = heap_take(n, 16);
    if (p && q) memcpy(q, p, had < n ? had : n);
    if (p && q) k_free(p);
    return q;
}

static char *k_strdup(const char *s) {
    size_t n = strlen(s) + 1;
    char *t = heap_take(n, 16);
    return t ? memcpy(t, s, n) : NULL;
}

/* Memory that the core maps without a file is of its heap. */
static void *k_mmap(void *at, size_t n, int prot, int flags, int fd, off_t offset) {
    bool plain = !at && prot == (PROT_READ | PROT_WRITE) && (flags & MAP_PRIVATE) && (flags & MAP_ANONYMOUS);
    counts.maps += plain;
    counts.other_maps += !plain;
    if (!plain) return mmap(at, n, prot, flags, fd, offset);
    void *p = heap_take((n + PAGE - 1) & ~(PAGE - 1), PAGE);
    counts.own--;
    return p ? p : MAP_FAILED;
}
static int k_munmap(void *at, size_t n) {
    if (!in_heap(at)) return munmap(at, n);
    k_free(at);
    return 0;
}

/* Memory that the C and C++ libraries take for the core, and our own. Without a free() like this
 * one the C library stops nestopia, whose strings are grown in the C++ library. */
#define VISIBLE __attribute__((visibility("default")))
static void note_other(void) {
    if (inside) counts.others++;
}
VISIBLE void *malloc(size_t n) {
    note_other();
    return __libc_malloc(n);
}
VISIBLE void *calloc(size_t n, size_t each) {
    note_other();
    return __libc_calloc(n, each);
}
VISIBLE void *realloc(void *p, size_t n) {
    note_other();
    if (!in_heap(p)) return __libc_realloc(p, n);
    counts.others_free_own++;
    return k_realloc(p, n);
}
VISIBLE void free(void *p) {
    if (!in_heap(p)) {
        __libc_free(p);
        return;
    }
    counts.others_free_own++;
    k_free(p);
}

static void *replace(void *user, enum kl_from from, const char *name, void *now) {
    static const struct {
        const char *name;
        void *fn;
    } table[] = {{"malloc", k_malloc},
                 {"calloc", k_calloc},
                 {"realloc", k_realloc},
                 {"free", k_free},
                 {"memalign", k_memalign},
                 {"aligned_alloc", k_memalign},
                 {"posix_memalign", k_posix_memalign},
                 {"strdup", k_strdup},
                 {"__strdup", k_strdup},
                 {"mmap", k_mmap},
                 {"mmap64", k_mmap},
                 {"munmap", k_munmap},
                 {"_Znwm", k_malloc},
                 {"_Znam", k_malloc},
                 {"_ZnwmRKSt9nothrow_t", k_malloc},
                 {"_ZnamRKSt9nothrow_t", k_malloc},
                 {"_ZnwmSt11align_val_t", k_new_aligned},
                 {"_ZnamSt11align_val_t", k_new_aligned}};
    (void)user, (void)from, (void)now;
    if (!strncmp(name, "_ZdlPv", 6) || !strncmp(name, "_ZdaPv", 6)) return k_free;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (!strcmp(table[i].name, name)) return table[i].fn;
    return NULL;
}

/* --- the core --- */

static struct kl_headless h;
static struct kl_input_source *played, *guessed;
static struct kl_input_source *presses;
static uint32_t pads_off; /* buttons that nobody presses */
static bool hashes;
static uint64_t picture, sound; /* hashes of a frame's */

static _Noreturn void die(const char *why) {
    fprintf(stderr, "pages: %s\n", why);
    exit(1);
}

static bool on_environment(unsigned cmd, void *data) {
    bool was = inside;
    inside = false;
    bool good = kl_headless_environment(&h, cmd, data);
    inside = was;
    return good;
}
static void on_video(const void *data, unsigned width, unsigned height, size_t pitch) {
    if (!hashes || !data) return;
    for (unsigned y = 0; y < height; y++)
        picture = XXH3_64bits_withSeed((const uint8_t *)data + y * pitch,
                                       (size_t)width * (h.wide_pixels ? 4 : 2), picture);
}
static size_t on_batch(const int16_t *data, size_t frames) {
    if (hashes) sound = XXH3_64bits_withSeed(data, frames * 4, sound);
    return frames;
}
static void on_sample(int16_t left, int16_t right) {
    on_batch((int16_t[2]){left, right}, 1);
}
static void on_poll(void) {}
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

/* As kl_headless_open(), but the heap is turned before the core's constructors run. */
static void open_core(const char *core, const char *content, const char *system_dir) {
    char err[KLT_ERR];
    if (kl_input_source_open(&played, "random:1", err, sizeof err) != 0 ||
        kl_input_source_open(&guessed, "random:2", err, sizeof err) != 0)
        die(err);
    presses = played;
    h.setup = (struct kl_headless_setup){
        .core_path = core, .content_path = content, .system_dir = system_dir, .quiet = true};
    h.av_enable = 3;
    heap = mmap(NULL, HEAP_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    h.world = kl_world_take();
    if (heap == MAP_FAILED || !h.world || kl_headless_make_dirs(&h, err, sizeof err) != 0)
        die("no memory, or no folders");
    heap->top = (sizeof *heap + PAGE - 1) & ~(PAGE - 1);
    kl_headless_turn(&h);
    if (kl_core_open_late(&h.core, core, err, sizeof err) != 0) die(err);
    kl_world_start(h.world, KLT_EPOCH_DEFAULT, 0);
    if (kl_world_turn(h.world, h.core.handle, &h.turned, err, sizeof err) != 0 ||
        kl_world_imports(h.world, h.core.handle, replace, NULL, err, sizeof err) != 0)
        die(err);
    inside = true;
    kl_core_construct(&h.core);
    h.core.set_environment(on_environment);
    h.core.get_system_info(&h.info);
    h.core.init();
    h.core.set_video_refresh(on_video);
    h.core.set_audio_sample(on_sample);
    h.core.set_audio_sample_batch(on_batch);
    h.core.set_input_poll(on_poll);
    h.core.set_input_state(on_input);
    inside = false;
    if (kl_headless_read_content(&h, err, sizeof err) != 0) die(err);
    inside = true;
    if (!h.core.load_game(&h.game)) die("the core did not load its content");
    h.core.get_system_av_info(&h.av);
    h.core.set_controller_port_device(0, RETRO_DEVICE_JOYPAD);
    h.core.set_controller_port_device(1, RETRO_DEVICE_JOYPAD);
    inside = false;
    kl_world_rate(h.world, (uint32_t)(h.av.timing.fps * 1e6));
}

static void run_frame(void) {
    kl_world_frame(h.world, h.frame);
    inside = true;
    h.core.run();
    inside = false;
    kl_world_rest(h.world);
    h.frame++;
}

static double now_us(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

/* --- the core's memory --- */

struct area {
    uint8_t *from;
    size_t bytes;
};
static struct area areas[AREAS_MAX];
static unsigned area_count;
static struct area tls;

static int note_segments(struct dl_phdr_info *info, size_t size, void *user) {
    const struct link_map *map = user;
    uintptr_t read_only = 0;
    (void)size;
    if (info->dlpi_addr != map->l_addr || strcmp(info->dlpi_name, map->l_name)) return 0;
    for (unsigned i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_GNU_RELRO)
            read_only =
                (info->dlpi_addr + info->dlpi_phdr[i].p_vaddr + info->dlpi_phdr[i].p_memsz) & ~(PAGE - 1);
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        uintptr_t from = (info->dlpi_addr + p->p_vaddr) & ~(PAGE - 1);
        uintptr_t to = (info->dlpi_addr + p->p_vaddr + p->p_memsz + PAGE - 1) & ~(PAGE - 1);
        if (p->p_type == PT_TLS)
            tls = (struct area){info->dlpi_tls_data, info->dlpi_tls_data ? p->p_memsz : 0};
        if (p->p_type != PT_LOAD || !(p->p_flags & PF_W)) continue;
        if (read_only > from && read_only <= to) from = read_only;
        if (to > from && area_count < AREAS_MAX)
            areas[area_count++] = (struct area){(uint8_t *)from, to - from};
    }
    return 1;
}

static void find_areas(size_t heap_bytes) {
    dl_iterate_phdr(note_segments, (void *)kl_library_record(h.core.handle));
    if (area_count == AREAS_MAX) die("too many segments");
    areas[area_count++] = (struct area){(uint8_t *)heap, heap_bytes};
}

static size_t heap_now(void) {
    return (heap->top + PAGE - 1) & ~(PAGE - 1);
}

/* --- the hot pages --- */

static uint8_t *hot[HOT_MAX];   /* by the order of their first writes */
static uint8_t *first, *latest; /* the bytes of each before its first write; and as last kept */
static volatile size_t hot_count;
static double fault_us; /* in the handler */

static void on_fault(int sig, siginfo_t *info, void *context) {
    double from = now_us();
    uint8_t *page = (uint8_t *)((uintptr_t)info->si_addr & ~(PAGE - 1));
    (void)context;
    for (unsigned i = 0; i < area_count; i++) {
        if (page < areas[i].from || page >= areas[i].from + areas[i].bytes || hot_count == HOT_MAX) continue;
        memcpy(first + hot_count * PAGE, page, PAGE);
        memcpy(latest + hot_count * PAGE, page, PAGE);
        hot[hot_count] = page;
        if (mprotect(page, PAGE, PROT_READ | PROT_WRITE) != 0) break;
        hot_count = hot_count + 1;
        fault_us += now_us() - from;
        return;
    }
    signal(sig, SIG_DFL);
}

static uint8_t *pages(size_t n) {
    uint8_t *p =
        mmap(NULL, n * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) die("no memory");
    return p;
}

/* A core may be on a stack that is itself protected (libco). */
static void protect(void) {
    stack_t stack = {.ss_sp = pages(16), .ss_size = 16 * PAGE};
    struct sigaction act = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    first = pages(HOT_MAX);
    latest = pages(HOT_MAX);
    if (sigaltstack(&stack, NULL) != 0 || sigaction(SIGSEGV, &act, NULL) != 0) die("no signals");
    for (unsigned i = 0; i < area_count; i++)
        if (mprotect(areas[i].from, areas[i].bytes, PROT_READ) != 0) die("mprotect");
}

/* --- keeping and going back --- */

struct kept {
    uint8_t *bytes; /* ALL: of the hot pages; CHANGED: of pages that changed after it, as they were; STATES */
    uint32_t *page; /* CHANGED: their places among the hot ones */
    size_t count;   /* of pages; STATES: of bytes */
    uint8_t tls[4096];
    uint64_t chance;
    struct kl_world_time time;
};
static struct kept ring[KEPT];
static uint8_t seen[HOT_MAX]; /* by page, in keep_back_changed() */
static uint32_t last_kept;
static bool any_kept;

static void open_ring(enum way way) {
    for (unsigned i = 0; i < KEPT; i++) {
        ring[i].bytes = way == STATES ? calloc(1, STATE_MAX) : pages(HOT_MAX);
        ring[i].page = calloc(HOT_MAX, sizeof *ring[i].page);
        ring[i].count = 0;
    }
    any_kept = false;
}

static void keep_all(struct kept *k) {
    k->count = hot_count;
    for (size_t i = 0; i < k->count; i++)
        memcpy(k->bytes + i * PAGE, hot[i], PAGE);
}

static void back_all(const struct kept *k) {
    for (size_t i = 0; i < k->count; i++)
        memcpy(hot[i], k->bytes + i * PAGE, PAGE);
    for (size_t i = k->count; i < hot_count; i++)
        memcpy(hot[i], first + i * PAGE, PAGE);
}

/* Pages that have changed since the last keeping become part of that one. */
static void keep_changed(struct kept *k) {
    struct kept *before = &ring[last_kept % KEPT];
    k->count = 0;
    for (size_t i = 0; i < hot_count; i++) {
        if (!memcmp(hot[i], latest + i * PAGE, PAGE)) continue;
        if (any_kept) {
            memcpy(before->bytes + before->count * PAGE, latest + i * PAGE, PAGE);
            before->page[before->count++] = (uint32_t)i;
        }
        memcpy(latest + i * PAGE, hot[i], PAGE);
    }
    last_kept = h.frame;
    any_kept = true;
}

static void back_changed(uint32_t frame) {
    memset(seen, 0, hot_count);
    for (uint32_t f = frame; f < last_kept; f++) {
        struct kept *k = &ring[f % KEPT];
        for (size_t j = 0; j < k->count; j++) {
            size_t i = k->page[j];
            if (!seen[i]) memcpy(latest + i * PAGE, k->bytes + j * PAGE, PAGE);
            seen[i] = 1;
        }
    }
    for (size_t i = 0; i < hot_count; i++)
        if (memcmp(hot[i], latest + i * PAGE, PAGE)) memcpy(hot[i], latest + i * PAGE, PAGE);
    ring[frame % KEPT].count = 0;
    last_kept = frame;
}

/* The core before h.frame. */
static void keep(enum way way) {
    struct kept *k = &ring[h.frame % KEPT];
    k->chance = kl_world_chance(h.world);
    k->time = kl_world_time(h.world);
    if (way == ALL || way == CHANGED) memcpy(k->tls, tls.from, tls.bytes);
    if (way == ALL) keep_all(k);
    if (way == CHANGED) keep_changed(k);
    if (way == STATES) {
        k->count = h.core.serialize_size();
        if (!h.core.serialize(k->bytes, k->count)) die("no state");
    }
}

static void back(enum way way, uint32_t frame) {
    struct kept *k = &ring[frame % KEPT];
    if (way == ALL) back_all(k);
    if (way == CHANGED) back_changed(frame);
    if (way == ALL || way == CHANGED) memcpy(tls.from, k->tls, tls.bytes);
    if (way == STATES && !h.core.unserialize(k->bytes, k->count)) die("it refuses its state");
    kl_world_time_set(h.world, &k->time);
    kl_world_chance_set(h.world, k->chance);
    h.frame = frame;
}

/* --- the parts --- */

static void warm_up(void) {
    while (h.frame < WARM)
        run_frame();
    if (tls.bytes > sizeof ring->tls) die("its thread-local block is too large");
}

/* The pages that change, by comparing copies of all. */
static void count_pages(void) {
    uint8_t *copy[AREAS_MAX], *ever[AREAS_MAX];
    warm_up();
    find_areas(heap_now() + HEAP_SLACK);
    for (unsigned i = 0; i < area_count; i++) {
        if (i + 1 < area_count) found->segment_bytes += areas[i].bytes;
        copy[i] = pages(areas[i].bytes / PAGE);
        ever[i] = pages(areas[i].bytes / PAGE / PAGE + 1);
        memcpy(copy[i], areas[i].from, areas[i].bytes);
    }
    memset(&counts, 0, sizeof counts);
    for (unsigned f = 0; f < FRAMES; f++) {
        run_frame();
        for (unsigned i = 0; i < area_count; i++)
            for (size_t at = 0; at < areas[i].bytes; at += PAGE) {
                if (!memcmp(copy[i] + at, areas[i].from + at, PAGE)) continue;
                memcpy(copy[i] + at, areas[i].from + at, PAGE);
                found->changed[f]++;
                found->ever += !ever[i][at / PAGE];
                ever[i][at / PAGE] = 1;
            }
    }
    found->play = counts;
    found->heap_bytes = heap_now();
    found->tls_bytes = tls.bytes;
    found->threads = entries("/proc/self/task") - 1;
    if (heap_now() > areas[area_count - 1].bytes) die("the heap has grown too much");
    found->counted = true;
}

static void time_frames(enum way way, unsigned round, double *us) {
    for (unsigned f = 0; f < TURN + 1; f++) {
        double from = now_us();
        keep(way);
        run_frame();
        if (f > 0) us[round * TURN + f - 1] = now_us() - from;
    }
}

/* Seven frames are kept and run, and from there it goes back and runs them again. */
static void time_replays(enum way way, unsigned round) {
    for (unsigned i = round * REPLAYS; i < (round + 1) * REPLAYS; i++) {
        for (unsigned f = 0; f < AGAIN; f++) {
            keep(way);
            run_frame();
        }
        double from = now_us();
        back(way, h.frame - AGAIN);
        found->back_us[way][i] = now_us() - from;
        for (unsigned f = 0; f < AGAIN; f++) {
            keep(way);
            run_frame();
        }
        found->replay_us[way][i] = now_us() - from;
    }
    found->kept_bytes[way] = way == CHANGED ? hot_count * PAGE : 0;
    for (unsigned i = 0; i < KEPT; i++)
        found->kept_bytes[way] += way == STATES ? ring[i].count : ring[i].count * PAGE;
}

static void time_states(void) {
    static uint8_t state[STATE_MAX];
    found->state_bytes = h.core.serialize_size();
    if (found->state_bytes > STATE_MAX) die("its states are too large");
    for (unsigned i = 0; i < SAVES; i++) {
        double from = now_us();
        h.core.serialize(state, found->state_bytes);
        double middle = now_us();
        h.core.unserialize(state, found->state_bytes);
        found->serialize_us[i] = middle - from;
        found->unserialize_us[i] = now_us() - middle;
        run_frame();
    }
}

/* These ways, by turns. */
static void time_ways(enum way from, enum way to, double *bare_us) {
    static struct kept own[WAYS][KEPT];
    for (enum way way = from; way <= to; way++) {
        open_ring(way);
        memcpy(own[way], ring, sizeof ring);
    }
    for (unsigned round = 0; round < ROUNDS; round++) {
        time_frames(BARE, round, bare_us);
        for (enum way way = from; way <= to; way++) {
            memcpy(ring, own[way], sizeof ring);
            any_kept = false;
            time_frames(way, round, found->frame_us[way]);
            time_replays(way, round);
            memcpy(own[way], ring, sizeof ring);
        }
    }
}

static void time_pages(void) {
    warm_up();
    find_areas(HEAP_BYTES);
    protect();
    for (unsigned f = 0; f < 100; f++)
        run_frame();
    found->hot_early = (unsigned)hot_count;
    if (hot_count) found->fault_us = fault_us / (double)hot_count;
    while (h.frame < WARM + FRAMES)
        run_frame();
    found->hot_late = (unsigned)hot_count;
    time_ways(ALL, CHANGED, found->frame_us[BARE]);
    found->paged = true;
}

static void time_savestates(void) {
    warm_up();
    while (h.frame < WARM + FRAMES)
        run_frame();
    time_states();
    time_ways(STATES, STATES, found->beside_states_us);
    found->stated = true;
}

/* BARE: it never goes back. */
static void tell_truth(enum way way, bool turbo) {
    struct truth *t = &found->truth[turbo][way];
    struct kl_ram ram;
    pads_off = turbo ? 0 : 1u << RETRO_DEVICE_ID_JOYPAD_X | 1u << RETRO_DEVICE_ID_JOYPAD_Y;
    warm_up();
    find_areas(HEAP_BYTES);
    if (way == ALL || way == CHANGED) protect();
    open_ring(way);
    for (unsigned f = 0; f < TRUTH; f++) {
        if (way != BARE && f % 8 == 0) {
            uint32_t at = h.frame;
            presses = guessed;
            for (unsigned i = 0; i < AGAIN; i++) {
                keep(way);
                run_frame();
            }
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
    kl_ram_find(&ram, &h.core, &h.map);
    kl_ram_hash(&ram, &t->ram);
    t->done = true;
}

/* --- the report --- */

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}
static int by_count(const void *a, const void *b) {
    unsigned x = *(const unsigned *)a, y = *(const unsigned *)b;
    return x < y ? -1 : x > y;
}

static void print_truth(bool turbo) {
    const struct truth *t = found->truth[turbo];
    for (enum way way = ALL; way < WAYS; way++) {
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

static double median(const double *us, unsigned n) {
    static double sorted[ROUNDS * TURN];
    memcpy(sorted, us, n * sizeof *us);
    qsort(sorted, n, sizeof *us, by_value);
    return sorted[n / 2];
}

/* The way's frames in ones without, round by round, because the machine is faster and slower by turns. */
static double median_ratio(enum way way) {
    const double *bare = way == STATES ? found->beside_states_us : found->frame_us[BARE];
    double ratio[ROUNDS];
    for (unsigned round = 0; round < ROUNDS; round++) {
        double with = 0, without = 0;
        for (unsigned i = round * TURN; i < (round + 1) * TURN; i++) {
            with += found->frame_us[way][i];
            without += bare[i];
        }
        ratio[round] = with / without;
    }
    return median(ratio, ROUNDS);
}

static void print_counts(const char *name, const struct counts *c) {
    printf(", \"%s\": {\"own\": %u, \"others\": %u, \"core_frees_others\": %u, \"others_free_own\": %u, "
           "\"maps\": %u, \"other_maps\": %u}",
           name, c->own, c->others, c->core_frees_others, c->others_free_own, c->maps, c->other_maps);
}

static void print_report(const char *core) {
    struct found *x = found;
    double mean = 0;
    for (unsigned f = 0; f < FRAMES; f++)
        mean += (double)x->changed[f] / FRAMES;
    qsort(x->changed, FRAMES, sizeof *x->changed, by_count);
    printf("{\"core\": \"%s\", \"name\": \"%s\", \"counted\": %d, \"paged\": %d, \"stated\": %d", core,
           x->name, x->counted, x->paged, x->stated);
    printf(", \"segments\": %zu, \"heap\": %zu, \"tls\": %zu, \"threads\": %u, \"files\": %u",
           x->segment_bytes, x->heap_bytes, x->tls_bytes, x->threads, x->files);
    print_counts("load", &x->load);
    print_counts("play", &x->play);
    printf(", \"mean\": %.1f, \"p99\": %u, \"ever\": %u, \"hot_100\": %u, \"hot\": %u, \"fault_us\": %.2f",
           mean, x->changed[FRAMES * 99 / 100], x->ever, x->hot_early, x->hot_late, x->fault_us);
    printf(", \"load_us\": %.0f, \"state\": %zu, \"serialize\": %.1f, \"unserialize\": %.1f", x->load_us,
           x->state_bytes, median(x->serialize_us, SAVES), median(x->unserialize_us, SAVES));
    printf(", \"beside_states\": %.1f", median(x->beside_states_us, ROUNDS * TURN));
    for (enum way way = BARE; way < WAYS; way++) {
        double replay = median(x->replay_us[way], ROUNDS * REPLAYS);
        qsort(x->replay_us[way], ROUNDS * REPLAYS, sizeof(double), by_value);
        printf(", \"%s\": {\"frame\": %.1f, \"ratio\": %.3f, \"back\": %.1f, \"replay\": %.1f, "
               "\"replay_p99\": %.1f, \"kept\": %zu}",
               way_name[way], median(x->frame_us[way], ROUNDS * TURN), median_ratio(way),
               median(x->back_us[way], ROUNDS * REPLAYS), replay,
               x->replay_us[way][ROUNDS * REPLAYS * 99 / 100], x->kept_bytes[way]);
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
        found->load = counts;
        found->files = entries("/proc/self/fd") - files;
        snprintf(found->name, sizeof found->name, "%s", h.info.library_name);
        count_pages();
    } else if (part == 1) {
        time_pages();
    } else if (part == 2) {
        time_savestates();
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
