#include "core_wrapper/match/control.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "net/platform/clock.h"
#include "net/platform/local.h"
#include "core_wrapper/screen/chat.h"
#include "core_wrapper/match/advice.h"
#include "core_wrapper/match/command.h"
#include "core_wrapper/words/command_words.h"
#include "core_wrapper/words/hotkeys.h"
#include "core_wrapper/words/own_options.h"

#define LOOK_EVERY   10 /* calls of retro_run between looks at the frontend's options */
#define GIVE_EVERY   20 /* calls between two option changes given to the room: it takes a few a keyframe */
#define LINES_A_TURN 4
/* A player steps through the values of a menu, so a value counts only after it has stood for this time. */
#define SETTLED_US 1500000
#define OWN_MAX    32 /* bytes of a value of ours, NUL included */

static struct kl_chat chat;
static bool pads_rest; /* a line of chat is open, or keys of it are still down */

/* ---- hot keys ---- */

/* A script's pads stay as the script has them, unless it asks for hot keys. */
static struct kl_hotkeys *hotkeys(void) {
    static struct kl_hotkeys keys;
    static char list[KL_CONFIG_HOTKEYS_MAX];
    char ignored[200];
    const char *wanted = kl_w.emu.runner && !kl_w.config.hotkeys_set ? "off" : kl_w.config.hotkeys;
    if (strcmp(list, wanted) != 0) {
        snprintf(list, sizeof list, "%s", wanted);
        (void)kl_hotkeys_parse(&keys, list, ignored, sizeof ignored); /* config.c has read it before */
    }
    return &keys;
}

void kl_control_key(const char *words, char out[KL_HOTKEYS_NAME]) {
    kl_hotkeys_name(hotkeys(), words, out);
}

/* ---- chat ---- */

static bool may_chat(void) {
    return kl_w.emu.phase == KL_PHASE_PLAYING && kl_w.link && !kl_w.emu.runner;
}

int kl_control_chat(char *answer, size_t cap) {
    bool may = may_chat();
    if (may) kl_chat_open(&chat);
    snprintf(answer, cap, "%s", may ? "type a line" : "the game has not begun");
    return may ? 0 : -1;
}

const char *kl_control_chat_line(void) {
    if (!may_chat()) kl_chat_close(&chat);
    return chat.open ? chat.text : NULL;
}

/* A core with a keyboard of its own has every key but those of an open line. */
bool kl_control_typed(bool down, unsigned code, uint32_t character) {
    char words[KL_WORDS_MAX];
    bool opens = down && code == RETROK_BACKQUOTE && !kl_w.emu.told.key_event && may_chat();
    if (!chat.open && opens) {
        kl_chat_open(&chat);
        return true;
    }
    if (!may_chat()) kl_chat_close(&chat);
    enum kl_chat_key key = kl_chat_key(&chat, down, code, character);
    if (key == KL_CHAT_PASSED) return false;
    pads_rest = true;
    snprintf(words, sizeof words, "say %s", chat.text);
    if (key == KL_CHAT_SAID) kl_command_key(words);
    return true;
}

/* Keys of the keyboard may be buttons of the pad: the game sees none while somebody types, nor those that are
 * still down when the line is closed. */
static bool pad_rests(uint16_t pad) {
    pads_rest = chat.open || (pads_rest && pad);
    return pads_rest;
}

uint16_t kl_control_pad(unsigned port, uint16_t pad) {
    const char *words;
    bool alone = kl_w.emu.phase == KL_PHASE_FREE && !kl_w.link;
    if (alone && !*kl_advice_end()->advice) return pad;
    if (port == 0 && pad_rests(pad)) return 0;
    uint16_t shown = kl_hotkeys_filter(hotkeys(), port, pad, kl_now_us(), &words);
    if (words) kl_command_key(words);
    return shown;
}

/* ---- the frontend's menu ---- */

/* The frontend's values as last seen, by place; looked up by key if the core has declared anew. */
static struct {
    struct seen {
        char *key, *value;
    } * at;
    unsigned count;
    char own[KL_OWN_COUNT][OWN_MAX];
    unsigned calls, wait;
    bool turned;        /* the frontend has said so since the last look */
    uint64_t turned_us; /* when something was turned last; 0: all of it has been seen to */
    bool given;         /* given to the room since then */
} menu;

