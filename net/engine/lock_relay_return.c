#include "net/engine/lock_relay_return.h"

#include <string.h>

#include "net/engine/lock_relay_private.h"

#define NEAR_FRAMES                                                                                          \
    (KL_KEPT_FRAMES / 4)   /* so near to the newest frame UPDATEs take over from the history                 \
                            */
#define FIRST_DUE_US 50000 /* as kl_lock_start() */

static struct kl_lock_client *client_at(struct kl_lock_relay *r, unsigned client) {
    return client < KL_MAX_CLIENTS && r->client[client].present ? &r->client[client] : NULL;
}

uint8_t kl_lock_out(const struct kl_lock_relay *r) {
    uint8_t pads = r->hold_for;
    for (KL_EACH(i, r->clients)) {
        const struct kl_lock_client *c = &r->client[i];
        if (c->present && !c->joining && c->link != KL_LINK_UP) pads |= c->seats;
    }
    return pads;
}

void kl_lock_cut(struct kl_lock_relay *r, unsigned client, uint64_t now_us) {
    struct kl_lock_client *c = client_at(r, client);
    if (!c) return;
    c->link = KL_LINK_CUT;
    c->fetching = false;
    c->cursor = UINT32_MAX;
    if (!r->started) return;
    if (c->seats) kl_lock_set_absent(r, c);
    kl_lock_close_frames(r, now_us);
}

/* --- coming back --- */

const struct kl_commands *kl_lock_commands(const struct kl_lock_relay *r, uint32_t keyframe,
                                           struct kl_commands *out) {
    for (unsigned i = 0; i < kl_lock_sets(r); i++) {
        const struct kl_packed_set *set = kl_lock_set(r, i);
        if (set->count == 0 || set->keyframe != keyframe) continue;
        kl_packed_set_get(set, out);
        return out;
    }
    return NULL;
}

/* Whether UPDATEs can bring all that it lacks: they reach so far back, and the commands are still there. */
static bool near_enough(const struct kl_lock_relay *r, const struct kl_lock_client *c) {
    return c->frame_acked + NEAR_FRAMES >= r->next_close && c->frame_acked >= r->commands_from;
}

int kl_lock_return(struct kl_lock_relay *r, unsigned client, uint32_t have, uint64_t now_us) {
    struct kl_lock_client *c = client_at(r, client);
    if (!c || !r->started) return KL_E_STATE;
    if (have > r->next_close) return KL_E_WINDOW;
    kl_lock_cut(r, client, now_us);
    c->link = c->seats ? KL_LINK_BACK : KL_LINK_UP;
    c->frame_acked = c->shown = c->history_next = c->sent_end = have;
    c->again = c->gap_end = 0;
    memset(c->sent, 0, KL_SENT_KEPT * sizeof c->sent[0]);
    c->fetching = !near_enough(r, c);
    c->next_sample = c->resumed_at = c->used = 0;
    c->backlog = 0;
    c->left_spacing = 0; /* a new session may have another link */
    c->away = c->heard = false;
    c->burst = 0;
    c->burst_at_us = 0;
    c->owed = true;
    return KL_OK;
}

void kl_lock_fetch(struct kl_lock_relay *r, unsigned client) {
    struct kl_lock_client *c = client_at(r, client);
    if (!c || c->fetching || c->link == KL_LINK_CUT) return;
    c->fetching = true;
    c->history_next = c->frame_acked;
    c->cursor = UINT32_MAX;
}

void kl_lock_note_acked(const struct kl_lock_relay *r, struct kl_lock_client *c) {
    if (c->fetching && near_enough(r, c)) c->fetching = false;
}

/* Whole pieces; a smaller one if no other is under way. */
bool kl_lock_wants_history(const struct kl_lock_relay *r, unsigned client, uint32_t *from) {
    if (client >= KL_MAX_CLIENTS || !r->client[client].present) return false;
    const struct kl_lock_client *c = &r->client[client];
    uint32_t run = c->frame_acked - c->backlog;
    *from = c->history_next;
    if (!c->fetching || *from >= r->next_close || *from >= run + KL_HISTORY_AHEAD) return false;
    return *from + KL_PIECE_FRAMES <= r->next_close || c->frame_acked >= *from;
}

void kl_lock_gave_history(struct kl_lock_relay *r, unsigned client, uint32_t end) {
    struct kl_lock_client *c = client_at(r, client);
    if (c && end > c->history_next) c->history_next = end;
}

bool kl_lock_fetching(const struct kl_lock_relay *r, unsigned client) {
    return client < KL_MAX_CLIENTS && r->client[client].present && r->client[client].fetching;
}

/* --- after the relay died --- */

