#include "core_wrapper/tool/desync/measure.h"

#include <stdlib.h>
#include <string.h>

#include "core_wrapper/world/view.h"
#include "net/platform/clock.h"
#include "net/platform/process.h"

#define REPLAY_FRAMES 8

static void note_us(uint32_t **list, size_t count, uint64_t us) {
    uint32_t *more = realloc(*list, (count + 1) * sizeof(*more));
    if (!more) return;
    *list = more;
    more[count] = (uint32_t)us;
}

/* Processor time, because a busy machine's delays say nothing about the core. */
static void hash(struct kl_measure *m, struct kl_statehash *out) {
    uint64_t start = kl_cpu_us();
    kl_headless_hash(m->h, out);
    note_us(&m->serialize_us, m->serializes++, kl_cpu_us() - start);
}

static bool load_state(struct kl_measure *m, const uint8_t *state, size_t len) {
    uint64_t start = kl_now_us();
    bool ok = m->h->emu.core.unserialize(state, len);
    m->unserialize_us += kl_now_us() - start;
    m->unserializes++;
    return ok;
}

/* --- frames --- */

/* The second copy plays the same frames, of each eight the last four twice. */
static void run_beside(struct kl_measure *m) {
    struct kl_headless *h = &m->beside;
    struct kl_statehash ignored;
    kl_headless_run(h);
    if (h->frame % 8 == 4) {
        kl_headless_hash(h, &ignored);
        m->beside_chance = kl_world_chance(h->emu.world);
    }
    if (h->frame % 8 != 0 || h->frame < 8 || !h->buffer.size) return;
    if (!h->emu.core.unserialize(h->buffer.data, h->buffer.size)) return;
    kl_headless_rewind(h, h->frame - 4, m->beside_chance);
    while (h->frame % 8 != 0)
        kl_headless_run(h);
}

/* Runs the next frames with nothing pressed, and goes back by its pages. */
static void run_astray(struct kl_measure *m) {
    struct kl_headless *h = m->h;
    struct kl_input_source *input = h->input;
    uint32_t frame = h->frame;
    uint16_t keys = h->keys_down;
    struct kl_latch latch = h->emu.latch;
    uint64_t av = h->av_hash, chance = kl_world_chance(h->emu.world);
    bool stuck = !h->emu.pages || (frame == 4 && !kl_pages_begin(h->emu.pages));
    for (unsigned i = 0; i < 4 && !stuck; i++) {
        stuck = !kl_pages_keep(h->emu.pages, i);
        kl_headless_input(h, NULL, 0);
        kl_headless_run(h);
    }
    kl_headless_input(h, input, 2);
    stuck = stuck || !kl_pages_back(h->emu.pages, 0);
    if (stuck) m->fault = h->emu.pages ? kl_pages_unfit(h->emu.pages) : "not here";
    kl_headless_rewind(h, frame, chance);
    h->keys_down = keys;
    h->emu.latch = latch;
    h->av_hash = av;
}

static void run_frame(struct kl_measure *m) {
    uint32_t f = m->h->frame;
    if (m->mode == KL_MEASURE_PAGES && f % 8 == 4) run_astray(m);
    if (m->mode == KL_MEASURE_HIDDEN) m->h->unseen = f % 4 != 3;
    uint64_t start = kl_now_us();
    kl_headless_run(m->h);
    uint64_t took_us = kl_now_us() - start;
    if (f == m->frames) note_us(&m->frame_us, m->frames++, took_us);
    if (m->mode == KL_MEASURE_BESIDE) run_beside(m);
    kl_headless_turn(m->h);
}

static void run_frames(struct kl_measure *m, unsigned n) {
    while (n-- > 0)
        run_frame(m);
}

/* --- checks --- */

