#include "tests/sim/check.h"

#include "net/engine/lock_relay_return.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void truth_init(struct truth *t, const struct scenario *s) {
    memset(t, 0, sizeof *t);
    t->scenario = s;
    ref_room_init(&t->ref, &s->params, t->seat);
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++)
        if (s->client[i].there && !s->client[i].joins_us) ref_room_add(&t->ref, i, s->client[i].seats);
}

static bool broken(struct truth *t, const struct kl_frame *f, const char *format, ...) {
    int used = 0;
    if (f)
        used = snprintf(t->error, sizeof t->error, "frame=%u interval=%u+%u flags=%x: ", f->number,
                        f->keyframe, f->spacing, f->flags);
    va_list args;
    va_start(args, format);
    vsnprintf(t->error + used, sizeof t->error - (size_t)used, format, args);
    va_end(args);
    return false;
}

bool truth_sample(struct truth *t, unsigned client, unsigned seat, uint32_t number, bool resumes,
                  const struct kl_input *in, uint64_t now_us) {
    struct ref_seat *s = &t->seat[seat];
    static const struct kl_input neutral;
    const struct ref_client *c = &t->ref.client[client];
    if (t->scenario->client[client].lie.is[LIE_NUMBER]) { /* it says other numbers, and presses nothing */
        for (uint32_t n = s->count; n < number + KL_WINDOW_FRAMES; n++)
            s->at[n % REF_RING] = neutral; /* also those that it has not come to */
        if (number >= s->count) s->count = number + 1;
        return true;
    }
    bool told = c->presence == REF_ABSENT || resumes ||
                c->next_sample == number; /* the relay knows, or is about to */
    if (t->renumbers[seat] && number < s->count) s->count = number;
    t->renumbers[seat] = false;
    if (number < s->count || (number > s->count && !told))
        return broken(t, NULL, "numbers a sample %u, not %u", number, s->count);
    for (; s->count < number; s->count++) { /* the time of an absence */
        s->at[s->count % REF_RING] = neutral;
        s->given_us[s->count % REF_RING] = 0;
    }
    s->at[number % REF_RING] = *in;
    s->given_us[number % REF_RING] = now_us;
    s->count++;
    return true;
}

/* --- frames --- */

static bool check_shape(struct truth *t, const struct kl_frame *f, const struct kl_frame *expected) {
    if (f->number != t->next) return broken(t, f, "handed out where %u was next", t->next);
    if (f->keyframe != expected->keyframe) return broken(t, f, "keyframe %u expected", expected->keyframe);
    if (f->spacing != expected->spacing) return broken(t, f, "the interval changed under way");
    if (f->flags != expected->flags) return broken(t, f, "flags=%x expected", expected->flags);
    return f->active == expected->active ||
           broken(t, f, "active=%02x, %02x expected", f->active, expected->active);
}

static bool numbers_lie(const struct truth *t, unsigned pad) {
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++)
        if (t->scenario->client[i].seats >> pad & 1 && t->scenario->client[i].lie.is[LIE_NUMBER]) return true;
    return false;
}

/* By the map alone: the invariants of docs/design.md §3, looked at one by one. */
static bool check_pad(struct truth *t, const struct kl_frame *f, unsigned pad, const uint32_t range[2]) {
    const struct ref_relay *ref = &t->ref;
    struct ref_seat *s = &t->seat[pad];
    if (range[0] == range[1]) return true;
    if (range[1] > s->count && !numbers_lie(t, pad))
        return broken(t, f, "pad=%u closed before sample %u was taken (%u were)", pad, range[1] - 1,
                      s->count);
    t->last_sample[f->number % REF_RING][pad] = range[1] - 1;
    if (ref->now.by_clock) return true;
    const char *fault = ref_presses(s, &ref->before.at, &ref->now.at, f->number - f->keyframe,
                                    &f->in[ref->plays[pad]], t->scenario->saturating);
    return !fault || broken(t, f, "pad=%u samples=%u..%u: %s", pad, range[0], range[1] - 1, fault);
}

static void keep_print(struct truth *t, const struct kl_frame *f) {
    if (f->number >= t->prints) {
        t->prints = t->prints ? 2 * t->prints : 4096;
        t->print = realloc(t->print, t->prints * sizeof *t->print);
        if (!t->print) abort();
    }
    t->print[f->number] = truth_print(f, &t->commands[f->number % REF_RING]);
}

