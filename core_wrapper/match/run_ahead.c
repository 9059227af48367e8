#include "core_wrapper/match/run_ahead.h"

#include <stdio.h>
#include <string.h>

#include "core_wrapper/match/snapshot.h"
#include "core_wrapper/match/room_profile.h"
#include "core_wrapper/match/match.h"
#include "net/engine/lock_relay.h"
#include "net/platform/clock.h"

#define PARTS_MOST  8   /* the value of `parted` at which it is given up: it grows by 2, shrinks by 1 */
#define REST_SHARE  0.9 /* of the time between calls that one call may take in all */
#define AGAIN_GAIN  (1.0 / 128)
#define FELT_GAIN   (1.0 / 32)
#define FADE_S      0.004
#define RAM_AT_ONCE 65536    /* bytes of RAM that are hashed in every frame */
#define IDLE_US     2000000  /* so long without a frame ahead, and it rests */
#define REST_S      3        /* then it tries again; if that was in vain, after twice as long */
#define REST_MOST_S 96       /* the longest rest */
#define FIT_US      10000000 /* so long with frames ahead, and the next rest is short again */

static struct kl_run_ahead *of(struct kl_match *m) {
    return &m->play.ahead;
}

/* --- the shown core's picture and sound --- */

/* The frontend knows the true core's format and largest size. */
static bool fits(struct kl_match *m, unsigned width, unsigned height) {
    const struct retro_game_geometry *g = &m->emu.told.av.geometry;
    return m->play.ahead.shown.emu.picture.format == m->emu.told.format && width <= g->max_width &&
           height <= g->max_height;
}

static void on_video(void *ctx, const void *data, unsigned width, unsigned height, size_t pitch) {
    struct kl_match *m = ctx;
    struct kl_run_ahead *a = of(m);
    a->hardware = data == RETRO_HW_FRAME_BUFFER_VALID;
    if (a->hardware) return;
    if (data) a->picture = kl_picture_hash(a->shown.emu.picture.format, data, width, height, pitch);
    if (data && !fits(m, width, height)) return;
    kl_core_show(m, data, width, height, pitch, a->run.hidden);
}

static void give_sound(struct kl_match *m, const int16_t *stereo, size_t frames) {
    kl_audio_add(&m->emu.audio, stereo, frames);
    kl_fade_keep(&of(m)->fade, stereo, frames);
}

void kl_run_ahead_sound(struct kl_match *m, const int16_t *stereo, size_t frames) {
    struct kl_run_ahead *a = of(m);
    int16_t mixed[KL_FADE_MAX * 2];
    if (!frames) return;
    if (a->fades) kl_fade_begin(&a->fade, (unsigned)(FADE_S * m->emu.audio.rate));
    a->fades = false;
    for (size_t n; frames > 0 && a->fade.on; stereo += 2 * n, frames -= n) {
        n = frames < KL_FADE_MAX ? frames : KL_FADE_MAX;
        memcpy(mixed, stereo, n * 2 * sizeof *mixed);
        kl_fade_mix(&a->fade, mixed, n);
        give_sound(m, mixed, n);
    }
    if (frames > 0) give_sound(m, stereo, frames);
}

static void on_sound(void *ctx, const int16_t *stereo, size_t frames) {
    struct kl_match *m = ctx;
    if (of(m)->audible) kl_run_ahead_sound(m, stereo, frames);
}

/* --- on and off --- */

static bool is_auto(struct kl_match *m) {
    return m->config.ahead == KL_AHEAD_AUTO;
}

static void stop(struct kl_match *m) {
    struct kl_run_ahead *a = of(m);
    a->sum.breaks += a->displays;
    a->fades = a->fades || a->displays;
    a->plan.on = a->displays = false;
    a->plan.frames = 0;
    a->doubt = (struct kl_ahead_doubt){.fewer = a->doubt.fewer};
}

void kl_run_ahead_anew(struct kl_match *m) {
    of(m)->anew = true;
}

struct kl_shown_hooks kl_run_ahead_hooks(struct kl_match *m) {
    return (struct kl_shown_hooks){m, on_video, on_sound};
}

/* Once for a reason: on the screen, in the log, and in the panel. */
static void tell_why(struct kl_match *m, const char *why) {
    snprintf(of(m)->why, sizeof of(m)->why, "%s", why);
    kl_frontend_say(&m->front, KL_SCREEN_WARNING, 5000, "presses wait for the link: %s", why);
}

