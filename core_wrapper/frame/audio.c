#include "core_wrapper/frame/audio.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define RING_FRAMES (1u << 17)
#define RING_MASK   (RING_FRAMES - 1)
#define RING_WAITS                                                                                           \
    (RING_FRAMES - 4096)         /* of it may wait; the rest has been heard and primes the converter         \
                                  */
#define LATE_S        (1.0 / 60) /* of lateness that the buffer covers on average */
#define FADE_S        0.008
#define STEADY        0.004 /* of the pace: 7 cents */
#define STEADY_FREE   0.5   /* frames too full or too empty that change nothing */
#define STEADY_FULL   1.75  /* frames of error at which the pace is STEADY; beyond, catching up begins */
#define CATCH_LINEAR  0.03  /* faster by this much for each frame */
#define CATCH_SQUARE  0.05  /* and by this much for each frame squared */
#define SPEED_MAX     4.0
#define MUCH_S        0.4    /* more in the buffer than this is let go */
#define SLOW_S        0.5    /* the fill that the steady pace follows is smoothed over this long */
#define FAST_S        0.06   /* the one that catching up follows */
#define CLEAN_S       20.0   /* of one frame a call, before the buffer is emptied and passed by */
#define EMPTY_S       0.0025 /* in the buffer: empty */
#define SHORT_QUIET_S 0.03   /* after a longer one, it is filled a little before it plays on */
#define BRIDGE_S      0.025  /* of sound that the frontend's own buffer may be left without */
#define HITCH_S       0.1    /* the frontend did not call for longer: nothing is made up for */
#define OFF_RATE      0.01
#define CHUNK         32          /* samples through the converter at the same speed */
#define FEED          (CHUNK * 4) /* the most it is given at once */
#define PRIME         128         /* samples of already heard sound that the converter gets first */
#define LOOK          24 /* samples that it wants to see ahead, at usual speed (half its filter: 20) */

static void clear(struct kl_audio *a) {
    a->pos = (double)a->end;
    a->frame_end = a->begun = a->end;
    a->elastic = a->muted = false;
    a->audible = KL_AUDIBLE_FULL;
    a->phase = a->speed = 1;
    a->owed = a->quiet_for = a->clean_s = a->bridged = 0;
    a->mirrored = 0;
    a->call_us = 0;
}

void kl_audio_init(struct kl_audio *a, double rate, double fps) {
    a->rate = rate >= 1000 && rate <= 1e6 ? rate : 44100;
    a->fps = fps >= 1 && fps <= 1000 ? fps : 60;
    a->worth = a->stated = a->rate / a->fps;
    if (!a->ring) a->ring = calloc(RING_FRAMES * 2, sizeof *a->ring);
    int error;
    if (!a->src) a->src = src_new(SRC_SINC_FASTEST, 2, &error);
    if (a->end < PRIME) a->end = PRIME; /* nothing, heard before */
    clear(a);
}

void kl_audio_free(struct kl_audio *a) {
    if (a->src) src_delete(a->src);
    free(a->ring);
    memset(a, 0, sizeof *a);
}

/* --- in --- */

static double target(const struct kl_audio *a) {
    return a->worth / 2 + LATE_S * a->rate;
}

/* Goes on from that sample, with the sound before it as the converter's past. */
static void jump(struct kl_audio *a, double to) {
    uint64_t at = (uint64_t)llround(to);
    if (at < PRIME) at = PRIME;
    a->pos = (double)at;
    a->fed = at - PRIME;
    a->skip = PRIME;
    a->speed = 1;
    a->left_known = false;
    a->mirrored = 0;
    src_reset(a->src);
    src_set_ratio(a->src, 1);
}

/* Drops sound that was played while the output is silent; its end is enough to begin with. */
static void forget_old(struct kl_audio *a, double keep) {
    double waits = (double)a->end - a->pos;
    if (waits > keep) a->pos = (double)a->end - keep;
}

void kl_audio_add(struct kl_audio *a, const int16_t *stereo, size_t frames) {
    if (!a->ring) return;
    /* Without room in the buffer, the sound being heard comes first. */
    if (a->elastic && a->audible == KL_AUDIBLE_NONE)
        forget_old(a, frames < RING_WAITS ? RING_WAITS - (double)frames : 0);
    double room = RING_WAITS - ((double)a->end - a->pos);
    frames = (double)frames <= room ? frames : (size_t)room;
    for (size_t done = 0; done < frames;) {
        size_t at = a->end & RING_MASK, n = frames - done;
        if (n > RING_FRAMES - at) n = RING_FRAMES - at;
        memcpy(a->ring + at * 2, stereo + done * 2, n * 2 * sizeof *stereo);
        a->end += n;
        done += n;
    }
}