void kl_measure_bytes_from_map(struct kl_measure_bytes *out, const uint8_t *map, size_t len) {
    memset(out, 0, sizeof(*out));
    for (size_t i = 0; i < len; i++) {
        if (!map[i]) continue;
        bool goes_on = i > 0 && map[i - 1];
        out->count++;
        if (goes_on && out->ranges && out->range[out->ranges - 1].to == i - 1) {
            out->range[out->ranges - 1].to = (uint32_t)i;
        } else if (out->ranges < KL_MEASURE_RANGES) {
            out->range[out->ranges].from = out->range[out->ranges].to = (uint32_t)i;
            out->ranges++;
        }
    }
}

/* Notes the bytes in which `before` and the state in the buffer differ. */
static void mark_bytes(struct kl_measure *m, const uint8_t *before, size_t len) {
    const struct kl_statehash_buffer *now = &m->h->buffer;
    if (!before || len != now->size) return;
    if (!m->map) {
        m->map = calloc(1, len ? len : 1);
        m->map_len = m->map ? len : 0;
    }
    for (size_t i = 0; i < len && i < m->map_len; i++)
        m->map[i] |= before[i] != now->data[i];
}

static uint8_t *copy_state(const struct kl_measure *m) {
    uint8_t *copy = malloc(m->h->buffer.size ? m->h->buffer.size : 1);
    if (copy) memcpy(copy, m->h->buffer.data, m->h->buffer.size);
    return copy;
}

static void check_replay(struct kl_measure *m, bool has_state, struct kl_measure_check *out) {
    struct kl_statehash once = {0}, again = {0};
    uint32_t frame = m->h->frame;
    size_t start_len = m->h->buffer.size;
    uint8_t *saved = copy_state(m);
    uint64_t av = m->h->av_hash, chance = kl_world_chance(m->h->emu.world);
    run_frames(m, REPLAY_FRAMES);
    hash(m, &once);
    size_t len = m->h->buffer.size;
    uint8_t *before = copy_state(m);
    bool loaded = has_state && saved && load_state(m, saved, start_len);
    if (loaded) {
        kl_headless_rewind(m->h, frame, chance);
        run_frames(m, REPLAY_FRAMES);
        hash(m, &again);
        mark_bytes(m, before, len);
        if (load_state(m, saved, start_len)) kl_headless_rewind(m->h, frame, chance);
    }
    m->h->av_hash = av;
    out->ram_same = loaded && once.ram == again.ram;
    out->state_same = loaded && once.state == again.state;
    free(saved);
    free(before);
}

/* Once: a file that keeps a room from giving states. */
static void check_files(struct kl_measure *m, char *out, size_t cap) {
    struct kl_fileset *k;
    char why[256];
    if (m->history_only) return;
    if (kl_world_files_keep(m->h->emu.world, &k, why, sizeof why) != 0) {
        snprintf(out, cap, "%s", why);
        m->history_only = true;
        return;
    }
    for (unsigned i = 0; k && i < k->files && !m->history_only; i++) {
        m->history_only = k->file[i].local;
        if (k->file[i].local) snprintf(out, cap, "%s is mapped, or this machine's alone", k->file[i].name);
    }
    kl_fileset_free(k);
}

bool kl_measure_run(struct kl_measure *m, uint32_t frames, struct kl_measure_check *out) {
    struct kl_statehash h;
    memset(out, 0, sizeof(*out));
    for (uint32_t i = 0; i < frames && !m->h->shutdown && !m->fault; i++)
        run_frame(m);
    if (m->fault || m->h->shutdown) {
        if (!m->fault) m->fault = "the core asked to be shut down";
        return false;
    }
    hash(m, &h);
    out->hash = kl_hashline_of(m->h->frame - 1, &h);
    out->av = m->h->av_hash;
    out->state_bytes = h.state_bytes;
    out->ram_same = out->state_same = true;
    out->compared = h.has_state && (m->mode == KL_MEASURE_TWICE || m->mode == KL_MEASURE_REPLAY);
    if (m->mode == KL_MEASURE_LOAD && h.has_state) load_state(m, m->h->buffer.data, m->h->buffer.size);
    if (m->mode == KL_MEASURE_TWICE) {
        struct kl_statehash second;
        size_t len = m->h->buffer.size;
        uint8_t *before = copy_state(m);
        hash(m, &second);
        mark_bytes(m, before, len);
        out->ram_same = h.ram == second.ram;
        out->state_same = h.state == second.state;
        free(before);
    }
    if (m->mode == KL_MEASURE_REPLAY) check_replay(m, h.has_state, out);
    check_files(m, out->files, sizeof(out->files));
    return true;
}