const char *kl_run_ahead_not(struct kl_match *m) {
    return m->config.ahead ? of(m)->why : "";
}

const char *kl_run_ahead_toggle(struct kl_match *m) {
    char ignored[KLW_TEXT_MAX];
    (void)kl_config_set(&m->config, "ahead", m->config.ahead ? "off" : "auto", ignored, sizeof ignored);
    if (!m->config.ahead || of(m)->failed) return "your presses show once the lock plays them";
    return "your presses show at once, the others' are guessed";
}

/* A second copy of some cores crashes the process: a probe finds that out beforehand. */
static bool measured(struct kl_match *m) {
    return !strcmp(m->config.learn, "off") || kl_room_profile_known(m) || kl_room_profile_find_any(m);
}

bool kl_run_ahead_wants(struct kl_match *m) {
    const struct kl_welcome *w = &m->status.welcome;
    struct kl_run_ahead *a = of(m);
    const char *why = "";
    if (!m->config.ahead || !w->seats || a->shown.open || a->failed) return false;
    if (is_auto(m) && !w->params.clocked) return false;
    if (is_auto(m) && kl_learn_busy(m)) {
        if (!*a->why) tell_why(m, "this core is being measured");
        return false;
    }
    if (!w->params.subframes) why = "this room samples at keyframes only";
    if (!w->params.hash_every) why = "this room compares no states";
    if (is_auto(m) && !measured(m)) why = "this core is not measured";
    if (is_auto(m) && !m->profile.size_bytes) why = "the core gives no savestates";
    if (*why) kl_run_ahead_give_up(m, why);
    if (!a->failed) a->why[0] = 0;
    return !*why;
}

void kl_run_ahead_close(struct kl_match *m) {
    struct kl_run_ahead *a = of(m);
    stop(m);
    kl_shown_close(&a->shown);
    struct kl_fade fade = a->fade;
    bool fades = a->fades;
    memset(a, 0, sizeof *a);
    a->fade = fade;
    a->fades = fades;
}

void kl_run_ahead_give_up(struct kl_match *m, const char *why) {
    struct kl_run_ahead *a = of(m);
    stop(m);
    kl_shown_close(&a->shown);
    a->failed = true;
    tell_why(m, why);
}

/* A player whose samples count, at the room's frame, with a sample for each frame. */
static bool may_run(struct kl_match *m) {
    const struct kl_client_stats *s = &m->play.stats;
    bool steady = m->play.pace.mode == KL_PACE_STEADY || m->play.pace.mode == KL_PACE_GENTLE;
    bool wanted = m->config.ahead || of(m)->plan.frames > 0; /* it goes back frame by frame */
    return wanted && m->play.own_seats && !s->absent && m->status.phase == KL_PARTICIPANT_PLAYING &&
           m->status.welcome.params.subframes && m->status.welcome.client != KL_WATCHER &&
           (steady || !m->status.welcome.params.clocked);
}

/* --- one frame of the shown core --- */

/* Whether the frame may be a marked keyframe, before which the RAM is compared. */
static bool may_be_marked(struct kl_match *m, const struct kl_frame *f, bool closed) {
    if (closed) return f->flags & KL_FRAME_HASH;
    size_t bytes = 0;
    for (unsigned i = 0; i < of(m)->shown.ram.count; i++)
        bytes += of(m)->shown.ram.piece[i].len;
    return bytes <= RAM_AT_ONCE || (f->flags & KL_FRAME_KEY);
}

static void note_before(struct kl_match *m, const struct kl_frame *f, bool closed) {
    struct kl_run_ahead *a = of(m);
    unsigned i = f->number % KL_RUN_AHEAD_SEEN;
    bool again = a->seen[i].frame == f->number && a->seen[i].shown;
    a->seen[i].frame = f->number;
    a->seen[i].again = again;
    a->seen[i].shown = again;
    a->seen[i].has_ram = may_be_marked(m, f, closed) && kl_shown_ram(&a->shown, &a->seen[i].ram);
    a->picture_before[f->number % KL_AHEAD_FRAMES] = a->picture;
}

