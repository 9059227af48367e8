#include "core_wrapper/match/play.h"

#include <xxhash.h>

#include "net/platform/clock.h"
#include "core_wrapper/match/command.h"
#include "core_wrapper/record/record.h"
#include "core_wrapper/match/room_profile.h"
#include "core_wrapper/match/slot.h"
#include "core_wrapper/match/snapshot.h"

#define FREE_RUNS    64    /* frames in one call at most, without a clock */
#define BUDGET_US    10000 /* time for these frames */
#define MUTE_FROM    5     /* frames in one call of heavy fast-forward */
#define STILL_FRAMES 90    /* a game has drawn its first picture by then */
#define BREATH_US    2000  /* a frontend that calls again at once is held this long */
#define AT_ONCE_US   1000
#define REFRESH_US   16000   /* between two refreshes of the memory that the frontend sees */
#define MISSING_US   3000000 /* the pace judges by the backlog of a second or so before */

static struct kl_play *const play = &kl_w.play;

/* ---- the core's callbacks ---- */

static uint64_t hash_picture(const void *data, unsigned width, unsigned height, size_t pitch, uint64_t h) {
    size_t line = width * kl_picture_pixel_bytes(kl_w.emu.picture.format);
    for (unsigned y = 0; y < height; y++)
        h = XXH3_64bits_withSeed((const uint8_t *)data + y * pitch, line, h);
    return h;
}

static void swallow(const void *data, unsigned width, unsigned height, size_t pitch) {
    (void)data, (void)width, (void)height, (void)pitch;
}

/* A core may repeat a picture by NULL, so a hidden picture may have to be shown later. */
static void keep_hidden(const void *data, unsigned width, unsigned height, size_t pitch) {
    struct kl_picture *p = &kl_w.emu.picture;
    bool want_copy = p->want_copy;
    if (!data || !play->core_dupes) return;
    p->want_copy = true;
    kl_picture_draw(p, data, width, height, pitch, swallow);
    p->want_copy = want_copy;
    p->shown = false; /* so that the copy is */
}

void kl_play_video(struct kl_emulator *e, const void *data, unsigned width, unsigned height, size_t pitch) {
    if (play->hash_av && data && data != RETRO_HW_FRAME_BUFFER_VALID)
        play->av_picture = hash_picture(data, width, height, pitch, 0);
    if (!data) play->core_dupes = true;
    if (play->hidden)
        keep_hidden(data, width, height, pitch);
    else
        kl_picture_draw(&e->picture, data, width, height, pitch, kl_w.front.video);
}

void kl_play_sound(struct kl_emulator *e, const int16_t *stereo, size_t frames) {
    if (play->hash_av) play->av_sound = XXH3_64bits_withSeed(stereo, frames * 4, play->av_sound);
    if (!play->again) kl_audio_add(&e->audio, stereo, frames);
}

/* ---- hashes ---- */

void kl_play_hash(uint32_t label) {
    struct kl_statehash taken = {0};
    struct retro_memory_map map = kl_memory_inner(&kl_w.emu.memory);
    kl_ram_find(&play->ram, &kl_w.emu.core, map.num_descriptors ? &map : NULL);
    kl_statehash_take(&taken, &kl_w.emu.core, &play->ram, &play->buffer);
    play->no_states = !taken.has_state;
    struct kl_hash h = {.frame = label, .has_ram = taken.has_ram, .has_state = taken.has_state};
    h.ram = taken.ram;
    if (h.has_state) h.state = kl_room_profile_hash(play->buffer.data, play->buffer.size, &h);
    h.has_av = !h.has_ram && (!h.has_state || play->av_picture);
    h.av = play->av_picture;
    if (!h.has_state) h.av ^= play->av_sound * UINT64_C(0x9e3779b97f4a7c15);
    if (kl_w.link) kl_link_hash(kl_w.link, &h);
    struct klw_hash out = {label, h.has_ram, h.has_state, h.ram, taken.state};
    kl_record_hash(&out);
    if (play->hash_fn) play->hash_fn(play->hash_user, &out);
}

/* ---- one frame ---- */

static void give_keys(const struct kl_frame *f) {
    for (unsigned s = 0; s < KL_MAX_SEATS; s++)
        for (unsigned i = 0; i < f->in[s].key_count && kl_w.emu.told.key_event; i++) {
            const struct kl_key *k = &f->in[s].key[i];
            kl_w.emu.told.key_event(k->down, k->code, k->character, k->modifiers);
        }
}

