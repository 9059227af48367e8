/* The pacer against a schedule in virtual time, and the sound that comes of it: late frames, frontends of
 * other rates, backlogs small and large. The model of what is due is net/engine/lock_client.c's.
 * runs: working, check, 7 s */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/unit/unit.h"

#include "core_wrapper/frame/audio.h"
#include "core_wrapper/frame/pace.h"

#define CALLS 200000
#define RATE  48000
#define TURN  96 /* samples of a turn of the tone: 500 Hz */

/* A room, its link and a frontend. Times in µs. */
struct world {
    struct kl_pace pace;
    struct kl_audio audio;
    double period, interval, wobble, start, now, beat;
    double jitter; /* of arrivals: half-normal, order kept; a frame is due `margin` after the shortest way */
    double margin;
    double outage_from, outage_to; /* nothing arrives in between */
    double hang_from, hang_to;     /* the frontend does not call */
    bool frozen;                   /* nor does anybody read the socket until the call after that */
    double cost, hidden_cost;      /* of a frame */
    uint32_t next_due, next_run, closed, spacing;
    double arrival; /* of the newest closed frame */
    bool deaf;      /* only the pace is looked at */
    uint64_t played, heard;
    unsigned calls, none, two, more, stalls, seen; /* seen: calls that showed a new frame */
    uint8_t run[CALLS];
    double at[CALLS];
    uint32_t chance;
};

static int16_t sound[(1 << 23) * 2];
static struct world *hearing;

static size_t front(const int16_t *stereo, size_t frames) {
    if (hearing->heard + frames > 1 << 23) return frames;
    memcpy(sound + hearing->heard * 2, stereo, frames * 4);
    hearing->heard += frames;
    return frames;
}

static double any(struct world *w) {
    w->chance = w->chance * 1664525 + 1013904223;
    return (w->chance >> 8) / 16777216.0;
}

static double normal(struct world *w) {
    return sqrt(-2 * log(any(w) + 1e-9)) * cos(2 * M_PI * any(w));
}

static struct world *make(double fps, double hz) {
    struct world *w = calloc(1, sizeof *w);
    w->period = 1e6 / fps;
    w->interval = 1e6 / hz;
    w->margin = w->period;
    w->cost = w->hidden_cost = 300;
    w->spacing = 6;
    w->chance = 1;
    w->now = 1e6;
    kl_audio_init(&w->audio, RATE, fps);
    for (int i = 0; i < 100; i++, w->now += w->interval) /* in the lobby */
        kl_pace_call(&w->pace, (uint64_t)w->now);
    kl_pace_begin(&w->pace, w->period);
    kl_audio_begin(&w->audio, w->pace.interval_us);
    w->start = w->beat = w->arrival = w->now;
    hearing = w;
    return w;
}

static void drop(struct world *w) {
    kl_audio_free(&w->audio);
    free(w);
}

static void play(struct world *w) {
    static int16_t tone[TURN];
    int16_t s[4096 * 2];
    unsigned n = (unsigned)(RATE * w->period / 1e6);
    for (unsigned i = 0; i < TURN && !tone[1]; i++)
        tone[TURN - i - 1] = (int16_t)lrint(12000 * sin(2 * M_PI * (TURN - i - 1) / TURN));
    for (unsigned i = 0; i < n; i++)
        s[i * 2] = s[i * 2 + 1] = tone[w->played++ % TURN];
    kl_audio_add(&w->audio, s, n);
}

static void arrive(struct world *w) {
    for (;;) {
        double line = w->start + w->closed * w->period;
        double next = line + (w->jitter > 0 ? fabs(normal(w)) * w->jitter : 0);
        if (next < w->arrival) next = w->arrival;
        if (next >= w->start + w->outage_from && next < w->start + w->outage_to)
            next = w->start + w->outage_to;
        if (next > w->now || w->closed > w->next_run + 4000) return;
        w->arrival = next;
        w->closed++;
    }
}

