#include "core_wrapper/match/play.h"

#include "net/platform/clock.h"
#include "core_wrapper/match/command.h"
#include "core_wrapper/record/record.h"
#include "core_wrapper/match/snapshot.h"
#include "core_wrapper/match/room_profile.h"
#include "core_wrapper/match/run_ahead.h"
#include "core_wrapper/match/slot.h"
#include "core_wrapper/match/match.h"

#define FREE_RUNS    64    /* frames in one call at most, without a clock */
#define BUDGET_US    10000 /* time for these frames */
#define MUTE_FROM    5     /* frames in one call of heavy fast-forward */
#define STILL_FRAMES 90    /* a game has drawn its first picture by then */
#define BREATH_US    2000  /* a frontend that calls again at once is held this long */
#define AT_ONCE_US   1000
#define REFRESH_US   16000   /* between two refreshes of the memory that the frontend sees */
#define MISSING_US   3000000 /* the pace judges by the backlog of a second or so before */

/* --- the core's callbacks --- */

void kl_play_video(struct kl_match *m, const void *data, unsigned width, unsigned height, size_t pitch) {
    bool hashed = m->play.draws || m->play.ahead.plan.on, hardware = data == RETRO_HW_FRAME_BUFFER_VALID;
    if (hashed && data)
        kl_chain_picture(&m->play.chain,
                         hardware ? 0 : kl_picture_hash(m->emu.picture.format, data, width, height, pitch));
    if (!m->play.ahead.displays) kl_core_show(m, data, width, height, pitch, m->play.run.hidden);
}

void kl_play_sound(struct kl_match *m, const int16_t *stereo, size_t frames) {
    if (m->play.draws) kl_chain_sound(&m->play.chain, stereo, frames);
    if (m->play.run.how == KL_RUN_NEW && !m->play.ahead.displays) kl_run_ahead_sound(m, stereo, frames);
}

/* --- hashes --- */

void kl_play_hash(struct kl_match *m, uint32_t label) {
    struct kl_statehash taken = {0};
    kl_emulator_find_ram(&m->emu, &m->play.ram);
    kl_statehash_take(&taken, &m->emu.core, &m->play.ram, &m->play.buffer);
    m->play.no_states = !taken.has_state;
    kl_run_ahead_marked(m, label + 1, &taken);
    const struct kl_chain *c = &m->play.chain;
    struct kl_hash h = {.frame = label, .layout = m->play.ram.layout, .ram = taken.ram};
    h.picture = c->picture;
    h.sound = (uint16_t)c->sound;
    h.has = taken.has_ram ? KL_HASH_RAM : 0;
    bool compared = taken.has_state && kl_quirks_allow(m->emu.quirks, KL_STATE_COMPARED);
    if (compared) h.has |= KL_HASH_STATE;
    if (m->play.draws && kl_chain_sees(c)) h.has |= KL_HASH_PICTURE;
    if (m->play.draws && !taken.has_ram && kl_chain_hears(c)) h.has |= KL_HASH_SOUND;
    if (compared) h.state = kl_room_profile_hash(m, m->play.buffer.data, m->play.buffer.size, &h);
    if (m->link) {
        kl_participant_hash(kl_link_hold(m->link), &h);
        kl_link_release(m->link);
    }
    m->play.hashed = (struct klw_hash){label, taken.has_ram, compared, taken.ram, taken.state};
    kl_record_hash(&m->record, &m->play.hashed, m->play.buffer.data, m->play.buffer.size);
    if (m->play.hash_fn) m->play.hash_fn(m->play.hash_user, &m->play.hashed);
}

/* --- one frame --- */

/* The first of our pads, in the seat that it plays, has the keyboard as well. */
static void note_own(struct kl_match *m, const struct kl_frame *f, uint64_t now_us) {
    unsigned seats = m->status.welcome.seats;
    if (!seats) return;
    const struct kl_input *in = &f->in[kl_command_seat(m, (unsigned)__builtin_ctz(seats))];
    kl_press_frame(&m->play.press, in->joypad, now_us);
    if (in->all_up) kl_latch_press_again(&m->emu.latch);
}