/* False: the shown core cannot go on. */
static bool run_next(struct kl_match *m) {
    struct kl_run_ahead *a = of(m);
    struct kl_frame f;
    struct kl_commands set;
    fenv_t ours;
    struct kl_spent since = kl_core_spent((struct kl_spent){0});
    m->play.showing = (struct kl_spent){0};
    bool closed = kl_ahead_next(&a->plan, &kl_link_hold(m->link)->lock, a->run.plays, &f, &set);
    kl_link_release(m->link);
    if (!a->plan.on) return false;
    if (!closed && !kl_shown_keep(&a->shown, f.number)) {
        kl_run_ahead_give_up(m, "the core's state or files cannot be kept");
        return false;
    }
    note_before(m, &f, closed);
    a->audible = f.number >= a->plan.shown;
    bool hidden = f.number + 1 < a->plan.want;
    kl_shown_enter(&a->shown, &ours);
    bool good = kl_core_run_frame(m, &a->run, &f, &set, false, hidden);
    kl_shown_leave(&a->shown, &ours);
    if (!good) return false; /* it waits for the next marked keyframe */
    if (a->hardware) {
        kl_run_ahead_give_up(m, "the core draws with the graphics card");
        return false;
    }
    unsigned i = f.number % KL_RUN_AHEAD_SEEN;
    if (!hidden && a->audible) {
        a->seen[i].shown = true;
        a->seen[i].picture = a->picture;
    }
    kl_cost_add(&a->frame, kl_core_spent(since), m->play.showing);
    return true;
}

/* --- the beginning --- */

static const char *load_state(struct kl_match *m, const struct kl_statehash_buffer *state) {
    struct kl_fileset *files;
    if (!state) return kl_shown_begin(&of(m)->shown, &m->emu, NULL, 0, NULL);
    const char *why = "its files cannot be kept";
    if (kl_files_keep(m, &files))
        why = kl_shown_begin(&of(m)->shown, &m->emu, state->data, state->size, files);
    kl_fileset_free(files);
    return why;
}

/* Before this frame, with the true core's state; NULL: before the match's first frame. */
static void begin(struct kl_match *m, uint32_t frame, const struct kl_statehash_buffer *state) {
    struct kl_run_ahead *a = of(m);
    a->run = (struct kl_core_run){.emu = &a->shown.emu, .how = KL_RUN_AHEAD, .hidden = true};
    a->audible = false; /* it may have to run before it takes a state */
    const char *why = load_state(m, state);
    if (*why) {
        kl_run_ahead_give_up(m, why);
        return;
    }
    memcpy(a->run.plays, m->play.run.plays, sizeof a->run.plays);
    kl_ahead_begin(&a->plan, frame);
    a->anew = false;
    a->fades = a->fades || a->displays; /* else it goes on with the true core's sound */
}

/* --- a call --- */

/* Frames that are left to guess: not those that the player waits all the same. */
static uint16_t to_guess(struct kl_match *m, uint16_t lag) {
    uint16_t most = lag > m->config.feel ? lag - m->config.feel : 0, fewer = of(m)->doubt.fewer;
    if (!is_auto(m) || most == 0) return most;
    return most > fewer ? most - fewer : 1;
}

static uint16_t goal(struct kl_match *m, uint16_t lag) {
    struct kl_run_ahead *a = of(m);
    uint16_t most = to_guess(m, lag);
    if (!is_auto(m) && m->config.ahead < most) most = m->config.ahead;
    if (!is_auto(m) || !m->status.welcome.params.clocked) return most;
    double ours_us = kl_cost_us(&a->frame), true_us = kl_cost_us(&m->play.cost);
    struct kl_ahead_work work = {.true_us = true_us,
                                 .frame_us = ours_us > 0 ? ours_us : true_us,
                                 .load_us = kl_cost_us(&a->load),
                                 .period_us = m->play.pace.period_us,
                                 .again = a->again};
    return kl_ahead_fits(&work, most, a->plan.frames);
}

/* Plans a call. The keyframe to go back to first, or KL_AHEAD_NOWHERE. */
static uint32_t plan_call(struct kl_match *m, uint32_t due, uint64_t now_us) {
    struct kl_run_ahead *a = of(m);
    struct kl_client *c = &kl_link_hold(m->link)->lock;
    uint16_t lag = kl_ahead_lag(c);
    struct kl_ahead_call call = {now_us, due, goal(m, lag), (uint16_t)kl_shown_depth(&a->shown)};
    if (!a->displays) kl_ahead_show(&a->plan, m->play.next_frame, now_us);
    kl_client_guess(c, true);
    uint32_t back = kl_ahead_hear(&a->plan, c, a->run.plays);
    kl_ahead_call(&a->plan, c, &call);
    kl_link_release(m->link);
    /* Once a player: in the log. */
    for (unsigned port = 0; port < KL_MAX_SEATS; port++) {
        if (!a->plan.distrust[port] || a->liars >> port & 1) continue;
        a->liars |= (uint8_t)(1u << port);
        kl_frontend_log(&m->front, "samples that came straight for port %u are not the room's: put aside",
                        port + 1);
    }
    a->lag = lag;
    a->idle = lag > 0 && call.goal == 0 && a->plan.frames == 0;
    return back;
}

