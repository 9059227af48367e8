#include "play.h"

#include <xxhash.h>

#include "record.h"

#define FAST_RUNS  64    /* frames in one call at most */
#define BUDGET_US  10000 /* for running frames in one call */
#define BREATH_US  2000  /* a frontend that calls again at once is held this long */
#define AT_ONCE_US 1000
#define REFRESH_US 16000 /* between two refreshes of the memory that the frontend sees */

static struct kl_play *const play = &kl_w.play;

/* ---- what the core calls ---- */

static uint64_t hash_picture(const void *data, unsigned width, unsigned height, size_t pitch, uint64_t h) {
    size_t line = width * kl_picture_pixel_bytes(kl_w.picture.format);
    for (unsigned y = 0; y < height; y++)
        h = XXH3_64bits_withSeed((const uint8_t *)data + y * pitch, line, h);
    return h;
}

void kl_play_video(const void *data, unsigned width, unsigned height, size_t pitch) {
    if (play->hash_av && data && data != RETRO_HW_FRAME_BUFFER_VALID)
        play->av_picture = hash_picture(data, width, height, pitch, 0);
    if (!play->hidden) kl_picture_draw(&kl_w.picture, data, width, height, pitch, kl_w.front.video);
}

size_t kl_play_batch(const int16_t *stereo, size_t frames) {
    if (play->hash_av) play->av_sound = XXH3_64bits_withSeed(stereo, frames * 4, play->av_sound);
    kl_audio_add(&kl_w.audio, stereo, frames);
    return frames;
}

void kl_play_sample(int16_t left, int16_t right) {
    int16_t s[2] = {left, right};
    kl_play_batch(s, 1);
}

/* The frontend has been polled by the time the core polls: a core that polls late, often or never reads the
 * same. */
void kl_play_poll(void) {}

int16_t kl_play_state(unsigned port, unsigned device, unsigned index, unsigned id) {
    return kl_latch_state(&kl_w.latch, port, device, index, id);
}

/* ---- hashes ---- */

void kl_play_hash(uint32_t label) {
    struct kl_statehash taken = {0};
    struct retro_memory_map map = kl_memory_inner(&kl_w.memory);
    kl_ram_find(&play->ram, &kl_w.core, map.num_descriptors ? &map : NULL);
    kl_statehash_take(&taken, &kl_w.core, &play->ram, &play->buffer);
    struct kl_hash h = {.frame = label, .has_ram = taken.has_ram, .has_state = taken.has_state};
    h.ram = taken.ram;
    h.state = taken.state;
    h.has_av = !h.has_ram && !h.has_state;
    h.av = play->av_picture ^ (play->av_sound * UINT64_C(0x9e3779b97f4a7c15));
    if (kl_w.link) kl_link_hash(kl_w.link, &h);
    struct klw_hash out = {label, h.has_ram, h.has_state, h.ram, h.state};
    kl_record_hash(&out);
    if (play->hash_fn) play->hash_fn(play->hash_user, &out);
}

/* ---- one frame ---- */

static void give_keys(const struct kl_frame *f) {
    for (unsigned s = 0; s < KL_MAX_SEATS; s++)
        for (unsigned i = 0; i < f->in[s].key_count && kl_w.told.key_event; i++) {
            const struct kl_key *k = &f->in[s].key[i];
            kl_w.told.key_event(k->down, k->code, k->character, k->modifiers);
        }
}

static void run_frame(const struct kl_frame *f, bool hidden) {
    uint64_t from_us = kl_now_us();
    if (f->flags & KL_FRAME_HASH) kl_play_hash(f->number - 1);
    kl_world_frame(f->number);
    kl_latch_frame(&kl_w.latch, f);
    give_keys(f);
    play->next_frame = f->number;
    play->clock_reads = 0;
    play->av_sound = 0;
    play->hidden = hidden;
    if (kl_w.told.frame_time.callback) {
        retro_usec_t usual = (retro_usec_t)(1e12 / kl_wrapper_fps_uhz(kl_w.av.timing.fps));
        kl_w.told.frame_time.callback(kl_w.told.frame_time.reference ? kl_w.told.frame_time.reference
                                                                     : usual);
    }
    kl_w.core.run();
    play->hidden = false;
    play->next_frame = f->number + 1;
    uint64_t cost_us = kl_now_us() - from_us;
    play->frame_cost_us = (play->frame_cost_us * 7 + cost_us) / 8;
}

/* ---- a turn ---- */

static void poll_frontend(unsigned seats) {
    if (kl_w.front.input_poll) kl_w.front.input_poll();
    if (kl_w.front.input_state) kl_latch_poll(&kl_w.latch, kl_w.front.input_state, seats);
}

/* A runner is polled for each sample, so that its script goes by samples; a frontend once a call. */
static void give_samples(uint32_t count) {
    struct kl_input in[KL_MAX_SEATS];
    for (uint32_t i = 0; i < count; i++) {
        if (kl_w.attached) poll_frontend(kl_w.own_seats);
        kl_latch_sample(&kl_w.latch, in, kl_w.own_seats);
        if (kl_link_sample(kl_w.link, in, kl_now_us()) != 0) return;
        play->stats.next_sample++;
    }
}