static void follow_schedule(struct world *w) {
    double ahead = (w->now - w->start - w->margin) / w->period - w->next_due;
    if (ahead < -0.25) return;
    uint32_t to = w->next_due + 1 + (ahead > 1.25 ? (uint32_t)(ahead - 0.25) : 0);
    uint32_t most = w->closed + w->spacing;
    if (to > most) to = most;
    if (to > w->next_due) w->next_due = to;
}

static void one_call(struct world *w) {
    bool unread =
        w->frozen && w->now >= w->start + w->hang_to && w->now < w->start + w->hang_to + w->interval;
    if (!unread) arrive(w);
    kl_pace_call(&w->pace, (uint64_t)w->now);
    uint32_t most = kl_pace_most(&w->pace, w->closed - w->next_run, w->spacing, (uint64_t)w->now);
    follow_schedule(w);
    if (kl_pace_due(&w->pace, w->next_due - w->next_run))
        most = kl_pace_most(&w->pace, w->closed - w->next_run, w->spacing, (uint64_t)w->now);
    uint32_t due = w->next_due - w->next_run, to = w->next_due < w->closed ? w->next_due : w->closed;
    uint32_t runs = to > w->next_run ? to - w->next_run : 0, done = 0;
    if (runs > most) runs = most;
    bool stalled = runs == 0 && most > 0 && w->next_due > w->next_run, last = false;
    double spent = 0;
    kl_audio_mute(&w->audio, w->pace.mode == KL_PACE_FLAT_OUT && runs > 4);
    for (; !last && done < runs; done++) {
        last = done + 1 == runs || kl_pace_last(&w->pace, spent);
        double cost = last ? w->cost : w->hidden_cost;
        kl_pace_cost(&w->pace, !last, cost);
        spent += cost;
        if (!w->deaf) play(w);
    }
    w->next_run += done;
    if (!w->deaf) kl_audio_call(&w->audio, done, (uint64_t)(w->now + spent), w->pace.interval_us, front);
    kl_pace_ran(&w->pace, due, done, stalled, spent);
    if (w->next_run == 0) return; /* before the first frame */
    w->none += done == 0;
    w->two += done == 2;
    w->more += done > 2;
    w->stalls += stalled;
    w->seen += done > 0;
    assert_true(w->calls < CALLS);
    w->at[w->calls] = (w->now - w->start) / 1e6;
    w->run[w->calls++] = (uint8_t)(done < 255 ? done : 255);
    w->now += spent > w->interval ? spent : 0; /* a display waits for nobody */
}

/* Until so many seconds after it began. */
static void run(struct world *w, double until_s) {
    while (w->beat < w->start + until_s * 1e6) {
        w->now = w->beat + (any(w) - 0.5) * 2 * w->wobble;
        one_call(w);
        w->beat += w->interval;
        while (w->beat < w->now)
            w->beat += w->interval;
        while (w->beat >= w->start + w->hang_from && w->beat < w->start + w->hang_to)
            w->beat += w->interval;
    }
}

/* --- judges of the sound --- */

static int worst_step(const struct world *w, double from_s) {
    int worst = 0;
    for (uint64_t i = (uint64_t)(from_s * RATE) + 1; i < w->heard; i++) {
        int d = abs(sound[i * 2] - sound[i * 2 - 2]);
        if (d > worst) worst = d;
    }
    return worst;
}

static double worst_gap_ms(const struct world *w, double from_s) {
    uint64_t gap = 0, worst = 0;
    for (uint64_t i = (uint64_t)(from_s * RATE); i < w->heard; i++) {
        gap = abs(sound[i * 2]) < 120 ? gap + 1 : 0;
        if (gap > worst) worst = gap;
    }
    return (double)worst * 1000 / RATE;
}

