#include "net/platform/clock.h"
#include "core_wrapper/match/command.h"
#include "core_wrapper/match/join.h"
#include "core_wrapper/match/snapshot.h"
#include "core_wrapper/match/play.h"
#include "core_wrapper/match/run_ahead.h"
#include "core_wrapper/match/session.h"
#include "core_wrapper/abi/the_match.h"
#include "core_wrapper/match/state.h"

#include <stdio.h>
#include <string.h>

static void set_frame_limit(uint32_t frames) {
    m->emu.runner = true;
    m->play.limit = frames;
}

static void set_hash_callback(klw_hash_fn fn, void *user) {
    m->emu.runner = true;
    m->play.hash_fn = fn;
    m->play.hash_user = user;
}

static enum klw_phase phase(void) {
    if (m->state == KL_MATCH_BARE) return KLW_ALONE;
    switch (m->emu.phase) {
    case KL_PHASE_WAITING:
    case KL_PHASE_READY: return KLW_CONNECTING;
    case KL_PHASE_PLAYING:
        return m->play.limit && m->play.next_frame >= m->play.limit ? KLW_REACHED : KLW_PLAYING;
    case KL_PHASE_FREE:
    case KL_PHASE_LOCAL: return KLW_PLAYING;
    case KL_PHASE_IDLE:
    case KL_PHASE_DEAD: return KLW_ENDED;
    }
    return KLW_ENDED;
}

static void report(struct klw_report *out) {
    m->emu.runner = true;
    *out = m->play.report;
    out->phase = phase();
}

static uint32_t next_sample(void) {
    return kl_match_lockable(m->state) ? m->play.stats.next_sample : m->play.next_frame;
}

static double ratio(uint64_t a, uint64_t b) {
    return b ? (double)a / (double)b : 0;
}

static void fill_ahead(struct klw_final *out) {
    const struct kl_run_ahead_sum *s = &m->play.ahead.sum;
    out->ahead_avg = ratio(s->frames_sum, s->calls);
    out->felt_frames_avg = ratio(s->felt_sum, s->felt_count);
    out->ahead_breaks = s->breaks;
    out->ahead_by_pages = s->by_pages;
    out->guessed_wrong = ratio(s->wrong, s->compared);
    out->replayed_frames_s = ratio(s->replayed * 1000000, s->last_us - s->first_us);
    out->replay_ms_p99 = kl_run_ahead_replay_ms(s);
}

static void fill_final(struct klw_final *out) {
    const struct kl_client_stats *s = &m->status.lock;
    memset(out, 0, sizeof *out);
    out->frames = m->play.next_frame;
    out->stalls = m->play.stalls;
    out->longest_stall_ms = (double)m->play.stall_longest_us / 1000;
    out->lead_frames_avg = s->lead_count ? (double)s->lead_sum / (double)s->lead_count : 0;
    out->rtt_ms = s->rtt_us / 1000.0;
    out->late_frames = s->late_frames;
    out->direct_datagrams = m->status.direct_datagrams;
    fill_ahead(out);
    out->sent_bytes = s->sent_bytes;
    out->received_bytes = s->received_bytes;
    snprintf(out->turned, sizeof out->turned, "%.*s", KLW_TEXT_MAX - 1, m->emu.turned.turned);
    snprintf(out->left, sizeof out->left, "%.*s", KLW_TEXT_MAX - 1, m->emu.turned.left);
}

/* The relay's word on this frame: as finish() returns it, or 1 while it is not here. */
static int verdict_on(uint32_t label) {
    const struct kl_participant_status *s = &m->status;
    if (s->desync) return 2;
    if (s->any_verified && s->verified >= label) return 0;
    if (s->verdict.frame == label && s->verdict.complete) return 0;
    return s->phase == KL_PARTICIPANT_ENDED ? -1 : 1;
}

/* A client that stops at an unmarked frame while the others play on is the only one to report that frame. */
static bool alone_with(uint32_t label, bool so_far) {
    const struct kl_verdict *v = &m->status.verdict;
    return so_far || (v->frame == label && !v->complete && !v->differs);
}

static int wait_for_verdict(uint32_t label, unsigned timeout_ms) {
    uint64_t until_us = kl_now_us() + timeout_ms * UINT64_C(1000);
    bool alone = false;
    for (;;) {
        kl_session_update(m);
        if (!m->link) return m->play.report.desync ? 2 : -1;
        int v = verdict_on(label);
        if (v != 1 || kl_now_us() > until_us) return v;
        alone = alone_with(label, alone);
        if (alone && m->status.verdict.frame > label) return 0; /* the room has gone on past it */
        kl_link_wait(m->link, 5000);
    }
}

/* Lets a healing under way end first. */
static void heal(unsigned timeout_ms) {
    uint64_t until_us = kl_now_us() + timeout_ms * UINT64_C(1000);
    while (kl_snapshot_busy(m) && m->link && kl_now_us() < until_us) {
        kl_session_update(m);
        kl_heal_rerun(m, kl_now_us());
        kl_heal_turn(m);
        if (m->link) kl_link_wait(m->link, 1000);
    }
}

static int finish(unsigned timeout_ms, struct klw_final *out) {
    int result = 0;
    if (m->link && m->emu.phase == KL_PHASE_PLAYING && m->play.next_frame) {
        uint32_t label = m->play.next_frame - 1;
        heal(timeout_ms);
        kl_play_hash(m, label);
        result = wait_for_verdict(label, timeout_ms);
    } else if (kl_match_lockable(m->state))
        result = -1;
    fill_final(out);
    if (m->link) {
        kl_join_leave(m, timeout_ms < 1000 ? timeout_ms : 1000);
        kl_match_on(m, KL_ON_DIE);
    }
    return result;
}

static int command(const char *words, char *answer, size_t cap) {
    if (kl_match_lockable(m->state)) return kl_command_do(m, words, answer, cap);
    snprintf(answer, cap, "this core plays in no room");
    return -1;
}

static const char *error(void) {
    return m->front.error;
}

RETRO_API const struct klw_api *keylock_wrapper_api(void) {
    static const struct klw_api api = {
        .version = KLW_API_VERSION,
        .set_frame_limit = set_frame_limit,
        .set_hash_callback = set_hash_callback,
        .report = report,
        .next_sample = next_sample,
        .finish = finish,
        .error = error,
        .command = command,
    };
    return &api;
}
