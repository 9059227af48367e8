#include "net/engine/command.h"
#include "tests/sim/ref_fold.h"
#include "tests/sim/ref_pace.h"

#include <stdio.h>
#include <math.h>
#include <string.h>

#define LAY(r, ...) ((r)->error[0] ? 0 : snprintf((r)->error, sizeof(r)->error, __VA_ARGS__))

void ref_room_init(struct ref_relay *r, const struct kl_params *params, struct ref_seat *pad) {
    memset(r, 0, sizeof *r);
    r->params = *params;
    if (!params->clocked || !params->subframes)
        if (params->policy == KL_POLICY_OPTIMISTIC)
            r->params.policy = KL_POLICY_BOUNDED; /* "played as bounded" */
    r->pad = pad;
    for (unsigned s = 0; s < KL_MAX_SEATS; s++)
        r->plays[s] = (uint8_t)s;
}

void ref_room_add(struct ref_relay *r, unsigned client, uint8_t pads) {
    struct ref_client *c = &r->client[client];
    *c = (struct ref_client){.in_room = true, .pads = pads};
    if (!r->started) return;
    c->link = REF_CUT;
    c->joining = pads;
    if (!pads) return;
    c->presence = REF_ABSENT;
    c->counted_from = REF_NEVER;
}

void ref_room_start(struct ref_relay *r, uint64_t now_us) {
    r->started = true;
    r->last_close_us = r->charged_us = now_us;
}

uint8_t ref_room_pads(const struct ref_relay *r) {
    uint8_t pads = 0;
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++)
        if (r->client[i].in_room) pads |= r->client[i].pads;
    return pads;
}

static uint8_t seats_of(const struct ref_relay *r, uint8_t pads) {
    uint8_t seats = 0;
    for (unsigned s = 0; s < KL_MAX_SEATS; s++)
        if (pads >> s & 1) seats |= (uint8_t)(1u << r->plays[s]);
    return seats;
}

static const struct ref_client *owner(const struct ref_relay *r, unsigned pad) {
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++)
        if (r->client[i].in_room && (r->client[i].pads >> pad & 1)) return &r->client[i];
    return NULL;
}

/* Active in the interval under way and the one before, and not absent in between. */
static bool feeds(const struct ref_relay *r, const struct ref_client *c) {
    return c && c->presence == REF_PRESENT && c->counted_from != REF_NEVER && c->counted_from < r->now.number;
}

static double line_us(const struct ref_relay *r, uint32_t f) {
    return r->schedule.t0_us + f * r->schedule.period_us;
}

/* --- absence --- */

void ref_make_absent(struct ref_client *c) {
    c->absences += c->presence != REF_ABSENT;
    c->presence = REF_ABSENT;
    c->counted_from = REF_NEVER;
}

static uint64_t waits_since(const struct ref_relay *r) {
    double line = r->params.clocked ? line_us(r, r->next) : 0;
    return line > (double)r->last_close_us ? (uint64_t)line : r->last_close_us;
}

static uint64_t budget_us(const struct ref_relay *r) {
    return r->params.wait_budget_ms * UINT64_C(1000);
}

static uint64_t silence_us(const struct ref_relay *r) {
    return budget_us(r) < 200000 ? 200000 : budget_us(r);
}

static void find_absent(struct ref_relay *r, uint64_t now_us) {
    ref_pace_out(r, now_us);
    uint8_t missing = ref_room_missing(r);
    bool waited = missing && now_us >= waits_since(r) + budget_us(r);
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++) {
        struct ref_client *c = &r->client[i];
        if (!c->in_room || !c->pads) continue;
        if (r->params.policy == KL_POLICY_BOUNDED && waited && (missing & c->pads)) ref_make_absent(c);
        bool silent = c->heard && now_us >= c->heard_us + silence_us(r);
        if (r->params.policy == KL_POLICY_OPTIMISTIC && silent) ref_make_absent(c);
    }
}

/* --- events --- */

