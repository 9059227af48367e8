#include "core_wrapper/match/overlay.h"

#include <stdio.h>
#include <string.h>

#include "net/platform/address.h"
#include "net/platform/clock.h"
#include "net/platform/file.h"
#include "core_wrapper/match/join.h"
#include "core_wrapper/match/run_ahead.h"
#include "core_wrapper/match/state.h"
#include "core_wrapper/match/take_over.h"
#include "core_wrapper/screen/away.h"
#include "core_wrapper/match/choice.h"
#include "core_wrapper/match/command.h"
#include "core_wrapper/match/control.h"
#include "core_wrapper/draw/font.h"
#include "core_wrapper/match/match.h"

#define SECOND_US         1000000u
#define TOLD_EVERY_US     500000 /* time between repeats of a lasting state's line */
#define PROGRESS_EVERY_US 100000 /* the same with a progress bar */
#define TOLD_MS           1100   /* time that the line stays */
#define DESYNC_TOLD_US    10000000u
#define CHAT_TOLD_MS      200
#define LEAVE_TOLD_MS     200
#define BEGIN_TOLD_MS     3000
#define ENDED_TOLD_US     30000000u /* a refusal's card; behind it the game goes on for the player alone */
#define BACK_TOLD_US      3000000u  /* a shorter absence's length is no news */
#define CATCH_UP_FROM     30        /* frames behind */
#define CATCH_UP_UNTIL    6
#define STATE_HEAD        10 /* characters by which two states are told apart in the log */

static bool can_paint(struct kl_match *m) {
    return !m->emu.picture.hardware && !m->emu.runner;
}

void kl_overlay_reset(struct kl_match *m) {
    memset(&m->overlay, 0, sizeof m->overlay);
    m->emu.picture.over = NULL;
    m->emu.picture.want_copy = false;
    m->front.screen.state.until_us = 0;
    kl_screen_draw(&m->front.screen, m->config.draw && can_paint(m));
    kl_screen_panel(&m->front.screen, m->config.panel);
    kl_screen_strip(&m->front.screen, m->config.line);
}

/* --- figures --- */

/* Frames that close by the clock name no samples: there it is the newest press of our own. */
static double lead_of(struct kl_match *m, const struct kl_client_stats *s,
                      const struct kl_overlay_second *c) {
    uint64_t counted = s->lead_count - c->lead_count;
    if (counted) return (double)(s->lead_sum - c->lead_sum) / (double)counted;
    if (m->overlay.panel.policy != KL_POLICY_OPTIMISTIC)
        return m->overlay.panel.lead_frames; /* of before the stall */
    return m->play.pace.period_us > 0 ? (double)m->play.press.took_us / m->play.pace.period_us : 0;
}

static void count_second(struct kl_match *m, uint64_t now_us) {
    const struct kl_client_stats *s = &m->status.lock;
    struct kl_overlay_second *c = &m->overlay.second;
    if (m->play.report.run) c->frames++;
    if (now_us - c->since_us < SECOND_US) return;
    if (c->since_us)
        m->overlay.panel.fps =
            (unsigned)((c->frames * UINT64_C(1000000) + (now_us - c->since_us) / 2) / (now_us - c->since_us));
    m->overlay.panel.lead_frames = lead_of(m, s, c);
    m->overlay.panel.feels = m->play.ahead.displays ? m->play.ahead.feels : 0;
    snprintf(m->overlay.panel.not_ahead, sizeof m->overlay.panel.not_ahead, "%s", kl_run_ahead_not(m));
    *c = (struct kl_overlay_second){now_us, s->lead_sum, s->lead_count, 0};
}

static uint16_t short_of(uint64_t v) {
    return v > UINT16_MAX ? UINT16_MAX : (uint16_t)v;
}