/* Before each question for a value, because that takes the frontend's word back. */
static void note_turned(void) {
    bool changed = false;
    if (kl_w.front.environment(RETRO_ENVIRONMENT_GET_VARIABLE_UPDATE, &changed) && changed)
        menu.turned = true;
}

const char *kl_control_ask(const char *key) {
    struct retro_variable v = {.key = key};
    note_turned();
    if (!kl_w.front.environment(RETRO_ENVIRONMENT_GET_VARIABLE, &v) || !v.value) return NULL;
    return v.value;
}

static void forget_menu(void) {
    for (unsigned i = 0; i < menu.count; i++) {
        free(menu.at[i].key);
        free(menu.at[i].value);
    }
    free(menu.at);
    memset(&menu, 0, sizeof menu);
}

static bool is_neutral(unsigned i) {
    return !strcmp(menu.own[i], kl_own_option[i].neutral);
}

/* A frontend that cannot has the player do it. */
static void set_back(unsigned i) {
    const struct kl_own_option *o = &kl_own_option[i];
    struct retro_variable back = {o->key, o->neutral};
    if (o->once && !is_neutral(i) && kl_w.front.environment(RETRO_ENVIRONMENT_SET_VARIABLE, &back))
        snprintf(menu.own[i], OWN_MAX, "%s", o->neutral);
}

static void see_menu(void) {
    forget_menu();
    for (unsigned i = 0; i < KL_OWN_COUNT; i++) {
        const char *v = kl_control_ask(kl_own_option[i].key);
        snprintf(menu.own[i], OWN_MAX, "%s", v ? v : kl_own_option[i].neutral);
        set_back(i); /* of a session that ended before it was given */
    }
    menu.at = calloc(kl_w.emu.options.count ? kl_w.emu.options.count : 1, sizeof *menu.at);
    for (unsigned i = 0; menu.at && i < kl_w.emu.options.count; i++) {
        const char *value = kl_control_ask(kl_w.emu.options.at[i].key);
        if (!value) continue;
        struct seen *s = &menu.at[menu.count];
        *s = (struct seen){strdup(kl_w.emu.options.at[i].key), strdup(value)};
        if (s->key && s->value) menu.count++;
    }
}

/* True if the value has changed. */
static bool turned(unsigned i) {
    const char *v = kl_control_ask(kl_own_option[i].key);
    if (!v || !strncmp(menu.own[i], v, OWN_MAX - 1)) return false;
    snprintf(menu.own[i], OWN_MAX, "%s", v);
    return true;
}

static void give_own(void) {
    char words[KL_WORDS_MAX];
    for (unsigned i = 0; i < KL_OWN_COUNT; i++) {
        if (!kl_own_option[i].verb || !turned(i) || is_neutral(i)) continue;
        snprintf(words, sizeof words, "%s%s", kl_own_option[i].verb, menu.own[i]);
        kl_command_key(words);
        set_back(i);
    }
}

/* The option at i, if it is one of this screen alone. */
static void show_here(unsigned i, bool on) {
    if (!strcmp(kl_own_option[i].key, KL_OWN_PANEL)) kl_screen_panel(on);
    if (!strcmp(kl_own_option[i].key, KL_OWN_LINE)) kl_screen_strip(on);
}

static bool is_here(unsigned i) {
    return !strcmp(kl_own_option[i].key, KL_OWN_PANEL) || !strcmp(kl_own_option[i].key, KL_OWN_LINE);
}

/* They are nobody else's: at once. */
static void follow_screen(void) {
    for (unsigned i = 0; i < KL_OWN_COUNT; i++)
        if (is_here(i) && turned(i)) show_here(i, !is_neutral(i));
}

/* Gives a changed menu option to the room, because the game is everybody's. One option a call; true: there
 * may be more. */
static bool give_option(void) {
    char words[KL_WORDS_MAX];
    for (unsigned i = 0; i < menu.count; i++) {
        const char *value = kl_control_ask(menu.at[i].key),
                   *here = kl_options_get(&kl_w.emu.options, menu.at[i].key);
        if (!value || !strcmp(value, menu.at[i].value)) continue;
        char *copy = strdup(value);
        if (!copy) return false;
        free(menu.at[i].value);
        menu.at[i].value = copy;
        if (here && !strcmp(here, copy)) continue; /* as the room has it */
        snprintf(words, sizeof words, "option %s=%s", menu.at[i].key, copy);
        kl_command_key(words);
        return true;
    }
    return false;
}