static void take_samples(struct ref_relay *r, struct ref_client *c, struct kl_ctrl *m) {
    struct kl_input in[KL_MAX_SEATS];
    for (uint32_t n = m->sample_first; n < m->sample_first + m->sample_count; n++) {
        kl_ctrl_sample(m, in);
        if (n != c->next_sample) continue;
        for (unsigned s = 0, k = 0; s < KL_MAX_SEATS; s++) {
            if (!(c->pads >> s & 1)) continue;
            if (!ref_input_equal(&in[k++], &r->pad[s].at[n % REF_RING]))
                LAY(r, "sample=%u is not what pad %u said", n, s);
        }
        c->next_sample++;
    }
}

static void come_back(struct ref_relay *r, struct ref_client *c, uint32_t number) {
    bool at_once = r->now.by_clock && r->now.samples_end == REF_NEVER; /* nothing to fit in with */
    c->presence = at_once ? REF_PRESENT : REF_RETURNING;
    c->link = REF_UP;
    c->next_sample = c->resumed = c->unused = number;
    c->counted_from = REF_NEVER;
    if (at_once) c->joining = false;
    for (unsigned s = 0; s < KL_MAX_SEATS; s++)
        if (c->pads >> s & 1) {
            ref_keys_drop(&r->pad[s].keys, true);
            r->pad[s].keys.next = number;
        }
}

void ref_room_ctrl(struct ref_relay *r, unsigned client, struct kl_ctrl *m, uint64_t now_us) {
    struct ref_client *c = &r->client[client];
    bool newest = !c->heard || (int32_t)(m->stamp - c->stamp) >= 0;
    ref_pace_charge(r, now_us);
    if (newest) {
        c->heard = true;
        c->stamp = m->stamp;
        c->heard_us = now_us;
        c->away = m->away;
        if (m->away && r->started && r->params.policy != KL_POLICY_STRICT && c->pads) ref_make_absent(c);
        bool resumes = r->started && c->pads && !c->fetching && m->resume && !m->away &&
                       m->sample_first >= c->next_sample;
        bool anew = c->presence != REF_ABSENT && m->sample_first > c->next_sample;
        if (resumes && anew) ref_make_absent(c);
        bool barred = c->presence == REF_ABSENT && ref_pace_barred(r, c, now_us);
        if (resumes && c->presence == REF_ABSENT && !barred) come_back(r, c, m->sample_first);
    }
    if (m->frame_acked > c->acked) c->acked = m->frame_acked;
    if (c->presence != REF_ABSENT) take_samples(r, c, m);
    if (r->started) find_absent(r, now_us);
}

void ref_room_tick(struct ref_relay *r, uint64_t now_us) {
    ref_pace_charge(r, now_us);
    if (r->started) find_absent(r, now_us);
}

void ref_room_remove(struct ref_relay *r, unsigned client) {
    r->client[client].in_room = false;
}

unsigned ref_room_places(uint8_t kind) {
    return kind == KL_COMMAND_CHAT ? KL_COMMANDS_MAX / 2 : KL_COMMANDS_MAX;
}

void ref_room_order(struct ref_relay *r, unsigned client, const struct kl_command *c) {
    struct ref_client *from = client == KL_RELAY_CLIENT ? &r->relay : &r->client[client];
    if (from->queued >= ref_room_places(c->kind)) {
        LAY(r, "a command of client=%u is queued behind %u others", client, from->queued);
        return;
    }
    from->queue[from->queued++] = *c;
}

void ref_room_resume(struct ref_relay *r, uint64_t now_us) {
    r->paused = r->pausing = false;
    r->last_close_us = now_us;
}

/* --- commands --- */

static struct ref_client *giver(struct ref_relay *r, unsigned i) {
    return i == KL_MAX_CLIENTS ? &r->relay : &r->client[i];
}