/* One frame or two are nothing. */
static void follow_backlog(struct kl_match *m, uint64_t now_us) {
    struct kl_panel *p = &m->overlay.panel;
    p->backlog = m->play.report.backlog;
    p->behind = m->play.pace.behind;
    if (m->status.behind >= CATCH_UP_FROM) p->behind += m->status.behind;
    if (p->behind <= CATCH_UP_UNTIL || p->stage != KL_PANEL_PLAYING)
        p->catch_up = 0;
    else if ((p->catch_up || p->behind >= CATCH_UP_FROM) && p->behind > p->catch_up)
        p->catch_up = p->behind;
    const struct kl_participant_status *s = &m->status;
    bool begins = s->begins && s->shot_done < s->shot_total;
    kl_remaining_turn(&m->overlay.remaining, p->catch_up && !s->begins ? p->behind : 0, now_us);
    kl_remaining_turn(&m->overlay.fetching, begins ? s->shot_total - s->shot_done : 0, now_us);
    p->left_s = begins ? kl_remaining_s(&m->overlay.fetching) : kl_remaining_s(&m->overlay.remaining);
    const struct kl_pace *pace = &m->play.pace;
    p->too_slow = m->play.too_slow;
    p->machine_fps = kl_pace_unseen_us(pace) > 0 ? 1e6 / kl_pace_unseen_us(pace) : 0;
    p->core_fps = pace->period_us > 0 ? 1e6 / pace->period_us : 0;
    m->play.report.left_s = p->left_s;
    m->play.report.fetching = begins;
}

/* --- the panel's content --- */

/* In no room: alone, on the way to one, or refused a moment ago. */
static void follow_outside(struct kl_match *m, uint64_t now_us) {
    struct kl_panel *p = &m->overlay.panel;
    p->stage = KL_PANEL_LOCAL;
    if (*m->emu.content.refusal) {
        p->stage = KL_PANEL_BROKEN;
        snprintf(p->reason, sizeof p->reason, "%s", m->emu.content.refusal);
    } else if (p->retries) {
        p->stage = KL_PANEL_REACHING;
    } else if (*m->choice.end.advice && now_us - m->choice.end.at_us < ENDED_TOLD_US) {
        p->stage = KL_PANEL_ENDED;
        snprintf(p->reason, sizeof p->reason, "%s", m->choice.end.advice);
    }
}

/* "Select 0.4 s, press R", and the same two on a keyboard. */
static void put_key(struct kl_match *m, const char *words, struct kl_panel_key *out) {
    const struct kl_hotkey *h = kl_control_key(m, words);
    char between[32];
    snprintf(between, sizeof between, " %.1f s, press ", KL_HOTKEYS_HOLD_US / 1e6);
    kl_hotkeys_name(h, between, out->pad);
    kl_hotkeys_typed(h, ", ", out->typed);
}

static void put_keys(struct kl_match *m, struct kl_panel *p) {
    const struct kl_hotkey *leave = kl_control_key(m, "leave");
    bool outside = m->status.welcome.client == KL_WATCHER;
    put_key(m, "again", &p->again);
    put_key(m, "panel", &p->panel);
    kl_hotkeys_name(leave, "+", p->leave.pad);
    kl_hotkeys_typed(leave, "+", p->leave.typed);
    p->leave_s = KL_HOTKEYS_LEAVE_US / 1000000;
    kl_hotkeys_name(outside ? NULL : kl_control_key(m, "pause"), "+", p->goes_on);
}

static void follow_phase(struct kl_match *m, uint64_t now_us) {
    struct kl_panel *p = &m->overlay.panel;
    p->retries = m->state == KL_MATCH_RETRYING;
    p->found_matches = m->choice.quick;
    p->practises = kl_match_phase(m->state) == KL_PHASE_FREE && !kl_choice_still(m);
    put_keys(m, p);
    switch (m->state) {
    case KL_MATCH_DEAD:
        p->stage = KL_PANEL_ENDED;
        snprintf(p->reason, sizeof p->reason, "%.*s", KL_PANEL_LINE - 1, m->front.error);
        p->again.pad[0] = 0;
        break;
    case KL_MATCH_LOOKING:
    case KL_MATCH_LOOKING_STILL: p->stage = KL_PANEL_LOOKING; break;
    case KL_MATCH_ALONE:
    case KL_MATCH_READING:
    case KL_MATCH_RETRYING:
    case KL_MATCH_STILL:
    case KL_MATCH_READING_STILL:
    case KL_MATCH_AFTER:
    case KL_MATCH_REPLAY: follow_outside(m, now_us); break;
    default: break; /* the link says it */
    }
}

