#include "core_wrapper/match/choice.h"

#include <stdio.h>
#include <string.h>

#include "core_wrapper/match/join.h"
#include "core_wrapper/match/command.h"
#include "core_wrapper/match/control.h"
#include "core_wrapper/match/state.h"
#include "core_wrapper/words/own_options.h"
#include "core_wrapper/match/quick.h"
#include "core_wrapper/match/wanted_room.h"
#include "core_wrapper/match/load.h"
#include "core_wrapper/match/match.h"
#include "net/engine/facts.h"
#include "net/platform/clock.h"
#include "net/session/digest.h"

#define LOOK_US    300000  /* between looks at the frontend's options */
#define SETTLED_US 1500000 /* a menu is stepped through */
#define RETRY_US   3000000 /* until a relay that did not answer is asked again */

/* --- the options' values --- */

static const char *ask(struct kl_match *m, const char *key) {
    return m->emu.runner ? NULL : kl_control_ask(m, key);
}

/* A recording was left for a room that begins with its frame. */
static bool takes_over(struct kl_match *m) {
    return m->join.take_over.start && !m->choice.by_menu;
}

static enum kl_play_mode said(struct kl_match *m) {
    enum kl_play_mode mode = m->choice.by_menu ? KL_PLAY_AUTO : m->config.mode;
    const char *menu = ask(m, KL_OWN_MODE);
    if (m->choice.left) return KL_PLAY_ALONE;
    if (takes_over(m)) return KL_PLAY_ROOM;
    if (mode == KL_PLAY_AUTO && menu) return kl_config_word("mode", menu, KL_PLAY_AUTO);
    return mode;
}

static enum kl_play_mode wanted(struct kl_match *m) {
    enum kl_play_mode mode = said(m);
    if (!*m->config.host) return KL_PLAY_ALONE;
    return mode == KL_PLAY_AUTO ? KL_PLAY_ROOM : mode;
}

static bool practises(struct kl_match *m) {
    enum kl_practice p = m->config.practice;
    const char *menu = ask(m, KL_OWN_PRACTICE);
    if (takes_over(m)) return false; /* the picture stands where the match begins */
    if (p == KL_PRACTICE_AUTO && menu) p = kl_config_word("practice", menu, p);
    return p != KL_PRACTICE_OFF;
}

/* A frontend that has no options yet shows them from now on. */
static void see_menu(struct kl_match *m, char out[64]) {
    const char *mode = ask(m, KL_OWN_MODE), *room = ask(m, KL_OWN_ROOM);
    snprintf(out, 64, "%.20s %.40s", mode ? mode : "auto", room ? room : "own");
}

/* A quick match is looked for when the player asks for it, not because the frontend keeps its options. */
static void forget_quick(struct kl_match *m) {
    struct retro_variable alone = {KL_OWN_MODE, "alone"};
    const char *menu = ask(m, KL_OWN_MODE);
    if (m->config.mode != KL_PLAY_AUTO || !menu || strcmp(menu, "quick") != 0) return;
    m->choice.left = true; /* also in a frontend that cannot change an option */
    (void)m->front.call.environment(RETRO_ENVIRONMENT_SET_VARIABLE, &alone);
    if (*m->config.host)
        kl_frontend_say(&m->front, KL_SCREEN_INFO, 5000, "alone: choose Quick match again to look for one");
}

bool kl_choice_alone(struct kl_match *m) {
    if (!m->emu.told.options && !m->emu.runner) {
        kl_own_options_alone(m->front.call.environment);
        m->emu.told.options = true;
    }
    forget_quick(m);
    return wanted(m) == KL_PLAY_ALONE;
}

/* --- going somewhere --- */

/* named: by the player, not by a list or by the game. */
static uint8_t consent(struct kl_match *m, const struct kl_room_request *r, bool named) {
    const struct kl_config *c = &m->config;
    if (r->quick || c->trust == KL_TRUST_OFF) return KL_CONSENT_NONE;
    if (c->trust == KL_TRUST_ON || *r->password) return KL_CONSENT_ROOM;
    if (m->choice.netplay) return KL_CONSENT_NONE;
    if (named && c->linked) return KL_CONSENT_ROOM;
    return named || r->unlisted ? KL_CONSENT_UNLISTED : KL_CONSENT_NONE;
}