/* The first of our pads, in the seat that it plays. */
static void note_press(const struct kl_frame *f) {
    unsigned seats = kl_w.status.welcome.seats;
    if (seats)
        kl_press_frame(&play->press, f->in[kl_command_seat((unsigned)__builtin_ctz(seats))].joypad,
                       kl_now_us());
}

static void run_core(const struct kl_frame *f, bool hidden) {
    kl_latch_frame(&kl_w.emu.latch, f);
    give_keys(f);
    play->av_sound = 0;
    play->hidden = hidden;
    kl_w.emu.unseen = hidden && !kl_w.show_all && !play->hash_av;
    if (kl_w.emu.told.frame_time.callback) {
        retro_usec_t usual = (retro_usec_t)(1e12 / kl_emulator_fps_uhz(kl_w.emu.av.timing.fps));
        kl_w.emu.told.frame_time.callback(
            kl_w.emu.told.frame_time.reference ? kl_w.emu.told.frame_time.reference : usual);
    }
    kl_w.emu.core.run();
    play->hidden = kl_w.emu.unseen = false;
}

static void run_frame(const struct kl_frame *f, bool hidden) {
    uint64_t from_us = kl_now_us();
    bool begun_here =
        play->from && f->number == play->from; /* hashed and partly obeyed before the snapshot */
    if ((f->flags & KL_FRAME_HASH) && !begun_here) {
        kl_play_hash(f->number - 1);
        kl_snapshot_keep(f->number);
    }
    kl_world_frame(kl_w.emu.world, f->number);
    kl_command_before(f, begun_here);
    kl_record_frame(f);
    play->next_frame = f->number;
    run_core(f, hidden);
    play->next_frame = f->number + 1;
    note_press(f);
    kl_pace_cost(&play->pace, hidden, (double)(kl_now_us() - from_us));
}

/* Everything that leaves a trace in the core is done as it was the first time. */
void kl_play_again(const struct kl_frame *f, const struct kl_commands *set, enum kl_play_from from) {
    struct kl_statehash ignored;
    if (f->flags & KL_FRAME_HASH && from == KL_PLAY_ON) {
        kl_statehash_take(&ignored, &kl_w.emu.core, &play->ram, &play->buffer);
        kl_snapshot_keep(f->number);
    }
    kl_world_frame(kl_w.emu.world, f->number);
    kl_command_again(f, set, from == KL_PLAY_SNAPSHOT);
    play->again = true;
    run_core(f, true);
    play->again = false;
}

void kl_play_from(uint32_t frame, uint32_t fps_uhz) {
    play->from = play->next_frame = frame;
    if (fps_uhz) kl_pace_rate(&play->pace, 1e12 / fps_uhz);
}

void kl_play_warm_up(void) {
    struct kl_frame f = {0};
    play->again = true;
    run_core(&f, true);
    play->again = false;
}

/* ---- a turn ---- */

static void poll_frontend(unsigned seats) {
    if (kl_w.front.input_poll) kl_w.front.input_poll();
    if (kl_w.front.input_state) kl_latch_poll(&kl_w.emu.latch, kl_w.front.input_state, seats);
}

/* A runner is polled for each sample, so that its script goes by samples; a frontend once a call. */
static void give_samples(uint32_t count) {
    struct kl_input in[KL_MAX_SEATS] = {0}; /* the relay may give us more seats at any time */
    for (uint32_t i = 0; i < count; i++) {
        if (kl_w.emu.runner) poll_frontend(kl_w.own_seats);
        kl_latch_sample(&kl_w.emu.latch, in, kl_w.own_seats);
        if (kl_w.own_seats) kl_press_sample(&play->press, in[0].joypad, kl_now_us());
        if (kl_link_sample(kl_w.link, in, kl_now_us()) != 0) return;
        play->stats.next_sample++;
    }
}

static bool clocked(void) {
    return kl_w.status.welcome.params.clocked;
}

/* Time is up: one more frame, and that one is seen. */
static bool time_is_up(uint64_t from_us) {
    double spent_us = (double)(kl_now_us() - from_us);
    if (clocked()) return kl_pace_last(&play->pace, spent_us);
    return spent_us + 2 * play->pace.shown_us > BUDGET_US;
}

