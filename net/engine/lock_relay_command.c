#include "net/engine/command.h"

#include <string.h>

#include "net/engine/lock_relay_private.h"

/* --- keyframes --- */

/* The keys of a room's seats (input.h): events that wait for a frame, by the seat whose pads gave them;
 * and "all up" in frames, by the seat that these pads play. */

static void all_up(struct kl_lock_relay *r, unsigned pad) {
    if (r->keys[pad])
        r->keys[pad]->all_up = true;
    else
        r->up |= (uint8_t)(1u << pad);
}

void kl_lock_keys_anew(struct kl_lock_relay *r, uint8_t pads, uint32_t sample) {
    for (KL_EACH(s, pads)) {
        if (r->keys[s]) kl_keys_clear(r->keys[s]);
        if (r->keys[s]) r->keys[s]->next = sample;
        all_up(r, s);
    }
}

/* Also those of samples that were to be in no frame, because the client was returning. */
void kl_lock_keys_put(struct kl_lock_relay *r, unsigned pad, uint32_t end) {
    uint32_t oldest = end > KL_WINDOW_FRAMES ? end - KL_WINDOW_FRAMES : 0;
    struct kl_keys *q = r->keys[pad];
    if (q && q->next < oldest) q->next = oldest;
    for (; q && q->next < end; q->next++) {
        struct kl_input in;
        kl_inputs_get(&r->sample[pad], q->next, &in);
        kl_keys_put(q, &in);
    }
}

void kl_lock_keys_take(struct kl_lock_relay *r, unsigned pad, struct kl_input *in) {
    if (r->keys[pad]) {
        kl_keys_take(r->keys[pad], in);
        return;
    }
    in->all_up = r->up >> pad & 1;
    r->up &= (uint8_t) ~(1u << pad);
}

/* It takes the place of one that no frame may have used: a returning client can send more than a window. */
void kl_lock_keys_keep(struct kl_lock_relay *r, unsigned pad, uint32_t sample) {
    if (r->keys[pad] && sample >= r->keys[pad]->next + KL_WINDOW_FRAMES)
        kl_lock_keys_put(r, pad, sample - KL_WINDOW_FRAMES + 1);
}

/* The pads of two seats have changed places. Both seats say so, if one does: each client looks at the seat
 * that its pads play from now on. */
static void swap_keys(struct kl_lock_relay *r, unsigned a, unsigned b) {
    uint8_t both = (uint8_t)(1u << a | 1u << b);
    if (r->keyed & both) r->keyed |= both;
    for (unsigned s = 0; s < KL_MAX_SEATS; s++)
        if (r->plays[s] == a || r->plays[s] == b) all_up(r, s);
}

/* Frames without keys stay as they are: "all up" costs bytes only where keys may be down. */
void kl_lock_keys_settle(struct kl_lock_relay *r, uint8_t made, uint8_t played, struct kl_frame *f) {
    if (!r->keyed && !r->keyboards) { /* as nearly always: no keys, and none to let go */
        for (KL_EACH(s, played))
            f->in[s].all_up = false;
        r->up &= made;
        return;
    }
    for (unsigned s = 0; s < KL_MAX_SEATS; s++) {
        struct kl_input *in = &f->in[s];
        if (!(made >> s & 1) && r->keys[s]) kl_keys_clear(r->keys[s]);
        if (!(made >> s & 1)) r->up &= (uint8_t) ~(1u << s);
        in->all_up = (in->all_up || !(played >> s & 1)) && (r->keyed >> s & 1);
    }
    kl_lock_keys_note(r, f);
}

void kl_lock_keys_note(struct kl_lock_relay *r, const struct kl_frame *f) {
    for (unsigned s = 0; s < KL_MAX_SEATS; s++) {
        if (f->in[s].all_up) r->keyed &= (uint8_t) ~(1u << s);
        if (f->in[s].key_count > 0) r->keyed |= (uint8_t)(1u << s);
    }
}

/* --- commands --- */

#define POLICY_BYTES 5
#define SWAP_BYTES   2
#define RATE_BYTES   4

static bool allowed(uint8_t kind, const uint8_t *data, size_t len) {
    switch (kind) {
    case KL_COMMAND_POLICY:
        return len == POLICY_BYTES && data[0] <= KL_POLICY_OPTIMISTIC && data[3] <= KL_SPACING_MAX &&
               data[4] <= KL_SPACING_MAX;
    case KL_COMMAND_SWAP: return len == SWAP_BYTES && data[0] < KL_MAX_SEATS && data[1] < KL_MAX_SEATS;
    case KL_COMMAND_PAUSE: return len == 0;
    case KL_COMMAND_RATE:
        return len == RATE_BYTES && kl_u32_at(data) >= KL_FPS_MIN && kl_u32_at(data) <= KL_FPS_MAX;
    default: return kind >= KL_COMMAND_FREE && len <= KL_COMMAND_BYTES;
    }
}

static struct kl_lock_client *giver(struct kl_lock_relay *r, unsigned client) {
    if (client == KL_RELAY_CLIENT) return &r->relay;
    return client < KL_MAX_CLIENTS && r->client[client].present ? &r->client[client] : NULL;
}

/* Chat has the lowest class of commands: the second half of the places is kept for those that change the
 * game. */
static bool no_place_for_chat(const struct kl_lock_relay *r, const struct kl_lock_client *c) {
    return 2 * c->queued >= KL_COMMANDS_MAX || 2 * r->commands_given >= KL_COMMAND_BURST;
}

