#include "core_wrapper/match/session.h"

#include <stdio.h>
#include <string.h>

#include "core_wrapper/match/join.h"
#include "core_wrapper/match/command.h"
#include "core_wrapper/match/control.h"
#include "core_wrapper/match/match.h"
#include "core_wrapper/match/overlay.h"
#include "core_wrapper/match/slot.h"
#include "core_wrapper/record/record.h"
#include "net/platform/clock.h"
#include "net/session/command_words.h"

#define LEFT_NAMES 28   /* bytes of the names in a line of 59 */
#define ASKED_MS   8000 /* a line that a key answers */

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
    if (m->front.said.left) return;
    kl_frontend_log(&m->front, "parted left=%s", *left ? left : "-");
    kl_world_left_names(left, names, sizeof names);
    kl_frontend_say_once(&m->front, &m->front.said.left, "the reason may be: %s%saddresses", names,
                         *names ? ", " : "");
}

static void say_desync(struct kl_match *m) {
    const struct kl_verdict *v = &m->status.first_bad;
    char who[KLW_EVENT_MAX], line[KL_PANEL_LINE];
    if (!m->status.desync || m->front.said.desync) return;
    names(m, is_client, v->minority, who, sizeof who);
    m->play.report.desync = m->play.report.desynced = true;
    m->play.report.desync_first = v->frame;
    snprintf(m->play.report.desync_who, KLW_EVENT_MAX, "%s", who);
    kl_overlay_desync(m, line);
    kl_frontend_say_once(&m->front, &m->front.said.desync, "%s", line);
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
    r->desync = m->front.said.desync = false;
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
    m->slot.told = false; /* the relay may know nothing of it any more */
    kl_checks_connected(m);
    kl_frontend_log(&m->front, "connected again after=%.1f s", (double)(now_us - was->lost_us) / 1e6);
}

/* The relay may give us other seats at any time. */
static void note_seats(struct kl_match *m, uint8_t was) {
    uint8_t is = m->status.welcome.seats;
    if (m->emu.phase != KL_PHASE_PLAYING || is == was) return;
    m->play.own_seats = (unsigned)__builtin_popcount(is);
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

void kl_news_tell(struct kl_match *m, const struct kl_participant_status *was) {
    note_roster(m, &was->roster);
    note_figures(m, was);
    note_link(m, was);
    note_seats(m, was->welcome.seats);
    /* The host may change it at any time. */
    unsigned is_s = m->status.roster.delay_s;
    bool outside = m->emu.phase == KL_PHASE_PLAYING && m->status.welcome.client == KL_WATCHER;
    if (outside && was->roster.delay_s != is_s)
        kl_frontend_say(&m->front, KL_SCREEN_INFO, 5000, "you watch, %u s behind the players", is_s);
    note_healed(m);
    say_desync(m);
    keep_states(m);
    show_notices(m);
}