static void act(struct ref_relay *r, const struct kl_command *c) {
    if (c->kind == 1) {
        bool possible = c->data[0] != KL_POLICY_OPTIMISTIC || (r->params.clocked && r->params.subframes);
        if (!possible) return;
        r->policy_changes += r->params.policy != c->data[0];
        r->params.policy = c->data[0];
        r->params.wait_budget_ms = (uint16_t)(c->data[1] + 256 * c->data[2]);
        r->params.spacing_fixed = c->data[3];
        r->params.lead_max = c->data[4];
    } else if (c->kind == 2) {
        for (unsigned s = 0; s < KL_MAX_SEATS; s++)
            r->plays[s] = r->plays[s] == c->data[0]   ? c->data[1]
                          : r->plays[s] == c->data[1] ? c->data[0]
                                                      : r->plays[s];
        r->now.swapped = true;
        if ((r->keyed >> c->data[0] & 1) || (r->keyed >> c->data[1] & 1))
            r->keyed |= (uint8_t)(1u << c->data[0] | 1u << c->data[1]);
        for (unsigned s = 0; s < KL_MAX_SEATS; s++)
            if (r->plays[s] == c->data[0] || r->plays[s] == c->data[1]) ref_keys_all_up(&r->pad[s].keys);
    } else if (c->kind == 3) {
        r->pausing = true;
    } else if (c->kind == 5) {
        r->params.fps_uhz =
            c->data[0] | (uint32_t)c->data[1] << 8 | (uint32_t)c->data[2] << 16 | (uint32_t)c->data[3] << 24;
    }
}

static bool same_command(const struct kl_command *a, const struct kl_command *b) {
    return a->client == b->client && a->kind == b->kind && a->len == b->len &&
           memcmp(a->data, b->data, a->len) == 0;
}

/* Takes it off its giver's queue; -1 where it is not the head of any. */
static int take_head(struct ref_relay *r, const struct kl_command *c) {
    unsigned who = c->client == KL_RELAY_CLIENT ? KL_MAX_CLIENTS : c->client;
    if (who > KL_MAX_CLIENTS) return -1;
    struct ref_client *from = giver(r, who);
    if (from->queued == 0 || !same_command(c, &from->queue[0])) return -1;
    memmove(from->queue, from->queue + 1, --from->queued * sizeof *c);
    return (int)who;
}

/* Somebody whose turn it is in this round (not in `had`), and whose next command would fit. */
static bool passed_over(struct ref_relay *r, uint32_t had, unsigned room) {
    for (unsigned i = 0; i <= KL_MAX_CLIENTS; i++) {
        const struct ref_client *c = giver(r, i);
        bool here = i == KL_MAX_CLIENTS || c->in_room;
        if (here && !(had >> i & 1) && c->queued > 0 && c->queue[0].len <= room) return true;
    }
    return false;
}

/* A client without a session, or on the history, gets commands with its frames. */
static bool by_update(const struct ref_client *c) {
    return c->in_room && c->link != REF_CUT && !c->fetching;
}

/* As many keyframes with commands as are kept at once have not reached everybody. */
static bool no_place(const struct ref_relay *r) {
    unsigned kept = 0;
    for (unsigned i = 0; i < r->sets && i < KL_WINDOW_FRAMES; i++) {
        uint32_t k = r->held[(r->sets - 1 - i) % KL_WINDOW_FRAMES];
        bool everybody = true;
        for (unsigned n = 0; n < KL_MAX_CLIENTS; n++)
            if (by_update(&r->client[n]) && r->client[n].acked <= k) everybody = false;
        kept += !everybody && k + KL_KEPT_FRAMES > r->next;
    }
    return kept >= KL_COMMAND_SETS;
}

/* One of each client in turn, until all queues are empty or no more fits. */
static void check_given(struct ref_relay *r, const struct kl_commands *given) {
    uint32_t had = 0;
    unsigned room = KL_COMMANDS_ROOM, count = given ? given->count : 0;
    if (count == 0 && no_place(r)) return;
    for (unsigned i = 0; i < count; i++) {
        const struct kl_command *c = &given->at[i];
        unsigned who = c->client == KL_RELAY_CLIENT ? KL_MAX_CLIENTS : c->client;
        if (had >> who & 1) { /* a new round */
            if (passed_over(r, had, room))
                LAY(r, "client=%u is given a second command before others had one", who);
            had = 0;
        }
        if (take_head(r, c) < 0)
            LAY(r, "a command (client=%u kind=%u) that was not next in its queue", c->client, c->kind);
        had |= 1u << who;
        room -= c->len;
    }
    bool full = count == KL_COMMANDS_MAX;
    if (!full && passed_over(r, had, room) && passed_over(r, 0, room))
        LAY(r, "a command is left though it would fit");
    for (unsigned i = 0; i < count; i++)
        act(r, &given->at[i]);
    r->commands_given += count;
    if (count > 0) {
        r->held[r->sets++ % KL_WINDOW_FRAMES] = given->keyframe;
        r->commands[given->keyframe % KL_WINDOW_FRAMES] = *given;
    }
}

