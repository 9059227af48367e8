#include "core_wrapper/match/session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "net/platform/clock.h"
#include "net/platform/local.h"
#include "core_wrapper/match/challenge.h"
#include "core_wrapper/match/choice.h"
#include "core_wrapper/match/command.h"
#include "net/session/command_words.h"
#include "core_wrapper/match/control.h"
#include "core_wrapper/match/join.h"
#include "core_wrapper/match/learn.h"
#include "core_wrapper/match/load.h"
#include "core_wrapper/netplay/netplay.h"
#include "core_wrapper/match/overlay.h"
#include "core_wrapper/match/play.h"
#include "core_wrapper/record/record.h"
#include "core_wrapper/match/run_ahead.h"
#include "core_wrapper/match/slot.h"
#include "core_wrapper/match/match.h"

#define LINGER_MS 300
#define FRONT_MS  5000 /* RetroArch's own lines about a load are gone by then */
#define ASKED_MS  8000 /* a line that a key answers */

#define LEFT_NAMES 28 /* bytes of the names in a line of 59 */

bool kl_session_claim(struct kl_match *m) {
    return kl_control_claim(&m->control.socket);
}

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
    bool bare = m->status.bare || !m->config.saves;
    int made = kl_take_over_start_data(m, bare, &data, &len, err, sizeof err);
    if (made > 0) made = kl_load_start_data(m, bare, &data, &len, err, sizeof err);
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
    m->free.own_saves = m->free.begins = false;
    kl_frontend_log(&m->front, "world turned=%s left=%s", m->emu.turned.turned, m->emu.turned.left);
    kl_checks_loaded(m);
}

/* The host may change it at any time. */
static void note_delay(struct kl_match *m, const struct kl_participant_status *was) {
    unsigned is_s = m->status.roster.delay_s;
    bool outside = m->emu.phase == KL_PHASE_PLAYING && m->status.welcome.client == KL_WATCHER;
    if (outside && was->roster.delay_s != is_s)
        kl_frontend_say(&m->front, KL_SCREEN_INFO, 5000, "you watch, %u s behind the players", is_s);
}

/* From 1; 0: any. */
static void take_seat(struct kl_match *m, unsigned seat) {
    char words[32];
    unsigned own = m->own_seats ? (unsigned)__builtin_ctz(m->status.welcome.seats) + 1 : seat;
    snprintf(words, sizeof words, "swap %u %u", own, seat);
    if (seat && seat != own) kl_command_key(m, words);
}

static void begin(struct kl_match *m) {
    kl_choice_begun(m);
    m->own_seats = (unsigned)__builtin_popcount(m->status.welcome.seats);
    kl_match_on(m, KL_ON_BEGIN);
    kl_command_begin(m);
    kl_command_give_begin(m);
    kl_play_begin(m);
    kl_control_begin(m);
    kl_record_begin(&m->record, m->status.start, m->status.start_len);
    kl_play_hold_pace(m, true);
    kl_overlay_begin(m);
    take_seat(m, kl_take_over_begin(m));
}