/* The relay of m->join.request. room: NULL: the player's own. */
static bool join(struct kl_match *m, const char *room, uint8_t seats) {
    struct kl_room_request *r = &m->join.request;
    bool named = !room && *r->room;
    if (room) snprintf(r->room, sizeof r->room, "%s", room);
    bool unnamed = !*r->room;
    if (unnamed) kl_join_room(m, r->room, m->choice.nth);
    r->seats = seats;
    r->quick = m->choice.mode == KL_PLAY_QUICK;
    r->seated = (r->quick || unnamed) && seats;
    r->unlisted = m->choice.netplay || (!r->quick && m->config.unlisted);
    r->once = m->choice.netplay;
    if (r->quick || m->choice.netplay) r->password[0] = 0;
    r->consent = consent(m, r, named);
    memset(&m->status, 0, sizeof m->status);
    return kl_join_open(m);
}

static bool join_named(struct kl_match *m, uint8_t seats) {
    struct kl_room_request *r = &m->join.request;
    const char *room = ask(m, KL_OWN_ROOM);
    bool own = !room || !strcmp(room, "own");
    kl_room_request_own(r, &m->config);
    if (takes_over(m)) snprintf(r->room, sizeof r->room, "%s", m->join.take_over.room);
    return join(m, own ? NULL : room, seats);
}

/* Full, or others' own: the next room of this game. */
static bool join_beside(struct kl_match *m, bool wandering) {
    const struct kl_participant_status *s = &m->status;
    bool unnamed = m->join.request.seated && m->choice.mode == KL_PLAY_ROOM && !m->choice.netplay;
    bool taken = s->refused == KL_REFUSE_FULL || s->refused == KL_REFUSE_FAR ||
                 (s->refused == KL_REFUSE_DOOR && !*m->join.request.password);
    if (!unnamed || !taken || ++m->choice.nth == KL_ROOM_NAMES) return false;
    kl_join_leave(m, 0);
    kl_match_on(m, KL_ON_PUT_BACK);
    if (wandering) kl_match_on(m, KL_ON_FREE);
    return join_named(m, m->config.seats);
}

static bool look_for_match(struct kl_match *m) {
    struct kl_quick_want want = {.port = m->config.port, .seats = m->config.seats ? m->config.seats : 1};
    snprintf(want.host, sizeof want.host, "%s", m->config.host);
    kl_join_identity(m, want.identity);
    m->choice.barred[0] = 0;
    m->choice.made = false;
    m->choice.quick = kl_quick_open(&want);
    if (m->choice.quick)
        kl_match_on(m, KL_ON_LOOK);
    else
        kl_frontend_fail(&m->front, "no memory for a quick match: close other programs");
    return m->choice.quick;
}

/* --- another room of this game --- */

static void look_beside(struct kl_match *m) {
    const struct kl_room_request *r = &m->join.request;
    struct kl_quick_want want = {.port = r->port, .seats = r->seats ? r->seats : 1, .named = m->choice.quick};
    snprintf(want.host, sizeof want.host, "%s", r->host);
    snprintf(want.beside, sizeof want.beside, "%s", r->room);
    kl_identity(&m->join.config.hello.facts, want.identity);
    m->choice.beside.look = kl_quick_open(&want);
}

static void forget_beside(struct kl_match *m) {
    kl_quick_close(m->choice.beside.look);
    memset(&m->choice.beside, 0, sizeof m->choice.beside);
}

/* Of a list that is not proved: it is told, and nobody goes there by it. */
static void note_beside(struct kl_match *m, const char *room) {
    if (!strcmp(room, m->choice.beside.room)) return;
    kl_copy_cut(m->choice.beside.room, sizeof m->choice.beside.room, room);
    if (!*room) return;
    if (kl_screen_drawn(&m->front.screen)) /* the card has it */
        kl_frontend_log(&m->front, "also open: room %s", room);
    else
        kl_frontend_say(&m->front, KL_SCREEN_INFO, 4000, "also open: room %s", room);
}