static uint32_t run_planned(uint32_t runs, uint64_t from_us) {
    struct kl_frame f;
    uint32_t done = 0;
    bool last = false, keep_sound = runs <= 2 && kl_w.status.welcome.params.clocked;
    while (!last && done < runs && kl_link_take(kl_w.link, &f)) {
        uint64_t spent_us = kl_now_us() - from_us;
        last = done + 1 == runs || spent_us + 2 * play->frame_cost_us > BUDGET_US;
        if (!keep_sound) kl_audio_drop(&kl_w.audio);
        if (done == 0) play->report.first = f.number;
        play->report.last = f.number;
        run_frame(&f, !last);
        done++;
    }
    if (done && !last) kl_picture_repeat(&kl_w.picture, kl_w.front.video); /* the planned rest did not come */
    return done;
}

/* An episode lasts from the first call that had to wait to the first that runs a frame again. */
static void note_stall(bool stalled, bool ran, uint64_t now_us) {
    play->report.stalled = stalled;
    if (stalled && !play->stall_since_us) {
        play->stall_since_us = now_us;
        play->stalls++;
    }
    if (!play->stall_since_us) return;
    uint64_t long_us = now_us - play->stall_since_us;
    if (long_us > play->stall_longest_us) play->stall_longest_us = long_us;
    if (ran) play->stall_since_us = 0;
}

static void show_again(bool quiet) {
    uint64_t now_us = kl_now_us();
    kl_picture_repeat(&kl_w.picture, kl_w.front.video);
    if (quiet) kl_audio_quiet(&kl_w.audio, now_us, kl_w.front.audio_batch);
    if (kl_w.link && now_us - play->last_end_us < AT_ONCE_US) kl_link_wait(kl_w.link, BREATH_US);
}

static void refresh_memory(uint64_t now_us) {
    if (now_us - play->refreshed_us < REFRESH_US || !kl_w.core.game_loaded) return;
    play->refreshed_us = now_us;
    kl_memory_refresh(&kl_w.memory, &kl_w.core);
}

static uint32_t runs_left(void) {
    if (!play->limit) return FAST_RUNS;
    uint32_t left = play->limit > play->next_frame ? play->limit - play->next_frame : 0;
    return left < FAST_RUNS ? left : FAST_RUNS;
}

/* The plan of this call, its samples given. Without a clock there is nothing to show in the meantime: wait.
 */
static struct kl_plan plan_turn(uint64_t now_us) {
    struct kl_plan plan = kl_link_plan(kl_w.link, now_us, runs_left());
    give_samples(plan.samples);
    if (plan.runs || kl_w.status.welcome.params.clocked) return plan;
    kl_link_wait(kl_w.link, KLW_RUN_WAIT_US);
    plan = kl_link_plan(kl_w.link, kl_now_us(), runs_left());
    give_samples(plan.samples);
    return plan;
}

void kl_play_turn(void) {
    uint64_t from_us = kl_now_us();
    if (!kl_w.attached) poll_frontend(kl_w.own_seats);
    if (runs_left() == 0) {
        kl_play_idle();
        return;
    }
    struct kl_plan plan = plan_turn(from_us);
    uint32_t done = run_planned(plan.runs, kl_now_us());
    bool clocked = kl_w.status.welcome.params.clocked;
    note_stall(plan.stalled && !done, done > 0, from_us);
    if (done)
        kl_audio_give(&kl_w.audio, clocked ? done : 1, kl_now_us(), kl_w.front.audio_batch);
    else
        show_again(plan.stalled && clocked);
    refresh_memory(from_us);
    play->report.run = done;
    play->report.backlog = plan.backlog > done ? plan.backlog - done : 0;
    play->last_end_us = kl_now_us();
}

void kl_play_idle(void) {
    bool hurried = kl_w.attached && !kl_w.config.params.clocked;
    if (!kl_w.attached) poll_frontend(0);
    kl_latch_forget(&kl_w.latch);
    if (hurried && kl_w.link) kl_link_wait(kl_w.link, KLW_RUN_WAIT_US);
    show_again(!hurried);
    play->report.run = 0;
    play->last_end_us = kl_now_us();
}

/* The seats stay as they were; those of the others are empty now. */
void kl_play_local(void) {
    struct kl_frame f = {.number = play->next_frame};
    struct kl_input in[KL_MAX_SEATS];
    unsigned mask = kl_w.status.welcome.seats ? kl_w.status.welcome.seats : 1, k = 0;
    unsigned seats = (unsigned)__builtin_popcount(mask);
    poll_frontend(seats);
    kl_latch_sample(&kl_w.latch, in, seats);
    for (unsigned s = 0; s < KL_MAX_SEATS; s++) {
        kl_input_neutral(&f.in[s]);
        if (mask >> s & 1) f.in[s] = in[k++];
    }
    run_frame(&f, false);
    kl_audio_give(&kl_w.audio, 1, kl_now_us(), kl_w.front.audio_batch);
    refresh_memory(kl_now_us());
}

void kl_play_begin(void) {
    bool ignored;
    play->next_frame = 0;
    play->hash_av = false;
    play->av_picture = play->av_sound = 0;
    struct retro_memory_map map = kl_memory_inner(&kl_w.memory);
    kl_ram_find(&play->ram, &kl_w.core, map.num_descriptors ? &map : NULL);
    play->hash_av = play->ram.count == 0 && kl_w.core.serialize_size() == 0;
    kl_latch_forget(&kl_w.latch);
    kl_w.front.environment(RETRO_ENVIRONMENT_GET_VARIABLE_UPDATE, &ignored);
}