/* By the zero crossings of ten turns, 20 ms. */
static double worst_pitch(const struct world *w, double from_s) {
    double worst = 0, first = 0;
    unsigned turns = 0;
    for (uint64_t i = (uint64_t)(from_s * RATE) + 1; i < w->heard; i++) {
        int a = sound[i * 2 - 2], b = sound[i * 2];
        if (a >= 0 || b < 0) continue;
        double at = (double)i - (double)b / (b - a);
        if (turns++ == 0) first = at;
        if (turns < 11) continue;
        double off = fabs(10 * RATE / 500.0 / (at - first) - 1);
        if (off > worst) worst = off;
        first = at;
        turns = 1;
    }
    return worst;
}

static void no_click(const struct world *w, const char *what, double from_s) {
    int worst = worst_step(w, from_s);
    if (worst <= 786 + 2) return;
    uint64_t i = (uint64_t)(from_s * RATE) + 1;
    while (abs(sound[i * 2] - sound[i * 2 - 2]) < worst)
        i++;
    fail_msg("%s: a click of %d at %.3f s", what, worst, (double)i / RATE);
}

static void sounds_clean(const struct world *w, const char *what, double from_s) {
    no_click(w, what, from_s);
    if (worst_gap_ms(w, from_s) > 5) fail_msg("%s: a gap of %g ms", what, worst_gap_ms(w, from_s));
    if (worst_pitch(w, from_s) > 0.005) fail_msg("%s: pitch %g", what, worst_pitch(w, from_s));
}

/* --- steady play --- */

TEST(one_frame_a_call) {
    struct world *w = make(60, 60);
    w->wobble = 2000;
    run(w, 60);
    assert_int_equal(w->none + w->two + w->more, 0);
    assert_false(w->audio.elastic);
    drop(w);
}

/* Ten minutes of every core under every display: a call without a frame, or with two, each time the drift
 * amounts to one, spread evenly; where calls come quicker than frames, never two. */
TEST(drift_is_spread_evenly) {
    static const double cores[] = {59.1856, 60.0988, 50.007, 60}, displays[] = {59.94, 60, 120, 144, 50};
    for (int c = 0; c < 4; c++)
        for (int d = 0; d < 5; d++) {
            struct world *w = make(cores[c], displays[d]);
            double off = fabs(cores[c] - displays[d]) * 600;
            char what[64];
            snprintf(what, sizeof what, "%g fps at %g Hz", cores[c], displays[d]);
            w->wobble = 300;
            w->deaf = true;
            run(w, 600);
            unsigned odd = displays[d] > 90 ? w->two : w->none + w->two;
            double most = displays[d] > 90 ? 0 : off * 1.02 + 3;
            if (w->more || odd > most) fail_msg("%s: %u calls with none or two, %g expected", what, odd, off);
            double before = 0;
            for (unsigned i = 1; i < w->calls && displays[d] < 90 && off > 2; i++) {
                if (w->run[i] == 1) continue;
                double apart = w->at[i] - before, usual = 600 / off;
                if (before > 0 && apart < usual * 0.6 - 0.1)
                    fail_msg("%s: hitches %g s apart, %g expected", what, apart, usual);
                before = w->at[i];
            }
            drop(w);
            if (c == 3) continue;
            w = make(cores[c], displays[d]);
            w->wobble = 2000;
            run(w, 10);
            sounds_clean(w, what, 0.2);
            drop(w);
        }
}

/* One frame in some hundreds late, and bursts. */
TEST(a_jittery_link_is_not_heard) {
    static const double hz[] = {60, 59.94, 120};
    for (int i = 0; i < 3; i++) {
        struct world *w = make(60.0988, hz[i]);
        char what[64];
        w->jitter = 7000;
        w->margin = 15000;
        w->wobble = 1000;
        run(w, 60);
        snprintf(what, sizeof what, "jitter at %g Hz (%u late)", hz[i], w->stalls);
        assert_in_range(w->stalls, 2, 160); /* far more than a room would allow */
        assert_int_equal(w->more, 0);
        sounds_clean(w, what, 0.2);
        drop(w);
    }
}

/* --- backlogs --- */

/* The longest stretch of calls with two frames or more. */
static unsigned longest_rush(const struct world *w) {
    unsigned rush = 0, longest = 0;
    for (unsigned i = 0; i < w->calls; i++) {
        rush = w->run[i] > 1 ? rush + 1 : 0;
        if (rush > longest) longest = rush;
    }
    return longest;
}