static void follow_beside(struct kl_match *m) {
    char room[256], why[256];
    enum kl_participant_phase phase = m->status.phase;
    const struct kl_roster *r = &m->status.roster;
    bool waits = m->link && (phase == KL_PARTICIPANT_WAITING || phase == KL_PARTICIPANT_READY) &&
                 r->filled < r->players;
    if (!waits || m->emu.runner || m->choice.netplay) {
        if (m->choice.beside.look) forget_beside(m);
        return;
    }
    if (!m->choice.beside.look) look_beside(m);
    if (!m->choice.beside.look) return;
    switch (kl_quick_news(m->choice.beside.look, room, why)) {
    case KL_QUICK_FOUND: note_beside(m, room); break;
    case KL_QUICK_NONE: note_beside(m, ""); break;
    case KL_QUICK_LOOKING:
    case KL_QUICK_FAILED: break;
    }
}

static void leave(struct kl_match *m) {
    forget_beside(m);
    kl_quick_close(m->choice.quick);
    m->choice.quick = NULL;
    m->choice.made = false;
    kl_join_leave(m, 100);
    memset(&m->status, 0, sizeof m->status);
    if (m->choice.netplay) kl_room_request_own(&m->join.request, &m->config);
    m->choice.netplay = false;
}

/* From wherever we are, the core loaded and not in a game. A game that did not load is in no room: the core
 * runs, and its picture says why (overlay.c adds the file's name). */
static bool go(struct kl_match *m, enum kl_play_mode mode) {
    if (*m->emu.content.refusal) mode = KL_PLAY_ALONE;
    m->choice.mode = mode;
    m->choice.nth = 0;
    bool runs = m->emu.phase == KL_PHASE_FREE || m->emu.phase == KL_PHASE_LOCAL;
    m->choice.end.advice[0] = 0;
    kl_match_on(m, mode == KL_PLAY_ALONE || runs || !m->emu.runner ? KL_ON_FREE : KL_ON_STAND);
    bool away = mode != KL_PLAY_AUTO && mode != KL_PLAY_ALONE;
    if (away && !kl_checks_known(m)) { /* a large game's checksum; kl_choice_turn() goes on */
        kl_match_on(m, KL_ON_READ);
        return true;
    }
    switch (mode) {
    case KL_PLAY_AUTO:
    case KL_PLAY_ALONE: return true;
    case KL_PLAY_QUICK: return look_for_match(m);
    case KL_PLAY_ROOM: return join_named(m, m->config.seats);
    case KL_PLAY_SPECTATE:
        return join_named(m, 0); /* watches a game under way, if the relay lets spectators in */
    }
    return false;
}

/* --- RetroArch's netplay --- */

bool kl_choice_netplay(struct kl_match *m, const char *host, uint16_t port, const char *fingerprint,
                       const char *room) {
    struct kl_room_request *r = &m->join.request;
    if (!m->emu.core.game_loaded || !kl_match_lockable(m->state) || *m->emu.content.refusal) return false;
    kl_match_on(m, KL_ON_GONE);
    leave(m);
    m->choice.netplay = true;
    m->choice.left = false;
    m->choice.mode = KL_PLAY_ROOM;
    kl_room_request_own(r, &m->config);
    snprintf(r->host, sizeof r->host, "%s", host);
    r->port = port;
    snprintf(r->fingerprint, sizeof r->fingerprint, "%s", fingerprint);
    kl_match_on(m, KL_ON_FREE); /* the game runs until the match begins */
    if (join(m, room, m->config.seats ? m->config.seats : 1)) return true;
    leave(m);
    return false;
}

void kl_choice_netplay_over(struct kl_match *m) {
    if (!m->choice.netplay || m->emu.phase == KL_PHASE_PLAYING) return;
    leave(m);
    kl_match_on(m, KL_ON_FREE);
    m->choice.mode = KL_PLAY_ALONE;
}

/* The same with the next kl_choice_turn(): a pad is polled in the middle of a call that needs the link.
 * False: in no room and on no way to one. */
static bool leave_soon(struct kl_match *m) {
    m->choice.leaves = kl_match_away(m->state);
    return m->choice.leaves;
}

bool kl_choice_open(struct kl_match *m) {
    kl_command_on(m, kl_choice_again, leave_soon);
    kl_room_request_own(&m->join.request, &m->config);
    see_menu(m, m->choice.menu);
    return go(m, wanted(m));
}

/* --- a quick match --- */