static void fill(struct kl_match *m, uint64_t now_us) {
    struct kl_panel *p = &m->overlay.panel;
    bool paused = p->paused;
    kl_panel_fill(m, p);
    if (paused && !p->paused) p->question[0] = 0;
    snprintf(p->asks, sizeof p->asks, "%s", kl_take_over_asks(m));
    if (*p->asks) p->stage = KL_PANEL_ASKING;
    snprintf(p->beside, sizeof p->beside, "%s", m->choice.beside.room);
    p->stalls = m->play.stalls;
    p->longest_stall_ms = (unsigned)(m->play.stall_longest_us / 1000);
    if (m->play.report.run) p->stalled = false;
    if (m->play.report.stalled) p->stalled = true;
    if (!p->desync) m->overlay.desync_us = now_us;
    p->desync_is_news = p->desync && now_us - m->overlay.desync_us <= DESYNC_TOLD_US;
    p->checks = kl_checks_checking(m, &p->check_disk, &p->check_percent);
    follow_phase(m, now_us);
    p->begun = p->begun || p->stage == KL_PANEL_PLAYING;
    /* Follows the time of the present state, by a number that changes with the state. */
    unsigned state = p->stage * 8u + (p->paused ? 1 : p->stalled ? 2 : p->absent ? 3 : 0);
    if (state != m->overlay.state || !m->overlay.since_us) m->overlay.since_us = now_us;
    m->overlay.state = state;
    /* the silence has begun before it was taken for a loss */
    m->overlay.panel.state_us =
        now_us - (p->stage == KL_PANEL_RETURNING ? m->status.lost_us : m->overlay.since_us);
}

void kl_overlay_ask(struct kl_match *m, const char *line) {
    snprintf(m->overlay.panel.question, sizeof m->overlay.panel.question, "%s", line);
    if (m->emu.runner) kl_frontend_say(&m->front, KL_SCREEN_WARNING, BEGIN_TOLD_MS, "%s", line);
}

void kl_overlay_desync(struct kl_match *m, char line[KL_PANEL_LINE]) {
    fill(m, kl_now_us());
    kl_panel_desync(&m->overlay.panel, line);
}

/* --- messages --- */

static const enum kl_screen_tone screen_tones[] = {KL_SCREEN_INFO, KL_SCREEN_INFO, KL_SCREEN_WARNING,
                                                   KL_SCREEN_ERROR};

void kl_overlay_begin(struct kl_match *m) {
    char line[KL_PANEL_LINE];
    fill(m, kl_now_us());
    kl_panel_begin(&m->overlay.panel, line);
    kl_frontend_say(&m->front, KL_SCREEN_INFO, BEGIN_TOLD_MS, "%s", line);
}

static bool card_shows(struct kl_match *m) {
    return kl_screen_drawn(&m->front.screen) && kl_panel_card(&m->overlay.panel, &m->overlay.card);
}

/* A line that lasts is logged when it begins; errors have been logged before. If the panel or a card shows,
 * the state is in that. */
static void tell_state(struct kl_match *m, uint64_t now_us) {
    char line[KL_PANEL_LINE];
    int percent;
    enum kl_panel_tone tone = kl_panel_state(&m->overlay.panel, line, &percent);
    bool above = card_shows(m) || kl_screen_panel_on(&m->front.screen);
    m->overlay.trouble_above = above && tone >= KL_PANEL_WARNING;
    if (tone == KL_PANEL_ERROR && m->overlay.panel.desync && !m->overlay.panel.desync_is_news) return;
    bool news = strncmp(line, m->overlay.told, STATE_HEAD) != 0;
    if (!news && (!*line || now_us - m->overlay.told_us < (percent < 0 ? TOLD_EVERY_US : PROGRESS_EVERY_US)))
        return;
    if (news && *line && tone != KL_PANEL_ERROR) kl_frontend_log(&m->front, "%s", line);
    snprintf(m->overlay.told, sizeof m->overlay.told, "%s", line);
    m->overlay.told_us = now_us;
    bool drawn = above && kl_screen_drawn(&m->front.screen);
    if (!*line || m->emu.runner || drawn || kl_control_chat_line(m)) return;
    kl_screen_show(&m->front.screen, m->front.call.environment, screen_tones[tone], TOLD_MS, line,
                   KL_SCREEN_NONE, percent);
}

