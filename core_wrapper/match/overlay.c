#include "core_wrapper/match/overlay.h"

#include <stdio.h>
#include <string.h>

#include "net/platform/clock.h"
#include "net/platform/file.h"
#include "core_wrapper/screen/away.h"
#include "core_wrapper/match/choice.h"
#include "core_wrapper/match/command.h"
#include "core_wrapper/match/control.h"
#include "core_wrapper/match/join.h"
#include "core_wrapper/match/advice.h"
#include "core_wrapper/screen/remaining.h"
#include "core_wrapper/draw/unifont.h"
#include "core_wrapper/context/wrapper.h"

#define SECOND_US         1000000u
#define TOLD_EVERY_US     500000 /* time between repeats of a lasting state's line */
#define PROGRESS_EVERY_US 100000 /* the same with a progress bar */
#define TOLD_MS           1100   /* time that the line stays */
#define DESYNC_TOLD_US    10000000u
#define CHAT_TOLD_MS      200
#define BEGIN_TOLD_MS     3000
#define ENDED_TOLD_US     30000000u /* a refusal's card; behind it the game goes on for the player alone */
#define BACK_TOLD_US      3000000u  /* a shorter absence's length is no news */
#define CATCH_UP_FROM     30        /* frames behind */
#define CATCH_UP_UNTIL    6
#define STATE_HEAD        10 /* characters by which two states are told apart in the log */

/* The counts of the present second. */
struct second {
    uint64_t since_us, lead_sum, lead_count;
    unsigned frames;
};

static struct {
    struct kl_graph history;
    struct kl_panel panel;
    struct second second;
    unsigned state;    /* the state that panel.state_us counts for */
    uint64_t since_us; /* its begin */
    uint64_t told_us, desync_us;
    struct kl_away away;
    struct kl_remaining remaining, fetching; /* frames; bytes of a state to begin with */
    char told[KL_PANEL_LINE];
    struct kl_card card;
    unsigned lost; /* clients whose link is lost */
    bool said_hardware, font_read;
} o;

static bool can_paint(void) {
    return !kl_w.emu.picture.hardware && !kl_w.emu.runner;
}

void kl_overlay_reset(void) {
    memset(&o, 0, sizeof o);
    kl_w.emu.picture.over = NULL;
    kl_w.emu.picture.want_copy = false;
    kl_w.screen.state.until_us = 0;
    kl_screen_draw(kl_w.config.draw && can_paint());
    kl_screen_panel(kl_w.config.panel);
    kl_screen_strip(kl_w.config.line);
}

/* ---- figures ---- */

/* Frames that close by the clock name no samples: there it is the newest press of our own. */
static double lead_of(const struct kl_client_stats *s, const struct second *c) {
    uint64_t counted = s->lead_count - c->lead_count;
    if (counted) return (double)(s->lead_sum - c->lead_sum) / (double)counted;
    if (kl_w.room.policy != KL_POLICY_OPTIMISTIC) return o.panel.lead_frames; /* of before the stall */
    return kl_w.play.pace.period_us > 0 ? (double)kl_w.play.press.took_us / kl_w.play.pace.period_us : 0;
}

static void count_second(uint64_t now_us) {
    const struct kl_client_stats *s = &kl_w.status.lock;
    struct second *c = &o.second;
    if (kl_w.play.report.run) c->frames++;
    if (now_us - c->since_us < SECOND_US) return;
    if (c->since_us)
        o.panel.fps =
            (unsigned)((c->frames * UINT64_C(1000000) + (now_us - c->since_us) / 2) / (now_us - c->since_us));
    o.panel.lead_frames = lead_of(s, c);
    *c = (struct second){now_us, s->lead_sum, s->lead_count, 0};
}

static uint16_t short_of(uint64_t v) {
    return v > UINT16_MAX ? UINT16_MAX : (uint16_t)v;
}

/* Of the call before: it has run its frames. */
static void remember(uint64_t now_us) {
    const struct klw_report *r = &kl_w.play.report;
    const struct kl_client_stats *s = &kl_w.status.lock;
    struct kl_graph_step step = {.backlog = short_of(r->backlog), .stalled = r->stalled};
    if (r->run) {
        step.need = s->need;
        step.had = s->had;
    }
    kl_graph_add(&o.history, &step, now_us);
}