void kl_audio_mute(struct kl_audio *a, bool on) {
    a->muted = on;
}

/* --- out --- */

static void to_front(const struct kl_audio *a, retro_audio_sample_batch_t front, const int16_t *stereo,
                     size_t frames) {
    for (size_t from = 0, part; from < frames; from += part) {
        part = frames - from;
        const int16_t *sound = stereo + from * 2;
        if (a->filter) sound = a->filter(a->filter_ctx, sound, &part, a->rate);
        for (size_t done = 0; front && done < part;) {
            size_t n = front(sound + done * 2, part - done);
            if (!n || n > part - done) break;
            done += n;
        }
    }
}

static void flush(struct kl_audio *a, retro_audio_sample_batch_t front) {
    to_front(a, front, a->batch, a->batched);
    a->batched = 0;
}

static int16_t rounded(double v) {
    return (int16_t)(v > 32767 ? 32767 : v < -32768 ? -32768 : lrint(v));
}

static void put(struct kl_audio *a, double left, double right, retro_audio_sample_batch_t front) {
    int16_t *to = a->batch + (size_t)a->batched * 2;
    to[0] = rounded(left);
    to[1] = rounded(right);
    if (++a->batched == KL_AUDIO_BATCH) flush(a, front);
}

static const int16_t *played(const struct kl_audio *a, uint64_t at) {
    return a->ring + (at & RING_MASK) * 2;
}

static double waiting(const struct kl_audio *a) {
    return (double)a->end - a->pos;
}

void kl_audio_pass(struct kl_audio *a, retro_audio_sample_batch_t front) {
    if (!a->ring) return;
    for (uint64_t at = (uint64_t)llround(a->pos); at < a->end;) {
        size_t n = (size_t)(a->end - at), most = RING_FRAMES - (at & RING_MASK);
        if (n > most) n = most;
        to_front(a, front, played(a, at), n);
        at += n;
    }
    a->pos = (double)a->end;
}

void kl_audio_drop(struct kl_audio *a) {
    a->pos = (double)a->end;
}

/* --- through the converter --- */

static double look(double speed) {
    return LOOK * (speed > 1 ? speed : 1);
}

/* One step of the converter: gives it the input for n samples at this speed, takes its output. */
static bool step(struct kl_audio *a, float *out, unsigned n, double speed, unsigned *made) {
    float in[FEED * 2];
    double until = a->pos + n * speed + look(speed) + 2;
    uint64_t to = until < (double)a->end ? (uint64_t)until : a->end;
    unsigned feed = to <= a->fed ? 0 : to - a->fed < FEED ? (unsigned)(to - a->fed) : FEED;
    for (unsigned i = 0; i < feed; i++) {
        const int16_t *from = played(a, a->fed + i);
        in[i * 2] = from[0];
        in[i * 2 + 1] = from[1];
    }
    SRC_DATA d = {.data_in = in, .data_out = out, .src_ratio = 1 / speed};
    d.input_frames = feed;
    d.output_frames = n;
    src_set_ratio(a->src, d.src_ratio);
    if (src_process(a->src, &d) != 0) return false;
    a->fed += (uint64_t)d.input_frames_used;
    *made = (unsigned)d.output_frames_gen;
    return *made || d.input_frames_used;
}

/* Up to n samples at this speed from pos on; 0 if there are too few to see ahead. */
static unsigned convert(struct kl_audio *a, float *out, unsigned n, double speed) {
    unsigned made;
    for (; a->skip; a->skip -= made)
        if (!step(a, out, a->skip < CHUNK ? a->skip : CHUNK, 1, &made)) return 0;
    while (step(a, out, n, speed, &made))
        if (made) {
            a->pos += made * speed;
            return made;
        }
    return 0;
}

/* The sound that one call gives out. */
struct portion {
    unsigned want;
    double speed;     /* at its end */
    double fall_from; /* the sample from which on it fades */
};

/* Samples of the converter, CHUNK by CHUNK. */
struct source {
    float out[CHUNK * 2];
    unsigned at, has;
    double from, to; /* speed that the chunk's loudness follows */
};

/* A chunk is played at the slower of the two speeds that it leads from and to, so that it is never too loud.
 */
static bool refill(struct kl_audio *a, struct source *s, const struct portion *p, unsigned done) {
    unsigned n = p->want - done < CHUNK ? p->want - done : CHUNK;
    s->from = a->speed;
    s->to = a->speed + (p->speed - a->speed) * n / (p->want - done);
    s->at = 0;
    s->has = a->mirrored ? 0 : convert(a, s->out, n, fmin(s->from, s->to));
    if (s->has) a->speed = s->to;
    return s->has > 0;
}