/* The room's commands before the frame; false: there are none. */
static bool take_commands(struct kl_match *m, const struct kl_frame *f, struct kl_commands *set) {
    if (!(f->flags & KL_FRAME_COMMANDS) || !m->link) return false;
    const struct kl_commands *held = kl_participant_commands(kl_link_hold(m->link), f->number);
    if (held) *set = *held;
    kl_link_release(m->link);
    if (held)
        kl_recorder_commands(&m->record.recorder, set);
    else
        kl_frontend_log(&m->front, "commands lost frame=%u", f->number);
    return held;
}

/* One frame: the hash of the state before it, the room's commands, the core. from_us: now. Gives the time at
 * its end. */
static uint64_t run_frame(struct kl_match *m, const struct kl_frame *f, bool hidden, uint64_t from_us) {
    struct kl_commands set;
    bool begun_here =
        m->play.from && f->number == m->play.from; /* hashed and partly obeyed before the snapshot */
    if ((f->flags & KL_FRAME_HASH) && !begun_here) {
        kl_play_hash(m, f->number - 1);
        kl_chain_label(&m->play.chain);
        kl_snapshot_keep(m, f->number);
    }
    m->play.next_frame = f->number;
    bool any = take_commands(m, f, &set);
    struct kl_spent since = kl_core_spent((struct kl_spent){0});
    m->play.showing = (struct kl_spent){0};
    (void)kl_core_run_frame(m, &m->play.run, f, any ? &set : NULL, begun_here, hidden);
    kl_cost_add(&m->play.cost, kl_core_spent(since), m->play.showing);
    m->play.next_frame = f->number + 1;
    uint64_t end_us = m->play.ran_us = kl_now_us();
    note_own(m, f, end_us);
    kl_run_ahead_compare(m, f->number, !hidden);
    kl_pace_cost(&m->play.pace, hidden, (double)(end_us - from_us));
    return end_us;
}

/* --- a turn --- */

static void poll_frontend(struct kl_match *m, unsigned seats) {
    if (m->front.call.input_poll) m->front.call.input_poll();
    if (m->front.call.input_state) kl_latch_poll(&m->emu.latch, m->front.call.input_state, seats);
}

/* A runner is polled for each sample, so that its script goes by samples; a frontend once a call. */
static void give_samples(struct kl_match *m, uint32_t count, uint64_t now_us) {
    struct kl_input in[KL_MAX_SEATS] = {0}; /* the relay may give us more seats at any time */
    for (uint32_t i = 0; i < count; i++) {
        if (m->emu.runner) poll_frontend(m, m->play.own_seats);
        kl_latch_sample(&m->emu.latch, in, m->play.own_seats);
        if (m->play.own_seats) kl_press_sample(&m->play.press, in[0].joypad, now_us);
        int result = kl_participant_sample(kl_link_hold(m->link), in, now_us);
        kl_link_release(m->link);
        if (result != KL_OK) return;
        m->play.stats.next_sample++;
    }
}

static bool clocked(struct kl_match *m) {
    return m->status.welcome.params.clocked;
}

/* Time is up: one more frame, and that one is seen. */
static bool time_is_up(struct kl_match *m, double spent_us) {
    if (clocked(m)) return kl_pace_last(&m->play.pace, spent_us);
    return spent_us + 2 * m->play.pace.shown_us > BUDGET_US;
}

static bool take_frame(struct kl_match *m, struct kl_frame *out) {
    bool got = kl_participant_take(kl_link_hold(m->link), out);
    kl_link_release(m->link);
    return got;
}

/* Without a clock a frontend hears the last frame of a call, and a runner everything. from_us: now; end_us:
 * gets the time at the end. Gives the number of frames run. */
static uint32_t run_planned(struct kl_match *m, uint32_t runs, uint64_t from_us, uint64_t *end_us) {
    struct kl_frame f;
    uint32_t done = 0;
    bool last = false;
    *end_us = from_us;
    kl_audio_mute(&m->emu.audio, m->play.pace.mode == KL_PACE_FLAT_OUT && runs >= MUTE_FROM);
    while (!last && done < runs && take_frame(m, &f)) {
        last = done + 1 == runs || time_is_up(m, (double)(*end_us - from_us));
        if (!clocked(m) && !m->emu.runner) kl_audio_drop(&m->emu.audio);
        if (done == 0) m->play.report.first = f.number;
        m->play.report.last = f.number;
        *end_us = run_frame(m, &f, !last && !m->play.ahead.displays, *end_us);
        done++;
    }
    if (done && !last && !m->play.ahead.displays)
        kl_picture_repeat(&m->emu.picture, m->front.call.video); /* the planned rest did not come */
    return done;
}