TEST(a_small_backlog_is_run_off_gently) {
    for (int frames = 1; frames <= 5; frames++) {
        struct world *w = make(60, 60);
        w->outage_from = 5e6;
        w->outage_to = 5e6 + w->period * (frames + 0.9);
        run(w, 20);
        assert_int_equal(w->more, 0);
        assert_int_equal(longest_rush(w), 1);
        assert_int_equal(w->none, w->two);
        assert_in_range(w->none, frames, frames + 1);
        assert_int_equal(w->next_run, w->next_due); /* and nothing is left of it */
        double before = 0;
        for (unsigned i = 0; i < w->calls; i++) {
            if (w->run[i] == 2)
                assert_true(w->at[i] - before > 0.15); /* not at once, and not one upon the other */
            if (w->run[i] != 1) before = w->at[i];
        }
        no_click(w, __func__, 0);
        drop(w);
    }
}

/* The others wait for our samples: within an interval of the schedule at once. */
TEST(sampling_goes_on) {
    struct world *w = make(60, 60);
    w->spacing = 2;
    w->hang_from = 5e6;
    w->hang_to = 5.3e6;
    run(w, 10);
    for (unsigned i = 1; i < w->calls; i++)
        if (w->at[i] - w->at[i - 1] > 0.2) assert_true(w->run[i] >= 15);
    drop(w);
}

TEST(a_medium_one_is_compressed) {
    struct world *w = make(60, 60);
    w->spacing = 30;
    w->outage_from = 5e6;
    w->outage_to = 5.5e6;
    run(w, 20);
    unsigned worst = 0;
    for (unsigned i = 0; i < w->calls; i++)
        if (w->run[i] > worst) worst = w->run[i];
    assert_in_range(worst, 2, 4);
    assert_in_range(longest_rush(w), 8, 40);
    no_click(w, __func__, 0);
    drop(w);
}

/* While a backlog is run off: frames a second, as a share of what the core can do, and a picture at each beat
 * of the display. */
static double share_of_full_speed(const struct world *w) {
    unsigned begin = 0, calls = 0, frames = 0;
    while (w->run[begin] < 2)
        begin++;
    for (unsigned k = begin; w->run[k] > 1; k++, calls++)
        frames += w->run[k] == 255 ? 0 : w->run[k];
    for (unsigned k = begin + 1; k < begin + calls; k++)
        assert_true(w->at[k] - w->at[k - 1] < 0.018);
    assert_in_range(w->next_due - w->next_run, 0, 3);
    calls--; /* the last call is not full */
    return frames / (calls * w->interval / 1e6) * w->hidden_cost / 1e6;
}

/* Ten seconds away: run off at 90 % of what the core can do at least. */
TEST(a_large_one_is_run_off_at_full_speed) {
    static const double costs[] = {77, 300, 1000, 2500};
    for (int i = 0; i < 4; i++) {
        struct world *w = make(60, 60);
        w->cost = w->hidden_cost = costs[i];
        w->hang_from = 5e6;
        w->hang_to = 15e6;
        run(w, 30);
        double share = share_of_full_speed(w);
        if (costs[i] >= 300 && share < 0.9) /* (255 is all that is kept of a call) */
            fail_msg("%g us a frame: %g of full speed", costs[i], share);
        no_click(w, __func__, 0);
        drop(w);
    }
}

/* Fast-forward has just ended, or the display is another now: what was measured before must not stay. */
TEST(another_rhythm_is_learned) {
    static const double before_hz[] = {660, 240, 165, 144}, after_hz[] = {60, 60, 60, 50};
    for (int i = 0; i < 4; i++) {
        struct world *w = make(60, before_hz[i]);
        for (int k = 0; k < 1000; k++, w->now += 1e6 / before_hz[i])
            kl_pace_call(&w->pace, (uint64_t)w->now);
        w->start = w->beat = w->arrival = w->now;
        w->interval = 1e6 / after_hz[i];
        w->cost = w->hidden_cost = 5000;
        w->outage_from = 3e6;
        w->outage_to = 3.1e6;
        run(w, 10);
        assert_in_range(w->pace.interval_us, 0.97 * w->interval, 1.03 * w->interval);
        assert_in_range(w->next_due - w->next_run, 0, 1);
        drop(w);
    }
}

