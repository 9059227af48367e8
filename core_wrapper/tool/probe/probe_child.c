/* The child's side: runs the core once and prints the findings as lines of text; the states go into a
 * file. */
#include "net/platform/file.h"
#include "net/platform/library.h"
#include "net/platform/process.h"
#include "net/platform/clock.h"
#include "core_wrapper/tool/probe/probe.h"
#include "core_wrapper/tool/common/tool.h"
#include "core_wrapper/world/view.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define STATES_MAX ((uint64_t)64 << 20) /* bytes of states kept for comparison by one run */

struct child {
    enum kl_probe_mode mode;
    uint32_t frames, every;
    struct kl_headless h, beside; /* beside: KL_PROBE_BESIDE */
    FILE *states;
    bool unheard;      /* the parent has gone */
    bool history_only; /* a file was found */
    bool stuck;        /* KL_PROBE_PAGES: it cannot go back */
    uint64_t states_bytes;
    uint32_t *frame_us;     /* one per frame */
    uint32_t *serialize_us; /* one per serialize, processor time */
    uint64_t unserialize_us;
    unsigned serializes, unserializes;
    uint64_t beside_chance; /* of the state that the second copy holds */
    uint8_t *map;           /* of unstable bytes, map_len = size of the state when it was made */
    size_t map_len;
};

/* A finding, as a line of text. */
__attribute__((format(__printf__, 2, 3))) static void tell(struct child *c, const char *format, ...) {
    char line[KL_PROBE_LINE];
    va_list list;
    va_start(list, format);
    int n = vsnprintf(line, sizeof(line), format, list);
    va_end(list);
    struct kl_process_part part = {line, n < (int)sizeof(line) ? (size_t)n : sizeof(line) - 1};
    if (!kl_process_tell(&part, 1)) c->unheard = true;
}

static void hash(struct child *c, struct kl_statehash *out) {
    uint64_t start =
        kl_cpu_us(); /* processor time, because a busy machine's delays say nothing about the core */
    kl_headless_hash(&c->h, out);
    uint32_t took_us = (uint32_t)(kl_cpu_us() - start);
    uint32_t *more = realloc(c->serialize_us, (c->serializes + 1) * sizeof(*more));
    if (!more) return;
    c->serialize_us = more;
    c->serialize_us[c->serializes++] = took_us;
}

static bool load_state(struct child *c, const uint8_t *state, size_t len) {
    uint64_t start = kl_now_us();
    bool ok = c->h.core.unserialize(state, len);
    c->unserialize_us += kl_now_us() - start;
    c->unserializes++;
    return ok;
}

/* The second copy plays the same frames, of each eight the last four twice. */
static void run_beside(struct child *c) {
    struct kl_headless *h = &c->beside;
    struct kl_statehash ignored;
    kl_headless_run(h);
    if (h->frame % 8 == 4) {
        kl_headless_hash(h, &ignored);
        c->beside_chance = kl_world_chance(h->world);
    }
    if (h->frame % 8 != 0 || h->frame < 8 || !h->buffer.size) return;
    if (!h->core.unserialize(h->buffer.data, h->buffer.size)) return;
    kl_headless_rewind(h, h->frame - 4, c->beside_chance);
    while (h->frame % 8 != 0)
        kl_headless_run(h);
}

/* Runs the next frames with nothing pressed, and goes back by its pages. */
static void run_astray(struct child *c) {
    struct kl_headless *h = &c->h;
    struct kl_input_source *input = h->input;
    uint32_t frame = h->frame;
    uint16_t keys = h->keys_down;
    uint64_t av = h->av_hash, chance = kl_world_chance(h->world);
    if (!h->pages || (frame == 4 && !kl_pages_begin(h->pages))) c->stuck = true;
    for (unsigned i = 0; i < 4 && !c->stuck; i++) {
        c->stuck = !kl_pages_keep(h->pages, i);
        kl_headless_input(h, NULL, 0);
        kl_headless_run(h);
    }
    kl_headless_input(h, input, 2);
    c->stuck = c->stuck || !kl_pages_back(h->pages, 0);
    kl_headless_rewind(h, frame, chance);
    h->keys_down = keys;
    h->av_hash = av;
}

