#include "core_wrapper/words/hotkeys.h"

#include <ctype.h>
#include <libretro.h>
#include <stdio.h>
#include <string.h>

#include "net/session/command_words.h"

struct parser {
    struct kl_hotkeys *k;
    char *err;
    size_t err_len;
};

static int refuse(struct parser *p, const char *want, const char *got, size_t len) {
    memset(p->k, 0, sizeof *p->k);
    snprintf(p->err, p->err_len, "expected %s, got \"%.*s\"", want, (int)len, got);
    return -1;
}

/* A button's place in the list, by RETRO_DEVICE_ID_JOYPAD_*; -1 for an unknown name. */
static int button(const char *at, size_t len) {
    int i = 0;
    for (const char *name = KL_HOTKEYS_BUTTONS; len && *name; i++) {
        size_t n = strcspn(name, " ");
        if (n == len && !strncmp(name, at, n)) return i;
        name += n + strspn(name + n, " ");
    }
    return -1;
}

/* Letters and digits have their own codes. */
static const struct {
    const char *name;
    uint16_t code;
} named_keys[] = {{"tab", RETROK_TAB},       {"capslock", RETROK_CAPSLOCK}, {"insert", RETROK_INSERT},
                  {"delete", RETROK_DELETE}, {"home", RETROK_HOME},         {"end", RETROK_END},
                  {"pageup", RETROK_PAGEUP}, {"pagedown", RETROK_PAGEDOWN}, {"lshift", RETROK_LSHIFT},
                  {"lctrl", RETROK_LCTRL},   {"rctrl", RETROK_RCTRL},       {"lalt", RETROK_LALT},
                  {"ralt", RETROK_RALT}};
#define NAMED_KEYS (sizeof named_keys / sizeof *named_keys)

/* RETROK_*; 0 for an unknown name. */
static uint16_t key_of(const char *at, size_t len) {
    if (len == 1 && (islower((unsigned char)*at) || isdigit((unsigned char)*at))) return (uint16_t)*at;
    for (unsigned i = 0; i < NAMED_KEYS; i++)
        if (strlen(named_keys[i].name) == len && !strncmp(named_keys[i].name, at, len))
            return named_keys[i].code;
    return 0;
}

/* Length of a key's name in "rctrl:talk", with any name; 0 for another text. */
static size_t key_head(const char *at) {
    static const char talk[] = ":talk";
    size_t len = 0, end;
    while (isalnum((unsigned char)at[len]))
        len++;
    if (!len || strncmp(at + len, talk, sizeof talk - 1) != 0) return 0;
    end = len + sizeof talk - 1;
    end += strspn(at + end, " ");
    return !at[end] || at[end] == ',' ? len : 0;
}

/* Length of a head like "select+r:", with any names, up to the colon; 0 for another text. */
static size_t head(const char *at) {
    size_t hold = 0, press = 0;
    while (isalnum((unsigned char)at[hold]))
        hold++;
    if (!hold || at[hold] != '+') return 0;
    while (isalnum((unsigned char)at[hold + 1 + press]))
        press++;
    return press && at[hold + 1 + press] == ':' ? hold + 1 + press : 0;
}

/* Length up to the end, or to a comma before another hot key: a chat line may have commas of its own. */
static size_t length(const char *at) {
    size_t len = strcspn(at, ",");
    while (at[len]) {
        const char *after = at + len + 1 + strspn(at + len + 1, " ");
        if (head(after) || key_head(after)) break;
        len += 1 + strcspn(at + len + 1, ",");
    }
    return len;
}

/* "rctrl:talk", len bytes of it. */
static int parse_key(struct parser *p, const char *at, size_t len) {
    uint16_t code = key_of(at, key_head(at));
    if (!code) return refuse(p, "a key (" KL_HOTKEYS_KEYS ")", at, len);
    if (p->k->talk_key) return refuse(p, "one key for talk", at, len);
    p->k->talk_key = code;
    return 0;
}

/* "select+r:panel", len bytes of it. */
static int parse_one(struct parser *p, const char *at, size_t len) {
    static const char form[] =
        "off, or BUTTON+BUTTON:COMMAND,… with the buttons " KL_HOTKEYS_BUTTONS ", or KEY:talk";
    struct kl_hotkey *out = &p->k->key[p->k->count];
    struct kl_words words;
    char why[2 * KL_WORDS_MAX];
    size_t colon = head(at), plus = strcspn(at, "+");
    if (!colon) return refuse(p, form, at, len);
    int hold = button(at, plus), press = button(at + plus + 1, colon - plus - 1);
    if (hold < 0 || press < 0 || hold == press) return refuse(p, form, at, len);
    size_t said = len - colon - 1;
    if (said >= sizeof out->words) return refuse(p, "a shorter command", at, len);
    memcpy(out->words, at + colon + 1, said);
    out->words[said] = 0;
    out->hold = (uint8_t)hold;
    out->press = (uint8_t)press;
    p->k->count++;
    bool good = kl_words_parse(&words, out->words, why, sizeof why) == 0;
    out->leaves = words.leave;
    out->talks = words.talk;
    if (good) return 0;
    memset(p->k, 0, sizeof *p->k);
    snprintf(p->err, p->err_len, "%.*s: %s", (int)len, at, why);
    return -1;
}