static bool check_input(struct truth *t, const struct kl_frame *f, unsigned seat,
                        const struct kl_input *expected) {
    struct ref_difference d;
    if (!ref_input_differs(&f->in[seat], expected, &d)) return true;
    return broken(t, f, "seat=%u has %s=%lld, expected %lld", seat, d.field, (long long)d.is,
                  (long long)d.expected);
}

/* A key is down only if a player holds it whose samples count, and up only if none does. */
static bool check_keys(struct truth *t, const struct kl_frame *f) {
    const struct ref_relay *ref = &t->ref;
    const char *fault = ref_keyboard_play(&t->keyboard, f->in);
    if (fault) return broken(t, f, "%s", fault);
    for (unsigned pad = 0; pad < KL_MAX_SEATS; pad++) {
        static const bool none[KL_KEY_CODES];
        const struct ref_keys *k = &t->seat[pad].keys;
        const bool *held = t->keyboard.held[ref->plays[pad]], made = ref->made >> pad & 1;
        if (made && (k->count > 0 || k->all_up)) continue; /* more is to come */
        if (memcmp(held, made ? k->said : none, sizeof none) != 0)
            return broken(t, f, "pad=%u holds other keys than its player", pad);
    }
    return true;
}

static bool close_one(struct truth *t, const struct kl_frame *f, uint64_t relay_us) {
    struct ref_relay *ref = &t->ref;
    struct kl_frame expected;
    uint32_t range[KL_MAX_SEATS][2];
    if (!ref_room_can_close(ref, relay_us + (uint64_t)t->moved_us)) /* by the line that it had */
        return broken(t, f, "closed too early; pads %02x are missing", ref_room_missing(ref));
    ref_room_close(ref, &expected, range, relay_us);
    uint32_t *last = t->last_sample[f->number % REF_RING];
    for (unsigned pad = 0; pad < KL_MAX_SEATS; pad++)
        last[pad] = UINT32_MAX;
    if (!check_shape(t, f, &expected)) return false;
    for (unsigned pad = 0; pad < KL_MAX_SEATS; pad++)
        if (!check_pad(t, f, pad, range[pad])) return false;
    for (unsigned seat = 0; seat < KL_MAX_SEATS; seat++)
        if (!check_input(t, f, seat, &expected.in[seat])) return false;
    if (!check_keys(t, f)) return false;
    t->frame[f->number % REF_RING] = *f;
    keep_print(t, f);
    t->next++;
    return true;
}

static void lay_out(struct truth *t, const struct kl_lock_relay *room, uint32_t length, uint64_t now_us) {
    struct ref_relay *ref = &t->ref;
    uint32_t before = ref->now.at.length, keyframe = ref->now.at.first + before;
    struct kl_commands set;
    const struct kl_commands *given = kl_lock_commands(room, keyframe, &set);
    ref_room_lay_out(ref, length, given);
    bool changed = before > 0 && length != before;
    t->commands[keyframe % REF_RING] = given ? *given : (struct kl_commands){0};
    t->marks += ref->now.hash;
    t->changes += changed;
    t->changes_settled += changed && now_us >= t->scenario->settled_us;
}

/* --- the room --- */

void truth_before(struct truth *t, const struct kl_lock_relay *room) {
    t->ref.schedule = room->schedule;
    t->ref.waited_for = 0;
}

static void look_at(struct truth *t, const struct kl_lock_relay *room) {
    struct ref_relay *ref = &t->ref;
    bool same_rate = room->schedule.period_us == ref->schedule.period_us;
    double moved = same_rate ? room->schedule.t0_us - ref->schedule.t0_us : 0;
    if (ref->schedule.t0_us > 0) t->slipped_us += moved;
    t->moved_us = ref->schedule.t0_us > 0 ? moved : 0;
    if (moved < 0 && ref->schedule.t0_us > 0) broken(t, NULL, "the schedule moved %.0f us back", -moved);
    if (ref->schedule.t0_us > 0) ref_room_slipped(ref, moved);
    ref->schedule = room->schedule;
    ref->slowest_rtt_us = 0;
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++) {
        const struct kl_lock_client *c = &room->client[i];
        ref->client[i].fetching = c->fetching;
        if (c->present && c->seats && c->rtt.srtt_us > ref->slowest_rtt_us)
            ref->slowest_rtt_us = c->rtt.srtt_us;
    }
}