/* One frame or two are nothing. */
static void follow_backlog(uint64_t now_us) {
    struct kl_panel *p = &o.panel;
    p->backlog = kl_w.play.report.backlog;
    p->behind = kl_w.play.pace.behind;
    if (kl_w.status.behind >= CATCH_UP_FROM) p->behind += kl_w.status.behind;
    if (p->behind <= CATCH_UP_UNTIL || p->stage != KL_PANEL_PLAYING)
        p->catch_up = 0;
    else if ((p->catch_up || p->behind >= CATCH_UP_FROM) && p->behind > p->catch_up)
        p->catch_up = p->behind;
    const struct kl_stay_status *s = &kl_w.status;
    bool begins = s->begins && s->shot_done < s->shot_total;
    kl_remaining_turn(&o.remaining, p->catch_up && !s->begins ? p->behind : 0, now_us);
    kl_remaining_turn(&o.fetching, begins ? s->shot_total - s->shot_done : 0, now_us);
    p->left_s = begins ? kl_remaining_s(&o.fetching) : kl_remaining_s(&o.remaining);
    const struct kl_pace *pace = &kl_w.play.pace;
    p->too_slow = kl_w.play.too_slow;
    p->machine_fps = kl_pace_unseen_us(pace) > 0 ? 1e6 / kl_pace_unseen_us(pace) : 0;
    p->core_fps = pace->period_us > 0 ? 1e6 / pace->period_us : 0;
    kl_w.play.report.left_s = p->left_s;
    kl_w.play.report.fetching = begins;
}

/* ---- the panel's content ---- */

/* In no room: alone, on the way to one, or refused a moment ago. */
static void follow_outside(uint64_t now_us) {
    struct kl_panel *p = &o.panel;
    const struct kl_advice_end *end = kl_advice_end();
    p->stage = KL_PANEL_LOCAL;
    if (*kl_w.emu.content.refusal) {
        p->stage = KL_PANEL_BROKEN;
        snprintf(p->reason, sizeof p->reason, "%s", kl_w.emu.content.refusal);
    } else if (p->retries) {
        p->stage = KL_PANEL_REACHING;
    } else if (*end->advice && now_us - end->at_us < ENDED_TOLD_US) {
        p->stage = KL_PANEL_ENDED;
        snprintf(p->reason, sizeof p->reason, "%s", end->advice);
    }
}

static void follow_phase(uint64_t now_us) {
    struct kl_panel *p = &o.panel;
    p->retries = kl_choice_retries();
    p->found_matches = kl_choice_quick();
    p->practises = kl_w.emu.phase == KL_PHASE_FREE && !kl_choice_still();
    kl_control_key("again", p->again);
    switch (kl_w.emu.phase) {
    case KL_PHASE_DEAD:
        p->stage = KL_PANEL_ENDED;
        snprintf(p->reason, sizeof p->reason, "%.*s", KL_PANEL_LINE - 1, kl_w.error);
        p->again[0] = 0;
        break;
    case KL_PHASE_WAITING:
    case KL_PHASE_FREE:
    case KL_PHASE_LOCAL:
        if (kl_choice_looking())
            p->stage = KL_PANEL_LOOKING;
        else if (!kl_w.link)
            follow_outside(now_us);
        break;
    case KL_PHASE_IDLE:
    case KL_PHASE_READY:
    case KL_PHASE_PLAYING: break;
    }
}

/* Follows the time of the present state, by a number that changes with the state. */
static void follow_state(uint64_t now_us) {
    const struct kl_panel *p = &o.panel;
    unsigned state = p->stage * 8u + (p->paused ? 1 : p->stalled ? 2 : p->absent ? 3 : 0);
    if (state != o.state || !o.since_us) o.since_us = now_us;
    o.state = state;
    /* the silence has begun before it was taken for a loss */
    o.panel.state_us = now_us - (p->stage == KL_PANEL_RETURNING ? kl_w.status.lost_us : o.since_us);
}

static void fill(uint64_t now_us) {
    uint8_t plays[KL_MAX_SEATS];
    struct kl_panel *p = &o.panel;
    const struct kl_params *params =
        kl_w.emu.phase == KL_PHASE_PLAYING ? &kl_w.room : &kl_w.status.welcome.params;
    for (unsigned s = 0; s < KL_MAX_SEATS; s++)
        plays[s] = (uint8_t)kl_command_seat(s);
    kl_panel_fill(p, &kl_w.status, o.away.shown, plays);
    snprintf(p->room, sizeof p->room, "%s", kl_w.config.room);
    snprintf(p->relay, sizeof p->relay, "%.56s:%u", kl_w.config.host, kl_w.config.port);
    kl_join_link(p->link, sizeof p->link);
    p->any_version = kl_join_any_version();
    p->policy = params->policy;
    p->budget_ms = params->wait_budget_ms;
    p->stalls = kl_w.play.stalls;
    p->longest_stall_ms = (unsigned)(kl_w.play.stall_longest_us / 1000);
    if (kl_w.play.report.run) p->stalled = false;
    if (kl_w.play.report.stalled) p->stalled = true;
    if (!p->desync) o.desync_us = now_us;
    p->desync_is_news = p->desync && now_us - o.desync_us <= DESYNC_TOLD_US;
    follow_phase(now_us);
    p->begun = p->begun || p->stage == KL_PANEL_PLAYING;
    follow_state(now_us);
}