/* An episode lasts from the first call that had to wait to the first that runs a frame again. */
static void note_stall(struct kl_match *m, bool stalled, bool ran, uint64_t now_us) {
    m->play.report.stalled = stalled;
    if (stalled && !m->play.stall_since_us) {
        m->play.stall_since_us = now_us;
        m->play.stalls++;
    }
    if (!m->play.stall_since_us) return;
    uint64_t long_us = now_us - m->play.stall_since_us;
    if (long_us > m->play.stall_longest_us) m->play.stall_longest_us = long_us;
    if (ran) m->play.stall_since_us = 0;
}

static void show_again(struct kl_match *m, uint64_t now_us) {
    kl_picture_repeat(&m->emu.picture, m->front.call.video);
    if (m->link && now_us - m->play.last_end_us < AT_ONCE_US) kl_link_wait(m->link, BREATH_US);
}

static void give_sound(struct kl_match *m, uint32_t runs, uint64_t now_us) {
    if (!clocked(m) && runs)
        kl_audio_pass(&m->emu.audio, m->front.call.audio_batch);
    else if (clocked(m))
        kl_audio_call(&m->emu.audio, runs, now_us, m->play.pace.interval_us, m->front.call.audio_batch);
}

/* While missed frames still arrive, the backlog grows even on the fastest machine. */
static void note_too_slow(struct kl_match *m, uint64_t now_us) {
    bool missing = m->status.phase == KL_PARTICIPANT_RETURNING || m->status.behind >= KL_SPACING_MAX;
    if (missing) m->play.missing_us = now_us;
    bool waits = now_us - m->play.missing_us < MISSING_US && m->play.missing_us;
    m->play.too_slow = m->play.pace.too_slow && !waits;
}

static void refresh_memory(struct kl_match *m, uint64_t now_us) {
    if (now_us - m->play.refreshed_us < REFRESH_US || !m->emu.core.game_loaded) return;
    m->play.refreshed_us = now_us;
    kl_memory_refresh(&m->emu.memory, &m->emu.core);
}

/* Frames up to the runner's limit. */
static uint32_t up_to_limit(struct kl_match *m, uint32_t runs) {
    if (!m->play.limit) return runs;
    uint32_t left = m->play.limit > m->play.next_frame ? m->play.limit - m->play.next_frame : 0;
    return left < runs ? left : runs;
}

static uint32_t most_runs(struct kl_match *m, uint64_t now_us) {
    const struct kl_client_stats *s = &m->play.stats;
    if (!clocked(m)) return up_to_limit(m, FREE_RUNS);
    bool awaited = m->play.own_seats && !s->absent;
    return up_to_limit(
        m, kl_pace_most(&m->play.pace, s->next_closed - s->next_run, awaited ? s->spacing : 0, now_us));
}

/* The plan of this moment, its samples given. */
static struct kl_plan plan_now(struct kl_match *m, uint64_t now_us) {
    uint32_t most = most_runs(m, now_us);
    struct kl_participant *participant = kl_link_hold(m->link);
    struct kl_plan plan = kl_participant_plan(participant, most, now_us);
    if (clocked(m) && kl_pace_due(&m->play.pace, plan.due))
        plan = kl_participant_plan(participant, most_runs(m, now_us), now_us);
    kl_link_release(m->link);
    give_samples(m, plan.samples, now_us);
    return plan;
}

/* The plan of this call. Without a clock there is nothing to show in the meantime: wait, until a later
 * now_us. */
static struct kl_plan plan_turn(struct kl_match *m, uint64_t *now_us) {
    struct kl_plan plan = plan_now(m, *now_us);
    if (plan.runs || clocked(m)) return plan;
    kl_link_wait(m->link, KLW_RUN_WAIT_US);
    *now_us = kl_now_us();
    return plan_now(m, *now_us);
}