static void adopt_commands(struct kl_lock_relay *r, const struct kl_commands *commands) {
    struct kl_packed_set *oldest = &r->commands[0];
    for (unsigned i = 0; i < kl_lock_sets(r); i++) {
        struct kl_packed_set *set = (struct kl_packed_set *)kl_lock_set(r, i);
        if (set->count == 0 || (oldest->count > 0 && set->keyframe < oldest->keyframe)) oldest = set;
    }
    kl_lock_drop_commands(r, oldest);
    kl_packed_set_put(oldest, commands);
    kl_lock_affords(r, commands->keyframe);
    r->commands_given += kl_command_store_size(commands);
    for (unsigned i = 0; i < commands->count; i++)
        kl_lock_act(r, &commands->at[i]);
}

static void adopt_interval(struct kl_lock_relay *r, const struct kl_frame *f,
                           const struct kl_commands *commands) {
    struct kl_interval next = {.first = f->number,
                               .length = f->spacing,
                               .sample_first = r->now.sample_first + r->now.samples,
                               .samples = r->params.subframes ? f->spacing : 1u,
                               .hash = f->flags & KL_FRAME_HASH,
                               .commands = f->flags & KL_FRAME_COMMANDS,
                               .by_clock = f->flags & KL_FRAME_BY_CLOCK,
                               .samples_end = UINT32_MAX};
    r->pausing = false; /* it went on after all */
    if (next.commands) adopt_commands(r, commands);
    /* The pads that play these seats. */
    uint8_t seats = f->active;
    uint8_t pads = 0;
    for (unsigned s = 0; s < KL_MAX_SEATS; s++)
        if (seats >> r->plays[s] & 1) pads |= (uint8_t)(1u << s);
    next.active = pads;
    if (next.by_clock && r->params.policy != KL_POLICY_OPTIMISTIC) next.samples_end = next.sample_first;
    uint32_t every = r->params.hash_every;
    if (f->number == 0) r->hash_next = every;
    if (next.hash && every) r->hash_next = (f->number / every + 1) * every;
    r->before = r->now;
    r->now = next;
}

int kl_lock_adopt(struct kl_lock_relay *r, const struct kl_frame *f, const struct kl_commands *commands) {
    bool key = f->number == r->now.first + r->now.length;
    bool marked = f->flags & KL_FRAME_COMMANDS;
    if (r->started) return KL_E_STATE;
    if (f->number != r->next_close) return KL_E_WINDOW;
    if (f->keyframe != (key ? f->number : r->now.first) || key != (bool)(f->flags & KL_FRAME_KEY))
        return KL_E_MALFORMED;
    if (f->spacing < KL_SPACING_MIN || f->spacing > KL_SPACING_MAX) return KL_E_MALFORMED;
    if ((!key && f->spacing != r->now.length) || (marked && (!commands || commands->keyframe != f->number)))
        return KL_E_MALFORMED;
    if (key) adopt_interval(r, f, commands);
    kl_lock_keys_note(r, f);
    if (!r->near.history) kl_lock_keep_near(r, f);
    r->next_hand = ++r->next_close;
    return KL_OK;
}

int kl_lock_adopt_interval(struct kl_lock_relay *r, const struct kl_frame *key,
                           const struct kl_commands *commands) {
    bool marked = key->flags & KL_FRAME_COMMANDS;
    if (r->started) return KL_E_STATE;
    if (key->number != r->next_close) return KL_E_WINDOW;
    if (key->number != r->now.first + r->now.length || !(key->flags & KL_FRAME_KEY)) return KL_E_MALFORMED;
    if (key->spacing < KL_SPACING_MIN || key->spacing > KL_SPACING_MAX) return KL_E_MALFORMED;
    if (marked && (!commands || commands->keyframe != key->number)) return KL_E_MALFORMED;
    adopt_interval(r, key, commands);
    r->keyed |= key->active; /* its inputs were not read */
    r->next_hand = r->next_close += key->spacing;
    return KL_OK;
}

int kl_lock_reopen(struct kl_lock_relay *r, uint64_t hold_us, uint64_t now_us) {
    if (r->started || r->now.length == 0 || r->owned == 0) return KL_E_STATE;
    for (KL_EACH(i, r->clients)) {
        struct kl_lock_client *c = &r->client[i];
        c->link = KL_LINK_CUT;
        if (c->seats) c->presence = KL_ABSENT;
    }
    kl_spacing_init(&r->spacing, (uint16_t)r->now.length, kl_lock_lead_max(r), r->params.fps_uhz / 1e6,
                    r->next_close);
    kl_schedule_start(&r->schedule, now_us + FIRST_DUE_US, kl_lock_period_us(r));
    r->schedule.t0_us -= r->next_close * kl_lock_period_us(r);
    r->last_close_us = r->charged_us = now_us;
    r->hold_until_us = hold_us ? now_us + hold_us : 0;
    r->started = true;
    kl_lock_close_frames(r, now_us); /* a pause at its last keyframe begins */
    return KL_OK;
}