/* --- the beginning, the end --- */

void kl_measure_prepare(struct kl_measure *m, enum kl_measure_mode mode, struct kl_headless_setup *setup) {
    m->mode = mode;
    kl_process_crash_handlers(m->handlers, sizeof(m->handlers));
    setup->virtual_clock = setup->session_files = mode != KL_MEASURE_HOST;
    setup->own_heap = mode == KL_MEASURE_PAGES;
}

/* Cores of a process share its signal handlers, and a library that is marked to stay. */
int kl_measure_begin(struct kl_measure *m, struct kl_headless *h, struct kl_input_source *input, char *err,
                     size_t err_len) {
    char why[KLT_ERR], now[sizeof(m->handlers)];
    m->h = h;
    h->want_av = m->mode != KL_MEASURE_HIDDEN;
    if (m->mode != KL_MEASURE_BESIDE) return 0;
    kl_process_crash_handlers(now, sizeof(now));
    if (strcmp(now, m->handlers) != 0) {
        snprintf(err, err_len, "it handles signals, which a process does once: %s", now);
        return -1;
    }
    if (kl_headless_open(&m->beside, &h->setup, why, sizeof(why)) != 0) {
        snprintf(err, err_len, "a second copy beside it: %s", why);
        return -1;
    }
    kl_headless_input(&m->beside, input, 2);
    if (m->beside.emu.core.run == h->emu.core.run) {
        snprintf(err, err_len, "there is no second copy beside it: its library is marked to stay");
        return -1;
    }
    kl_headless_turn(h);
    return 0;
}

static int by_value(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

void kl_measure_figures(struct kl_measure *m, struct kl_measure_figures *out) {
    struct kl_ram ram;
    uint64_t sum = 0;
    memset(out, 0, sizeof(*out));
    kl_emulator_find_ram(&m->h->emu, &ram);
    out->ram_pieces = ram.count;
    for (unsigned i = 0; i < ram.count; i++)
        out->ram_bytes += ram.piece[i].len;
    memcpy(out->turned, m->h->emu.turned.turned, sizeof(out->turned));
    memcpy(out->left, m->h->emu.turned.left, sizeof(out->left));
    out->rand = m->h->emu.turned.rand;
    for (uint32_t i = 0; i < m->frames; i++)
        sum += m->frame_us[i];
    if (m->frames) qsort(m->frame_us, m->frames, sizeof(m->frame_us[0]), by_value);
    if (m->frames) out->frame_us = (double)sum / m->frames;
    if (m->frames) out->frame_p99_us = m->frame_us[(uint64_t)m->frames * 99 / 100];
    if (m->serializes) qsort(m->serialize_us, m->serializes, sizeof(m->serialize_us[0]), by_value);
    if (m->serializes) out->serialize_us = m->serialize_us[m->serializes / 2];
    if (m->unserializes) out->unserialize_us = (double)m->unserialize_us / m->unserializes;
    kl_measure_bytes_from_map(&out->unstable, m->map, m->map_len);
}

void kl_measure_end(struct kl_measure *m) {
    char err[KLT_ERR];
    if (m->beside.emu.world) kl_headless_close(&m->beside, err, sizeof(err));
    free(m->frame_us);
    free(m->serialize_us);
    free(m->map);
}