static bool check_standing(struct truth *t, const struct kl_lock_relay *room, uint64_t relay_us) {
    const struct ref_relay *ref = &t->ref;
    uint8_t away = 0;
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++) {
        const struct ref_client *c = &ref->client[i];
        if (!c->in_room) continue;
        if (!c->joining && (c->away || c->presence != REF_PRESENT)) away |= c->pads;
        if (room->client[i].presence != (uint8_t)c->presence)
            return broken(t, NULL, "client=%u has presence %u, not %u", i, room->client[i].presence,
                          c->presence);
        if (room->client[i].link != (uint8_t)c->link)
            return broken(t, NULL, "client=%u has link %u, not %u", i, room->client[i].link, c->link);
        if (c->presence != REF_ABSENT && c->pads && room->client[i].next_sample != c->next_sample)
            return broken(t, NULL, "client=%u has %u samples, not %u", i, room->client[i].next_sample,
                          c->next_sample);
    }
    if (kl_lock_away(room) != away)
        return broken(t, NULL, "says away=%02x, not %02x", kl_lock_away(room), away);
    if (room->paused != ref->paused) return broken(t, NULL, "says paused=%d", room->paused);
    uint8_t waits = ref_room_missing(ref) | ref_room_held_for(ref, relay_us);
    if (kl_lock_waiting_for(room) != waits)
        return broken(t, NULL, "waits for seats %02x, not %02x", kl_lock_waiting_for(room), waits);
    if (ref_room_can_close(ref, relay_us))
        return broken(t, NULL, "frame %u must close and does not", t->next);
    uint64_t due = ref_room_due(ref, relay_us);
    if (due != UINT64_MAX && due > relay_us && kl_lock_tick_at(room) > due + 1)
        return broken(t, NULL, "something is due in %llu us and tick_at says later",
                      (unsigned long long)(due - relay_us));
    return true;
}

bool truth_after(struct truth *t, struct kl_lock_relay *room, uint64_t relay_us, uint64_t now_us) {
    static struct kl_frame f; /* large */
    struct ref_relay *ref = &t->ref;
    if (!room->started) return true;
    look_at(t, room);
    while (!t->error[0] && !ref->error[0] && kl_lock_take(room, &f)) {
        if (ref_room_wants_interval(ref)) lay_out(t, room, f.spacing, now_us);
        if (!close_one(t, &f, relay_us)) return false;
    }
    if (ref_room_wants_interval(ref) && room->now.first == t->next)
        lay_out(t, room, room->now.length, now_us);
    if (ref->error[0]) return broken(t, NULL, "frame=%u %s", t->next, ref->error);
    if (ref_room_holds_still(ref, relay_us)) t->still_us = now_us;
    return !t->error[0] && check_standing(t, room, relay_us);
}

static bool commands_same(const struct kl_commands *a, const struct kl_commands *b) {
    if (!a || !b) return (!a || a->count == 0) && (!b || b->count == 0);
    if (a->count != b->count || a->keyframe != b->keyframe) return false;
    for (unsigned i = 0; i < a->count; i++) {
        const struct kl_command *x = &a->at[i], *y = &b->at[i];
        if (x->client != y->client || x->kind != y->kind || x->len != y->len ||
            memcmp(x->data, y->data, x->len))
            return false;
    }
    return true;
}

bool truth_same(struct truth *t, const struct kl_frame *f, const struct kl_commands *commands) {
    if (f->number >= t->next) return broken(t, f, "run before the relay closed it");
    if (truth_print(f, commands) != t->print[f->number]) return broken(t, f, "is not what the relay closed");
    if (t->next - f->number >= REF_RING) return true; /* no more is known of it */
    const struct kl_frame *r = &t->frame[f->number % REF_RING];
    if (r->number != f->number || r->keyframe != f->keyframe || r->spacing != f->spacing ||
        r->flags != f->flags || r->active != f->active)
        return broken(t, f, "relay has interval=%u+%u flags=%x active=%02x, client flags=%x active=%02x",
                      r->keyframe, r->spacing, r->flags, r->active, f->flags, f->active);
    for (unsigned seat = 0; seat < KL_MAX_SEATS; seat++)
        if (!ref_input_equal(&r->in[seat], &f->in[seat]))
            return broken(t, f, "seat=%u differs from the relay's", seat);
    if ((f->flags & KL_FRAME_COMMANDS) && !commands_same(commands, &t->commands[f->number % REF_RING]))
        return broken(t, f, "has other commands than the relay gave");
    return true;
}