/* Whatever else is to be said: the player is about to go. */
static bool tell_leave(struct kl_match *m) {
    char line[KL_PANEL_LINE];
    unsigned left_s = kl_control_leave_s(m);
    if (!left_s) return false;
    snprintf(line, sizeof line, "leaving in %u s: let go to stay", left_s);
    kl_screen_show(&m->front.screen, m->front.call.environment, KL_SCREEN_WARNING, LEAVE_TOLD_MS, line,
                   KL_SCREEN_NONE, -1);
    return true;
}

/* The line of chat that is being typed stands in the state's place. */
static void tell_chat(struct kl_match *m) {
    static const char head[] = "say: ";
    char line[KL_PANEL_LINE];
    const char *text = kl_control_chat_line(m);
    if (!text) return;
    snprintf(line, sizeof line, "%s%s_%s", head, text,
             *text ? "" : "  (Game Focus on? Enter sends, Esc leaves)");
    kl_screen_show(&m->front.screen, m->front.call.environment, KL_SCREEN_INFO, CHAT_TOLD_MS, line,
                   strlen(head), -1);
}

static const struct kl_member *player_at(struct kl_match *m, unsigned seat) {
    for (unsigned i = 0; i < m->status.roster.count && i < KL_MAX_CLIENTS; i++) {
        const struct kl_member *member = &m->status.roster.member[i];
        if (member->seats >> seat & 1 && member->state != KL_MEMBER_GONE) return member;
    }
    return NULL;
}

/* Tells only of others: an absent player knows it. The relay's word on an absence does not say whether a menu
 * or a dead link is the cause; its roster says so some seconds later. */
static void tell_away(struct kl_match *m, unsigned seat) {
    const struct kl_member *member = player_at(m, seat);
    char since[16];
    if (!member || m->status.welcome.seats >> seat & 1) return;
    uint64_t away_us = kl_away_time_us(&m->overlay.away, seat);
    struct kl_name_shown who = kl_command_shown(m, member);
    kl_panel_time(away_us, since);
    if (m->overlay.away.shown >> seat & 1)
        kl_frontend_say(&m->front, KL_SCREEN_INFO, 4000, "the game goes on without %s", who.text);
    else if (away_us < BACK_TOLD_US)
        kl_frontend_say(&m->front, KL_SCREEN_INFO, 3000, "%s is back", who.text);
    else
        kl_frontend_say(&m->front, KL_SCREEN_INFO, 3000, "%s is back after %s", who.text, since);
}

static void tell_lost(struct kl_match *m, const struct kl_member *member) {
    bool playing = m->status.phase == KL_PARTICIPANT_PLAYING && member->seats;
    bool lost = member->state == KL_MEMBER_AWAY;
    if (playing && lost && !(m->overlay.lost >> member->client & 1))
        kl_frontend_say(&m->front, KL_SCREEN_INFO, 4000, "%s lost the connection, the seat is kept",
                        kl_command_shown(m, member).text);
    m->overlay.lost =
        lost ? m->overlay.lost | 1u << member->client : m->overlay.lost & ~(1u << member->client);
}

/* --- drawing --- */

static int paint_line(const struct kl_canvas *c, int bottom, const struct kl_screen_line *l) {
    static const enum kl_panel_tone tones[] = {KL_PANEL_INFO, KL_PANEL_WARNING, KL_PANEL_ERROR};
    const struct kl_panel_words w = {l->text, l->words, tones[l->tone], l->percent};
    return kl_panel_draw_line(c, bottom, &w);
}

static unsigned standing(struct kl_match *m, const struct kl_screen_line *out[KL_SCREEN_MOST]) {
    if (!kl_screen_drawn(&m->front.screen)) return 0;
    return kl_screen_standing(&m->front.screen, m->overlay.trouble_above, kl_now_us(), out);
}