int kl_hotkeys_parse(struct kl_hotkeys *k, const char *list, char *err, size_t err_len) {
    memset(k, 0, sizeof *k);
    struct parser p = {k, err, err_len};
    if (!strcmp(list, "off")) return 0;
    for (const char *at = list;;) {
        at += strspn(at, " ");
        size_t len = length(at), end = len;
        while (end && at[end - 1] == ' ')
            end--;
        bool by_key = key_head(at);
        if (!by_key && k->count == KL_HOTKEYS_MAX) return refuse(&p, "at most 16 hot keys", at, end);
        if ((by_key ? parse_key : parse_one)(&p, at, end) != 0) return -1;
        if (!at[len]) return 0;
        at += len + 1;
    }
}

const struct kl_hotkey *kl_hotkeys_find(const struct kl_hotkeys *k, const char *words) {
    for (unsigned i = 0; i < k->count; i++)
        if (!strcmp(k->key[i].words, words)) return &k->key[i];
    return NULL;
}

/* The button's name with a capital. */
static size_t button_name(unsigned id, char *out, size_t cap) {
    const char *name = KL_HOTKEYS_BUTTONS;
    while (id--)
        name += strcspn(name, " ") + 1;
    size_t len = strcspn(name, " ");
    snprintf(out, cap, "%.*s", (int)len, name);
    out[0] = (char)toupper((unsigned char)out[0]);
    return len;
}

void kl_hotkeys_name(const struct kl_hotkey *h, const char *between, char out[KL_HOTKEYS_NAME]) {
    out[0] = 0;
    if (!h) return;
    size_t used = button_name(h->hold, out, KL_HOTKEYS_NAME);
    used += (size_t)snprintf(out + used, KL_HOTKEYS_NAME - used, "%s", between);
    button_name(h->press, out + used, KL_HOTKEYS_NAME - used);
}

static void key_name(uint16_t code, char *out, size_t cap) {
    for (unsigned i = 0; i < NAMED_KEYS; i++)
        if (named_keys[i].code == code) snprintf(out, cap, "%s", named_keys[i].name);
    if (isalnum(code)) snprintf(out, cap, "%c", code);
}

void kl_hotkeys_talk_name(const struct kl_hotkeys *k, char out[KL_HOTKEYS_NAME]) {
    kl_hotkeys_name(kl_hotkeys_find(k, "talk"), "+", out);
    if (!k->talk_key) return;
    size_t used = strlen(out);
    if (used) used += (size_t)snprintf(out + used, KL_HOTKEYS_NAME - used, " or ");
    key_name(k->talk_key, out + used, KL_HOTKEYS_NAME - used);
}

void kl_hotkeys_typed(const struct kl_hotkey *h, const char *between, char out[KL_HOTKEYS_NAME]) {
    static const char *const key[16] = {"Z",    "A",     "right Shift", "Enter", "Up", "Down",
                                        "Left", "Right", "X",           "S",     "Q",  "W"};
    out[0] = 0;
    if (h && key[h->hold] && key[h->press])
        snprintf(out, KL_HOTKEYS_NAME, "%s%s%s", key[h->hold], between, key[h->press]);
}

static bool is_down(const struct kl_hotkey *h, uint16_t pad) {
    return pad >> h->hold & 1 && pad >> h->press & 1;
}

uint16_t kl_hotkeys_filter(struct kl_hotkeys *k, unsigned port, uint16_t pad, uint64_t now_us,
                           const char **words) {
    *words = NULL;
    if (!k->count || port >= KL_MAX_SEATS) return pad;
    struct kl_hotkeys_pad *p = &k->pad[port];
    uint16_t fresh = pad & (uint16_t)~p->was;
    for (unsigned i = 0; i < 16; i++)
        if (fresh >> i & 1) p->since_us[i] = now_us;
    p->was = pad;
    p->hidden &= pad;
    for (unsigned i = 0; i < k->count; i++) {
        const struct kl_hotkey *h = &k->key[i];
        bool held = (pad >> h->hold & 1) && now_us - p->since_us[h->hold] >= KL_HOTKEYS_HOLD_US;
        if (!held || !(fresh >> h->press & 1) || (h->talks && !k->push_to_talk)) continue;
        if (p->hidden >> h->hold & 1) continue; /* the player talks, and plays on */
        if (h->leaves)
            p->leaves = h;
        else if (!*words)
            *words = h->words;
        p->hidden |= (uint16_t)(1u << h->press | (h->talks ? 1u << h->hold : 0));
    }
    if (p->leaves && !is_down(p->leaves, pad)) p->leaves = NULL;
    if (p->leaves && now_us - p->since_us[p->leaves->press] >= KL_HOTKEYS_LEAVE_US) {
        *words = p->leaves->words;
        p->leaves = NULL;
    }
    return pad & (uint16_t)~p->hidden;
}

bool kl_hotkeys_held(const struct kl_hotkeys *k, const char *words) {
    const struct kl_hotkey *h = kl_hotkeys_find(k, words);
    for (unsigned i = 0; h && i < KL_MAX_SEATS; i++)
        if (is_down(h, k->pad[i].was) && k->pad[i].hidden >> h->press & 1) return true;
    return false;
}

uint64_t kl_hotkeys_leave_us(const struct kl_hotkeys *k, uint64_t now_us) {
    for (unsigned i = 0; i < KL_MAX_SEATS; i++) {
        const struct kl_hotkeys_pad *p = &k->pad[i];
        uint64_t held_us = p->leaves ? now_us - p->since_us[p->leaves->press] : KL_HOTKEYS_LEAVE_US;
        if (held_us < KL_HOTKEYS_LEAVE_US) return KL_HOTKEYS_LEAVE_US - held_us;
    }
    return 0;
}
