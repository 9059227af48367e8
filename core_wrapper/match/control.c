#include "core_wrapper/match/control.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "net/platform/clock.h"
#include "net/platform/local.h"
#include "core_wrapper/match/state.h"
#include "core_wrapper/match/command.h"
#include "core_wrapper/match/match.h"
#include "net/session/command_words.h"
#include "core_wrapper/words/own_options.h"

#define LOOK_EVERY   10 /* calls of retro_run between looks at the frontend's options */
#define GIVE_EVERY   20 /* calls between two option changes given to the room: it takes a few a keyframe */
#define LINES_A_TURN 4
/* A player steps through the values of a menu, so a value counts only after it has stood for this time. */
#define SETTLED_US 1500000

/* --- hot keys --- */

/* A script's pads stay as the script has them, unless it asks for hot keys. */
static struct kl_hotkeys *hotkeys(struct kl_match *m) {
    struct kl_hotkeys *keys = &m->control.hotkeys;
    char *list = m->control.hotkey_list;
    char ignored[200];
    const char *wanted = m->emu.runner && !m->config.hotkeys_set ? "off" : m->config.hotkeys;
    if (strcmp(list, wanted) != 0) {
        snprintf(list, sizeof m->control.hotkey_list, "%s", wanted);
        (void)kl_hotkeys_parse(keys, list, ignored, sizeof ignored); /* config.c has read it before */
    }
    keys->push_to_talk = m->config.voice == KL_SPEAK_PUSH;
    return keys;
}

const struct kl_hotkey *kl_control_key(struct kl_match *m, const char *words) {
    return kl_hotkeys_find(hotkeys(m), words);
}

unsigned kl_control_talk_key(struct kl_match *m) {
    const struct kl_hotkeys *keys = hotkeys(m);
    return keys->push_to_talk ? keys->talk_key : 0;
}

/* The frontend is asked for the key: an event for its release may not come, if the window loses the focus. */
bool kl_control_talks(struct kl_match *m) {
    unsigned key = kl_control_talk_key(m);
    retro_input_state_t state = m->front.call.input_state;
    if (key && state && !m->control.chat.open && state(0, RETRO_DEVICE_KEYBOARD, 0, key)) return true;
    return kl_hotkeys_held(hotkeys(m), "talk");
}

void kl_control_talk_name(struct kl_match *m, char out[KL_HOTKEYS_NAME]) {
    kl_hotkeys_talk_name(hotkeys(m), out);
}

unsigned kl_control_leave_s(struct kl_match *m) {
    uint64_t left_us = kl_match_away(m->state) ? kl_hotkeys_leave_us(hotkeys(m), kl_now_us()) : 0;
    return (unsigned)((left_us + 999999) / 1000000);
}

/* --- chat --- */

const char *kl_control_chat_line(struct kl_match *m) {
    if (!kl_command_may_chat(m)) kl_chat_close(&m->control.chat);
    return m->control.chat.open ? m->control.chat.text : NULL;
}

/* A core with a keyboard of its own has every key but those of an open line. */
bool kl_control_typed(struct kl_match *m, bool down, unsigned code, uint32_t character) {
    char words[KL_WORDS_MAX];
    bool opens = down && code == RETROK_BACKQUOTE && !m->emu.told.key_event && kl_command_may_chat(m);
    if (!m->control.chat.open && opens) {
        kl_chat_open(&m->control.chat);
        return true;
    }
    if (!kl_command_may_chat(m)) kl_chat_close(&m->control.chat);
    enum kl_chat_key key = kl_chat_key(&m->control.chat, down, code, character);
    if (key == KL_CHAT_PASSED) return false;
    m->control.pads_rest = true;
    snprintf(words, sizeof words, "say %s", m->control.chat.text);
    if (key == KL_CHAT_SAID) kl_command_key(m, words);
    return true;
}

/* Keys of the keyboard may be buttons of the pad: the game sees none while somebody types, nor those that are
 * still down when the line is closed. */
static bool pad_rests(struct kl_match *m, uint16_t pad) {
    m->control.pads_rest = m->control.chat.open || (m->control.pads_rest && pad);
    return m->control.pads_rest;
}

uint16_t kl_control_pad(struct kl_match *m, unsigned port, uint16_t pad) {
    const char *words;
    bool alone = m->emu.phase == KL_PHASE_FREE && !kl_match_away(m->state);
    if (alone && !*m->choice.end.advice) return pad;
    if (port == 0 && pad_rests(m, pad)) return 0;
    uint16_t shown = kl_hotkeys_filter(hotkeys(m), port, pad, kl_now_us(), &words);
    if (words) kl_command_key(m, words);
    if (port == 0) m->control.pad = shown;
    return shown;
}

/* --- the frontend's menu --- */

