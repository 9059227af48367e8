#include "core_wrapper/match/session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "net/platform/clock.h"
#include "net/platform/socket.h"
#include "core_wrapper/match/choice.h"
#include "core_wrapper/match/command.h"
#include "core_wrapper/words/command_words.h"
#include "core_wrapper/match/control.h"
#include "core_wrapper/match/join.h"
#include "core_wrapper/match/load.h"
#include "core_wrapper/netplay/netplay.h"
#include "core_wrapper/match/overlay.h"
#include "core_wrapper/match/phase.h"
#include "core_wrapper/match/play.h"
#include "core_wrapper/record/record.h"
#include "core_wrapper/match/slot.h"

#define LINGER_MS 300
#define ASKED_MS  8000 /* a line that a key answers */

bool kl_session_claim(void) {
    return kl_control_claim(&kl_w.instance);
}

bool kl_session_open(void) {
    kl_overlay_reset();
    kl_command_end(); /* nobody has swapped */
    return kl_choice_open();
}

/* ---- actions ---- */

static void die(const char *why) {
    kl_wrapper_fail("%s", why);
    kl_w.emu.phase = KL_PHASE_DEAD;
    kl_phase_leave(0);
}

static void give_start(void) {
    char err[KLW_TEXT_MAX];
    uint8_t *data;
    size_t len;
    if (kl_load_start_data(kl_w.status.bare, &data, &len, err, sizeof err) != 0) {
        die(err);
        return;
    }
    kl_link_give_start(kl_w.link, data, len);
    free(data);
}

static void load_afresh(void) {
    static struct kl_facts facts;
    char err[KLW_TEXT_MAX];
    size_t len;
    const uint8_t *data = kl_link_start_data(kl_w.link, &len);
    kl_phase_loads();
    if (kl_load_afresh(data, len, kl_w.status.prepare.epoch_s, &facts, err, sizeof err) != 0) {
        die(err);
        return;
    }
    kl_w.emu.phase = KL_PHASE_READY;
    kl_w.own_saves = kl_w.free_begins = false;
    kl_screen_log(&kl_w.screen, kl_w.front.environment, "world turned=%s left=%s", kl_w.emu.turned.turned,
                  kl_w.emu.turned.left);
    kl_link_ready(kl_w.link, &facts);
}

/* The host may change it at any time. */
static void note_delay(const struct kl_stay_status *was) {
    unsigned is_s = kl_w.status.roster.delay_s;
    bool outside = kl_w.emu.phase == KL_PHASE_PLAYING && kl_w.status.welcome.client == KL_WATCHER;
    if (outside && was->roster.delay_s != is_s)
        kl_wrapper_say(KL_SCREEN_INFO, 5000, "you watch, %u s behind the players", is_s);
}

static void begin(void) {
    kl_choice_begun();
    kl_w.own_seats = (unsigned)__builtin_popcount(kl_w.status.welcome.seats);
    kl_w.emu.phase = KL_PHASE_PLAYING;
    kl_command_begin();
    kl_command_give_begin();
    kl_play_begin();
    kl_control_begin();
    kl_record_begin();
    kl_phase_hold_pace(true);
    kl_overlay_begin();
}

static void end(void) {
    char advice[KL_ADVICE_MAX], why[KL_ADVICE_MAX + KL_TEXT_MAX + 4];
    if (kl_join_anew()) return;
    if (kl_w.emu.phase != KL_PHASE_PLAYING && kl_choice_ended()) return;
    bool playing = kl_w.emu.phase == KL_PHASE_PLAYING;
    if (!playing || kl_w.emu.runner) {
        kl_advice(kl_w.status.refused, kl_w.status.reason, kl_w.config.room, advice);
        bool news = strcmp(advice, kl_w.status.reason) != 0;
        snprintf(why, sizeof why, "%s%s%s%s", advice, news ? " (" : "", news ? kl_w.status.reason : "",
                 news ? ")" : "");
        die(why);
        return;
    }
    snprintf(kl_w.error, sizeof kl_w.error, "%s", kl_w.status.reason);
    kl_wrapper_say(KL_SCREEN_WARNING, 6000, "the room is gone, the game goes on alone: %s",
                   kl_w.status.reason);
    kl_phase_leave(0);
    kl_phase_local();
}

/* ---- messages ---- */

static void event(const char *text) {
    char *at = kl_w.play.report.event;
    size_t used = strlen(at);
    snprintf(at + used, KLW_EVENT_MAX - used, "%s%s", used ? "; " : "", text);
    for (char *p = at; *p; p++)
        if (*p == ',' || *p == '"') *p = ' '; /* it goes into a CSV file */
}

static bool is_client(const struct kl_member *m, unsigned clients) {
    return clients >> m->client & 1;
}