/* Nothing new is run in this call. */
static void rest(struct kl_match *m, uint64_t from_us) {
    give_sound(m, 0, from_us);
    show_again(m, from_us);
    refresh_memory(m, from_us);
    m->play.report.run = 0;
    m->play.last_end_us = kl_now_us();
}

/* Samples of before an absence are lost, and those that go on begin with all keys up. */
static void note_return(struct kl_match *m) {
    if (m->play.returns == m->play.stats.returns) return;
    m->play.returns = m->play.stats.returns;
    kl_latch_forget(&m->emu.latch);
    kl_latch_press_again(&m->emu.latch);
}

/* Poll, sample, take and run frames with their hashes (run_frame()), show, give sound. */
void kl_play_turn(struct kl_match *m, uint64_t from_us) {
    uint64_t now_us = from_us, end_us;
    note_return(m);
    if (!m->emu.runner) poll_frontend(m, m->play.own_seats);
    bool again = kl_heal_rerun(m, from_us);
    if (up_to_limit(m, 1) == 0) {
        m->play.ran_us = from_us; /* a runner looks at motors and lights once it has run all frames */
        kl_heal_turn(m);
        kl_play_idle(m, from_us);
        return;
    }
    kl_pace_call(&m->play.pace, from_us);
    if (again || m->status.begins) { /* or the state to begin with is on its way */
        uint32_t samples = kl_participant_plan(kl_link_hold(m->link), 0, from_us).samples;
        kl_link_release(m->link);
        give_samples(m, samples, from_us);
        if (!again) kl_heal_turn(m);
        rest(m, from_us);
        return;
    }
    struct kl_plan plan = plan_turn(m, &now_us);
    int ahead = kl_run_ahead_turn(m, m->play.next_frame + plan.due, now_us);
    if (ahead >= 0) now_us = kl_now_us(); /* the true core's cost is its own */
    uint32_t done = run_planned(m, plan.runs, now_us, &end_us);
    uint32_t shown = ahead < 0 ? done : (uint32_t)ahead;
    note_stall(m, plan.stalled && !done, done > 0, from_us);
    give_sound(m, shown, end_us);
    if (!shown)
        show_again(m, end_us);
    else
        kl_run_ahead_felt(m, ahead < 0 ? m->play.next_frame : m->play.ahead.plan.shown);
    kl_slot_turn(m);
    kl_heal_turn(m);
    refresh_memory(m, from_us);
    m->play.report.run = done;
    m->play.report.backlog = plan.backlog > done ? plan.backlog - done : 0;
    m->play.last_end_us = kl_now_us();
    kl_pace_ran(&m->play.pace, plan.due, done, plan.stalled, (double)(m->play.last_end_us - from_us));
    note_too_slow(m, from_us);
}

void kl_play_rate(struct kl_match *m, double fps) {
    uint32_t fps_uhz = kl_emulator_fps_uhz(fps);
    kl_pace_rate(&m->play.pace, 1e12 / fps_uhz);
    if (m->emu.phase != KL_PHASE_PLAYING || !m->link || m->play.run.how != KL_RUN_NEW || m->emu.quiet) return;
    kl_participant_rate(kl_link_hold(m->link), fps_uhz);
    kl_link_release(m->link);
}

void kl_play_idle(struct kl_match *m, uint64_t now_us) {
    bool hurried = m->emu.runner && !m->config.params.clocked;
    if (!m->emu.runner) poll_frontend(m, 0);
    kl_latch_forget(&m->emu.latch);
    if (hurried && m->link) kl_link_wait(m->link, KLW_RUN_WAIT_US);
    if (!hurried) {
        kl_pace_call(&m->play.pace, now_us);
        kl_audio_call(&m->emu.audio, 0, now_us, m->play.pace.interval_us, m->front.call.audio_batch);
    }
    show_again(m, now_us);
    m->play.report.run = 0;
    m->play.last_end_us = kl_now_us();
}

/* After a match the seats stay as they were, and those of the others are empty; before one all pads are here.
 */
static unsigned local_seats(struct kl_match *m) {
    if (m->emu.phase == KL_PHASE_FREE) return (1u << KL_MAX_SEATS) - 1;
    return m->status.welcome.seats ? m->status.welcome.seats : 1;
}

