#include "core_wrapper/match/session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "net/platform/clock.h"
#include "core_wrapper/match/join.h"
#include "core_wrapper/match/choice.h"
#include "core_wrapper/match/command.h"
#include "core_wrapper/match/control.h"
#include "core_wrapper/match/room_profile.h"
#include "core_wrapper/match/load.h"
#include "core_wrapper/match/replay.h"
#include "core_wrapper/match/snapshot.h"
#include "core_wrapper/match/state.h"
#include "core_wrapper/match/take_over.h"
#include "core_wrapper/match/talking.h"
#include "core_wrapper/netplay/netplay.h"
#include "core_wrapper/match/overlay.h"
#include "core_wrapper/match/play.h"
#include "core_wrapper/record/record.h"
#include "core_wrapper/match/run_ahead.h"
#include "core_wrapper/match/match.h"

#define LINGER_MS 300
#define FRONT_MS  5000 /* RetroArch's own lines about a load are gone by then */
#define ASKED_MS  8000 /* a line that a key answers */

bool kl_session_open(struct kl_match *m) {
    kl_overlay_reset(m);
    kl_screen_wait(&m->front.screen, m->emu.runner ? 0 : FRONT_MS);
    kl_command_end(m); /* nobody has swapped */
    return kl_config_replay() ? kl_replay_open(m) : kl_choice_open(m);
}

/* --- actions --- */

static void die(struct kl_match *m, const char *why) {
    kl_frontend_fail(&m->front, "%s", why);
    kl_match_on(m, KL_ON_DIE);
    kl_join_leave(m, 0);
}

static void give_start(struct kl_match *m) {
    char err[KLW_TEXT_MAX];
    uint8_t *data;
    size_t len;
    int made = kl_take_over_start_data(m, &data, &len, err, sizeof err);
    if (made > 0) made = kl_load_start_data(m, m->status.bare, &data, &len, err, sizeof err);
    if (made != 0) {
        die(m, err);
        return;
    }
    bool given = kl_participant_give_start(kl_link_hold(m->link), data, len);
    kl_link_release(m->link);
    if (!given) free(data);
}

static void load_afresh(struct kl_match *m) {
    char err[KLW_TEXT_MAX];
    if (kl_load_afresh(m, m->status.start, m->status.start_len, m->status.prepare.epoch_s, err, sizeof err) !=
        0) {
        die(m, err);
        return;
    }
    kl_match_on(m, KL_ON_LOADED);
    if (kl_run_ahead_wants(m)) kl_load_shown(m);
    m->play.own_saves = m->play.begins_free = false;
    kl_frontend_log(&m->front, "world turned=%s left=%s", m->emu.turned.turned, m->emu.turned.left);
    kl_checks_loaded(m);
}

static void begin(struct kl_match *m) {
    kl_choice_begun(m);
    m->play.own_seats = (unsigned)__builtin_popcount(m->status.welcome.seats);
    kl_match_on(m, KL_ON_BEGIN);
    kl_command_begin(m);
    kl_command_give_begin(m);
    kl_play_begin(m);
    kl_control_begin(m);
    kl_record_begin(&m->record, m->status.start, m->status.start_len);
    kl_play_hold_pace(m, true);
    kl_overlay_begin(m);
    /* From 1; 0: any. */
    unsigned seat = kl_take_over_begin(m);
    char words[32];
    unsigned own = m->play.own_seats ? (unsigned)__builtin_ctz(m->status.welcome.seats) + 1 : seat;
    snprintf(words, sizeof words, "swap %u %u", own, seat);
    if (seat && seat != own) kl_command_key(m, words);
}

static void end(struct kl_match *m) {
    char advice[KL_ADVICE_MAX], why[KL_ADVICE_MAX + KL_TEXT_MAX + KL_SNAPSHOT_LACKED + 6];
    const char *lacked = kl_snapshot_lacked(m);
    if (kl_join_anew(m)) return;
    if (m->emu.phase != KL_PHASE_PLAYING && kl_choice_ended(m)) return;
    bool playing = m->emu.phase == KL_PHASE_PLAYING;
    if (!playing || m->emu.runner) {
        kl_advice(m->status.refused, m->status.reason, m->join.request.room, advice);
        bool news = strcmp(advice, m->status.reason) != 0;
        snprintf(why, sizeof why, "%s%s%s%s%s%s", lacked, *lacked ? ": " : "", advice, news ? " (" : "",
                 news ? m->status.reason : "", news ? ")" : "");
        die(m, why);
        return;
    }
    snprintf(m->front.error, sizeof m->front.error, "%s", m->status.reason);
    kl_frontend_say(&m->front, KL_SCREEN_WARNING, 6000, "the room is gone, the game goes on alone: %s",
                    *lacked ? lacked : m->status.reason);
    kl_join_leave(m, 0);
    kl_match_on(m, KL_ON_GONE);
}

/* --- a call --- */

static bool room_plays(struct kl_match *m) {
    const struct kl_roster *r = &m->status.roster;
    for (unsigned i = 0; i < r->count && i < KL_MAX_CLIENTS; i++)
        if (r->member[i].state == KL_MEMBER_PLAYING) return true;
    return false;
}

/* All players but one have loaded, and that one has left or was refused. The core is the player's own again
 * until the seats are filled, and is then loaded for the room once more. */