static void names(bool (*fits)(const struct kl_member *, unsigned), unsigned arg, char *out, size_t cap) {
    const struct kl_roster *r = &kl_w.status.roster;
    size_t used = 0;
    out[0] = 0;
    for (unsigned i = 0; i < r->count && i < KL_MAX_CLIENTS; i++)
        if (r->member[i].state != KL_MEMBER_GONE && fits(&r->member[i], arg) && used < cap)
            used += (size_t)snprintf(out + used, cap - used, "%s%s", used ? ", " : "",
                                     kl_command_shown(&r->member[i]).text);
}

static void say_desync(void) {
    const struct kl_verdict *v = &kl_w.status.first_bad;
    char who[KLW_EVENT_MAX], line[KL_PANEL_LINE];
    if (!kl_w.status.desync || kl_w.said_desync) return;
    names(is_client, v->minority, who, sizeof who);
    kl_w.play.report.desync = kl_w.play.report.desynced = true;
    kl_w.play.report.desync_first = v->frame;
    snprintf(kl_w.play.report.desync_who, KLW_EVENT_MAX, "%s", who);
    kl_overlay_desync(line);
    kl_wrapper_say_once(&kl_w.said_desync, "%s", line);
    kl_w.desync_owed = true;
    event("desync");
}

/* Others may have been quicker: the state after the frame that parted is to be among those that are written.
 */
static void keep_states(void) {
    if (!kl_w.desync_owed || kl_w.play.next_frame <= kl_w.play.report.desync_first + 1) return;
    kl_w.desync_owed = false;
    kl_record_desync();
}

/* A later desync is a new one. */
static void note_healed(void) {
    struct klw_report *r = &kl_w.play.report;
    if (kl_w.status.desync || (!r->desync && r->healed == kl_w.status.healed)) return;
    r->healed = kl_w.status.healed;
    r->desync = kl_w.said_desync = false;
    event("healed");
}

static void note_roster(const struct kl_roster *was) {
    const struct kl_roster *is = &kl_w.status.roster;
    char line[80];
    for (unsigned i = 0; i < is->count && i < KL_MAX_CLIENTS; i++) {
        bool known = false;
        for (unsigned k = 0; k < was->count && k < KL_MAX_CLIENTS; k++)
            known = known || was->member[k].client == is->member[i].client;
        snprintf(line, sizeof line, "joined %s seats=%x", is->member[i].name, is->member[i].seats);
        if (!known) event(line);
    }
    for (unsigned k = 0; k < was->count && k < KL_MAX_CLIENTS; k++) {
        bool here = false;
        for (unsigned i = 0; i < is->count && i < KL_MAX_CLIENTS; i++)
            here = here ||
                   (is->member[i].client == was->member[k].client && is->member[i].state != KL_MEMBER_GONE);
        snprintf(line, sizeof line, "left %s", was->member[k].name);
        if (!here && was->member[k].state != KL_MEMBER_GONE) event(line);
    }
}

static void note_figures(const struct kl_stay_status *before) {
    const struct kl_client_stats *was = &before->lock, *is = &kl_w.status.lock;
    struct klw_report *r = &kl_w.play.report;
    char line[64];
    if (is->spacing != was->spacing) {
        snprintf(line, sizeof line, "spacing %u -> %u", was->spacing, is->spacing);
        event(line);
    }
    r->spacing = is->spacing;
    if (is->lead_count > was->lead_count)
        r->lead_frames = (double)(is->lead_sum - was->lead_sum) / (double)(is->lead_count - was->lead_count);
    const struct kl_verdict *v = &kl_w.status.verdict;
    if (v->differs >= 2 && v->frame != before->verdict.frame) r->state_only++;
    r->verified = kl_w.status.any_verified ? (uint64_t)kl_w.status.verified + 1 : 0;
}

static void note_link(const struct kl_stay_status *was) {
    const struct kl_stay_status *is = &kl_w.status;
    struct klw_report *r = &kl_w.play.report;
    uint64_t now_us = kl_now_us();
    r->returning = is->phase == KL_STAY_RETURNING;
    r->lost_s = r->returning ? (uint32_t)((now_us - is->lost_us) / 1000000) : 0;
    r->seat_time_s = is->welcome.seat_time_s;
    r->behind = is->behind;
    if (r->returning && was->phase != KL_STAY_RETURNING) event("connection lost");
    if (r->returning || was->phase != KL_STAY_RETURNING || is->phase == KL_STAY_ENDED) return;
    event("connected again");
    kl_slot_connected();
    kl_screen_log(&kl_w.screen, kl_w.front.environment, "connected again after=%.1f s",
                  (double)(now_us - was->lost_us) / 1e6);
}

/* The relay may give us other seats at any time. */
static void note_seats(uint8_t was) {
    uint8_t is = kl_w.status.welcome.seats;
    if (kl_w.emu.phase != KL_PHASE_PLAYING || is == was) return;
    kl_w.own_seats = (unsigned)__builtin_popcount(is);
    kl_latch_forget(&kl_w.emu.latch);
    event(is ? "seated" : "watching");
    if (is)
        kl_wrapper_say(KL_SCREEN_INFO, 3000, "you play as player %u",
                       kl_command_seat((unsigned)__builtin_ctz(is)) + 1);
    else
        kl_wrapper_say(KL_SCREEN_INFO, 3000, "you watch from now on");
}