/* As much softer as it is faster: so it stays as pleasant, and no step in it grows. */
static double loudness(double speed) {
    return speed > 1 ? 1 / speed : 1;
}

/* The next sample. Without one, the last heard sound backwards, for the fade-out. */
static bool next(struct kl_audio *a, struct source *s, const struct portion *p, unsigned done, double v[2]) {
    if (s->at < s->has || refill(a, s, p, done)) {
        double before = loudness(s->from), after = loudness(s->to);
        double g = before + (after - before) * (s->at + 1) / s->has;
        for (unsigned c = 0; c < 2; c++)
            v[c] = s->out[s->at * 2 + c] * g;
        s->at++;
        return true;
    }
    double at = fmax(a->pos - 2 - a->mirrored++, 0), part = at - floor(at);
    const int16_t *one = played(a, (uint64_t)at), *other = played(a, (uint64_t)at + 1);
    for (unsigned c = 0; c < 2; c++)
        v[c] = (one[c] * (1 - part) + other[c] * part) * loudness(a->speed);
    return false;
}

static void play(struct kl_audio *a, const struct portion *p, retro_audio_sample_batch_t front) {
    struct source s = {.at = 0, .has = 0};
    double step_phase = 1 / (a->rate * FADE_S), v[2] = {0, 0};
    for (unsigned i = 0; i < p->want; i++) {
        if (a->audible != KL_AUDIBLE_NONE && !next(a, &s, p, i, v)) a->audible = KL_AUDIBLE_FALLS;
        if (a->audible == KL_AUDIBLE_FULL && i >= p->fall_from) a->audible = KL_AUDIBLE_FALLS;
        a->phase += a->audible == KL_AUDIBLE_FULL ? step_phase : -step_phase;
        if (a->phase > 1) a->phase = 1;
        if (a->phase <= 0) {
            a->phase = 0;
            a->audible = KL_AUDIBLE_NONE;
        }
        double g = a->phase < 1 ? 0.5 * (1 - cos(M_PI * a->phase)) : 1;
        put(a, v[0] * g, v[1] * g, front);
        a->quiet_for = a->audible == KL_AUDIBLE_NONE ? a->quiet_for + 1 : 0;
    }
}

/* --- how fast, how much --- */

static double speed_for(const struct kl_audio *a) {
    double off = (a->left_slow - target(a)) / a->worth,
           over = (a->left_fast - target(a)) / a->worth - STEADY_FULL;
    double steady = (fabs(off) - STEADY_FREE) / (STEADY_FULL - STEADY_FREE) * STEADY;
    steady = steady < 0 ? 0 : steady > STEADY ? STEADY : steady;
    double speed = off < 0 ? 1 - steady : 1 + steady;
    if (a->clean_s > CLEAN_S) speed = 1 + STEADY; /* emptied, to be passed by */
    if (over > 0) speed += CATCH_LINEAR * over + CATCH_SQUARE * over * over;
    return speed < SPEED_MAX ? speed : SPEED_MAX;
}

/* How many samples the frontend has used up since the call before, its timer's wobble taken out. */
static unsigned due(struct kl_audio *a, uint64_t now_us, double call_s) {
    double per_s = a->worth * a->fps, usual = call_s * per_s;
    double elapsed_s = a->call_us ? (double)(now_us - a->call_us) / 1e6 : call_s;
    a->owed += elapsed_s <= HITCH_S ? elapsed_s * per_s : usual;
    double off = a->owed - usual, want = fabs(off) < 1.5 * usual ? usual + off / 10 : a->owed;
    if (want < 0) want = 0;
    if (want > 2 * HITCH_S * per_s) want = a->owed = 2 * HITCH_S * per_s;
    a->owed -= (unsigned)want;
    return (unsigned)want;
}

/* --- a call --- */

static void enter(struct kl_audio *a) {
    a->elastic = true;
    a->audible = KL_AUDIBLE_FULL;
    a->phase = 1;
    a->owed = a->quiet_for = 0;
    jump(a, a->pos);
}

