#include "tests/sim/shown.h"

#include <string.h>

#include "net/engine/ahead.h"
#include "tests/sim/drive.h"

#define PLAYED  256
#define SETTLES 64 /* frames */

struct played {
    struct kl_frame frame;
    bool guessed, own_known; /* own_known: all own samples in it had been taken */
};

static struct shown {
    struct kl_ahead plan;
    uint8_t plays[KL_MAX_SEATS];
    struct played played[PLAYED];
    uint32_t checked; /* confirmed frames below were compared */
    uint32_t bound;   /* the farthest so far */
    uint32_t
        settled; /* frames below may hold samples of before a command, or of frames closed by the clock */
} shown[KL_MAX_CLIENTS];

void shown_set_up(void) {
    memset(shown, 0, sizeof shown);
}

static bool may_run(const struct world *w, unsigned client) {
    const struct kl_client *c = &w->client[client].lock;
    bool chosen = (w->scenario.seed + client) % 3 != 0;
    return chosen && c->seats && c->started && !c->waits && c->standing == KL_STANDING_IN &&
           c->params.subframes && c->stats.next_run > c->first;
}

static void swap(uint8_t plays[KL_MAX_SEATS], const struct kl_command *k) {
    if (k->kind != KL_COMMAND_SWAP || k->len != 2) return;
    for (unsigned pad = 0; pad < KL_MAX_SEATS; pad++)
        plays[pad] = plays[pad] == k->data[0]   ? k->data[1]
                     : plays[pad] == k->data[1] ? k->data[0]
                                                : plays[pad];
}

/* The pads' seats before this frame: the relay's, without the swaps since. */
static void plays_at(const struct world *w, uint32_t frame, uint8_t plays[KL_MAX_SEATS]) {
    memcpy(plays, w->truth.ref.plays, KL_MAX_SEATS);
    for (uint32_t n = w->truth.next; n-- > frame;) {
        const struct kl_commands *set = &w->truth.commands[n % REF_RING];
        if (!(w->truth.frame[n % REF_RING].flags & KL_FRAME_COMMANDS)) continue;
        for (unsigned i = set->count; i-- > 0;)
            swap(plays, &set->at[i]);
    }
}

static void begin(const struct world *w, unsigned client, uint64_t now_us) {
    struct shown *s = &shown[client];
    const struct kl_client *c = &w->client[client].lock;
    memset(s, 0, sizeof *s);
    plays_at(w, c->stats.next_run, s->plays);
    kl_ahead_begin(&s->plan, c->stats.next_run);
    kl_ahead_show(&s->plan, c->stats.next_run, now_us);
    s->checked = c->stats.next_run;
    s->settled = s->checked + SETTLES;
}

static void run_next(struct shown *s, const struct kl_client *c) {
    struct kl_frame f;
    struct kl_commands set;
    bool closed = kl_ahead_next(&s->plan, c, s->plays, &f, &set);
    struct played *p = &s->played[f.number % PLAYED];
    p->frame = f;
    p->guessed = !closed;
    p->own_known = kl_ahead_sample_in(c, f.number) + 1 < c->stats.next_sample;
    for (unsigned i = 0; i < set.count; i++)
        swap(s->plays, &set.at[i]);
}

static const struct kl_frame *truth_at(const struct world *w, uint32_t n) {
    const struct kl_frame *t = &w->truth.frame[n % REF_RING];
    return t->number == n && n < w->truth.next ? t : NULL;
}

static bool same_inputs(const struct kl_frame *x, const struct kl_frame *y) {
    for (unsigned s = 0; s < KL_MAX_SEATS; s++)
        if (!kl_input_equal(&x->in[s], &y->in[s])) return false;
    return true;
}

/* Keys apart: of those, some may still wait at the relay. */
static bool guessed_right(struct kl_input is, struct kl_input guess) {
    is.all_up = guess.all_up = false;
    is.key_count = guess.key_count = 0;
    return kl_input_equal(&is, &guess);
}

/* A guess whose frame has come: the own pads are right unless the interval has another length than guessed.
 */