void kl_play_local(struct kl_match *m, bool still, uint64_t now_us) {
    if (m->emu.phase == KL_PHASE_FREE && m->play.begins_free) {
        /* The first frame: the core gets the save that the frontend has read from the player's file. */
        m->play.begins_free = false;
        kl_play_begin(m);
        kl_world_rate(m->emu.world, kl_emulator_fps_uhz(m->emu.av.timing.fps));
        kl_memory_give_saves(&m->emu.memory, &m->emu.core);
    }
    if (m->emu.phase == KL_PHASE_FREE && m->play.next_frame >= STILL_FRAMES && still) {
        kl_play_idle(m, now_us);
        return;
    }
    struct kl_frame f = {.number = m->play.next_frame};
    struct kl_input in[KL_MAX_SEATS];
    unsigned mask = local_seats(m), k = 0;
    unsigned seats = (unsigned)__builtin_popcount(mask);
    poll_frontend(m, seats);
    kl_latch_sample(&m->emu.latch, in, seats);
    for (unsigned s = 0; s < KL_MAX_SEATS; s++) { /* the others' are zero: neutral */
        if (mask >> s & 1)
            f.in[kl_command_seat(m, s)] = in[k++];
        else
            f.in[kl_command_seat(m, s)].all_up = true; /* of players who are gone */
    }
    kl_pace_call(&m->play.pace, now_us);
    now_us = run_frame(m, &f, false, now_us);
    if (m->play.own_saves) kl_memory_take_saves(&m->emu.memory, &m->emu.core); /* the frontend's to write */
    kl_audio_call(&m->emu.audio, 1, now_us, m->play.pace.interval_us, m->front.call.audio_batch);
    refresh_memory(m, now_us);
}

static int pad_of(void *m, unsigned port) {
    return kl_command_pad(m, port);
}

void kl_play_lasting(struct kl_match *m, bool over) {
    const struct kl_emulator *from = m->play.ahead.displays ? &m->play.ahead.shown.emu : &m->emu;
    struct kl_lasting_front front = {.motor = m->emu.told.rumble.set_rumble_state,
                                     .light = m->emu.told.led.set_led_state,
                                     .pad = pad_of,
                                     .ctx = m};
    struct kl_lasting_game g = {
        .runs = !over && (m->emu.phase == KL_PHASE_PLAYING || m->emu.phase == KL_PHASE_FREE ||
                          m->emu.phase == KL_PHASE_LOCAL),
        .healing = kl_heal_runs(m),
        .catching_up = clocked(m) && m->emu.phase == KL_PHASE_PLAYING && m->play.pace.mode >= KL_PACE_BRISK,
        .ran_us = m->play.ran_us,
        .now_us = kl_now_us()};
    kl_lasting_tell(&m->play.lasting, kl_lasting_stands(&g) ? NULL : &from->lasting, &front, g.now_us);
}

/* The player's fast-forward and slow motion would only make the machine stall and stutter. */
void kl_play_hold_pace(struct kl_match *m, bool hold) {
    struct retro_fastforwarding_override o = {.ratio = -1.0f, .inhibit_toggle = hold};
    if (m->config.params.clocked && !m->emu.runner)
        m->front.call.environment(RETRO_ENVIRONMENT_SET_FASTFORWARDING_OVERRIDE, &o);
}

void kl_play_begin(struct kl_match *m) {
    m->play.press = (struct kl_press){0};
    m->play.returns = 0;
    m->play.next_frame = m->play.from = 0;
    m->play.no_states = false;
    kl_chain_begin(&m->play.chain);
    kl_emulator_find_ram(&m->emu, &m->play.ram);
    /* a profile that calls the state whole makes pictures needless, if the core shows its RAM */
    m->play.draws = m->link && (m->play.ram.count == 0 || !m->profile.room.states_equal);
    kl_latch_begin(&m->emu.latch);
    kl_pace_begin(&m->play.pace, 1e12 / kl_emulator_fps_uhz(m->emu.av.timing.fps));
    kl_audio_begin(&m->emu.audio, m->play.pace.interval_us);
}
