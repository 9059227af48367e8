#include "core_wrapper/match/session.h"

#include <stdio.h>
#include <string.h>

#include "core_wrapper/match/command.h"
#include "core_wrapper/match/match.h"
#include "core_wrapper/match/play.h"
#include "core_wrapper/match/replay.h"
#include "core_wrapper/match/state.h"
#include "core_wrapper/record/record.h"

#define HASH_FRAMES 60
#define HELP_MS     4000

/* The run's file says of its room what the token says. */
static bool begin(struct kl_match *m) {
    struct kl_replay *r = &m->play.replay;
    struct kl_recording *token = r->rec;
    struct kl_participant_status *s = &m->status;
    kl_copy_cut(m->join.request.room, sizeof m->join.request.room, token->room.name);
    m->join.config.hello.facts = token->room.facts;
    if (!kl_replay_begin(m)) return false;
    s->welcome.client = 0;
    s->welcome.seats = 1;
    memcpy(s->welcome.room_id, token->head.room_id, sizeof s->welcome.room_id);
    memcpy(s->relay_key, token->head.relay_key, sizeof s->relay_key);
    kl_copy_cut(s->welcome.match, sizeof s->welcome.match, token->room.match);
    m->play.own_seats = 1;
    kl_record_begin(&m->record, token->start, token->start_len);
    if (!m->record.recorder.on) {
        kl_frontend_fail(&m->front, "the run cannot be recorded: %s", m->config.record);
        kl_match_on(m, KL_ON_DIE);
        return false;
    }
    kl_recorder_seal(&m->record.recorder, &token->seal);
    char lock[sizeof m->config.record + sizeof KL_RECORDING_LOCK];
    snprintf(lock, sizeof lock, "%s" KL_RECORDING_LOCK, m->config.record);
    r->locked = kl_file_lock(&r->lock, lock, false, NULL, 0) == 0;
    kl_play_hold_pace(m, true);
    r->begun = true;
    kl_frontend_say(&m->front, KL_SCREEN_INFO, HELP_MS, "the challenge %s begins: you play alone",
                    token->room.name);
    return true;
}

/* Of the state after the newest frame. */
static void hash(struct kl_match *m) {
    kl_play_hash(m, m->play.next_frame - 1);
    kl_chain_label(&m->play.chain);
}

static void run_next(struct kl_match *m) {
    uint32_t n = m->play.next_frame, offset = n % KL_SPACING_MAX;
    struct kl_frame f = {.number = n,
                         .keyframe = n - offset,
                         .spacing = KL_SPACING_MAX,
                         .flags = offset ? 0 : KL_FRAME_KEY,
                         .active = 1};
    if (n && n % HASH_FRAMES == 0) hash(m);
    kl_latch_sample(&m->emu.latch, f.in, 1);
    (void)kl_core_run_frame(m, &m->play.run, &f, NULL, false, false);
    m->play.next_frame = n + 1;
    m->play.report.run = 1;
    m->play.report.first = m->play.report.last = n;
}

void kl_challenge_turn(struct kl_match *m, uint64_t now_us) {
    bool over = m->play.limit && m->play.next_frame >= m->play.limit; /* a runner's */
    if (m->emu.phase == KL_PHASE_DEAD || over || (!m->play.replay.begun && !begin(m))) {
        kl_play_idle(m, now_us);
        return;
    }
    if (m->front.call.input_poll) m->front.call.input_poll();
    if (m->front.call.input_state) kl_latch_poll(&m->emu.latch, m->front.call.input_state, 1);
    m->play.stats.next_sample++; /* a runner's script goes by polls */
    kl_pace_call(&m->play.pace, now_us);
    run_next(m);
    kl_audio_call(&m->emu.audio, 1, now_us, m->play.pace.interval_us, m->front.call.audio_batch);
}

void kl_challenge_end(struct kl_match *m) {
    bool plays = m->play.replay.token && m->record.recorder.on && m->emu.core.game_loaded;
    if (plays && m->play.next_frame) hash(m);
}