static void enter(struct kl_match *m, const char *room) {
    char name[KL_NAME_MAX];
    snprintf(name, sizeof name, "%s", room);
    if (m->link) kl_join_leave(m, 100);
    kl_room_request_own(&m->join.request, &m->config);
    if (!join(m, name, m->config.seats ? m->config.seats : 1)) leave(m);
}

/* In a room of ours somebody may have come by now. */
static bool is_alone(struct kl_match *m) {
    bool waits = m->status.phase == KL_PARTICIPANT_WAITING || m->status.phase == KL_PARTICIPANT_READY;
    return waits && m->status.roster.count <= 1;
}

static void follow_quick(struct kl_match *m) {
    char room[256], why[256], mine[KL_NAME_MAX];
    switch (kl_quick_news(m->choice.quick, room, why)) {
    case KL_QUICK_LOOKING: return;
    case KL_QUICK_FAILED:
        if (!m->link) kl_frontend_say(&m->front, KL_SCREEN_WARNING, 3000, "quick match: %s", why);
        return;
    case KL_QUICK_NONE:
        if (m->link) return;
        kl_quick_name(mine);
        m->choice.made = true;
        kl_quick_look(m->choice.quick, mine, m->choice.barred);
        enter(m, mine);
        return;
    case KL_QUICK_FOUND:
        if (m->link && (!m->choice.made || !is_alone(m) || !strcmp(room, m->join.request.room))) return;
        m->choice.made = false;
        enter(m, room);
        return;
    }
}

/* At the terminal of `keylock play`, where RetroArch itself writes nothing without --verbose. Once, however
 * often the same relay is asked. */
static void tell_terminal(struct kl_match *m) {
    static char told[KL_ADVICE_MAX];
    if (!m->config.invite || !strcmp(told, m->choice.end.advice)) return;
    snprintf(told, sizeof told, "%s", m->choice.end.advice);
    fprintf(stderr, "[Keylock] %s\n", told);
}

/* The way to a room has ended. The game goes on for the player alone. A relay that does not answer is asked
 * again: it may come up. */
static void fail(struct kl_match *m) {
    const struct kl_participant_status *s = &m->status;
    char reason[KL_TEXT_MAX];
    bool unreached = !s->refused && !*s->fingerprint && !m->choice.netplay;
    snprintf(reason, sizeof reason, "%s", s->reason);
    kl_advice(s->refused, reason, m->join.request.room, m->choice.end.advice);
    m->choice.end.at_us = kl_now_us();
    if (!unreached) snprintf(m->front.error, sizeof m->front.error, "%.199s", m->choice.end.advice);
    kl_frontend_log(&m->front, "%s", m->choice.end.advice);
    kl_frontend_log(&m->front, "%s", reason);
    tell_terminal(m);
    leave(m);
    kl_match_on(m, KL_ON_FREE);
    if (!unreached) {
        m->choice.mode = KL_PLAY_ALONE;
        return;
    }
    m->choice.retry_us = kl_now_us() + RETRY_US;
    kl_match_on(m, KL_ON_SILENCE);
}

bool kl_choice_ended(struct kl_match *m) {
    bool wandering = m->emu.phase == KL_PHASE_FREE || m->state == KL_MATCH_READY;
    if (join_beside(m, wandering)) return true;
    if (m->choice.quick) { /* taken by another in the meantime: look on */
        snprintf(m->choice.barred, sizeof m->choice.barred, "%s", m->choice.made ? "" : m->join.request.room);
        if (!m->choice.made && m->status.refused == KL_REFUSE_IDENTITY)
            kl_quick_bar(m->choice.quick, m->join.request.room);
        kl_frontend_say(&m->front, KL_SCREEN_WARNING, 3000, "quick match: %s", m->status.reason);
        m->choice.made = false;
        kl_join_leave(m, 0);
        kl_match_on(m, KL_ON_PUT_BACK);
        if (!m->emu.runner) kl_match_on(m, KL_ON_FREE);
        kl_quick_look(m->choice.quick, "", m->choice.barred);
        kl_match_on(m, KL_ON_LOOK);
        return true;
    }
    if (!wandering) return false;
    fail(m);
    return true;
}

bool kl_choice_still(struct kl_match *m) {
    return m->choice.mode != KL_PLAY_ALONE && !practises(m);
}