void kl_overlay_desync(char line[KL_PANEL_LINE]) {
    fill(kl_now_us());
    kl_panel_desync(&o.panel, line);
}

/* ---- messages ---- */

static const enum kl_screen_tone screen_tones[] = {KL_SCREEN_INFO, KL_SCREEN_INFO, KL_SCREEN_WARNING,
                                                   KL_SCREEN_ERROR};

void kl_overlay_begin(void) {
    char line[KL_PANEL_LINE];
    fill(kl_now_us());
    kl_panel_begin(&o.panel, line);
    kl_wrapper_say(KL_SCREEN_INFO, BEGIN_TOLD_MS, "%s", line);
}

/* A line that lasts is logged when it begins; errors have been logged before. If the panel or a card shows,
 * the state is in that. */
static void tell_state(uint64_t now_us) {
    char line[KL_PANEL_LINE];
    int percent;
    enum kl_panel_tone tone = kl_panel_state(&o.panel, line, &percent);
    if (tone == KL_PANEL_ERROR && o.panel.desync && !o.panel.desync_is_news) return;
    bool news = strncmp(line, o.told, STATE_HEAD) != 0;
    if (!news && (!*line || now_us - o.told_us < (percent < 0 ? TOLD_EVERY_US : PROGRESS_EVERY_US))) return;
    if (news && *line && tone != KL_PANEL_ERROR)
        kl_screen_log(&kl_w.screen, kl_w.front.environment, "%s", line);
    snprintf(o.told, sizeof o.told, "%s", line);
    o.told_us = now_us;
    bool drawn = kl_screen_drawn(&kl_w.screen) && (kl_screen_panel_on() || kl_panel_card(&o.panel, &o.card));
    if (!*line || kl_w.emu.runner || drawn || kl_control_chat_line()) return;
    kl_screen_show(&kl_w.screen, kl_w.front.environment, screen_tones[tone], TOLD_MS, line, KL_SCREEN_NONE,
                   percent);
}

/* The line of chat that is being typed stands in the state's place. */
static void tell_chat(void) {
    static const char head[] = "say: ";
    char line[KL_PANEL_LINE];
    const char *text = kl_control_chat_line();
    if (!text) return;
    snprintf(line, sizeof line, "%s%s_%s", head, text,
             *text ? "" : "  (Game Focus on? Enter sends, Esc leaves)");
    kl_screen_show(&kl_w.screen, kl_w.front.environment, KL_SCREEN_INFO, CHAT_TOLD_MS, line, strlen(head),
                   -1);
}

static const struct kl_member *player_at(unsigned seat) {
    for (unsigned i = 0; i < kl_w.status.roster.count && i < KL_MAX_CLIENTS; i++) {
        const struct kl_member *m = &kl_w.status.roster.member[i];
        if (m->seats >> seat & 1 && m->state != KL_MEMBER_GONE) return m;
    }
    return NULL;
}

/* Tells only of others: an absent player knows it. The relay's word on an absence does not say whether a menu
 * or a dead link is the cause; its roster says so some seconds later. */
static void tell_away(unsigned seat) {
    const struct kl_member *m = player_at(seat);
    char since[16];
    if (!m || kl_w.status.welcome.seats >> seat & 1) return;
    uint64_t away_us = kl_away_time_us(&o.away, seat);
    struct kl_name_shown who = kl_command_shown(m);
    kl_panel_time(away_us, since);
    if (o.away.shown >> seat & 1)
        kl_wrapper_say(KL_SCREEN_INFO, 4000, "the game goes on without %s", who.text);
    else if (away_us < BACK_TOLD_US)
        kl_wrapper_say(KL_SCREEN_INFO, 3000, "%s is back", who.text);
    else
        kl_wrapper_say(KL_SCREEN_INFO, 3000, "%s is back after %s", who.text, since);
}

