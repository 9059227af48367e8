#include "hotkeys.h"

#include <stdio.h>
#include <string.h>

/* By RETRO_DEVICE_ID_JOYPAD_*. */
static const char *const buttons[16] = {"b", "y", "select", "start", "up", "down", "left", "right",
                                        "a", "x", "l",      "r",     "l2", "r2",   "l3",   "r3"};
static const char *const actions[] = {"panel", "pause", "reset", "save", "load", "swap"};
#define ACTIONS (sizeof actions / sizeof *actions)

static bool is_word(const char *at, size_t len, const char *word) {
    return strlen(word) == len && !strncmp(at, word, len);
}

static int button(const char *at, size_t len) {
    for (int i = 0; i < 16; i++)
        if (is_word(at, len, buttons[i])) return i;
    return -1;
}

static const char *action_of(const char *at, size_t len) {
    for (size_t i = 0; i < ACTIONS; i++)
        if (is_word(at, len, actions[i])) return actions[i];
    return NULL;
}

/* "select+r:panel", len bytes of it. */
static bool parse_one(struct kl_hotkey *out, const char *at, size_t len) {
    const char *plus = memchr(at, '+', len), *colon = memchr(at, ':', len);
    if (!plus || !colon || colon < plus) return false;
    int hold = button(at, (size_t)(plus - at)), press = button(plus + 1, (size_t)(colon - plus - 1));
    out->action = action_of(colon + 1, (size_t)(at + len - colon - 1));
    out->hold = (uint8_t)hold;
    out->press = (uint8_t)press;
    return hold >= 0 && press >= 0 && hold != press && out->action;
}

int kl_hotkeys_parse(struct kl_hotkeys *k, const char *list, char *err, size_t err_len) {
    memset(k, 0, sizeof *k);
    if (!strcmp(list, "off")) return 0;
    for (const char *at = list;;) {
        at += strspn(at, " ");
        size_t len = strcspn(at, ","), end = len;
        while (end && at[end - 1] == ' ')
            end--;
        bool full = k->count == KL_HOTKEYS_MAX;
        if (full || !parse_one(&k->key[k->count], at, end)) {
            memset(k, 0, sizeof *k);
            if (full)
                snprintf(err, err_len, "expected at most %d hot keys", KL_HOTKEYS_MAX);
            else
                snprintf(err, err_len,
                         "expected off, or BUTTON+BUTTON:ACTION,… with panel, pause, reset, save, load or "
                         "swap, got "
                         "\"%.*s\"",
                         (int)end, at);
            return -1;
        }
        k->count++;
        if (!at[len]) return 0;
        at += len + 1;
    }
}

uint16_t kl_hotkeys_filter(struct kl_hotkeys *k, unsigned port, uint16_t pad, uint64_t now_us,
                           const char **action) {
    *action = NULL;
    if (!k->count || port >= KL_MAX_SEATS) return pad;
    uint16_t fresh = pad & (uint16_t)~k->pad[port].was;
    for (unsigned i = 0; i < 16; i++)
        if (fresh >> i & 1) k->pad[port].since_us[i] = now_us;
    k->pad[port].was = pad;
    k->pad[port].hidden &= pad;
    for (unsigned i = 0; i < k->count; i++) {
        const struct kl_hotkey *h = &k->key[i];
        bool held = (pad >> h->hold & 1) && now_us - k->pad[port].since_us[h->hold] >= KL_HOTKEYS_HOLD_US;
        if (!held || !(fresh >> h->press & 1)) continue;
        if (!*action) *action = h->action;
        k->pad[port].hidden |= (uint16_t)(1u << h->press);
    }
    return pad & (uint16_t)~k->pad[port].hidden;
}