void kl_choice_begun(struct kl_match *m) {
    kl_quick_close(m->choice.quick);
    m->choice.quick = NULL;
}

/* --- changing one's mind --- */

static void change(struct kl_match *m, enum kl_play_mode mode) {
    bool playing = m->emu.phase == KL_PHASE_PLAYING;
    if (playing && mode != KL_PLAY_ALONE) {
        char key[KL_HOTKEYS_NAME];
        kl_hotkeys_name(kl_control_key(m, "leave"), "+", key);
        kl_frontend_say(&m->front, KL_SCREEN_INFO, 4000, "you are in a match: leave it first (%s)",
                        *key ? key : "Play: Alone");
        return;
    }
    if (!m->emu.core.game_loaded) return;
    if (mode == KL_PLAY_ALONE && kl_match_away(m->state))
        kl_frontend_say(&m->front, KL_SCREEN_INFO, 4000, "you left; the game goes on alone");
    leave(m);
    if (playing)
        kl_match_on(m, KL_ON_GONE);
    else if (!go(m, mode))
        kl_match_on(m, KL_ON_FREE);
}

void kl_choice_leave(struct kl_match *m) {
    m->choice.leaves = false;
    if (!kl_match_away(m->state)) return;
    m->choice.left = true;
    change(m, KL_PLAY_ALONE);
}

bool kl_choice_again(struct kl_match *m) {
    static struct kl_config now;
    char err[KLW_TEXT_MAX];
    const enum kl_match_state s = m->state;
    bool stays =
        s != KL_MATCH_ALONE && s != KL_MATCH_READING && s != KL_MATCH_RETRYING && s != KL_MATCH_AFTER;
    if (stays || wanted(m) == KL_PLAY_ALONE) return false;
    if (kl_open_core_settings(m, &now, err, sizeof err) == 0) {
        m->config = now;
        m->choice.by_menu = false;
    } else
        kl_frontend_say(&m->front, KL_SCREEN_WARNING, 4000, "%s", err);
    if (!go(m, wanted(m))) kl_match_on(m, KL_ON_FREE);
    return true;
}

static void look(struct kl_match *m, uint64_t now_us) {
    char now[sizeof m->choice.menu];
    see_menu(m, now);
    if (strcmp(now, m->choice.menu) != 0) {
        strcpy(m->choice.menu, now);
        m->choice.turned_us = now_us;
    }
    if (!m->choice.turned_us || now_us - m->choice.turned_us < SETTLED_US || m->emu.phase == KL_PHASE_READY)
        return;
    m->choice.turned_us = 0;
    /* A change in the core options is the player's newest choice and counts over any earlier one. */
    m->choice.by_menu = true;
    m->choice.left = false;
    bool stays = m->choice.netplay && said(m) != KL_PLAY_ALONE; /* its room is none of the menu's */
    if (!stays) change(m, wanted(m));
}

void kl_choice_turn(struct kl_match *m, uint64_t now_us) {
    if (m->choice.leaves) kl_choice_leave(m);
    if (m->choice.quick) follow_quick(m);
    follow_beside(m);
    bool read = kl_match_reads(m->state) && kl_sums_idle(&m->join.checks.sums, 0);
    if (read && !go(m, m->choice.mode)) kl_match_on(m, KL_ON_FREE);
    if (m->state == KL_MATCH_RETRYING && now_us >= m->choice.retry_us) (void)kl_choice_again(m);
    if (m->emu.runner || now_us - m->choice.looked_us < LOOK_US) return;
    m->choice.looked_us = now_us;
    bool alone = *m->config.host || said(m) == KL_PLAY_AUTO || said(m) == KL_PLAY_ALONE;
    if (!alone && !m->choice.told_no_relay)
        kl_frontend_say(&m->front, KL_SCREEN_WARNING, 6000,
                        "no relay is set: run keylock install --relay HOST");
    m->choice.told_no_relay = !alone;
    if (kl_match_lockable(m->state)) look(m, now_us);
}

void kl_choice_close(struct kl_match *m) {
    forget_beside(m);
    kl_quick_close(m->choice.quick);
    m->choice.end.advice[0] = 0;
    memset(&m->choice, 0, sizeof m->choice);
}