/* --- intervals --- */

bool ref_room_wants_interval(struct ref_relay *r) {
    if (!r->started || !ref_room_pads(r)) return false;
    if (r->now.at.length > 0 && r->next < r->now.at.first + r->now.at.length) return false;
    r->paused = r->paused || r->pausing;
    r->pausing = false;
    return !r->paused;
}

static bool a_multiple_in(uint32_t after, uint32_t to, uint32_t every) {
    return every > 0 && to / every > after / every;
}

/* Samples that nobody will ever play, because they came when the frames that they were for had closed by the
 * clock. */
static void count_lost(struct ref_relay *r, const struct ref_span *last) {
    if (last->samples_end == REF_NEVER) return;
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++) {
        struct ref_client *c = &r->client[i];
        if (!c->in_room || c->presence != REF_PRESENT) continue;
        for (uint32_t k = c->unused; k < last->samples_end && k > c->resumed; k++)
            for (unsigned s = 0; s < KL_MAX_SEATS; s++) {
                if (!(c->pads >> s & 1) || k >= r->pad[s].count) continue;
                const struct kl_input *in = &r->pad[s].at[k % REF_RING],
                                      *was = &r->pad[s].at[(k - 1) % REF_RING];
                r->presses_lost += (in->joypad & ~was->joypad) != 0;
            }
    }
}

/* Samples of a client that plays, of before the interval in between, that no frame has shown yet. */
static bool unshown(const struct ref_relay *r) {
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++) {
        const struct ref_client *c = &r->client[i];
        if (c->in_room && c->pads && c->presence == REF_PRESENT && c->unused < r->now.samples_end)
            return true;
    }
    return false;
}

static void close_by_what(struct ref_relay *r, struct ref_span *next) {
    bool optimistic = r->params.policy == KL_POLICY_OPTIMISTIC;
    bool was = r->now.by_clock && r->now.samples_end == REF_NEVER && r->now.at.length > 0;
    bool between = r->now.by_clock && r->now.samples_end != REF_NEVER;
    bool again = !optimistic && (was || (between && unshown(r)));
    next->by_clock = optimistic || again;
    next->samples_end = again ? next->at.sample_first : REF_NEVER;
    if (!optimistic || r->now.by_clock) return;
    for (unsigned i = 0; i < KL_MAX_CLIENTS;
         i++) { /* the samples of the interval before are the first not used */
        struct ref_client *c = &r->client[i];
        c->unused = c->resumed > r->now.at.sample_first ? c->resumed : r->now.at.sample_first;
        if (c->unused > c->next_sample) c->unused = c->next_sample;
        c->moved = true;
    }
}

void ref_room_lay_out(struct ref_relay *r, uint32_t length, const struct kl_commands *given) {
    struct ref_span next = {.at = {.first = r->now.at.first + r->now.at.length,
                                   .length = length,
                                   .sample_first = r->now.at.sample_first + r->now.at.samples},
                            .samples_end = REF_NEVER};
    bool first = r->now.at.length == 0;
    r->now.swapped = false;
    if (first)
        next.by_clock = r->params.policy == KL_POLICY_OPTIMISTIC;
    else {
        check_given(r, given);
        close_by_what(r, &next);
        next.number = r->now.number + 1;
        next.swapped = r->now.swapped;
    }
    next.at.samples = r->params.subframes ? length : 1;
    next.hash = !first && a_multiple_in(r->now.at.first, next.at.first, r->params.hash_every);
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++) {
        struct ref_client *c = &r->client[i];
        bool reached = c->resumed <= next.at.sample_first,
             by_samples = !next.by_clock || next.samples_end != REF_NEVER;
        if (c->presence == REF_PRESENT && !reached && by_samples) c->presence = REF_RETURNING;
        if (!c->in_room || !reached) continue;
        if (c->presence == REF_RETURNING) c->presence = REF_PRESENT;
        if (c->presence == REF_PRESENT && c->counted_from == REF_NEVER) c->counted_from = next.number;
        if (c->presence == REF_PRESENT) c->joining = false;
    }
    next.active = ref_room_pads(r);
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++)
        if (r->client[i].in_room && r->client[i].joining) next.active &= (uint8_t)~r->client[i].pads;
    if (length < KL_SPACING_MIN || length > KL_SPACING_MAX) LAY(r, "spacing=%u", length);
    if (r->params.spacing_fixed && length != r->params.spacing_fixed)
        LAY(r, "the fixed spacing is not kept: %u", length);
    bool limited = r->params.policy != KL_POLICY_STRICT && r->params.lead_max && r->params.clocked;
    if (limited && !r->params.spacing_fixed && !next.by_clock && length > r->params.lead_max)
        LAY(r, "spacing=%u is above lead max %u", length, r->params.lead_max);
    if (!next.by_clock) count_lost(r, &r->now);
    if (r->presses_lost > 0) LAY(r, "%u presses are lost by a change of policy", (unsigned)r->presses_lost);
    r->before = r->now;
    r->now = next;
    struct ref_past *past = &r->past[next.number % REF_SPANS];
    *past = (struct ref_past){.span = next, .params = r->params, .pausing = r->pausing};
    memcpy(past->plays, r->plays, sizeof past->plays);
}