int kl_lock_command(struct kl_lock_relay *r, unsigned client, uint8_t kind, const uint8_t *data, size_t len) {
    struct kl_lock_client *c = giver(r, client);
    if (!c || !r->started) return KL_E_STATE;
    if (!allowed(kind, data, len)) return KL_E_MALFORMED;
    if (c->queued == KL_COMMANDS_MAX) return KL_E_FULL;
    if (kind == KL_COMMAND_CHAT && no_place_for_chat(r, c)) return KL_E_FULL;
    struct kl_command *at = &c->queue[c->queued++];
    *at = (struct kl_command){.client = (uint8_t)client, .kind = kind, .len = (uint8_t)len};
    if (len) memcpy(at->data, data, len);
    return KL_OK;
}

static void change_policy(struct kl_lock_relay *r, const uint8_t *data) {
    if (data[0] == KL_POLICY_OPTIMISTIC && (!r->params.clocked || !r->params.subframes))
        return; /* has no meaning there */
    r->params.policy = data[0];
    r->params.wait_budget_ms = (uint16_t)(data[1] | data[2] << 8);
    r->params.spacing_fixed = data[3];
    r->params.lead_max = data[4];
}

/* Clients change at the frame at which their core does; a few frames later here make a few microseconds. */
static void change_rate(struct kl_lock_relay *r, uint32_t fps_uhz) {
    r->params.fps_uhz = fps_uhz;
    r->spacing.fps = fps_uhz / 1e6;
    kl_schedule_rate(&r->schedule, r->next_close, 1e12 / fps_uhz);
}

static void swap_seats(struct kl_lock_relay *r, unsigned a, unsigned b) {
    for (unsigned s = 0; s < KL_MAX_SEATS; s++) {
        uint8_t seat = r->plays[s];
        if (seat == a) r->plays[s] = (uint8_t)b;
        if (seat == b) r->plays[s] = (uint8_t)a;
    }
    swap_keys(r, a, b);
}

/* Commands also come from a journal: malformed ones do nothing. */
void kl_lock_act(struct kl_lock_relay *r, const struct kl_command *c) {
    if (!allowed(c->kind, c->data, c->len)) return;
    switch (c->kind) {
    case KL_COMMAND_POLICY: change_policy(r, c->data); break;
    case KL_COMMAND_SWAP: swap_seats(r, c->data[0], c->data[1]); break;
    case KL_COMMAND_PAUSE: r->pausing = true; break;
    case KL_COMMAND_RATE: change_rate(r, kl_u32_at(c->data)); break;
    default: break; /* the emulators' business */
    }
}

/* True if each client has this set, is lost anyway, or gets it by the history. */
static bool is_free(const struct kl_lock_relay *r, const struct kl_packed_set *set) {
    bool held = set->count > 0 && set->keyframe + KL_KEPT_FRAMES > r->next_close;
    if (!held) return true;
    for (KL_EACH(i, r->clients)) {
        const struct kl_lock_client *c = &r->client[i];
        bool by_update = c->present && c->link != KL_LINK_CUT && !c->fetching;
        if (by_update && c->frame_acked <= set->keyframe) return false;
    }
    return true;
}

static struct kl_packed_set *free_set(struct kl_lock_relay *r) {
    for (unsigned i = 0; i < kl_lock_sets(r); i++)
        if (is_free(r, kl_lock_set(r, i))) return (struct kl_packed_set *)kl_lock_set(r, i);
    return NULL;
}

void kl_lock_give_sets(struct kl_lock_relay *r, struct kl_packed_set *more) {
    memset(more, 0, KL_SETS_MORE * sizeof *more);
    r->more_commands = more;
    r->wants_commands = false;
}

/* Puts one command of this client into the set; false if it has none or there is no place for it. */
static bool give_one(struct kl_lock_client *c, struct kl_commands *set, unsigned *room) {
    if (c->queued == 0 || set->count == KL_COMMANDS_MAX || c->queue[0].len > *room) return false;
    set->at[set->count++] = c->queue[0];
    *room -= c->queue[0].len;
    memmove(c->queue, c->queue + 1, --c->queued * sizeof c->queue[0]);
    return true;
}

/* Every client keeps the commands that it has not run yet; no more are given than fit there. */
bool kl_lock_affords(struct kl_lock_relay *r, uint32_t frame) {
    uint32_t paid = KL_COMMAND_PACE * (frame - r->given_at);
    r->commands_given = r->commands_given > paid ? r->commands_given - paid : 0;
    r->given_at = frame;
    return r->commands_given < KL_COMMAND_BURST;
}

void kl_lock_give_commands(struct kl_lock_relay *r, struct kl_interval *next) {
    struct kl_packed_set *place = free_set(r);
    if (!place || !kl_lock_affords(r, next->first)) return;
    unsigned room = KL_COMMANDS_ROOM;
    struct kl_commands set = {.keyframe = next->first};
    kl_lock_drop_commands(r, place);
    for (bool more = true; more;) {
        more = give_one(&r->relay, &set, &room);
        for (unsigned i = 0; i < KL_MAX_CLIENTS; i++) {
            unsigned turn = (next->first + i) % KL_MAX_CLIENTS; /* nobody is always first */
            if (r->client[turn].present) more = give_one(&r->client[turn], &set, &room) || more;
        }
    }
    kl_packed_set_put(place, &set);
    next->commands = set.count > 0;
    if (set.count > 0) r->commands_given += kl_command_store_size(&set);
    r->wants_commands = !r->more_commands && set.count > 0 && !free_set(r);
    for (unsigned i = 0; i < set.count; i++)
        kl_lock_act(r, &set.at[i]);
}