static bool go_back(struct kl_match *m, uint32_t frame) {
    struct kl_run_ahead *a = of(m);
    struct kl_spent since = kl_core_spent((struct kl_spent){0});
    bool good = kl_shown_back(&a->shown, frame);
    a->sum.by_pages += good && a->shown.by_pages;
    a->picture = a->picture_before[frame % KL_AHEAD_FRAMES];
    a->fades = true;
    kl_cost_add(&a->load, kl_core_spent(since), (struct kl_spent){0});
    return good;
}

static void note_replay(struct kl_run_ahead *a, uint32_t replayed, uint64_t took_us) {
    uint64_t bin = took_us / 100;
    a->again += (replayed - a->again) * AGAIN_GAIN;
    if (!replayed) return;
    a->sum.replays++;
    a->sum.replayed += replayed;
    a->sum.replay_bins[bin < KL_RUN_AHEAD_BINS ? bin : KL_RUN_AHEAD_BINS - 1]++;
}

/* Runs up to the planned frame, as far as time allows. False: the shown core cannot go on. */
static bool run_to_want(struct kl_match *m, uint64_t now_us) {
    struct kl_run_ahead *a = of(m);
    /* The time at which a call stops running frames again, so that the true core and the next sample come in
     * time. */
    double rest_us = REST_SHARE * m->play.pace.interval_us - kl_cost_us(&m->play.cost);
    if (!m->status.welcome.params.clocked || rest_us < 0) rest_us = m->play.pace.interval_us;
    uint64_t until_us = now_us + (uint64_t)rest_us, again_us = kl_now_us();
    uint32_t first = a->plan.at, replayed = 0;
    bool good = true;
    while (good && a->plan.at < a->plan.want && (a->plan.at == first || kl_now_us() < until_us)) {
        replayed += a->plan.at < a->plan.shown;
        good = run_next(m);
        if (a->plan.at <= a->plan.shown) again_us = kl_now_us();
    }
    note_replay(a, replayed, again_us - now_us);
    return good;
}

/* A shown core that is not ahead costs a frame in each frame, for nothing. On a short link it comes back once
 * that has become longer. */
static void note_idle(struct kl_match *m, uint64_t now_us) {
    struct kl_run_ahead *a = of(m);
    if (a->plan.frames == 0) a->fit_us = now_us;
    if (now_us > a->fit_us + FIT_US) a->rest_s = 0;
    if (!a->idle || !a->idle_us) a->idle_us = a->idle ? now_us : 0;
    if (!a->idle || now_us < a->idle_us + IDLE_US) return;
    if (to_guess(m, a->lag) > 0) {
        a->rest_s = a->rest_s ? 2 * a->rest_s : REST_S;
        if (a->rest_s > REST_MOST_S) a->rest_s = REST_MOST_S;
        kl_frontend_log(&m->front, "no running ahead for %u s: a frame takes %.1f ms", a->rest_s,
                        kl_cost_us(&a->frame) / 1e3);
        if (!*a->why) tell_why(m, "this machine has no time for it");
        a->rest_us = now_us + a->rest_s * UINT64_C(1000000);
    }
    a->idle_us = 0;
    stop(m);
}

/* By the link, by the true core's cost alone, and by what was seen not long ago. */
static bool may_fit(struct kl_match *m) {
    struct kl_run_ahead *a = of(m);
    uint16_t lag = kl_ahead_lag(&kl_link_hold(m->link)->lock);
    kl_link_release(m->link);
    if (to_guess(m, lag) == 0) return false;
    if (!is_auto(m) || !m->status.welcome.params.clocked) return true;
    double true_us = kl_cost_us(&m->play.cost);
    struct kl_ahead_work work = {
        .true_us = true_us, .frame_us = true_us, .period_us = m->play.pace.period_us};
    return kl_now_us() >= a->rest_us && kl_ahead_fits(&work, 1, 0) > 0;
}