static void tell_lost(const struct kl_member *m) {
    bool playing = kl_w.status.phase == KL_STAY_PLAYING && m->seats;
    bool lost = m->state == KL_MEMBER_AWAY;
    if (playing && lost && !(o.lost >> m->client & 1))
        kl_wrapper_say(KL_SCREEN_INFO, 4000, "%s lost the connection, the seat is kept",
                       kl_command_shown(m).text);
    o.lost = lost ? o.lost | 1u << m->client : o.lost & ~(1u << m->client);
}

static void follow_away(uint64_t now_us) {
    bool playing = kl_w.status.phase == KL_STAY_PLAYING;
    uint8_t changed = kl_away_turn(&o.away, playing ? kl_w.status.lock.away : 0, now_us);
    for (unsigned s = 0; playing && s < KL_MAX_SEATS; s++)
        if (changed >> s & 1) tell_away(s);
    for (unsigned i = 0; i < kl_w.status.roster.count && i < KL_MAX_CLIENTS; i++)
        tell_lost(&kl_w.status.roster.member[i]);
}

/* ---- drawing ---- */

static void paint_line(const struct kl_canvas *c, int *bottom, const struct kl_screen_line *l,
                       uint64_t now_us) {
    static const enum kl_panel_tone tones[] = {KL_PANEL_INFO, KL_PANEL_WARNING, KL_PANEL_ERROR};
    const struct kl_panel_words w = {l->text, l->words, tones[l->tone], l->percent};
    if (now_us < l->until_us) *bottom = kl_panel_draw_line(c, *bottom, &w);
}

/* The panel has all of it. */
static bool strip_shows(void) {
    return kl_screen_strip_on() && !kl_screen_panel_on() && o.panel.stage == KL_PANEL_PLAYING;
}

/* At the top the card, else the panel. At the bottom the one line, then the state's, above it the news, the
 * newest lowest. */
static void paint(const struct kl_canvas *c) {
    uint64_t now_us = kl_now_us();
    int bottom = c->rows;
    if (kl_panel_card(&o.panel, &o.card) && kl_screen_drawn(&kl_w.screen))
        kl_panel_draw_card(&o.card, c);
    else if (kl_screen_panel_on())
        kl_panel_draw(&o.panel, &o.history, c);
    if (strip_shows()) bottom = kl_panel_draw_strip(&o.panel, c, bottom);
    if (!kl_screen_drawn(&kl_w.screen)) return;
    paint_line(c, &bottom, &kl_w.screen.state, now_us);
    for (unsigned i = 0; i < KL_SCREEN_NEWS; i++)
        paint_line(c, &bottom, &kl_w.screen.news[i], now_us);
}

static bool lines_stand(uint64_t now_us) {
    bool stand = now_us < kl_w.screen.state.until_us || kl_panel_card(&o.panel, &o.card);
    for (unsigned i = 0; i < KL_SCREEN_NEWS; i++)
        stand = stand || now_us < kl_w.screen.news[i].until_us;
    return stand && kl_screen_drawn(&kl_w.screen);
}

static void choose_over(uint64_t now_us) {
    bool wanted = kl_screen_panel_on() || strip_shows() || lines_stand(now_us);
    kl_w.emu.picture.turn = kl_w.emu.told.turns ? kl_w.emu.told.rotation : 0;
    kl_w.emu.picture.want_copy = can_paint(); /* the panel may be wanted in the middle of a stall */
    kl_w.emu.picture.over = wanted && can_paint() ? paint : NULL;
    if ((kl_screen_panel_on() || kl_screen_strip_on()) && kl_w.emu.picture.hardware)
        kl_wrapper_say_once(&o.said_hardware, "no panel: this core draws on the graphics card");
}

/* Reads the font when a line first needs it. */
static void follow_font(void) {
    char err[KL_PANEL_LINE];
    if (o.font_read || !kl_screen_drawn(&kl_w.screen) || !kl_screen_needs_unifont(&kl_w.screen)) return;
    o.font_read = true;
    int r = kl_unifont_read(kl_w.config.font, err, sizeof err);
    if (r != 0)
        kl_screen_log(&kl_w.screen, kl_w.front.environment, "no font for other scripts: %s%s", err,
                      r == KL_FILE_ABSENT && !*kl_w.config.font ? "; install the package unifont" : "");
}

void kl_overlay_turn(uint64_t now_us) {
    kl_screen_draw(kl_w.config.draw && can_paint());
    if (o.panel.stage == KL_PANEL_PLAYING) {
        remember(now_us);
        count_second(now_us);
    }
    follow_backlog(now_us);
    follow_away(now_us);
    fill(now_us);
    tell_state(now_us);
    tell_chat();
    follow_font();
    choose_over(now_us);
}
