#include "core_wrapper/match/state.h"

#include <stdint.h>

#include "core_wrapper/match/play.h"

#define OF(s)   (UINT32_C(1) << KL_MATCH_##s)
#define RUNNING (OF(ALONE) | OF(READING) | OF(LOOKING) | OF(ASKING) | OF(WAITING) | OF(RETRYING))
#define STILL   (OF(STILL) | OF(READING_STILL) | OF(LOOKING_STILL) | OF(ASKING_STILL) | OF(WAITING_STILL))
#define LOADED  (OF(READY) | OF(READY_STILL))
#define CONTENT ~(OF(NONE) | OF(BARE))

_Static_assert(KL_MATCH_STATES <= 32, "sets of states are of 32 bits");

static const struct {
    enum kl_match_event event;
    uint32_t from;
    enum kl_match_state to;
} rule[] = {
    {KL_ON_CLOSED_CORE, ~UINT32_C(0), KL_MATCH_NONE},
    {KL_ON_BARE, OF(NONE), KL_MATCH_BARE},
    {KL_ON_LOCKABLE, OF(NONE), KL_MATCH_IDLE},
    {KL_ON_FREE, CONTENT, KL_MATCH_ALONE},
    {KL_ON_STAND, CONTENT, KL_MATCH_STILL},
    {KL_ON_READ, OF(ALONE), KL_MATCH_READING},
    {KL_ON_READ, OF(STILL), KL_MATCH_READING_STILL},
    {KL_ON_LOOK, OF(ALONE), KL_MATCH_LOOKING},
    {KL_ON_LOOK, OF(STILL), KL_MATCH_LOOKING_STILL},
    {KL_ON_DIAL, RUNNING, KL_MATCH_ASKING},
    {KL_ON_DIAL, STILL, KL_MATCH_ASKING_STILL},
    {KL_ON_WELCOME, OF(ASKING), KL_MATCH_WAITING},
    {KL_ON_WELCOME, OF(ASKING_STILL), KL_MATCH_WAITING_STILL},
    {KL_ON_HANG_UP, RUNNING, KL_MATCH_ALONE},
    {KL_ON_HANG_UP, STILL, KL_MATCH_STILL},
    {KL_ON_SILENCE, OF(ALONE), KL_MATCH_RETRYING},
    {KL_ON_LOADED, RUNNING | OF(READY), KL_MATCH_READY},
    {KL_ON_LOADED, STILL | OF(PLAYING), KL_MATCH_READY_STILL},
    {KL_ON_UNSEATED, OF(READY), KL_MATCH_WAITING},
    {KL_ON_PUT_BACK, LOADED, KL_MATCH_STILL},
    {KL_ON_BEGIN, LOADED, KL_MATCH_PLAYING},
    {KL_ON_GONE, OF(PLAYING) | OF(REPLAYING), KL_MATCH_AFTER},
    {KL_ON_REPLAY, OF(IDLE), KL_MATCH_REPLAY},
    {KL_ON_SHOW, OF(REPLAY), KL_MATCH_REPLAYING},
    {KL_ON_DIE, CONTENT, KL_MATCH_DEAD},
    {KL_ON_CLOSE, CONTENT, KL_MATCH_IDLE},
};

enum kl_match_state kl_match_next(enum kl_match_state s, enum kl_match_event e) {
    for (unsigned i = 0; i < sizeof rule / sizeof rule[0]; i++)
        if (rule[i].event == e && rule[i].from >> s & 1) return rule[i].to;
    return s;
}

enum kl_phase kl_match_phase(enum kl_match_state s) {
    if (RUNNING >> s & 1) return KL_PHASE_FREE;
    if (STILL >> s & 1 || s == KL_MATCH_REPLAY) return KL_PHASE_WAITING;
    if (LOADED >> s & 1) return KL_PHASE_READY;
    if (s == KL_MATCH_PLAYING || s == KL_MATCH_REPLAYING) return KL_PHASE_PLAYING;
    if (s == KL_MATCH_AFTER) return KL_PHASE_LOCAL;
    return s == KL_MATCH_DEAD ? KL_PHASE_DEAD : KL_PHASE_IDLE;
}

void kl_match_on(struct kl_match *m, enum kl_match_event e) {
    const enum kl_phase was = m->emu.phase;
    m->state = kl_match_next(m->state, e);
    m->emu.phase = kl_match_phase(m->state);
    if (m->emu.phase == KL_PHASE_FREE && was != KL_PHASE_FREE && was != KL_PHASE_LOCAL)
        m->play.begins_free = true;
    if (m->emu.phase != KL_PHASE_LOCAL || was == KL_PHASE_LOCAL) return;
    kl_play_hold_pace(m, false);
    kl_latch_press_again(&m->emu.latch); /* samples under way are lost */
}