static void follow_seats(struct kl_match *m) {
    const struct kl_roster *r = &m->status.roster;
    bool ready = m->status.phase == KL_PARTICIPANT_READY, begins = m->status.phase == KL_PARTICIPANT_PLAYING;
    bool lacks = ready && r->filled < r->players && !room_plays(m);
    if (lacks)
        kl_match_on(m, KL_ON_UNSEATED);
    else if (m->emu.phase == KL_PHASE_FREE && ((ready && !lacks) || begins))
        load_afresh(m);
}

/* The room may begin with a state of another machine. */
static void load_if_agreed(struct kl_match *m) {
    static const char why[] = "not begun: you have not agreed to another's state";
    switch (kl_take_over_answer(m, kl_now_us())) {
    case KL_TAKE_OVER_GO: load_afresh(m); break;
    case KL_TAKE_OVER_WAIT: break;
    case KL_TAKE_OVER_NO:
        if (m->emu.runner) {
            die(m, why);
        } else {
            kl_frontend_say(&m->front, KL_SCREEN_WARNING, ASKED_MS, "%s", why);
            kl_choice_leave(m);
        }
    }
}

/* Acts on the newest status. May end the session. */
static void follow(struct kl_match *m, enum kl_participant_phase before) {
    switch (m->status.phase) {
    case KL_PARTICIPANT_SEND_START: give_start(m); break;
    case KL_PARTICIPANT_LOAD:
        if (!m->join.checks.owed) load_if_agreed(m);
        break;
    case KL_PARTICIPANT_READY: follow_seats(m); break;
    case KL_PARTICIPANT_PLAYING:
        follow_seats(m);
        if (before != KL_PARTICIPANT_PLAYING && m->emu.phase == KL_PHASE_READY) begin(m);
        break;
    case KL_PARTICIPANT_ENDED: end(m); break;
    case KL_PARTICIPANT_CONNECTING:
    case KL_PARTICIPANT_WAITING:
    case KL_PARTICIPANT_FETCHING:
    case KL_PARTICIPANT_RETURNING: break;
    }
}

void kl_session_update(struct kl_match *m) {
    static struct kl_participant_status was;
    was = m->status;
    kl_participant_status(kl_link_hold(m->link), &m->status);
    kl_link_release(m->link);
    m->play.stats = m->status.lock;
    if (m->status.phase >= KL_PARTICIPANT_WAITING && m->status.phase <= KL_PARTICIPANT_PLAYING)
        kl_match_on(m, KL_ON_WELCOME);
    kl_join_invite(m);
    kl_news_tell(m, &was);
    follow(m, was.phase);
}

/* Before the frame: the link's news, and the player's other ways into and out of a room. */
static void beside(struct kl_match *m, uint64_t now_us) {
    if (m->link) kl_session_update(m);
    if (m->link) kl_checks_turn(m, now_us);
    if (m->link) kl_learn_turn(m, now_us);
    if (m->link) kl_talking_turn(m);
    kl_choice_turn(m, now_us);
    struct kl_netplay_ask ask = kl_netplay_turn(&m->netplay, now_us);
    const struct kl_url *to = &ask.to;
    if (ask.leaves) kl_choice_netplay_over(m);
    if (ask.enters)
        kl_netplay_entered(&m->netplay, kl_choice_netplay(m, to->host, to->port, to->fingerprint, to->room));
    kl_control_turn(m, now_us);
    kl_overlay_turn(m, now_us);
}

static void run(struct kl_match *m, uint64_t from_us) {
    beside(m, from_us);
    switch (m->emu.phase) {
    case KL_PHASE_PLAYING:
        if (m->link && kl_run_ahead_wants(m)) kl_load_shown(m); /* switched on in play */
        kl_play_turn(m, from_us);
        break;
    case KL_PHASE_FREE:
    case KL_PHASE_LOCAL: kl_play_local(m, kl_choice_still(m), from_us); break;
    case KL_PHASE_IDLE:
    case KL_PHASE_WAITING:
    case KL_PHASE_READY:
    case KL_PHASE_DEAD: kl_play_idle(m, from_us); break;
    }
    kl_netplay_send(&m->netplay);
}

void kl_session_run(struct kl_match *m) {
    uint64_t from_us = kl_now_us();
    m->play.report.event[0] = 0;
    if (kl_replay_on(m)) {
        kl_overlay_turn(m, from_us);
        if (m->play.replay.token)
            kl_challenge_turn(m, from_us);
        else
            kl_replay_turn(m, from_us);
        if (!kl_replay_on(m)) {
            /* A recording was taken over, for a room. */
            kl_command_end(m);
            memset(&m->status, 0, sizeof m->status);
            if (!kl_choice_open(m)) kl_match_on(m, KL_ON_DIE);
        }
    } else {
        run(m, from_us);
    }
    kl_play_lasting(m, false);
    kl_record_turn(&m->record, from_us, &m->play.report);
}

void kl_session_close(struct kl_match *m) {
    kl_play_lasting(m, true);
    if (m->emu.phase == KL_PHASE_PLAYING) kl_play_hold_pace(m, false);
    kl_join_leave(m, LINGER_MS);
    kl_record_end(&m->record);
    kl_replay_close(m);
    kl_take_over_free(m);
    kl_choice_close(m);
    kl_match_on(m, KL_ON_CLOSE);
    kl_overlay_reset(m);
    kl_checks_close(m);
    kl_load_close(m);
    m->front.said.states = m->front.said.loads = m->front.said.cheats = m->front.said.disk =
        m->front.said.desync = m->front.said.left = false;
    m->emu.told.tray_open = false;
    kl_control_end(m);
    kl_control_release(m);
    kl_command_end(m);
    memset(&m->status, 0, sizeof m->status);
}