/* Before each question for a value, because that takes the frontend's word back. */
static void note_turned(struct kl_match *m) {
    bool changed = false;
    if (m->front.call.environment(RETRO_ENVIRONMENT_GET_VARIABLE_UPDATE, &changed) && changed)
        m->control.menu.turned = true;
}

const char *kl_control_ask(struct kl_match *m, const char *key) {
    struct retro_variable v = {.key = key};
    note_turned(m);
    if (!m->front.call.environment(RETRO_ENVIRONMENT_GET_VARIABLE, &v) || !v.value) return NULL;
    return v.value;
}

static void forget_menu(struct kl_match *m) {
    for (unsigned i = 0; i < m->control.menu.count; i++) {
        free(m->control.menu.at[i].key);
        free(m->control.menu.at[i].value);
    }
    free(m->control.menu.at);
    memset(&m->control.menu, 0, sizeof m->control.menu);
}

static bool is_neutral(struct kl_match *m, unsigned i) {
    return !strcmp(m->control.menu.own[i], kl_own_option(i)->neutral);
}

/* A frontend that cannot has the player do it. */
static void set_back(struct kl_match *m, unsigned i) {
    const struct kl_own_option *o = kl_own_option(i);
    struct retro_variable back = {o->key, o->neutral};
    if (o->once && !is_neutral(m, i) && m->front.call.environment(RETRO_ENVIRONMENT_SET_VARIABLE, &back))
        snprintf(m->control.menu.own[i], KL_CONTROL_OWN_MAX, "%s", o->neutral);
}

static void see_menu(struct kl_match *m) {
    forget_menu(m);
    for (unsigned i = 0; i < kl_own_count(); i++) {
        const char *v = kl_control_ask(m, kl_own_option(i)->key);
        snprintf(m->control.menu.own[i], KL_CONTROL_OWN_MAX, "%s", v ? v : kl_own_option(i)->neutral);
        set_back(m, i); /* of a session that ended before it was given */
    }
    m->control.menu.at = calloc(m->emu.options.count ? m->emu.options.count : 1, sizeof *m->control.menu.at);
    for (unsigned i = 0; m->control.menu.at && i < m->emu.options.count; i++) {
        const char *value = kl_control_ask(m, m->emu.options.at[i].key);
        if (!value) continue;
        struct kl_control_seen *s = &m->control.menu.at[m->control.menu.count];
        *s = (struct kl_control_seen){strdup(m->emu.options.at[i].key), strdup(value)};
        if (s->key && s->value) m->control.menu.count++;
    }
}

/* True if the value has changed. */
static bool turned(struct kl_match *m, unsigned i) {
    const char *v = kl_control_ask(m, kl_own_option(i)->key);
    if (!v || !strncmp(m->control.menu.own[i], v, KL_CONTROL_OWN_MAX - 1)) return false;
    snprintf(m->control.menu.own[i], KL_CONTROL_OWN_MAX, "%s", v);
    return true;
}

/* The option at i is one of this screen alone. */
static void show_here(struct kl_match *m, unsigned i, bool on) {
    char ignored[KL_WORDS_MAX];
    const struct kl_own_option *o = kl_own_option(i);
    if (!strcmp(o->key, KL_OWN_PANEL))
        kl_screen_panel(&m->front.screen, on);
    else if (!strcmp(o->key, KL_OWN_LINE))
        kl_screen_strip(&m->front.screen, on);
    else if (strcmp(o->key, KL_OWN_RECORD) != 0 || on != kl_record_wanted(&m->config))
        (void)kl_config_set(&m->config, o->setting, m->control.menu.own[i], ignored, sizeof ignored);
}

/* Gives a changed menu option to the room, because the game is everybody's. One option a call; true: there
 * may be more. */
static bool give_option(struct kl_match *m) {
    char words[KL_WORDS_MAX];
    for (unsigned i = 0; i < m->control.menu.count; i++) {
        const char *value = kl_control_ask(m, m->control.menu.at[i].key),
                   *here = kl_options_get(&m->emu.options, m->control.menu.at[i].key);
        if (!value || !strcmp(value, m->control.menu.at[i].value)) continue;
        char *copy = strdup(value);
        if (!copy) return false;
        free(m->control.menu.at[i].value);
        m->control.menu.at[i].value = copy;
        if (here && !strcmp(here, copy)) continue; /* as the room has it */
        snprintf(words, sizeof words, "option %s=%s", m->control.menu.at[i].key, copy);
        kl_command_key(m, words);
        return true;
    }
    return false;
}

