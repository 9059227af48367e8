#include "core_wrapper/match/choice.h"

#include <stdio.h>
#include <string.h>

#include "core_wrapper/match/command.h"
#include "core_wrapper/match/control.h"
#include "core_wrapper/match/join.h"
#include "core_wrapper/words/own_options.h"
#include "core_wrapper/match/quick.h"
#include "core_wrapper/record/record.h"
#include "core_wrapper/match/room_name.h"
#include "core_wrapper/match/phase.h"
#include "core_wrapper/match/wish.h"
#include "core_wrapper/context/wrapper.h"
#include "net/platform/clock.h"

#define LOOK_US    300000  /* between looks at the frontend's options */
#define SETTLED_US 1500000 /* a menu is stepped through */
#define RETRY_US   3000000 /* until a relay that did not answer is asked again */

static struct {
    enum kl_play_mode mode;           /* as it is played */
    char menu[64], room[KL_NAME_MAX]; /* the options as last seen; their room */
    uint64_t looked_us, turned_us;
    unsigned nth; /* of the rooms of this game, for a player who named none */
    struct kl_config
        said; /* room, seats, password, unlisted as they were before a quick match changed them */
    struct kl_quick *quick;
    char barred[KL_NAME_MAX]; /* a room that we were refused */
    bool made;                /* the room that we are in is ours, for a quick match */
    bool told_no_relay;
    bool netplay;      /* in a room that RetroArch's netplay led to */
    bool left;         /* by the frontend's own menu: alone, until something is chosen in the core options */
    uint64_t retry_us; /* the relay did not answer and is asked again then; 0: it is not */
} c;

/* The player's own settings. */
static const struct kl_config *own(void) {
    return c.netplay ? &c.said : &kl_w.config;
}

/* ---- the options' values ---- */

static const char *ask(const char *key) {
    return kl_w.emu.runner ? NULL : kl_control_ask(key);
}

static enum kl_play_mode said(void) {
    enum kl_play_mode mode = kl_w.config.mode;
    const char *menu = ask(KL_OWN_MODE);
    if (c.left) return KL_PLAY_ALONE;
    if (mode == KL_PLAY_AUTO && menu) (void)kl_config_mode(menu, &mode);
    return mode;
}

static enum kl_play_mode wanted(void) {
    enum kl_play_mode mode = said();
    if (!*own()->host) return KL_PLAY_ALONE;
    return mode == KL_PLAY_AUTO ? KL_PLAY_ROOM : mode;
}

static bool practises(void) {
    enum kl_practice p = kl_w.config.practice;
    const char *menu = ask(KL_OWN_PRACTICE);
    if (p == KL_PRACTICE_AUTO && menu) (void)kl_config_practice(menu, &p);
    return p != KL_PRACTICE_OFF;
}

/* A frontend that has no options yet shows them from now on. */
static void see_menu(char out[64]) {
    const char *mode = ask(KL_OWN_MODE), *room = ask(KL_OWN_ROOM);
    snprintf(out, 64, "%.20s %.40s", mode ? mode : "auto", room ? room : "own");
}

/* A quick match is looked for when the player asks for it, not because the frontend keeps its options. */
static void forget_quick(void) {
    struct retro_variable alone = {KL_OWN_MODE, "alone"};
    const char *menu = ask(KL_OWN_MODE);
    if (kl_w.config.mode != KL_PLAY_AUTO || !menu || strcmp(menu, "quick") != 0) return;
    c.left = true; /* also in a frontend that cannot change an option */
    (void)kl_w.front.environment(RETRO_ENVIRONMENT_SET_VARIABLE, &alone);
    if (*kl_w.config.host)
        kl_wrapper_say(KL_SCREEN_INFO, 5000, "alone: choose Quick match again to look for one");
}

bool kl_choice_alone(void) {
    if (!kl_w.emu.told.options && !kl_w.emu.runner) {
        kl_own_options_alone(kl_w.front.environment);
        kl_w.emu.told.options = true;
    }
    forget_quick();
    return wanted() == KL_PLAY_ALONE;
}

/* ---- going somewhere ---- */

