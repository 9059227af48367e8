/* The part of ref_relay.h about sessions that end and a relay that comes back, and of check.h likewise. */
#include <stdlib.h>
#include <string.h>

#include "tests/sim/ref_pace.h"
#include "tests/sim/check.h"

void ref_room_cut(struct ref_relay *r, unsigned client) {
    struct ref_client *c = &r->client[client];
    c->link = REF_CUT;
    if (r->started && c->pads) ref_make_absent(c);
}

void ref_room_return(struct ref_relay *r, unsigned client, uint32_t have) {
    struct ref_client *c = &r->client[client];
    ref_room_cut(r, client);
    c->link = c->pads ? REF_BACK : REF_UP;
    c->away = c->heard = false;
    c->acked = have;
    c->next_sample = c->resumed = c->unused = 0;
}

uint8_t ref_room_held_for(const struct ref_relay *r, uint64_t now_us) {
    uint8_t pads = 0;
    bool holds = r->params.policy == KL_POLICY_STRICT || now_us < r->hold_until_us;
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++)
        if (r->client[i].in_room && !r->client[i].joining && r->client[i].link != REF_UP)
            pads |= r->client[i].pads;
    return holds && r->started && !r->paused ? pads : 0;
}

/* Commands of keyframes that are no more. */
static void forget_commands(struct ref_relay *r, uint32_t at) {
    for (unsigned i = 0; i < KL_WINDOW_FRAMES; i++)
        if (r->commands[i].count > 0 && r->commands[i].keyframe >= at) r->commands[i].count = 0;
    while (r->sets > 0 && r->held[(r->sets - 1) % KL_WINDOW_FRAMES] >= at)
        r->sets--;
}

static void put_out(struct ref_client *c) {
    if (c->pads) {
        c->presence = REF_ABSENT;
        c->counted_from = REF_NEVER;
    }
    c->link = REF_CUT;
    c->joining = false;
    c->away = c->heard = false;
    c->acked = c->next_sample = c->resumed = c->unused = 0;
    c->queued = 0;
}

void ref_room_rewind(struct ref_relay *r, uint32_t at, const struct kl_frame *shown, uint64_t hold_us,
                     uint64_t now_us) {
    uint32_t number = r->now.number;
    while (number > 0 && r->past[number % REF_SPANS].span.at.first >= at)
        number--;
    const struct ref_past *past = &r->past[number % REF_SPANS];
    r->now = past->span;
    r->before = number > 0 ? r->past[(number - 1) % REF_SPANS].span : (struct ref_span){0};
    r->params = past->params;
    r->pausing = past->pausing;
    r->paused = false;
    memcpy(r->plays, past->plays, sizeof r->plays);
    memcpy(r->shown, shown->in, sizeof r->shown);
    forget_commands(r, at);
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++)
        put_out(&r->client[i]);
    put_out(&r->relay);
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++)
        ref_pace_forget(&r->client[i]);
    r->next = at;
    r->keyed = r->keyed_at[(at - 1) % REF_RING];
    r->last_close_us = r->charged_us = now_us;
    r->hold_until_us = hold_us ? now_us + hold_us : 0;
}

/* --- truth --- */

static uint64_t mix(uint64_t h, uint64_t v) {
    h = (h ^ v) * UINT64_C(0x9e3779b97f4a7c15);
    return h ^ h >> 29;
}

static uint64_t mix_input(uint64_t h, const struct kl_input *in) {
    h = mix(h, in->joypad | (uint64_t)in->mouse_buttons << 16 | (uint64_t)in->gun_buttons << 32);
    for (unsigned i = 0; i < 4; i++)
        h = mix(h, (uint16_t)in->stick[i]);
    h = mix(h, (uint16_t)in->trigger[0] | (uint64_t)(uint16_t)in->trigger[1] << 16);
    h = mix(h, (uint16_t)in->mouse_x | (uint64_t)(uint16_t)in->mouse_y << 16);
    h = mix(h, (uint16_t)in->gun_x | (uint64_t)(uint16_t)in->gun_y << 16);
    for (unsigned i = 0; i < KL_TOUCHES; i++)
        h = mix(h, (uint16_t)in->touch[i].x | (uint64_t)(uint16_t)in->touch[i].y << 16 |
                       (uint64_t)in->touch[i].pressed << 32);
    for (unsigned i = 0; i < in->key_count; i++) {
        const struct kl_key *k = &in->key[i];
        h = mix(h, k->code | (uint64_t)k->modifiers << 16 | (uint64_t)k->down << 32 |
                       (uint64_t)k->character << 33);
    }
    return mix(h, in->key_count | (uint64_t)in->all_up << 8);
}

uint64_t truth_print(const struct kl_frame *f, const struct kl_commands *commands) {
    uint64_t h = mix(f->number, f->keyframe);
    h = mix(h, f->spacing | (uint64_t)f->flags << 16 | (uint64_t)f->active << 32);
    for (unsigned s = 0; s < KL_MAX_SEATS; s++)
        h = mix_input(h, &f->in[s]);
    if (!(f->flags & KL_FRAME_COMMANDS) || !commands) return h;
    h = mix(h, commands->count);
    for (unsigned i = 0; i < commands->count; i++) {
        const struct kl_command *c = &commands->at[i];
        h = mix(h, c->client | (uint64_t)c->kind << 8 | (uint64_t)c->len << 16);
        for (unsigned k = 0; k < c->len; k++)
            h = mix(h, c->data[k]);
    }
    return h;
}

void truth_rewind(struct truth *t, const struct kl_lock_relay *room, uint32_t at, uint64_t hold_us,
                  uint64_t relay_us) {
    t->next = at;
    ref_room_rewind(&t->ref, at, &t->frame[(at - 1) % REF_RING], hold_us, relay_us);
    for (unsigned s = 0; s < KL_MAX_SEATS; s++) /* the others let all keys go in the next frame */
        if (!(t->ref.keyed >> s & 1)) ref_keyboard_clear(&t->keyboard, s);
    t->ref.schedule = room->schedule;
}

void truth_clear(struct truth *t) {
    free(t->print);
    t->print = NULL;
    t->prints = 0;
}