/* The panel has all of it. It gives way to two lines of trouble. */
static bool strip_shows(struct kl_match *m, const struct kl_screen_line *out[], unsigned count) {
    return kl_screen_strip_on(&m->front.screen) && !kl_screen_panel_on(&m->front.screen) &&
           m->overlay.panel.stage == KL_PANEL_PLAYING &&
           (count < KL_SCREEN_TROUBLE || out[count - 1]->tone == KL_SCREEN_INFO);
}

/* At the top the card, else the panel. At the bottom the one line, then the lines that stand. */
static void paint(void *ctx, const struct kl_canvas *c) {
    struct kl_match *m = ctx;
    const struct kl_screen_line *lines[KL_SCREEN_MOST];
    unsigned count = standing(m, lines);
    int bottom = c->rows;
    if (m->play.replay.above)
        m->play.replay.above(m, c);
    else if (card_shows(m))
        kl_panel_draw_card(&m->overlay.card, c);
    else if (kl_screen_panel_on(&m->front.screen))
        kl_panel_draw(&m->overlay.panel, &m->overlay.history, c);
    if (strip_shows(m, lines, count)) bottom = kl_panel_draw_strip(&m->overlay.panel, c, bottom);
    for (unsigned i = 0; i < count; i++)
        bottom = paint_line(c, bottom, lines[i]);
}

static void choose_over(struct kl_match *m) {
    const struct kl_screen_line *lines[KL_SCREEN_MOST];
    unsigned count = standing(m, lines);
    bool wanted = kl_screen_panel_on(&m->front.screen) || strip_shows(m, lines, count) || count ||
                  card_shows(m) || m->play.replay.above;
    m->emu.picture.turn = m->emu.told.turns ? m->emu.told.rotation : 0;
    m->emu.picture.want_copy = can_paint(m); /* the panel may be wanted in the middle of a stall */
    m->emu.picture.over_ctx = m;
    m->emu.picture.over = wanted && can_paint(m) ? paint : NULL;
    if ((kl_screen_panel_on(&m->front.screen) || kl_screen_strip_on(&m->front.screen)) &&
        m->emu.picture.hardware)
        kl_frontend_say_once(&m->front, &m->overlay.said_hardware,
                             "no panel: this core draws on the graphics card");
}

/* Reads the font when a line first needs it. */
static void follow_font(struct kl_match *m) {
    char err[KL_PANEL_LINE];
    if (m->overlay.font_read || !kl_screen_drawn(&m->front.screen) ||
        !kl_screen_needs_unifont(&m->front.screen))
        return;
    m->overlay.font_read = true;
    int r = kl_unifont_read(m->config.font, err, sizeof err);
    if (r != 0)
        kl_frontend_log(&m->front, "no font for other scripts: %s%s", err,
                        r == KL_FILE_ABSENT && !*m->config.font ? "; install the package unifont" : "");
}

void kl_overlay_turn(struct kl_match *m, uint64_t now_us) {
    kl_screen_draw(&m->front.screen, m->config.draw && can_paint(m));
    if (m->overlay.panel.stage == KL_PANEL_PLAYING) {
        /* Of the call before: it has run its frames. */
        const struct klw_report *r = &m->play.report;
        const struct kl_client_stats *s = &m->status.lock;
        struct kl_graph_step step = {.backlog = short_of(r->backlog), .stalled = r->stalled};
        if (r->run) {
            step.need = s->need;
            step.had = s->had;
        }
        kl_graph_add(&m->overlay.history, &step, now_us);
        count_second(m, now_us);
    }
    follow_backlog(m, now_us);
    bool playing = m->status.phase == KL_PARTICIPANT_PLAYING;
    uint8_t changed = kl_away_turn(&m->overlay.away, playing ? m->status.lock.away : 0, now_us);
    for (unsigned s = 0; playing && s < KL_MAX_SEATS; s++)
        if (changed >> s & 1) tell_away(m, s);
    for (unsigned i = 0; i < m->status.roster.count && i < KL_MAX_CLIENTS; i++)
        tell_lost(m, &m->status.roster.member[i]);
    fill(m, now_us);
    tell_state(m, now_us);
    if (!tell_leave(m)) tell_chat(m);
    follow_font(m);
    choose_over(m);
}