/* named: by the player, not by a list or by the game. */
static uint8_t consent(const struct kl_config *is, bool quick, bool named) {
    if (quick || is->trust == KL_TRUST_OFF) return KL_CONSENT_NONE;
    if (is->trust == KL_TRUST_ON || *is->password) return KL_CONSENT_ROOM;
    if (c.netplay) return KL_CONSENT_NONE;
    if (named && is->linked) return KL_CONSENT_ROOM;
    return named || is->unlisted ? KL_CONSENT_UNLISTED : KL_CONSENT_NONE;
}

static bool join(const char *room, uint8_t seats) {
    struct kl_config *is = &kl_w.config;
    bool quick = c.mode == KL_PLAY_QUICK;
    bool named = !room && *is->room;
    if (room) snprintf(is->room, sizeof is->room, "%s", room);
    bool unnamed = !*is->room;
    if (unnamed) kl_join_room(is->room, c.nth);
    is->seats = seats;
    is->quick = quick;
    is->seated = (quick || unnamed) && seats;
    is->unlisted = c.netplay || (!quick && c.said.unlisted);
    is->once = c.netplay;
    if (quick || c.netplay) is->password[0] = 0;
    is->consent = consent(is, quick, named);
    memset(&kl_w.status, 0, sizeof kl_w.status);
    if (!kl_join_open()) return false;
    kl_record_open();
    return true;
}

static bool join_named(uint8_t seats) {
    const char *room = ask(KL_OWN_ROOM);
    bool own = !room || !strcmp(room, "own");
    kl_w.config = c.said;
    return join(own ? NULL : room, seats);
}

/* Full, or others' own: the next room of this game. */
static bool join_beside(bool wandering) {
    const struct kl_stay_status *s = &kl_w.status;
    bool unnamed = kl_w.config.seated && c.mode == KL_PLAY_ROOM && !c.netplay;
    bool taken = s->refused == KL_REFUSE_FULL || s->refused == KL_REFUSE_FAR ||
                 (s->refused == KL_REFUSE_DOOR && !*kl_w.config.password);
    if (!unnamed || !taken || ++c.nth == KL_ROOM_NAMES) return false;
    kl_phase_leave(0);
    if (kl_w.emu.phase == KL_PHASE_READY) kl_w.emu.phase = KL_PHASE_WAITING;
    if (wandering) kl_phase_free();
    return join_named(c.said.seats);
}

static bool look_for_match(void) {
    struct kl_quick_want want = {.port = kl_w.config.port, .seats = c.said.seats ? c.said.seats : 1};
    snprintf(want.host, sizeof want.host, "%s", kl_w.config.host);
    kl_join_identity(want.identity);
    c.barred[0] = 0;
    c.made = false;
    c.quick = kl_quick_open(&want);
    if (!c.quick) kl_wrapper_fail("no memory for a quick match: close other programs");
    return c.quick != NULL;
}

static void leave(void) {
    kl_quick_close(c.quick);
    c.quick = NULL;
    c.made = false;
    kl_phase_leave(100);
    memset(&kl_w.status, 0, sizeof kl_w.status);
    if (c.netplay) kl_w.config = c.said;
    c.netplay = false;
}

/* From wherever we are, the core loaded and not in a game. A game that did not load is in no room: the core
 * runs, and its picture says why (overlay.c adds the file's name). */
static bool go(enum kl_play_mode mode) {
    if (*kl_w.emu.content.refusal) mode = KL_PLAY_ALONE;
    c.mode = mode;
    c.nth = 0;
    bool runs = kl_w.emu.phase == KL_PHASE_FREE || kl_w.emu.phase == KL_PHASE_LOCAL;
    kl_advice_end()->advice[0] = 0;
    c.retry_us = 0;
    if (mode == KL_PLAY_ALONE || runs || !kl_w.emu.runner)
        kl_phase_free();
    else
        kl_w.emu.phase = KL_PHASE_WAITING;
    switch (mode) {
    case KL_PLAY_AUTO:
    case KL_PLAY_ALONE: return true;
    case KL_PLAY_QUICK: return look_for_match();
    case KL_PLAY_ROOM: return join_named(c.said.seats);
    case KL_PLAY_SPECTATE:
        return join_named(0); /* watches a game under way, if the relay lets spectators in */
    }
    return false;
}

/* ---- RetroArch's netplay ---- */