static void show_notices(void) {
    struct kl_text t;
    while (kl_w.link && kl_link_notice(kl_w.link, &t)) {
        char line[KLW_TEXT_MAX], key[KL_HOTKEYS_NAME] = "";
        if (t.code == KL_NOTICE_AGAIN) kl_control_key("again", key);
        if (t.code == KL_NOTICE_SEAT) kl_control_key("next", key);
        snprintf(line, sizeof line, *key ? "%s (%s)" : "%s", t.text, key);
        kl_screen_say(&kl_w.screen, kl_w.front.environment, KL_SCREEN_INFO, t.code ? ASKED_MS : 4000, line,
                      kl_words_in_notice(t.text, &kl_w.status.roster));
    }
}

/* ---- a call ---- */

static bool room_plays(void) {
    const struct kl_roster *r = &kl_w.status.roster;
    for (unsigned i = 0; i < r->count && i < KL_MAX_CLIENTS; i++)
        if (r->member[i].state == KL_MEMBER_PLAYING) return true;
    return false;
}

/* All players but one have loaded, and that one has left or was refused. The core is the player's own again
 * until the seats are filled, and is then loaded for the room once more. */
static void follow_seats(void) {
    const struct kl_roster *r = &kl_w.status.roster;
    bool ready = kl_w.status.phase == KL_STAY_READY, begins = kl_w.status.phase == KL_STAY_PLAYING;
    bool lacks = ready && r->filled < r->players && !room_plays();
    if (lacks && kl_phase_ran_free())
        kl_phase_free();
    else if (kl_w.emu.phase == KL_PHASE_FREE && ((ready && !lacks) || begins))
        load_afresh();
}

/* Acts on the newest status. May end the session. */
static void follow(enum kl_stay_phase before) {
    switch (kl_w.status.phase) {
    case KL_STAY_SEND_START: give_start(); break;
    case KL_STAY_LOAD: load_afresh(); break;
    case KL_STAY_READY: follow_seats(); break;
    case KL_STAY_PLAYING:
        follow_seats();
        if (before != KL_STAY_PLAYING && kl_w.emu.phase == KL_PHASE_READY) begin();
        break;
    case KL_STAY_ENDED: end(); break;
    case KL_STAY_CONNECTING:
    case KL_STAY_WAITING:
    case KL_STAY_FETCHING:
    case KL_STAY_RETURNING: break;
    }
}

void kl_session_update(void) {
    static struct kl_stay_status was;
    was = kl_w.status;
    kl_link_status(kl_w.link, &kl_w.status);
    kl_w.play.stats = kl_w.status.lock;
    note_roster(&was.roster);
    note_figures(&was);
    note_link(&was);
    note_seats(was.welcome.seats);
    note_delay(&was);
    kl_join_invite();
    note_healed();
    say_desync();
    keep_states();
    show_notices();
    follow(was.phase);
}

static void follow_netplay(uint64_t now_us) {
    struct kl_netplay_ask ask = kl_netplay_turn(now_us);
    const struct kl_url *to = &ask.to;
    if (ask.leaves) kl_choice_netplay_over();
    if (ask.enters) kl_netplay_entered(kl_choice_netplay(to->host, to->port, to->fingerprint, to->room));
}

void kl_session_run(void) {
    uint64_t from_us = kl_now_us();
    kl_w.play.report.event[0] = 0;
    if (kl_w.link) kl_session_update();
    kl_choice_turn(from_us);
    follow_netplay(from_us);
    kl_control_turn(from_us);
    kl_overlay_turn(from_us);
    switch (kl_w.emu.phase) {
    case KL_PHASE_PLAYING: kl_play_turn(); break;
    case KL_PHASE_FREE:
    case KL_PHASE_LOCAL: kl_play_local(kl_choice_still()); break;
    case KL_PHASE_IDLE:
    case KL_PHASE_WAITING:
    case KL_PHASE_READY:
    case KL_PHASE_DEAD: kl_play_idle(); break;
    }
    kl_netplay_send();
    kl_record_turn(from_us, &kl_w.play.report);
}

void kl_session_close(void) {
    if (kl_w.emu.phase == KL_PHASE_PLAYING) kl_phase_hold_pace(false);
    kl_phase_leave(LINGER_MS);
    kl_choice_close();
    kl_w.emu.phase = KL_PHASE_IDLE;
    kl_overlay_reset();
    kl_savedir_close(&kl_w.dir);
    kl_socket_close(kl_w.instance);
    kl_w.instance = -1;
    kl_w.desync_owed = false;
    kl_w.said_states = kl_w.said_loads = kl_w.said_cheats = kl_w.said_disk = kl_w.said_desync = false;
    kl_w.emu.told.tray_open = false;
    kl_control_end();
    kl_command_end();
    memset(&kl_w.status, 0, sizeof kl_w.status);
}