static void check_own(struct world *w, unsigned client, const struct played *p, const struct kl_frame *t) {
    static const struct kl_input neutral;
    const struct shown *s = &shown[client];
    const struct kl_client *c = &w->client[client].lock;
    bool as_guessed =
        t->keyframe == p->frame.keyframe && t->spacing == p->frame.spacing && t->active == p->frame.active;
    if (!p->guessed || !p->own_known || !as_guessed || (t->flags & KL_FRAME_BY_CLOCK)) return;
    if (memcmp(s->plays, w->truth.ref.plays, sizeof s->plays) != 0) return; /* a swap is on its way */
    const struct kl_frame *before = truth_at(w, t->keyframe - 1);
    if (!before || (before->flags & KL_FRAME_BY_CLOCK) || before->spacing != t->spacing) return;
    for (unsigned pad = 0; pad < KL_MAX_SEATS; pad++) {
        const struct kl_input *is = &t->in[s->plays[pad]];
        bool counted = !guessed_right(*is, neutral); /* else the relay has made the client absent */
        if ((c->seats >> pad & 1) && counted && !guessed_right(*is, p->frame.in[s->plays[pad]]))
            world_fail(w, "client=%u guesses its own pad=%u wrong in frame %u", client, pad, t->number);
    }
}

static void check_confirmed(struct world *w, unsigned client) {
    struct shown *s = &shown[client];
    for (; s->checked < s->plan.confirmed; s->checked++) {
        const struct kl_frame *t = truth_at(w, s->checked);
        if (t && t->flags & (KL_FRAME_COMMANDS | KL_FRAME_BY_CLOCK)) s->settled = s->checked + SETTLES;
        if (t && !same_inputs(t, &s->played[s->checked % PLAYED].frame))
            world_fail(w, "client=%u shows frame %u with other inputs than it has", client, s->checked);
    }
}

static void check(struct world *w, unsigned client) {
    struct shown *s = &shown[client];
    const struct kl_client *c = &w->client[client].lock;
    uint32_t come = s->plan.at < c->stats.next_closed ? s->plan.at : c->stats.next_closed;
    if (s->plan.confirmed < come)
        world_fail(w, "client=%u has frame %u, and still shows a guess of it", client, s->plan.confirmed);
    uint32_t bound = kl_ahead_bound(c);
    if (bound > s->bound) s->bound = bound;
    if (s->plan.shown > s->bound)
        world_fail(w, "client=%u shows frame %u, beyond %u", client, s->plan.shown, s->bound);
}

static void check_guesses(struct world *w, unsigned client) {
    struct shown *s = &shown[client];
    const struct kl_client *c = &w->client[client].lock;
    for (uint32_t n = s->plan.confirmed; n < s->plan.at && n < c->stats.next_closed; n++) {
        const struct kl_frame *t = truth_at(w, n);
        if (t && t->flags & (KL_FRAME_COMMANDS | KL_FRAME_BY_CLOCK)) s->settled = n + SETTLES;
        if (t && n >= s->settled) check_own(w, client, &s->played[n % PLAYED], t);
    }
}

void shown_turn(struct world *w, unsigned client) {
    struct shown *s = &shown[client];
    const struct kl_client *c = &w->client[client].lock;
    uint64_t now_us = drive_client_clock(w, &w->client[client]);
    if (!may_run(w, client)) s->plan.on = false;
    if (!may_run(w, client) || w->failed) return;
    if (!s->plan.on) begin(w, client, now_us);
    kl_client_guess(&w->client[client].lock, true);
    struct kl_ahead_call call = {now_us, c->next_due, kl_ahead_lag(c), KL_AHEAD_FRAMES};
    check_guesses(w, client);
    kl_ahead_hear(&s->plan, c, s->plays);
    if (!s->plan.on) return;
    kl_ahead_call(&s->plan, c, &call);
    check_confirmed(w, client);
    while (s->plan.at < s->plan.want) {
        run_next(s, c);
        check_confirmed(w, client);
    }
    kl_ahead_showed(&s->plan);
    check(w, client);
}