bool kl_choice_netplay(const char *host, uint16_t port, const char *fingerprint, const char *room) {
    struct kl_config to = c.said;
    if (!kl_w.emu.core.game_loaded || kl_w.mode != KL_MODE_ROOM || *kl_w.emu.content.refusal) return false;
    snprintf(to.host, sizeof to.host, "%s", host);
    to.port = port;
    snprintf(to.fingerprint, sizeof to.fingerprint, "%s", fingerprint);
    if (kl_w.emu.phase == KL_PHASE_PLAYING) kl_phase_local();
    leave();
    c.netplay = true;
    c.left = false;
    c.mode = KL_PLAY_ROOM;
    kl_w.config = to;
    kl_phase_free(); /* the game runs until the match begins */
    if (join(room, c.said.seats ? c.said.seats : 1)) return true;
    leave();
    return false;
}

void kl_choice_netplay_over(void) {
    if (!c.netplay || kl_w.emu.phase == KL_PHASE_PLAYING) return;
    leave();
    kl_phase_free();
    c.mode = KL_PLAY_ALONE;
}

bool kl_choice_open(void) {
    kl_command_on_again(kl_choice_again);
    c.said = kl_w.config;
    see_menu(c.menu);
    return go(wanted());
}

/* ---- a quick match ---- */

static void enter(const char *room) {
    char name[KL_NAME_MAX];
    snprintf(name, sizeof name, "%s", room);
    if (kl_w.link) kl_phase_leave(100);
    if (!join(name, c.said.seats ? c.said.seats : 1)) leave();
}

/* In a room of ours somebody may have come by now. */
static bool is_alone(void) {
    bool waits = kl_w.status.phase == KL_STAY_WAITING || kl_w.status.phase == KL_STAY_READY;
    return waits && kl_w.status.roster.count <= 1;
}

static void follow_quick(void) {
    char room[256], why[256], mine[KL_NAME_MAX];
    switch (kl_quick_news(c.quick, room, why)) {
    case KL_QUICK_LOOKING: return;
    case KL_QUICK_FAILED:
        if (!kl_w.link) kl_wrapper_say(KL_SCREEN_WARNING, 3000, "quick match: %s", why);
        return;
    case KL_QUICK_NONE:
        if (kl_w.link) return;
        kl_quick_name(mine);
        c.made = true;
        kl_quick_look(c.quick, mine, c.barred);
        enter(mine);
        return;
    case KL_QUICK_FOUND:
        if (kl_w.link && (!c.made || !is_alone() || !strcmp(room, kl_w.config.room))) return;
        c.made = false;
        enter(room);
        return;
    }
}

/* At the terminal of `keylock play`, where RetroArch itself writes nothing without --verbose. Once, however
 * often the same relay is asked. */
static void tell_terminal(void) {
    static char told[KL_ADVICE_MAX];
    if (!kl_w.config.invite || !strcmp(told, kl_advice_end()->advice)) return;
    snprintf(told, sizeof told, "%s", kl_advice_end()->advice);
    fprintf(stderr, "[Keylock] %s\n", told);
}

/* The way to a room has ended. The game goes on for the player alone. A relay that does not answer is asked
 * again: it may come up. */
static void fail(void) {
    const struct kl_stay_status *s = &kl_w.status;
    char reason[KL_TEXT_MAX];
    bool unreached = !s->refused && !*s->fingerprint && !c.netplay;
    snprintf(reason, sizeof reason, "%s", s->reason);
    kl_advice(s->refused, reason, kl_w.config.room, kl_advice_end()->advice);
    kl_advice_end()->at_us = kl_now_us();
    if (!unreached) snprintf(kl_w.error, sizeof kl_w.error, "%.199s", kl_advice_end()->advice);
    kl_screen_log(&kl_w.screen, kl_w.front.environment, "%s", kl_advice_end()->advice);
    kl_screen_log(&kl_w.screen, kl_w.front.environment, "%s", reason);
    tell_terminal();
    leave();
    kl_phase_free();
    if (unreached) c.retry_us = kl_now_us() + RETRY_US;
    if (!unreached) c.mode = KL_PLAY_ALONE;
}