/* As sound comes in blocks: two calls at once, and none. */
TEST(an_uneven_rhythm_is_averaged) {
    struct world *w = make(60, 60);
    for (int k = 0; k < 1000; k++, w->now += k % 2 ? 32333 : 1000)
        kl_pace_call(&w->pace, (uint64_t)w->now);
    assert_in_range(w->pace.interval_us, 15500, 18000);
    drop(w);
}

/* Somebody comes late: his frontend has made only a few calls, and these are no measure of it. */
static void newcomer(const double *lobby_us, unsigned calls) {
    struct world *w = make(60, 60);
    memset(&w->pace, 0, sizeof w->pace);
    for (unsigned i = 0; i < calls; i++, w->now += lobby_us[i % 8])
        kl_pace_call(&w->pace, (uint64_t)w->now);
    kl_pace_begin(&w->pace, w->period);
    w->start = w->beat = w->arrival = w->now;
    w->cost = w->hidden_cost = 800;
    w->hang_from = 40e3;
    w->hang_to = 60e6;
    run(w, 70);
    double share = share_of_full_speed(w);
    if (share < 0.88) fail_msg("%g of full speed", share);
    drop(w);
}

TEST(nor_does_a_newcomer_lose_time) {
    static const double loads[8] = {16667, 16667, 50000, 114, 84, 1345, 15122, 17042};
    static const double shows_its_first_at_once[8] = {900, 900, 900, 16667, 16667, 16667, 16667, 16667};
    static const double measured_wrongly[8] = {9000, 9000, 9000, 9000, 9000, 9000, 9000, 9000};
    newcomer(loads, 8);
    newcomer(shows_its_first_at_once, 8);
    newcomer(measured_wrongly, 64);
}

/* A process that stood still reads what came meanwhile after its first call: the next one is a full one. */
TEST(nor_does_a_frozen_one_lose_a_call) {
    struct world *w = make(60, 60);
    w->hang_from = 5e6;
    w->hang_to = 8e6;
    w->frozen = true;
    run(w, 12);
    unsigned first = 0;
    while (w->at[first] < 8)
        first++;
    assert_in_range(w->run[first], 0, w->spacing + 2);
    assert_in_range(w->run[first + 1], 0.9 * w->interval / w->cost, 255);
    assert_in_range(w->next_due - w->next_run, 0, 3);
    drop(w);
}

/* The first unseen frame took 40 ms, for the machine was busy. */
TEST(one_bad_measure_is_forgotten) {
    struct world *w = make(60, 60);
    w->hang_from = 5e6;
    w->hang_to = 15e6;
    run(w, 5);
    kl_pace_cost(&w->pace, true, 40000);
    run(w, 18);
    assert_in_range(w->next_due - w->next_run, 0, 3);
    drop(w);
}

TEST(a_machine_that_cannot_is_noticed) {
    struct world *w = make(60, 60);
    w->hang_from = 2e6;
    w->hang_to = 5e6;
    run(w, 7);
    assert_false(w->pace.too_slow);
    w->cost = w->hidden_cost = 18000;
    run(w, 25);
    assert_true(w->pace.mode >= KL_PACE_BRISK);
    assert_true(w->pace.too_slow);
    drop(w);
}

TEST(one_or_two_frames_trigger_nothing) {
    struct world *w = make(60, 60);
    w->jitter = 9000;
    w->margin = 16667;
    run(w, 60);
    assert_true(w->stalls > 50);
    assert_int_equal(longest_rush(w), 1);
    assert_int_equal(w->more, 0);
    drop(w);
}