/* Without a clock a frontend hears the last frame of a call, and a runner everything. */
static uint32_t run_planned(uint32_t runs, uint64_t from_us) {
    struct kl_frame f;
    uint32_t done = 0;
    bool last = false;
    kl_audio_mute(&kl_w.emu.audio, play->pace.mode == KL_PACE_FLAT_OUT && runs >= MUTE_FROM);
    while (!last && done < runs && kl_link_take(kl_w.link, &f)) {
        last = done + 1 == runs || time_is_up(from_us);
        if (!clocked() && !kl_w.emu.runner) kl_audio_drop(&kl_w.emu.audio);
        if (done == 0) play->report.first = f.number;
        play->report.last = f.number;
        run_frame(&f, !last);
        done++;
    }
    if (done && !last)
        kl_picture_repeat(&kl_w.emu.picture, kl_w.front.video); /* the planned rest did not come */
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

static void show_again(void) {
    kl_picture_repeat(&kl_w.emu.picture, kl_w.front.video);
    if (kl_w.link && kl_now_us() - play->last_end_us < AT_ONCE_US) kl_link_wait(kl_w.link, BREATH_US);
}

static void give_sound(uint32_t runs) {
    if (!clocked() && runs)
        kl_audio_pass(&kl_w.emu.audio, kl_w.front.audio_batch);
    else if (clocked())
        kl_audio_call(&kl_w.emu.audio, runs, kl_now_us(), play->pace.interval_us, kl_w.front.audio_batch);
}

/* While missed frames still arrive, the backlog grows even on the fastest machine. */
static void note_too_slow(uint64_t now_us) {
    bool missing = kl_w.status.phase == KL_STAY_RETURNING || kl_w.status.behind >= KL_SPACING_MAX;
    if (missing) play->missing_us = now_us;
    bool waits = now_us - play->missing_us < MISSING_US && play->missing_us;
    play->too_slow = play->pace.too_slow && !waits;
}

static void refresh_memory(uint64_t now_us) {
    if (now_us - play->refreshed_us < REFRESH_US || !kl_w.emu.core.game_loaded) return;
    play->refreshed_us = now_us;
    kl_memory_refresh(&kl_w.emu.memory, &kl_w.emu.core);
}

/* Frames up to the runner's limit. */
static uint32_t up_to_limit(uint32_t runs) {
    if (!play->limit) return runs;
    uint32_t left = play->limit > play->next_frame ? play->limit - play->next_frame : 0;
    return left < runs ? left : runs;
}

static uint32_t most_runs(uint64_t now_us) {
    const struct kl_client_stats *s = &play->stats;
    if (!clocked()) return up_to_limit(FREE_RUNS);
    bool awaited = kl_w.own_seats && !s->absent;
    return up_to_limit(
        kl_pace_most(&play->pace, s->next_closed - s->next_run, awaited ? s->spacing : 0, now_us));
}

/* The plan of this call, its samples given. Without a clock there is nothing to show in the meantime: wait.
 */
static struct kl_plan plan_turn(uint64_t now_us) {
    uint32_t most = most_runs(now_us);
    struct kl_plan plan = kl_link_plan(kl_w.link, now_us, most);
    if (clocked() && kl_pace_due(&play->pace, plan.due))
        plan = kl_link_plan(kl_w.link, now_us, most_runs(now_us));
    give_samples(plan.samples);
    if (plan.runs || clocked()) return plan;
    kl_link_wait(kl_w.link, KLW_RUN_WAIT_US);
    plan = kl_link_plan(kl_w.link, kl_now_us(), most);
    give_samples(plan.samples);
    return plan;
}

/* Nothing new is run in this call. */
static void rest(uint64_t from_us) {
    give_sound(0);
    show_again();
    refresh_memory(from_us);
    play->report.run = 0;
    play->last_end_us = kl_now_us();
}

void kl_play_turn(void) {
    uint64_t from_us = kl_now_us();
    if (!kl_w.emu.runner) poll_frontend(kl_w.own_seats);
    bool again = kl_snapshot_rerun(from_us);
    if (up_to_limit(1) == 0) {
        kl_snapshot_turn();
        kl_play_idle();
        return;
    }
    kl_pace_call(&play->pace, from_us);
    if (again || kl_w.status.begins) { /* or the state to begin with is on its way */
        give_samples(kl_link_plan(kl_w.link, from_us, 0).samples);
        if (!again) kl_snapshot_turn();
        rest(from_us);
        return;
    }
    struct kl_plan plan = plan_turn(from_us);
    uint32_t done = run_planned(plan.runs, from_us);
    note_stall(plan.stalled && !done, done > 0, from_us);
    give_sound(done);
    if (!done) show_again();
    kl_slot_turn();
    kl_snapshot_turn();
    refresh_memory(from_us);
    play->report.run = done;
    play->report.backlog = plan.backlog > done ? plan.backlog - done : 0;
    play->last_end_us = kl_now_us();
    kl_pace_ran(&play->pace, plan.due, done, plan.stalled, (double)(play->last_end_us - from_us));
    note_too_slow(from_us);
}

void kl_play_rate(double fps) {
    kl_pace_rate(&play->pace, 1e12 / kl_emulator_fps_uhz(fps));
    if (kl_w.emu.phase == KL_PHASE_PLAYING && kl_w.link && !play->again)
        kl_link_rate(kl_w.link, kl_emulator_fps_uhz(fps));
}

void kl_play_idle(void) {
    bool hurried = kl_w.emu.runner && !kl_w.config.params.clocked;
    if (!kl_w.emu.runner) poll_frontend(0);
    kl_latch_forget(&kl_w.emu.latch);
    if (hurried && kl_w.link) kl_link_wait(kl_w.link, KLW_RUN_WAIT_US);
    if (!hurried) {
        kl_pace_call(&play->pace, kl_now_us());
        kl_audio_call(&kl_w.emu.audio, 0, kl_now_us(), play->pace.interval_us, kl_w.front.audio_batch);
    }
    show_again();
    play->report.run = 0;
    play->last_end_us = kl_now_us();
}

/* After a match the seats stay as they were, and those of the others are empty; before one all pads are here.
 */
static unsigned local_seats(void) {
    if (kl_w.emu.phase == KL_PHASE_FREE) return (1u << KL_MAX_SEATS) - 1;
    return kl_w.status.welcome.seats ? kl_w.status.welcome.seats : 1;
}

/* The first frame: the core gets the save that the frontend has read from the player's file. */
static void begin_free(void) {
    kl_w.free_begins = false;
    kl_play_begin();
    kl_world_rate(kl_w.emu.world, kl_emulator_fps_uhz(kl_w.emu.av.timing.fps));
    kl_memory_give_saves(&kl_w.emu.memory, &kl_w.emu.core);
}

void kl_play_local(bool still) {
    if (kl_w.emu.phase == KL_PHASE_FREE && kl_w.free_begins) begin_free();
    if (kl_w.emu.phase == KL_PHASE_FREE && play->next_frame >= STILL_FRAMES && still) {
        kl_play_idle();
        return;
    }
    struct kl_frame f = {.number = play->next_frame};
    struct kl_input in[KL_MAX_SEATS];
    unsigned mask = local_seats(), k = 0;
    unsigned seats = (unsigned)__builtin_popcount(mask);
    poll_frontend(seats);
    kl_latch_sample(&kl_w.emu.latch, in, seats);
    for (unsigned s = 0; s < KL_MAX_SEATS; s++)
        if (mask >> s & 1) f.in[kl_command_seat(s)] = in[k++]; /* the others' are zero: neutral */
    kl_pace_call(&play->pace, kl_now_us());
    run_frame(&f, false);
    if (kl_w.own_saves) kl_memory_take_saves(&kl_w.emu.memory, &kl_w.emu.core); /* the frontend's to write */
    kl_audio_call(&kl_w.emu.audio, 1, kl_now_us(), play->pace.interval_us, kl_w.front.audio_batch);
    refresh_memory(kl_now_us());
}

void kl_play_begin(void) {
    play->press = (struct kl_press){0};
    play->next_frame = play->from = 0;
    play->hash_av = play->no_states = false;
    play->av_picture = play->av_sound = 0;
    struct retro_memory_map map = kl_memory_inner(&kl_w.emu.memory);
    kl_ram_find(&play->ram, &kl_w.emu.core, map.num_descriptors ? &map : NULL);
    play->hash_av = play->ram.count == 0;
    kl_latch_forget(&kl_w.emu.latch);
    kl_pace_begin(&play->pace, 1e12 / kl_emulator_fps_uhz(kl_w.emu.av.timing.fps));
    kl_audio_begin(&kl_w.emu.audio, play->pace.interval_us);
}