bool kl_choice_ended(void) {
    bool wandering = kl_w.emu.phase == KL_PHASE_FREE || kl_phase_ran_free();
    if (join_beside(wandering)) return true;
    if (c.quick) { /* taken by another in the meantime: look on */
        snprintf(c.barred, sizeof c.barred, "%s", c.made ? "" : kl_w.config.room);
        if (!c.made && kl_w.status.refused == KL_REFUSE_IDENTITY) kl_quick_bar(c.quick, kl_w.config.room);
        kl_wrapper_say(KL_SCREEN_WARNING, 3000, "quick match: %s", kl_w.status.reason);
        c.made = false;
        kl_phase_leave(0);
        kl_quick_look(c.quick, "", c.barred);
        if (kl_w.emu.phase == KL_PHASE_READY) kl_w.emu.phase = KL_PHASE_WAITING;
        if (!kl_w.emu.runner) kl_phase_free();
        return true;
    }
    if (!wandering) return false;
    fail();
    return true;
}

bool kl_choice_looking(void) {
    return c.quick && !kl_w.link;
}

bool kl_choice_quick(void) {
    return c.quick;
}

bool kl_choice_retries(void) {
    return c.retry_us;
}

bool kl_choice_still(void) {
    return c.mode != KL_PLAY_ALONE && !practises();
}

void kl_choice_begun(void) {
    kl_quick_close(c.quick);
    c.quick = NULL;
}

/* ---- changing one's mind ---- */

static void change(enum kl_play_mode mode) {
    bool playing = kl_w.emu.phase == KL_PHASE_PLAYING;
    if (playing && mode != KL_PLAY_ALONE) {
        kl_wrapper_say(KL_SCREEN_INFO, 4000, "you are in a match: choose \"Alone\" to leave it first");
        return;
    }
    if (!kl_w.emu.core.game_loaded) return;
    if (playing) kl_wrapper_say(KL_SCREEN_INFO, 4000, "you left the room; the game goes on alone");
    leave();
    if (playing)
        kl_phase_local();
    else if (!go(mode))
        kl_phase_free();
}

void kl_choice_leave(void) {
    if (kl_w.mode != KL_MODE_ROOM || (!kl_w.link && !c.quick)) return;
    c.left = true;
    change(KL_PLAY_ALONE);
}

bool kl_choice_again(void) {
    static struct kl_config now;
    char err[KLW_TEXT_MAX];
    bool stands = kl_w.emu.phase == KL_PHASE_FREE || kl_w.emu.phase == KL_PHASE_LOCAL;
    if (kl_w.mode != KL_MODE_ROOM || kl_w.link || c.quick || !stands || wanted() == KL_PLAY_ALONE)
        return false;
    if (kl_config_read(&now, kl_w.system_dir, err, sizeof err) == 0 &&
        kl_wish_apply(&now, err, sizeof err) == 0)
        kl_w.config = c.said = now;
    else
        kl_wrapper_say(KL_SCREEN_WARNING, 4000, "%s", err);
    if (!go(wanted())) kl_phase_free();
    return true;
}

/* A change in the core options is the player's newest choice and counts over any earlier one. */
static void heed_menu(void) {
    c.said.mode = kl_w.config.mode = KL_PLAY_AUTO;
    c.left = false;
}

static void look(uint64_t now_us) {
    char now[sizeof c.menu];
    see_menu(now);
    if (strcmp(now, c.menu) != 0) {
        strcpy(c.menu, now);
        c.turned_us = now_us;
    }
    if (!c.turned_us || now_us - c.turned_us < SETTLED_US || kl_w.emu.phase == KL_PHASE_READY) return;
    c.turned_us = 0;
    heed_menu();
    bool stays = c.netplay && said() != KL_PLAY_ALONE; /* its room is none of the menu's */
    if (!stays) change(wanted());
}

static void say_no_relay(void) {
    bool alone = *own()->host || said() == KL_PLAY_AUTO || said() == KL_PLAY_ALONE;
    if (!alone && !c.told_no_relay)
        kl_wrapper_say(KL_SCREEN_WARNING, 6000, "no relay is set: run keylock install --relay HOST");
    c.told_no_relay = !alone;
}

void kl_choice_turn(uint64_t now_us) {
    if (c.quick) follow_quick();
    if (c.retry_us && now_us >= c.retry_us) (void)kl_choice_again();
    if (kl_w.emu.runner || now_us - c.looked_us < LOOK_US) return;
    c.looked_us = now_us;
    say_no_relay();
    if (kl_w.mode == KL_MODE_ROOM) look(now_us);
}

void kl_choice_close(void) {
    kl_quick_close(c.quick);
    if (c.said.seats || *c.said.host) kl_w.config = c.said;
    kl_advice_end()->advice[0] = 0;
    memset(&c, 0, sizeof c);
}