/* The buffer is empty but for a millisecond or two: from the converter's output to the core's own. */
static void leave(struct kl_audio *a, retro_audio_sample_batch_t front) {
    float out[CHUNK * 2];
    unsigned over = (unsigned)(a->rate * FADE_S / 2), done = 0, n = 1;
    uint64_t from = (uint64_t)llround(a->pos);
    while (n && done < over && from + over < a->end) {
        n = convert(a, out, over - done < CHUNK ? over - done : CHUNK, 1);
        for (unsigned i = 0; i < n; i++, done++) {
            const int16_t *own = played(a, from + done);
            double g = 0.5 * (1 + cos(M_PI * done / over));
            put(a, out[i * 2] * g + own[0] * (1 - g), out[i * 2 + 1] * g + own[1] * (1 - g), front);
        }
    }
    flush(a, front);
    a->pos = (double)(from + done);
    a->elastic = false;
    kl_audio_pass(a, front);
}

static bool may_rise(const struct kl_audio *a, unsigned want) {
    double least = want + look(1);
    if (a->quiet_for > SHORT_QUIET_S * a->rate) least += a->worth / 2;
    return !a->muted && waiting(a) >= least;
}

static void give(struct kl_audio *a, unsigned want, double call_s, retro_audio_sample_batch_t front) {
    if (a->audible == KL_AUDIBLE_NONE && may_rise(a, want)) {
        forget_old(a, want + target(a) + a->worth / 2);
        jump(a, a->pos);
        a->audible = KL_AUDIBLE_FULL;
    }
    struct portion p = {.want = want, .speed = a->left_known ? speed_for(a) : 1};
    bool let_go = a->muted || waiting(a) > MUCH_S * a->rate;
    double lasts = (waiting(a) - look(p.speed)) / fmax(a->speed, p.speed), lacks = want - fmax(lasts, 0);
    p.fall_from = let_go ? 0 : want;
    if (!let_go && lacks > 0 && a->audible == KL_AUDIBLE_FULL) {
        double fade = a->rate * FADE_S, left = BRIDGE_S * a->rate - a->bridged - lacks;
        /* Keep enough samples for a fade, if possible: a fade on backward sound begins with a kink. */
        double kept = fmin(fmin(fade, left), fmax(lasts, 0));
        if (left >= 0) a->bridged += lacks + kept;
        if (left >= 0) p.want = lasts > kept ? (unsigned)(lasts - kept) : 0;
        p.fall_from = left >= 0 ? want : fmax(lasts - fade, 0);
    }
    play(a, &p, front);
    if (a->audible == KL_AUDIBLE_NONE) forget_old(a, target(a) + 2 * a->worth + want);
    a->bridged = fmax(a->bridged - want * STEADY, 0);
    double slow = call_s / SLOW_S, fast = call_s / FAST_S;
    if (!a->left_known) slow = fast = 1;
    a->left_known = true;
    a->left_slow += (waiting(a) - a->left_slow) * (slow < 1 ? slow : 1);
    a->left_fast += (waiting(a) - a->left_fast) * (fast < 1 ? fast : 1);
}

void kl_audio_call(struct kl_audio *a, unsigned runs, uint64_t now_us, double interval_us,
                   retro_audio_sample_batch_t front) {
    if (!a->ring || !a->src) return;
    double call_s = interval_us / 1e6, left = (double)a->frame_end - a->pos;
    bool usual = runs == 1 && !a->muted, begun = a->end > a->begun;
    a->clean_s = usual ? a->clean_s + call_s : 0;
    /* Some cores play a little more or less than they state. */
    double now = (double)(a->end - a->frame_end);
    a->frame_end = a->end;
    if (runs == 1 && fabs(now - a->stated) < a->stated * 0.05) a->worth += (now - a->worth) / 1024;
    if (!a->elastic && !begun) {
        for (unsigned n = due(a, now_us, call_s); n; n--)
            put(a, 0, 0, front);
        flush(a, front);
    } else if (!a->elastic && usual)
        kl_audio_pass(a, front);
    else if (a->elastic && a->clean_s > CLEAN_S && a->audible == KL_AUDIBLE_FULL && left < a->rate * EMPTY_S)
        leave(a, front);
    else {
        if (!a->elastic) enter(a);
        give(a, due(a, now_us, call_s), call_s, front);
        flush(a, front);
    }
    a->call_us = now_us;
}

void kl_audio_begin(struct kl_audio *a, double interval_us) {
    static const int16_t nothing[256 * 2];
    if (!a->ring || !a->src) return;
    clear(a);
    if (interval_us <= 0 || fabs(interval_us / 1e6 * a->fps - 1) < OFF_RATE) return;
    size_t lead = (size_t)(target(a) + PRIME), done = 0;
    for (; done < lead; done += 256)
        kl_audio_add(a, nothing, 256);
    a->pos = (double)a->end - target(a);
    a->frame_end = a->end;
    enter(a);
}