static void run_frame(struct child *c) {
    uint32_t f = c->h.frame;
    if (c->mode == KL_PROBE_PAGES && f % 8 == 4) run_astray(c);
    if (c->mode == KL_PROBE_HIDDEN) c->h.av_enable = f % 4 == 3 ? 3 : 0;
    uint64_t start = kl_now_us();
    kl_headless_run(&c->h);
    if (f < c->frames) c->frame_us[f] = (uint32_t)(kl_now_us() - start);
    if (c->mode == KL_PROBE_BESIDE) run_beside(c);
    kl_headless_turn(&c->h);
}

static void keep_state(struct child *c, uint32_t frame) {
    uint64_t size = c->h.buffer.size;
    uint32_t checks = c->frames / c->every + 1;
    uint64_t stride = size * checks / STATES_MAX + 1;
    if (!c->states || !size || (frame + 1) / c->every % stride != 0) return;
    fwrite(&frame, sizeof(frame), 1, c->states);
    fwrite(&size, sizeof(size), 1, c->states);
    fwrite(c->h.buffer.data, 1, size, c->states);
}

/* Notes the bytes in which `before` and the state in the buffer differ. */
static void mark_bytes(struct child *c, const uint8_t *before, size_t len) {
    if (len != c->h.buffer.size) return;
    if (!c->map) {
        c->map = calloc(1, len ? len : 1);
        c->map_len = c->map ? len : 0;
    }
    for (size_t i = 0; i < len && i < c->map_len; i++)
        c->map[i] |= before[i] != c->h.buffer.data[i];
}

static void write_check(struct child *c, uint32_t frame, const struct kl_statehash *h, int compared,
                        bool ram_same, bool state_same) {
    char ram[KLT_HASH_TEXT], state[KLT_HASH_TEXT];
    kl_hash_text(ram, h->has_ram, h->ram);
    kl_hash_text(state, h->has_state, h->state);
    tell(c, "check %" PRIu32 " %s %s %016" PRIx64 " %zu %d %d %d", frame, ram, state, c->h.av_hash,
         h->state_bytes, compared, ram_same, state_same);
}

static void check_plain(struct child *c) {
    struct kl_statehash h;
    uint32_t frame = c->h.frame - 1;
    hash(c, &h);
    keep_state(c, frame);
    if (c->mode == KL_PROBE_LOAD && h.has_state) load_state(c, c->h.buffer.data, c->h.buffer.size);
    write_check(c, frame, &h, 0, true, true);
}

static uint8_t *copy_state(const struct child *c) {
    uint8_t *copy = malloc(c->h.buffer.size ? c->h.buffer.size : 1);
    if (copy) memcpy(copy, c->h.buffer.data, c->h.buffer.size);
    return copy;
}

static void check_twice(struct child *c) {
    struct kl_statehash first, second;
    hash(c, &first);
    size_t len = c->h.buffer.size;
    uint8_t *before = copy_state(c);
    hash(c, &second);
    if (before) mark_bytes(c, before, len);
    write_check(c, c->h.frame - 1, &first, first.has_state, first.ram == second.ram,
                first.state == second.state);
    free(before);
}

static void run_frames(struct child *c, unsigned n) {
    while (n-- > 0)
        run_frame(c);
}

static void check_replay(struct child *c) {
    struct kl_statehash start = {0}, once = {0}, again = {0};
    uint32_t frame = c->h.frame;
    hash(c, &start);
    size_t start_len = c->h.buffer.size;
    uint8_t *saved = copy_state(c);
    uint64_t av = c->h.av_hash, chance = kl_world_chance(c->h.world);
    run_frames(c, KL_PROBE_REPLAY_FRAMES);
    hash(c, &once);
    size_t len = c->h.buffer.size;
    uint8_t *before = copy_state(c);
    bool loaded = start.has_state && saved && load_state(c, saved, start_len);
    if (loaded) {
        kl_headless_rewind(&c->h, frame, chance);
        run_frames(c, KL_PROBE_REPLAY_FRAMES);
        hash(c, &again);
        if (before) mark_bytes(c, before, len);
        if (load_state(c, saved, start_len)) kl_headless_rewind(&c->h, frame, chance);
    }
    c->h.av_hash = av;
    write_check(c, frame - 1, &start, start.has_state, loaded && once.ram == again.ram,
                loaded && once.state == again.state);
    free(saved);
    free(before);
}