static void look_at_menu(struct kl_match *m, uint64_t now_us) {
    if (m->control.menu.wait) m->control.menu.wait--;
    if (++m->control.menu.calls % LOOK_EVERY == 0) note_turned(m);
    if (m->control.menu.turned) {
        m->control.menu.turned = false;
        /* They are nobody else's: at once. */
        for (unsigned i = 0; i < kl_own_count(); i++)
            if (kl_own_option(i)->here && turned(m, i)) show_here(m, i, !is_neutral(m, i));
        if (m->emu.phase == KL_PHASE_FREE) m->emu.options.updated = true; /* the core asks for them anew */
        m->control.menu.turned_us = now_us;
        m->control.menu.given = false;
    }
    if (!m->control.menu.turned_us || now_us - m->control.menu.turned_us < SETTLED_US) return;
    if (!m->control.menu.given) {
        char words[KL_WORDS_MAX];
        for (unsigned i = 0; i < kl_own_count(); i++) {
            if (!kl_own_option(i)->verb || !turned(m, i) || is_neutral(m, i)) continue;
            snprintf(words, sizeof words, "%s%s", kl_own_option(i)->verb, m->control.menu.own[i]);
            kl_command_key(m, words);
            set_back(m, i);
        }
    }
    m->control.menu.given = true;
    if (m->control.menu.wait || m->emu.phase != KL_PHASE_PLAYING) return;
    if (!give_option(m)) m->control.menu.turned_us = 0;
    m->control.menu.wait = GIVE_EVERY;
}

/* The command of that option as the frontend has it. */
static bool wished(struct kl_match *m, const char *key, struct kl_words *w) {
    char line[KL_WORDS_MAX], ignored[KL_WORDS_MAX];
    for (unsigned i = 0; i < kl_own_count(); i++) {
        const char *v = strcmp(key, kl_own_option(i)->key) ? NULL : kl_control_ask(m, key);
        if (!v) continue;
        snprintf(line, sizeof line, "%s%s", kl_own_option(i)->verb, v);
        return kl_words_parse(w, line, ignored, sizeof ignored) == 0;
    }
    return false;
}

void kl_control_wish(struct kl_match *m, struct kl_params *p) {
    const struct kl_config *said = &m->config;
    struct kl_words w;
    if (!said->policy_set && wished(m, KL_OWN_POLICY, &w) &&
        (w.order.data[0] != KL_POLICY_OPTIMISTIC || p->subframes))
        p->policy = w.order.data[0];
    if (!said->budget_set && wished(m, KL_OWN_BUDGET, &w))
        p->wait_budget_ms = (uint16_t)(w.order.data[1] | w.order.data[2] << 8);
    if (!said->spacing_set && wished(m, KL_OWN_SPACING, &w)) p->spacing_fixed = w.order.data[3];
}

/* --- the socket --- */

bool kl_control_claim(struct kl_match *m) {
    char name[KL_LOCAL_NAME_MAX];
    snprintf(name, sizeof name, KL_CONTROL_NAME "%ld", (long)getpid());
    int fd = kl_local_open(name);
    if (fd >= 0) m->control.socket = fd;
    return fd != KL_LOCAL_TAKEN; /* without such sockets, instances cannot be told apart */
}

void kl_control_release(struct kl_match *m) {
    kl_local_close(m->control.socket);
    m->control.socket = -1;
}

/* False if no line waits. */
static bool take_line(struct kl_match *m) {
    char line[KL_WORDS_MAX], said[KLW_TEXT_MAX], back[KLW_TEXT_MAX + 8];
    struct kl_local_peer from = {.len = 0};
    bool trusted;
    int n = kl_local_receive(m->control.socket, line, sizeof line - 1, &from, &trusted);
    if (n < 0) return false;
    if (!trusted) return true;
    bool whole = (size_t)n < sizeof line;
    line[whole ? n : 0] = 0;
    bool good = whole && kl_command_do(m, line, said, sizeof said) == 0;
    if (!whole) snprintf(said, sizeof said, "expected at most %d bytes", KL_WORDS_MAX - 1);
    snprintf(back, sizeof back, "%s %s", good ? "ok" : "error", said);
    kl_local_answer(m->control.socket, &from, back, strlen(back));
    return true;
}

/* --- a session --- */

void kl_control_begin(struct kl_match *m) {
    see_menu(m);
    m->control.menu.turned = false;
    for (unsigned i = 0; i < kl_own_count(); i++)
        if (kl_own_option(i)->here && !is_neutral(m, i)) show_here(m, i, true);
}

void kl_control_turn(struct kl_match *m, uint64_t now_us) {
    for (unsigned i = 0; m->control.socket >= 0 && i < LINES_A_TURN && take_line(m); i++) {
    }
    look_at_menu(m, now_us);
}

void kl_control_end(struct kl_match *m) {
    kl_chat_close(&m->control.chat);
    m->control.pads_rest = false;
    forget_menu(m);
}