static void look_at_menu(uint64_t now_us) {
    if (menu.wait) menu.wait--;
    if (++menu.calls % LOOK_EVERY == 0) note_turned();
    if (menu.turned) {
        menu.turned = false;
        follow_screen();
        if (kl_w.emu.phase == KL_PHASE_FREE)
            kl_w.emu.options.updated = true; /* the core asks for them anew */
        menu.turned_us = now_us;
        menu.given = false;
    }
    if (!menu.turned_us || now_us - menu.turned_us < SETTLED_US) return;
    if (!menu.given) give_own();
    menu.given = true;
    if (menu.wait || kl_w.emu.phase != KL_PHASE_PLAYING) return;
    if (!give_option()) menu.turned_us = 0;
    menu.wait = GIVE_EVERY;
}

/* The command of that option as the frontend has it. */
static bool wished(const char *key, struct kl_words *w) {
    char line[KL_WORDS_MAX], ignored[KL_WORDS_MAX];
    for (unsigned i = 0; i < KL_OWN_COUNT; i++) {
        const char *v = strcmp(key, kl_own_option[i].key) ? NULL : kl_control_ask(key);
        if (!v) continue;
        snprintf(line, sizeof line, "%s%s", kl_own_option[i].verb, v);
        return kl_words_parse(w, line, ignored, sizeof ignored) == 0;
    }
    return false;
}

void kl_control_wish(struct kl_params *p, const struct kl_config *said) {
    struct kl_words w;
    if (!said->policy_set && wished(KL_OWN_POLICY, &w) &&
        (w.order.data[0] != KL_POLICY_OPTIMISTIC || p->subframes))
        p->policy = w.order.data[0];
    if (!said->budget_set && wished(KL_OWN_BUDGET, &w))
        p->wait_budget_ms = (uint16_t)(w.order.data[1] | w.order.data[2] << 8);
    if (!said->spacing_set && wished(KL_OWN_SPACING, &w)) p->spacing_fixed = w.order.data[3];
}

/* ---- the socket ---- */

bool kl_control_claim(int *out) {
    char name[KL_LOCAL_NAME_MAX];
    snprintf(name, sizeof name, KL_CONTROL_NAME "%ld", (long)getpid());
    int fd = kl_local_open(name);
    if (fd >= 0) *out = fd;
    return fd != KL_LOCAL_TAKEN; /* without such sockets, instances cannot be told apart */
}

/* False if no line waits. */
static bool take_line(void) {
    char line[KL_WORDS_MAX], said[KLW_TEXT_MAX], back[KLW_TEXT_MAX + 8];
    struct kl_local_peer from = {.len = 0};
    bool trusted;
    int n = kl_local_receive(kl_w.instance, line, sizeof line - 1, &from, &trusted);
    if (n < 0) return false;
    if (!trusted) return true;
    bool whole = (size_t)n < sizeof line;
    line[whole ? n : 0] = 0;
    bool good = whole && kl_command_do(line, said, sizeof said) == 0;
    if (!whole) snprintf(said, sizeof said, "expected at most %d bytes", KL_WORDS_MAX - 1);
    snprintf(back, sizeof back, "%s %s", good ? "ok" : "error", said);
    kl_local_answer(kl_w.instance, &from, back, strlen(back));
    return true;
}

/* ---- a session ---- */

void kl_control_begin(void) {
    see_menu();
    menu.turned = false;
    for (unsigned i = 0; i < KL_OWN_COUNT; i++)
        if (is_here(i) && !is_neutral(i)) show_here(i, true);
}

void kl_control_turn(uint64_t now_us) {
    for (unsigned i = 0; kl_w.instance >= 0 && i < LINES_A_TURN && take_line(); i++) {
    }
    look_at_menu(now_us);
}

void kl_control_end(void) {
    kl_chat_close(&chat);
    pads_rest = false;
    forget_menu();
}