/* --- frames --- */

/* "the last of them as well waits": pads whose samples of before the interval are not all in. */
static uint8_t still_to_come(const struct ref_relay *r) {
    uint8_t pads = 0;
    for (unsigned i = 0; i < KL_MAX_CLIENTS && r->now.samples_end != REF_NEVER; i++) {
        const struct ref_client *c = &r->client[i];
        if (c->in_room && c->presence == REF_PRESENT && c->next_sample < r->now.samples_end) pads |= c->pads;
    }
    return pads;
}

uint8_t ref_room_missing(const struct ref_relay *r) {
    uint8_t missing = 0;
    uint32_t end = r->now.at.first + r->now.at.length;
    bool waits = r->started && !r->paused && r->now.number > 0 && r->next < end;
    if (waits && r->now.by_clock) return r->next + 1 == end ? still_to_come(r) : 0;
    for (unsigned s = 0; waits && s < KL_MAX_SEATS; s++) {
        const struct ref_client *c = owner(r, s);
        uint32_t lo, hi;
        if (!feeds(r, c)) continue;
        ref_map(r->next - r->now.at.first, r->before.at.samples, r->now.at.length, &lo, &hi);
        if (c->next_sample < r->before.at.sample_first + hi) missing |= (uint8_t)(1u << s);
    }
    return missing;
}

static bool anybody(const struct ref_relay *r) {
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++)
        if (r->client[i].in_room && r->client[i].pads && r->client[i].presence != REF_ABSENT) return true;
    return false;
}

static bool nobody_feeds(const struct ref_relay *r) {
    for (unsigned s = 0; s < KL_MAX_SEATS; s++)
        if (feeds(r, owner(r, s))) return false;
    return true;
}

bool ref_room_holds_still(const struct ref_relay *r, uint64_t now_us) {
    return ref_room_held_for(r, now_us) || !r->started || r->paused || !ref_room_pads(r) ||
           (r->now.number > 0 && !anybody(r));
}

static uint32_t group(const struct ref_relay *r) {
    uint32_t least = r->params.economy && r->params.clocked && r->params.subframes
                         ? (uint32_t)fmin(ceil(r->params.fps_uhz / 40e6), 4)
                         : 1;
    if (!r->now.by_clock) return least;
    return (uint32_t)fmax(least, r->slowest_rtt_us > 120000 ? 3 : r->slowest_rtt_us > 60000 ? 2 : 1);
}

/* Without a clock, nobody is left behind by more than half of what the room keeps. */
static bool outruns(const struct ref_relay *r) {
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++) {
        const struct ref_client *c = &r->client[i];
        bool counts = c->in_room && c->link != REF_CUT && !c->fetching; /* others are not waited for */
        if (counts && r->next >= c->acked + KL_KEPT_FRAMES / 2) return !r->params.clocked;
    }
    return false;
}