int kl_run_ahead_turn(struct kl_match *m, uint32_t due, uint64_t now_us) {
    struct kl_run_ahead *a = of(m);
    if (a->shown.open && !a->run.emu && !m->play.next_frame && may_run(m)) begin(m, 0, NULL);
    if (!a->plan.on || !may_run(m)) stop(m);
    if (!a->plan.on) return -1;
    uint32_t back = plan_call(m, due, now_us);
    a->displays = true;
    if ((back != KL_AHEAD_NOWHERE && !go_back(m, back)) || !run_to_want(m, now_us)) {
        stop(m);
        return -1;
    }
    if (!a->sum.first_us) a->sum.first_us = now_us;
    a->sum.last_us = now_us;
    a->sum.calls++;
    a->sum.frames_sum += a->plan.frames;
    if (a->plan.at < a->plan.want) return 0; /* the next call goes on */
    int newly = (int)(a->plan.at > a->plan.shown ? a->plan.at - a->plan.shown : 0);
    kl_ahead_showed(&a->plan);
    note_idle(m, now_us);
    return newly;
}

/* --- beside the true core --- */

void kl_run_ahead_marked(struct kl_match *m, uint32_t frame, const struct kl_statehash *true_hash) {
    struct kl_run_ahead *a = of(m);
    unsigned i = frame % KL_RUN_AHEAD_SEEN;
    if (!a->shown.open || !m->config.ahead || !may_run(m)) return;
    bool known = a->plan.on && a->plan.confirmed >= frame && a->seen[i].frame == frame && a->seen[i].has_ram;
    if (known && true_hash->has_ram && a->seen[i].ram != true_hash->ram) a->parts_now = true;
    if (a->plan.on) {
        a->parted = a->parts_now ? a->parted + 2 : a->parted - (a->parted > 0);
        a->anew = a->anew || a->parts_now;
        a->parts_now = false;
        if (a->parted >= PARTS_MOST && is_auto(m))
            kl_run_ahead_give_up(m, "this core's states do not hold all of it");
    }
    if (!a->shown.open || (a->plan.on && !a->anew) || (!a->plan.on && !may_fit(m))) return;
    begin(m, frame, &m->play.buffer);
}

void kl_run_ahead_compare(struct kl_match *m, uint32_t frame, bool drawn) {
    struct kl_run_ahead *a = of(m);
    unsigned i = frame % KL_RUN_AHEAD_SEEN;
    if (!a->plan.on || !drawn || a->seen[i].frame != frame || !a->seen[i].shown) return;
    bool same = a->seen[i].picture == m->play.chain.last;
    a->sum.compared++;
    a->sum.wrong += !same;
    bool wrong = !same;
    unsigned before = a->doubt.fewer;
    kl_ahead_doubt_see(&a->doubt, wrong, kl_now_us());
    if (is_auto(m) && a->doubt.fewer != before)
        kl_frontend_log(&m->front, "guesses are %s wrong: %u frames fewer are guessed",
                        a->doubt.fewer > before ? "often" : "seldom", a->doubt.fewer);
    if (!same && !a->seen[i].again && a->plan.confirmed > frame) a->parts_now = true;
}

void kl_run_ahead_felt(struct kl_match *m, uint32_t shown) {
    struct kl_run_ahead *a = of(m);
    if (!m->link || !m->play.own_seats || !shown) return;
    const struct kl_client *c = &kl_link_hold(m->link)->lock;
    int64_t newest = kl_ahead_sample_in(c, shown - 1), frames = (int64_t)c->stats.next_sample - newest;
    kl_link_release(m->link);
    if (newest < 0 || frames < 0) return;
    a->sum.felt_count++;
    a->sum.felt_sum += (uint64_t)frames;
    a->feels += a->feels > 0 ? ((double)frames - a->feels) * FELT_GAIN : (double)frames;
}

double kl_run_ahead_replay_ms(const struct kl_run_ahead_sum *s) {
    uint64_t seen = 0;
    for (unsigned i = 0; i < KL_RUN_AHEAD_BINS; i++) {
        seen += s->replay_bins[i];
        if (seen * 100 >= s->replays * 99) return s->replays ? (i + 1) / 10.0 : 0;
    }
    return 0;
}