static void end(struct kl_match *m) {
    char advice[KL_ADVICE_MAX], why[KL_ADVICE_MAX + KL_TEXT_MAX + KL_SNAPSHOT_LACKED + 6];
    const char *lacked = m->snapshots.lacked;
    if (kl_join_anew(m)) return;
    if (m->emu.phase != KL_PHASE_PLAYING && kl_choice_ended(m)) return;
    bool playing = m->emu.phase == KL_PHASE_PLAYING;
    if (!playing || m->emu.runner) {
        kl_advice(m->status.refused, m->status.reason, m->config.room, advice);
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

/* --- messages --- */

static void event(struct kl_match *m, const char *text) {
    char *at = m->play.report.event;
    size_t used = strlen(at);
    snprintf(at + used, KLW_EVENT_MAX - used, "%s%s", used ? "; " : "", text);
    for (char *p = at; *p; p++)
        if (*p == ',' || *p == '"') *p = ' '; /* it goes into a CSV file */
}

static bool is_client(const struct kl_member *member, unsigned clients) {
    return clients >> member->client & 1;
}

static void names(struct kl_match *m, bool (*fits)(const struct kl_member *, unsigned), unsigned arg,
                  char *out, size_t cap) {
    const struct kl_roster *r = &m->status.roster;
    size_t used = 0;
    out[0] = 0;
    for (unsigned i = 0; i < r->count && i < KL_MAX_CLIENTS; i++)
        if (r->member[i].state != KL_MEMBER_GONE && fits(&r->member[i], arg) && used < cap)
            used += (size_t)snprintf(out + used, cap - used, "%s%s", used ? ", " : "",
                                     kl_command_shown(m, &r->member[i]).text);
}

/* Facts of the host that reach this core: one of them may be the reason that machines part. */
static void say_left(struct kl_match *m) {
    char names[LEFT_NAMES];
    const char *left = m->emu.turned.left;
    if (m->said.left) return;
    kl_frontend_log(&m->front, "parted left=%s", *left ? left : "-");
    kl_world_left_names(left, names, sizeof names);
    kl_frontend_say_once(&m->front, &m->said.left, "the reason may be: %s%saddresses", names,
                         *names ? ", " : "");
}

static void say_desync(struct kl_match *m) {
    const struct kl_verdict *v = &m->status.first_bad;
    char who[KLW_EVENT_MAX], line[KL_PANEL_LINE];
    if (!m->status.desync || m->said.desync) return;
    names(m, is_client, v->minority, who, sizeof who);
    m->play.report.desync = m->play.report.desynced = true;
    m->play.report.desync_first = v->frame;
    snprintf(m->play.report.desync_who, KLW_EVENT_MAX, "%s", who);
    kl_overlay_desync(m, line);
    kl_frontend_say_once(&m->front, &m->said.desync, "%s", line);
    say_left(m);
    m->record.owed = true;
    event(m, "desync");
}

/* Others may have been quicker: the state after the frame that parted is to be among those that are written.
 */
static void keep_states(struct kl_match *m) {
    if (!m->record.owed || m->play.next_frame <= m->play.report.desync_first + 1) return;
    m->record.owed = false;
    kl_record_desync(&m->record);
}

/* A later desync is a new one. */
static void note_healed(struct kl_match *m) {
    struct klw_report *r = &m->play.report;
    if (m->status.desync || (!r->desync && r->healed == m->status.healed)) return;
    r->healed = m->status.healed;
    r->desync = m->said.desync = false;
    event(m, "healed");
}

static void note_roster(struct kl_match *m, const struct kl_roster *was) {
    const struct kl_roster *is = &m->status.roster;
    char line[KL_NAME_MAX + 32];
    for (unsigned i = 0; i < is->count && i < KL_MAX_CLIENTS; i++) {
        bool known = false;
        for (unsigned k = 0; k < was->count && k < KL_MAX_CLIENTS; k++)
            known = known || was->member[k].client == is->member[i].client;
        snprintf(line, sizeof line, "joined %s seats=%x", is->member[i].name, is->member[i].seats);
        if (!known) event(m, line);
    }
    for (unsigned k = 0; k < was->count && k < KL_MAX_CLIENTS; k++) {
        bool here = false;
        for (unsigned i = 0; i < is->count && i < KL_MAX_CLIENTS; i++)
            here = here ||
                   (is->member[i].client == was->member[k].client && is->member[i].state != KL_MEMBER_GONE);
        snprintf(line, sizeof line, "left %s", was->member[k].name);
        if (!here && was->member[k].state != KL_MEMBER_GONE) event(m, line);
    }
}

static void note_figures(struct kl_match *m, const struct kl_participant_status *before) {
    const struct kl_client_stats *was = &before->lock, *is = &m->status.lock;
    struct klw_report *r = &m->play.report;
    char line[64];
    if (is->spacing != was->spacing) {
        snprintf(line, sizeof line, "spacing %u -> %u", was->spacing, is->spacing);
        event(m, line);
    }
    r->spacing = is->spacing;
    if (is->lead_count > was->lead_count)
        r->lead_frames = (double)(is->lead_sum - was->lead_sum) / (double)(is->lead_count - was->lead_count);
    const struct kl_verdict *v = &m->status.verdict;
    if (v->differs == KL_VERDICT_NOTED && v->frame != before->verdict.frame) r->state_only++;
    if (m->status.seal.end != before->seal.end) kl_recorder_seal(&m->record.recorder, &m->status.seal);
    r->verified = m->status.any_verified ? (uint64_t)m->status.verified + 1 : 0;
}

static void note_link(struct kl_match *m, const struct kl_participant_status *was) {
    const struct kl_participant_status *is = &m->status;
    struct klw_report *r = &m->play.report;
    uint64_t now_us = kl_now_us();
    r->returning = is->phase == KL_PARTICIPANT_RETURNING;
    r->lost_s = r->returning ? (uint32_t)((now_us - is->lost_us) / 1000000) : 0;
    r->seat_time_s = is->welcome.seat_time_s;
    r->behind = is->behind;
    if (r->returning && was->phase != KL_PARTICIPANT_RETURNING) event(m, "connection lost");
    if (r->returning || was->phase != KL_PARTICIPANT_RETURNING || is->phase == KL_PARTICIPANT_ENDED) return;
    event(m, "connected again");
    kl_slot_connected(m);
    kl_checks_connected(m);
    kl_frontend_log(&m->front, "connected again after=%.1f s", (double)(now_us - was->lost_us) / 1e6);
}

/* The relay may give us other seats at any time. */
static void note_seats(struct kl_match *m, uint8_t was) {
    uint8_t is = m->status.welcome.seats;
    if (m->emu.phase != KL_PHASE_PLAYING || is == was) return;
    m->own_seats = (unsigned)__builtin_popcount(is);
    kl_latch_forget(&m->emu.latch);
    event(m, is ? "seated" : "watching");
    if (is)
        kl_frontend_say(&m->front, KL_SCREEN_INFO, 3000, "you play as player %u",
                        kl_command_seat(m, (unsigned)__builtin_ctz(is)) + 1);
    else
        kl_frontend_say(&m->front, KL_SCREEN_INFO, 3000, "you watch from now on");
}

static bool take_notice(struct kl_match *m, struct kl_text *out) {
    bool some = kl_participant_notice(kl_link_hold(m->link), out);
    kl_link_release(m->link);
    return some;
}

static void show_notices(struct kl_match *m) {
    struct kl_text t;
    while (m->link && take_notice(m, &t)) {
        char line[KLW_TEXT_MAX], key[KL_HOTKEYS_NAME] = "";
        if (t.code == KL_NOTICE_AGAIN) kl_hotkeys_name(kl_control_key(m, "again"), "+", key);
        if (t.code == KL_NOTICE_SEAT) kl_hotkeys_name(kl_control_key(m, "next"), "+", key);
        if (t.code == KL_NOTICE_PLAY_ON) kl_hotkeys_name(kl_control_key(m, "pause"), "+", key); /* resumes */
        snprintf(line, sizeof line, *key ? "%s (%s)" : "%s", t.text, key);
        if (t.code == KL_NOTICE_PLAY_ON) {
            kl_overlay_ask(m, line); /* while the room pauses */
            continue;
        }
        kl_screen_say(&m->front.screen, m->front.call.environment, KL_SCREEN_INFO, t.code ? ASKED_MS : 4000,
                      line, kl_words_in_notice(t.text, &m->status.roster));
    }
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
    note_roster(m, &was.roster);
    note_figures(m, &was);
    note_link(m, &was);
    note_seats(m, was.welcome.seats);
    note_delay(m, &was);
    kl_join_invite(m);
    note_healed(m);
    say_desync(m);
    keep_states(m);
    show_notices(m);
    if (m->status.direct_named)
        kl_frontend_say_once(&m->front, &m->join.told_direct, "direct: these players see your address");
    follow(m, was.phase);
}

static void follow_netplay(struct kl_match *m, uint64_t now_us) {
    struct kl_netplay_ask ask = kl_netplay_turn(&m->netplay, now_us);
    const struct kl_url *to = &ask.to;
    if (ask.leaves) kl_choice_netplay_over(m);
    if (ask.enters)
        kl_netplay_entered(&m->netplay, kl_choice_netplay(m, to->host, to->port, to->fingerprint, to->room));
}

/* Before the frame: the link's news, and the player's other ways into and out of a room. */
static void beside(struct kl_match *m, uint64_t now_us) {
    if (m->link) kl_session_update(m);
    if (m->link) kl_checks_turn(m, now_us);
    if (m->link) kl_learn_turn(m, now_us);
    kl_choice_turn(m, now_us);
    follow_netplay(m, now_us);
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

/* A recording was taken over, for a room. */
static void open_room(struct kl_match *m) {
    kl_command_end(m);
    memset(&m->status, 0, sizeof m->status);
    if (!kl_choice_open(m)) kl_match_on(m, KL_ON_DIE);
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
        if (!kl_replay_on(m)) open_room(m);
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
    kl_savedir_close(&m->dir);
    kl_local_close(m->control.socket);
    m->control.socket = -1;
    m->record.owed = false;
    m->said.states = m->said.loads = m->said.cheats = m->said.disk = m->said.desync = m->said.left = false;
    m->emu.told.tray_open = false;
    kl_control_end(m);
    kl_command_end(m);
    memset(&m->status, 0, sizeof m->status);
}