/* When the next frame closes by time alone; UINT64_MAX: not so. */
static uint64_t closes_at(const struct ref_relay *r, uint64_t now_us) {
    bool laid_out = r->next < r->now.at.first + r->now.at.length;
    if (ref_room_held_for(r, now_us) && r->params.policy != KL_POLICY_STRICT) return r->hold_until_us;
    if (ref_room_holds_still(r, now_us) || !laid_out || r->now.number == 0) return UINT64_MAX;
    if (outruns(r) || (!r->now.by_clock && !nobody_feeds(r)) || ref_room_missing(r)) return UINT64_MAX;
    double at = !r->params.clocked ? 0 : line_us(r, r->next - r->next % group(r));
    return at > 0 ? (uint64_t)at : 0;
}

bool ref_room_can_close(const struct ref_relay *r, uint64_t now_us) {
    if (ref_room_holds_still(r, now_us) || r->next >= r->now.at.first + r->now.at.length) return false;
    if (r->now.number == 0) return true;
    if (outruns(r)) return false;
    if (r->now.by_clock || nobody_feeds(r)) return now_us >= closes_at(r, now_us);
    return ref_room_missing(r) == 0;
}

uint64_t ref_room_due(const struct ref_relay *r, uint64_t now_us) {
    uint64_t due = closes_at(r, now_us);
    if (!r->started || r->paused) return due;
    if (r->params.policy == KL_POLICY_BOUNDED && ref_room_missing(r)) {
        uint64_t at = waits_since(r) + budget_us(r);
        if (at < due) due = at;
    }
    for (unsigned i = 0; r->params.policy == KL_POLICY_OPTIMISTIC && i < KL_MAX_CLIENTS; i++) {
        const struct ref_client *c = &r->client[i];
        bool counts = c->in_room && c->pads && c->heard && c->presence != REF_ABSENT;
        if (counts && c->heard_us + silence_us(r) < due) due = c->heard_us + silence_us(r);
    }
    return due;
}

/* A seat whose frame is made of no sample lets its keys go. */
static void let_keys_go(struct ref_relay *r, struct kl_frame *f) {
    for (unsigned s = 0; s < KL_MAX_SEATS; s++) {
        struct kl_input *in = &f->in[r->plays[s]];
        uint8_t seat = (uint8_t)(1u << r->plays[s]);
        if (!(r->made >> s & 1)) {
            ref_keys_drop(&r->pad[s].keys, false);
            in->all_up = true;
        }
        if (!(r->keyed & seat)) in->all_up = false;
        if (in->all_up) r->keyed &= (uint8_t)~seat;
        if (in->key_count > 0) r->keyed |= seat;
    }
    r->keyed_at[f->number % REF_RING] = r->keyed;
}

void ref_room_close(struct ref_relay *r, struct kl_frame *out, uint32_t range[KL_MAX_SEATS][2],
                    uint64_t now_us) {
    const struct ref_span *now = &r->now;
    memset(out, 0, sizeof *out);
    memset(range, 0, KL_MAX_SEATS * sizeof *range);
    out->number = r->next;
    out->keyframe = now->at.first;
    out->spacing = (uint16_t)now->at.length;
    out->active = seats_of(r, now->active);
    bool key = r->next == now->at.first;
    out->flags = (uint8_t)(now->by_clock ? KL_FRAME_BY_CLOCK : 0);
    if (key) out->flags |= (uint8_t)(KL_FRAME_KEY | (now->hash ? KL_FRAME_HASH : 0));
    const struct kl_commands *set = &r->commands[r->next % KL_WINDOW_FRAMES];
    if (key && set->count > 0 && set->keyframe == r->next) out->flags |= KL_FRAME_COMMANDS;
    r->made = 0;
    if (now->by_clock && now->number > 0)
        ref_fold(r, out, range);
    else if (now->number > 0)
        for (unsigned s = 0; s < KL_MAX_SEATS; s++)
            if (feeds(r, owner(r, s))) {
                ref_frame(&r->pad[s], &r->before.at, &now->at, r->next - now->at.first, &out->in[r->plays[s]],
                          range[s]);
                r->made |= (uint8_t)(1u << s);
            }
    let_keys_go(r, out);
    memcpy(r->shown, out->in, sizeof r->shown);
    r->last_close_us = now_us;
    r->next++;
}