static void check(struct child *c) {
    bool last = c->h.frame >= c->frames;
    if (c->mode == KL_PROBE_QUIET && !last) return;
    if (c->mode == KL_PROBE_TWICE)
        check_twice(c);
    else if (c->mode == KL_PROBE_REPLAY)
        check_replay(c);
    else
        check_plain(c);
}

static int by_value(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

static void write_figures(struct child *c) {
    struct kl_ram ram;
    uint64_t sum = 0, ram_bytes = 0;
    kl_ram_find(&ram, &c->h.core, &c->h.map);
    for (unsigned i = 0; i < ram.count; i++)
        ram_bytes += ram.piece[i].len;
    for (uint32_t i = 0; i < c->frames; i++)
        sum += c->frame_us[i];
    qsort(c->frame_us, c->frames, sizeof(c->frame_us[0]), by_value);
    tell(c, "name %s", c->h.name);
    tell(c, "version %s", c->h.version);
    tell(c, "turned %s", c->h.turned.turned);
    tell(c, "left %s", c->h.turned.left);
    tell(c, "rand %d", c->h.turned.rand);
    tell(c, "ram %" PRIu64 " %u", ram_bytes, ram.count);
    if (c->serializes) qsort(c->serialize_us, c->serializes, sizeof(c->serialize_us[0]), by_value);
    tell(c, "us %.3f %u %u %.3f", (double)sum / c->frames, c->frame_us[(uint64_t)c->frames * 99 / 100],
         c->serializes ? c->serialize_us[c->serializes / 2] : 0,
         c->unserializes ? (double)c->unserialize_us / c->unserializes : 0);
}

static void write_bytes(struct child *c) {
    static struct kl_probe_bytes bytes; /* large */
    kl_probe_bytes_from_map(&bytes, c->map, c->map_len);
    tell(c, "unstable %" PRIu64 "", bytes.count);
    for (unsigned i = 0; i < bytes.ranges; i++)
        tell(c, "range %" PRIu32 " %" PRIu32 "", bytes.range[i].from, bytes.range[i].to);
}

/* Once: a file that keeps a room from giving states. */
static void check_files(struct child *c) {
    struct kl_fileset *k;
    char why[256];
    if (c->history_only) return;
    if (kl_world_files_keep(c->h.world, &k, why, sizeof why) != 0) {
        tell(c, "files %s", why);
        c->history_only = true;
        return;
    }
    for (unsigned i = 0; k && i < k->files && !c->history_only; i++) {
        c->history_only = k->file[i].local;
        if (k->file[i].local) tell(c, "files %s is mapped, or this machine's alone", k->file[i].name);
    }
    kl_fileset_free(k);
}

static int run_core(struct child *c) {
    c->h.want_av = c->mode != KL_PROBE_HIDDEN;
    while (c->h.frame < c->frames && !c->h.shutdown && !c->stuck) {
        run_frame(c);
        if (c->h.frame % c->every == 0 || c->h.frame == c->frames) {
            check(c);
            check_files(c);
        }
    }
    if (c->h.shutdown) return tool_fail(KLT_FAILED, "probe", "the core asked to be shut down");
    if (c->stuck)
        return tool_fail(KLT_FAILED, "probe", "%s", c->h.pages ? kl_pages_unfit(c->h.pages) : "not here");
    write_figures(c);
    write_bytes(c);
    tell(c, "end");
    bool bad = c->unheard || (c->states && (ferror(c->states) || fflush(c->states) != 0));
    return bad ? tool_fail(KLT_OUTPUT, "probe", "cannot write the findings: %s", strerror(errno)) : KLT_OK;
}

/* Cores of a process share its signal handlers, and a library that is marked to stay. */
static int open_beside(struct child *c, struct kl_input_source *input, const char *handlers) {
    char err[KLT_ERR], now[sizeof c->h.name];
    kl_process_crash_handlers(now, sizeof now);
    if (strcmp(now, handlers) != 0)
        return tool_fail(KLT_FAILED, "probe", "it handles signals, which a process does once: %s", now);
    if (kl_headless_open(&c->beside, &c->h.setup, err, sizeof(err)) != 0)
        return tool_fail(KLT_FAILED, "probe", "a second copy beside it: %s", err);
    kl_headless_input(&c->beside, input, 2);
    if (c->beside.core.run == c->h.core.run)
        return tool_fail(KLT_FAILED, "probe",
                         "there is no second copy beside it: its library is marked to stay");
    kl_headless_turn(&c->h);
    return KLT_OK;
}

/* kl_probe_run() writes every argument: MODE FRAMES EVERY STATES CORE CONTENT SYSTEM INPUT MOVED
 * [KEY=VALUE]…; "-" is none. MOVED: the core's addresses are others than in a run without it. */
int cmd_probe_child(int argc, char **argv) {
    static struct child child;
    struct child *c = &child;
    char err[KLT_ERR], handlers[sizeof c->h.name];
    struct kl_input_source *input = NULL;
    kl_process_crash_handlers(handlers, sizeof handlers);
    if (argc < 10) return tool_fail(KLT_USAGE, "probe-child", "only keylock probe may start this");
    c->mode = (enum kl_probe_mode)atoi(argv[1]);
    c->frames = (uint32_t)strtoul(argv[2], NULL, 10);
    c->every = (uint32_t)strtoul(argv[3], NULL, 10);
    struct kl_headless_setup setup = {.core_path = argv[5],
                                      .content_path = strcmp(argv[6], "-") == 0 ? NULL : argv[6],
                                      .system_dir = strcmp(argv[7], "-") == 0 ? NULL : argv[7],
                                      .options = (const char *const *)argv + 10,
                                      .option_count = (unsigned)argc - 10,
                                      .virtual_clock = c->mode != KL_PROBE_HOST,
                                      .session_files = c->mode != KL_PROBE_HOST,
                                      .own_heap = c->mode == KL_PROBE_PAGES,
                                      .epoch_s = KLT_EPOCH_DEFAULT,
                                      .quiet = true};
    if (!c->frames || !c->every)
        return tool_fail(KLT_USAGE, "probe-child", "only keylock probe may start this");
    c->frame_us = calloc(c->frames, sizeof(*c->frame_us));
    bool keeps = strcmp(argv[4], "-") != 0;
    if (keeps) c->states = kl_file_stream(argv[4], "w");
    if (!c->frame_us || (keeps && !c->states))
        return tool_fail(KLT_OUTPUT, "probe", "cannot write %s: %s", argv[4], strerror(errno));
    if (strcmp(argv[9], "-") != 0) kl_library_move(argv[5]);
    if (kl_input_source_open(&input, argv[8], err, sizeof(err)) != 0 ||
        kl_headless_open(&c->h, &setup, err, sizeof(err)) != 0) {
        kl_input_source_close(input);
        return tool_fail(KLT_LOAD, "probe", "%s", err);
    }
    kl_headless_input(&c->h, input, 2);
    int code = c->mode == KL_PROBE_BESIDE ? open_beside(c, input, handlers) : KLT_OK;
    if (code == KLT_OK) code = run_core(c);
    if (c->beside.world) kl_headless_close(&c->beside, err, sizeof(err));
    kl_headless_close(&c->h, err, sizeof(err));
    kl_input_source_close(input);
    free(c->frame_us);
    free(c->serialize_us);
    free(c->map);
    if (c->states) fclose(c->states);
    return code;
}
