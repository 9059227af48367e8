#include "core_wrapper/words/config.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <sodium.h>

#include "net/platform/cfg_file.h"
#include "core_wrapper/words/hotkeys.h"
#include "net/platform/file.h"
#include "net/session/url.h"
#include "net/transport/link.h"

#define FILE_BYTES 65536 /* of keylock.cfg */

static int refuse(char *err, size_t err_len, const char *key, const char *want, const char *got) {
    snprintf(err, err_len, "%s: expected %s, got \"%s\"", key, want, got);
    return -1;
}

static int copy(char *out, size_t cap, const char *key, const char *value, char *err, size_t err_len) {
    char want[64];
    snprintf(want, sizeof want, "at most %zu bytes", cap - 1);
    if (strlen(value) >= cap) return refuse(err, err_len, key, want, value);
    strcpy(out, value);
    return 0;
}

/* Whole decimal numbers only; no sign, no blanks. */
static bool number(const char *s, uint64_t max, uint64_t *out) {
    if (!isdigit((unsigned char)*s)) return false;
    char *end;
    errno = 0;
    unsigned long long v = strtoull(s, &end, 10);
    if (errno || *end || v > max) return false;
    *out = v;
    return true;
}

static int set_core(struct kl_config *c, const char *v, char *err, size_t err_len) {
    return copy(c->core, sizeof c->core, "KEYLOCK_CORE", v, err, err_len);
}

/* HOST, HOST:PORT, [V6]:PORT. */
static int take_place(char host[KL_CONFIG_HOST_MAX], uint16_t *to, const char *key, const char *v, char *err,
                      size_t err_len) {
    const char *want = "HOST or HOST:PORT with a port from 1 to 65535";
    const char *colon = strrchr(v, ':'), *bracket = strchr(v, ']');
    bool v6 = v[0] == '[' && bracket;
    if (!v6 && colon && strchr(v, ':') != colon) colon = NULL; /* a bare IPv6 address */
    if (v6 && colon && colon < bracket) colon = NULL;
    uint64_t port = KL_DEFAULT_PORT;
    if (colon && (!number(colon + 1, 65535, &port) || port == 0)) return refuse(err, err_len, key, want, v);
    const char *from = v6 ? v + 1 : v;
    size_t len = v6 ? (size_t)(bracket - from) : colon ? (size_t)(colon - from) : strlen(from);
    if (len == 0 || len >= KL_CONFIG_HOST_MAX) return refuse(err, err_len, key, want, v);
    memcpy(host, from, len);
    host[len] = 0;
    *to = (uint16_t)port;
    return 0;
}

static int set_relay(struct kl_config *c, const char *v, char *err, size_t err_len) {
    if (take_place(c->host, &c->port, "KEYLOCK_RELAY", v, err, err_len) != 0) return -1;
    c->fingerprint[0] = 0;
    return 0;
}

static int set_reached_at(struct kl_config *c, const char *v, char *err, size_t err_len) {
    return take_place(c->reached_host, &c->reached_port, "KEYLOCK_REACHED_AT", v, err, err_len);
}

/* Of a stranger's making: relay, room, fingerprint and nothing else. */
static int set_link(struct kl_config *c, const char *v, char *err, size_t err_len) {
    struct kl_url url;
    char why[400];
    if (kl_url_parse(v, &url, why, sizeof why) != 0) {
        snprintf(err, err_len, "KEYLOCK_LINK: %s", why);
        return -1;
    }
    snprintf(c->host, sizeof c->host, "%s", url.host);
    c->port = url.port ? url.port : KL_DEFAULT_PORT;
    snprintf(c->room, sizeof c->room, "%s", url.room);
    snprintf(c->fingerprint, sizeof c->fingerprint, "%s", url.fingerprint);
    c->linked = *url.room;
    return 0;
}

static bool is_name(const char *v) {
    if (!*v || strlen(v) >= KL_NAME_MAX) return false;
    for (const char *p = v; *p; p++)
        if ((unsigned char)*p < 0x20 || *p == 0x7f) return false;
    return true;
}

static int take_name(char out[KL_NAME_MAX], const char *key, const char *v, char *err, size_t err_len) {
    if (!is_name(v)) return refuse(err, err_len, key, "a name of 1 to 23 bytes", v);
    strcpy(out, v);
    return 0;
}

static int set_room(struct kl_config *c, const char *v, char *err, size_t err_len) {
    return take_name(c->room, "KEYLOCK_ROOM", v, err, err_len);
}

static int set_name(struct kl_config *c, const char *v, char *err, size_t err_len) {
    return take_name(c->name, "KEYLOCK_NAME", v, err, err_len);
}

static int set_seats(struct kl_config *c, const char *v, char *err, size_t err_len) {
    uint64_t n;
    if (!number(v, KL_MAX_SEATS, &n))
        return refuse(err, err_len, "KEYLOCK_SEATS", "0 (to watch) to 8 seats", v);
    c->seats = (uint8_t)n;
    return 0;
}

static int set_players(struct kl_config *c, const char *v, char *err, size_t err_len) {
    uint64_t n;
    if (!number(v, KL_MAX_SEATS, &n) || n == 0)
        return refuse(err, err_len, "KEYLOCK_PLAYERS", "1 to 8 seats", v);
    c->params.players = (uint8_t)n;
    return 0;
}

static const char *const policies[] = {"strict", "bounded", "optimistic"};

bool kl_config_desync(const char *name, uint8_t *out) {
    static const char *const names[] = {"heal", "pause", "ignore"};
    for (*out = KL_DESYNC_HEAL; *out <= KL_DESYNC_IGNORE; ++*out)
        if (!strcmp(name, names[*out])) return true;
    return false;
}

bool kl_config_policy(const char *name, uint8_t *out) {
    for (uint8_t i = KL_POLICY_STRICT; i <= KL_POLICY_OPTIMISTIC; i++) {
        if (strcmp(name, policies[i]) != 0) continue;
        *out = i;
        return true;
    }
    return false;
}

const char *kl_config_policy_name(uint8_t policy) {
    return policy <= KL_POLICY_OPTIMISTIC ? policies[policy] : "unknown";
}

static int set_policy(struct kl_config *c, const char *v, char *err, size_t err_len) {
    if (!kl_config_policy(v, &c->params.policy))
        return refuse(err, err_len, "KEYLOCK_POLICY", "strict, bounded or optimistic", v);
    c->policy_set = true;
    return 0;
}

bool kl_config_mode(const char *name, enum kl_play_mode *out) {
    static const char *const modes[] = {"alone", "quick", "room", "spectate"};
    for (unsigned i = 0; i < sizeof modes / sizeof *modes; i++)
        if (!strcmp(name, modes[i])) return *out = KL_PLAY_ALONE + i, true;
    return false;
}

bool kl_config_practice(const char *name, enum kl_practice *out) {
    if (strcmp(name, "on") != 0 && strcmp(name, "off") != 0) return false;
    *out = !strcmp(name, "on") ? KL_PRACTICE_ON : KL_PRACTICE_OFF;
    return true;
}

static int set_mode(struct kl_config *c, const char *v, char *err, size_t err_len) {
    if (kl_config_mode(v, &c->mode)) return 0;
    return refuse(err, err_len, "KEYLOCK_MODE", "alone, quick, room or spectate", v);
}

static int set_practice(struct kl_config *c, const char *v, char *err, size_t err_len) {
    if (kl_config_practice(v, &c->practice)) return 0;
    return refuse(err, err_len, "KEYLOCK_PRACTICE", "on or off", v);
}

static int set_desync(struct kl_config *c, const char *v, char *err, size_t err_len) {
    if (kl_config_desync(v, &c->params.desync)) return 0;
    return refuse(err, err_len, "KEYLOCK_DESYNC", "heal, pause or ignore", v);
}

static int set_budget(struct kl_config *c, const char *v, char *err, size_t err_len) {
    uint64_t n;
    if (!number(v, KL_CONFIG_BUDGET_MAX_MS, &n) || n < KL_CONFIG_BUDGET_MIN_MS)
        return refuse(err, err_len, "KEYLOCK_BUDGET_MS", "20 to 60000 milliseconds", v);
    c->params.wait_budget_ms = (uint16_t)n;
    c->budget_set = true;
    return 0;
}

static int on_off(bool *out, const char *key, const char *v, char *err, size_t err_len) {
    bool on = !strcmp(v, "on") || !strcmp(v, "true") || !strcmp(v, "1");
    bool off = !strcmp(v, "off") || !strcmp(v, "false") || !strcmp(v, "0");
    if (!on && !off) return refuse(err, err_len, key, "on or off", v);
    *out = on;
    return 0;
}

static int set_subframes(struct kl_config *c, const char *v, char *err, size_t err_len) {
    return on_off(&c->params.subframes, "KEYLOCK_SUBFRAMES", v, err, err_len);
}

static int set_hide(struct kl_config *c, const char *v, char *err, size_t err_len) {
    return on_off(&c->hide, "KEYLOCK_HIDE", v, err, err_len);
}

static int set_load_own(struct kl_config *c, const char *v, char *err, size_t err_len) {
    return on_off(&c->load_own, "KEYLOCK_LOAD_OWN", v, err, err_len);
}

static int set_other_version(struct kl_config *c, const char *v, char *err, size_t err_len) {
    return on_off(&c->other_version, "KEYLOCK_OTHER_VERSION", v, err, err_len);
}

static int set_half_steps(struct kl_config *c, const char *v, char *err, size_t err_len) {
    if (on_off(&c->params.half_steps, "KEYLOCK_HALF_STEPS", v, err, err_len) != 0) return -1;
    c->sparing = !c->params.half_steps; /* said, not only left as it is: for a joiner it counts too */
    return 0;
}

/* The value is not shown in errors. */
static int set_password(struct kl_config *c, const char *v, char *err, size_t err_len) {
    size_t len = strlen(v);
    if (len == 0 || len > KL_DOOR_PASSWORD_MAX) {
        snprintf(err, err_len, "KEYLOCK_PASSWORD: expected 1 to %d bytes, got %zu", KL_DOOR_PASSWORD_MAX,
                 len);
        return -1;
    }
    memcpy(c->password, v, len + 1);
    return 0;
}

static int set_password_file(struct kl_config *c, const char *v, char *err, size_t err_len) {
    char line[KL_DOOR_PASSWORD_MAX + 3] = "", why[200];
    FILE *f = fopen(v, "re");
    const char *want = "a file with a password of 1 to 128 bytes in its first line";
    bool read = f && fgets(line, sizeof line, f);
    if (f) fclose(f);
    line[strcspn(line, "\r\n")] = 0;
    bool good = read && set_password(c, line, why, sizeof why) == 0;
    sodium_memzero(line, sizeof line);
    return good ? 0 : refuse(err, err_len, "KEYLOCK_PASSWORD_FILE", want, v);
}

static int set_trust(struct kl_config *c, const char *v, char *err, size_t err_len) {
    bool on = false;
    if (strcmp(v, "auto") != 0 && on_off(&on, "KEYLOCK_TRUST", v, err, err_len) != 0)
        return refuse(err, err_len, "KEYLOCK_TRUST", "auto, on or off", v);
    c->trust = strcmp(v, "auto") == 0 ? KL_TRUST_AUTO : on ? KL_TRUST_ON : KL_TRUST_OFF;
    return 0;
}

static int set_unlisted(struct kl_config *c, const char *v, char *err, size_t err_len) {
    return on_off(&c->unlisted, "KEYLOCK_UNLISTED", v, err, err_len);
}

static int set_netplay(struct kl_config *c, const char *v, char *err, size_t err_len) {
    return on_off(&c->netplay, "KEYLOCK_NETPLAY", v, err, err_len);
}

static int set_slow(struct kl_config *c, const char *v, char *err, size_t err_len) {
    bool out = !strcmp(v, "out");
    if (!out && strcmp(v, "watch") != 0) return refuse(err, err_len, "KEYLOCK_SLOW", "watch or out", v);
    c->let_go = out;
    return 0;
}

static int set_insecure_lan(struct kl_config *c, const char *v, char *err, size_t err_len) {
    return on_off(&c->insecure_lan, "KEYLOCK_INSECURE_LAN", v, err, err_len);
}

static int set_invite(struct kl_config *c, const char *v, char *err, size_t err_len) {
    return on_off(&c->invite, "KEYLOCK_INVITE", v, err, err_len);
}

static int set_seat_time(struct kl_config *c, const char *v, char *err, size_t err_len) {
    uint64_t n;
    if (!number(v, KL_CONFIG_SEAT_TIME_MAX, &n))
        return refuse(err, err_len, "KEYLOCK_SEAT_TIME", "1 to 3600 seconds (0: as the relay has it)", v);
    c->seat_time_s = (uint16_t)n;
    return 0;
}

static int set_draw(struct kl_config *c, const char *v, char *err, size_t err_len) {
    return on_off(&c->draw, "KEYLOCK_DRAW", v, err, err_len);
}

static int set_line(struct kl_config *c, const char *v, char *err, size_t err_len) {
    return on_off(&c->line, "KEYLOCK_LINE", v, err, err_len);
}

static int set_panel(struct kl_config *c, const char *v, char *err, size_t err_len) {
    return on_off(&c->panel, "KEYLOCK_PANEL", v, err, err_len);
}

static int set_hotkeys(struct kl_config *c, const char *v, char *err, size_t err_len) {
    struct kl_hotkeys keys;
    char why[400];
    if (kl_hotkeys_parse(&keys, v, why, sizeof why) != 0) {
        snprintf(err, err_len, "KEYLOCK_HOTKEYS: %s", why);
        return -1;
    }
    c->hotkeys_set = true;
    return copy(c->hotkeys, sizeof c->hotkeys, "KEYLOCK_HOTKEYS", v, err, err_len);
}

static int set_spacing(struct kl_config *c, const char *v, char *err, size_t err_len) {
    uint64_t n;
    if (!number(v, KL_SPACING_MAX, &n))
        return refuse(err, err_len, "KEYLOCK_SPACING", "0 (follows the link) to 30 frames", v);
    c->params.spacing_fixed = (uint8_t)n;
    c->spacing_set = n > 0;
    return 0;
}

static int set_lead_max(struct kl_config *c, const char *v, char *err, size_t err_len) {
    uint64_t n;
    if (!number(v, KL_SPACING_MAX, &n) || n < KL_SPACING_MIN)
        return refuse(err, err_len, "KEYLOCK_LEAD_MAX", "1 to 30 frames", v);
    c->params.lead_max = (uint8_t)n;
    return 0;
}

static int set_speed(struct kl_config *c, const char *v, char *err, size_t err_len) {
    bool max = !strcmp(v, "max");
    if (!max && strcmp(v, "real") != 0) return refuse(err, err_len, "KEYLOCK_SPEED", "real or max", v);
    c->params.clocked = !max;
    return 0;
}

static int set_hash_every(struct kl_config *c, const char *v, char *err, size_t err_len) {
    uint64_t n;
    if (!number(v, UINT16_MAX, &n))
        return refuse(err, err_len, "KEYLOCK_HASH_EVERY", "0 (never) to 65535 frames", v);
    c->params.hash_every = (uint16_t)n;
    c->hash_every_set = true;
    return 0;
}

static int set_epoch(struct kl_config *c, const char *v, char *err, size_t err_len) {
    if (!number(v, 8000000000u, &c->epoch_s))
        return refuse(err, err_len, "KEYLOCK_EPOCH", "seconds since 1970", v);
    c->epoch_set = true;
    return 0;
}

static int set_profile(struct kl_config *c, const char *v, char *err, size_t err_len) {
    return copy(c->profile, sizeof c->profile, "KEYLOCK_PROFILE", v, err, err_len);
}

static int set_learn(struct kl_config *c, const char *v, char *err, size_t err_len) {
    return copy(c->learn, sizeof c->learn, "KEYLOCK_LEARN", v, err, err_len);
}

static int set_states(struct kl_config *c, const char *v, char *err, size_t err_len) {
    return copy(c->states, sizeof c->states, "KEYLOCK_STATES", v, err, err_len);
}

static int set_font(struct kl_config *c, const char *v, char *err, size_t err_len) {
    return copy(c->font, sizeof c->font, "KEYLOCK_FONT", v, err, err_len);
}

static const struct {
    const char *key, *variable;
    int (*set)(struct kl_config *, const char *, char *, size_t);
} keys[] = {
    {"core", "KEYLOCK_CORE", set_core},
    {"relay", "KEYLOCK_RELAY", set_relay},
    {"reached_at", "KEYLOCK_REACHED_AT", set_reached_at},
    {"mode", "KEYLOCK_MODE", set_mode},
    {"practice", "KEYLOCK_PRACTICE", set_practice},
    {"room", "KEYLOCK_ROOM", set_room},
    {"link", "KEYLOCK_LINK", set_link}, /* behind relay and room: it counts before both */
    {"password", "KEYLOCK_PASSWORD", set_password},
    {"password_file", "KEYLOCK_PASSWORD_FILE", set_password_file},
    {"unlisted", "KEYLOCK_UNLISTED", set_unlisted},
    {"trust", "KEYLOCK_TRUST", set_trust},
    {"slow", "KEYLOCK_SLOW", set_slow},
    {"insecure_lan", "KEYLOCK_INSECURE_LAN", set_insecure_lan},
    {"seat_time", "KEYLOCK_SEAT_TIME", set_seat_time},
    {"invite", "KEYLOCK_INVITE", set_invite},
    {"name", "KEYLOCK_NAME", set_name},
    {"seats", "KEYLOCK_SEATS", set_seats},
    {"players", "KEYLOCK_PLAYERS", set_players},
    {"policy", "KEYLOCK_POLICY", set_policy},
    {"budget_ms", "KEYLOCK_BUDGET_MS", set_budget},
    {"desync", "KEYLOCK_DESYNC", set_desync},
    {"half_steps", "KEYLOCK_HALF_STEPS", set_half_steps},
    {"subframes", "KEYLOCK_SUBFRAMES", set_subframes},
    {"spacing", "KEYLOCK_SPACING", set_spacing},
    {"lead_max", "KEYLOCK_LEAD_MAX", set_lead_max},
    {"speed", "KEYLOCK_SPEED", set_speed},
    {"hash_every", "KEYLOCK_HASH_EVERY", set_hash_every},
    {"epoch", "KEYLOCK_EPOCH", set_epoch},
    {"netplay", "KEYLOCK_NETPLAY", set_netplay},
    {"hide", "KEYLOCK_HIDE", set_hide},
    {"load_own", "KEYLOCK_LOAD_OWN", set_load_own},
    {"profile", "KEYLOCK_PROFILE", set_profile},
    {"learn", "KEYLOCK_LEARN", set_learn},
    {"other_version", "KEYLOCK_OTHER_VERSION", set_other_version},
    {"states", "KEYLOCK_STATES", set_states},
    {"draw", "KEYLOCK_DRAW", set_draw},
    {"line", "KEYLOCK_LINE", set_line},
    {"panel", "KEYLOCK_PANEL", set_panel},
    {"hotkeys", "KEYLOCK_HOTKEYS", set_hotkeys},
    {"font", "KEYLOCK_FONT", set_font},
};
#define KEYS (sizeof keys / sizeof keys[0])

/* KEYS if there is none. */
static size_t find_key(const char *key) {
    size_t i = 0;
    while (i < KEYS && strcmp(keys[i].key, key) != 0)
        i++;
    return i;
}

int kl_config_set(struct kl_config *c, const char *key, const char *value, char *err, size_t err_len) {
    size_t i = find_key(key);
    if (i < KEYS) return keys[i].set(c, value, err, err_len);
    snprintf(err, err_len, "there is no key \"%s\"", key);
    return -2;
}

static void defaults(struct kl_config *c) {
    memset(c, 0, sizeof *c);
    c->port = KL_DEFAULT_PORT;
    c->seats = 1;
    c->hide = c->netplay = c->draw = true;
    strcpy(c->hotkeys, KL_HOTKEYS_DEFAULT);
    strcpy(c->learn, "keylock");
    c->params =
        (struct kl_params){.policy = KL_POLICY_STRICT, .subframes = true, .clocked = true, .players = 2};
    c->params.wait_budget_ms = 250;
    c->params.lead_max = KL_LEAD_MAX_USUAL;
    c->params.hash_every = 60;
}

struct first_error {
    const char *path;
    char *err; /* "" so far */
    size_t err_len;
};

static void check_line(void *ctx, const struct kl_cfg_line *line) {
    const struct first_error *e = ctx;
    if (line->empty || *e->err || (line->key && find_key(line->key) < KEYS)) return;
    if (line->key)
        snprintf(e->err, e->err_len, "%s line %u: there is no key \"%s\"", e->path, line->number, line->key);
    else
        snprintf(e->err, e->err_len, "%s line %u: expected key = value, got \"%s\"", e->path, line->number,
                 line->whole);
}

/* In the order of the keys, not of the lines. */
static int take_text(struct kl_config *c, const char *text, const char *path, char *err, size_t err_len) {
    char value[KL_CONFIG_PATH_MAX + 64], why[512];
    struct first_error e = {path, err, err_len};
    *err = 0;
    if (!kl_cfg_each(text, check_line, &e) || *err) return -1;
    for (size_t i = 0; i < KEYS; i++) {
        unsigned line = kl_cfg_get(text, keys[i].key, value, sizeof value);
        if (!line || keys[i].set(c, value, why, sizeof why) == 0) continue;
        snprintf(err, err_len, "%s line %u: %s", path, line, why);
        return -1;
    }
    return 0;
}

static int read_file(struct kl_config *c, const char *dir, char *err, size_t err_len) {
    char path[KL_CONFIG_PATH_MAX + 16];
    void *text;
    size_t len;
    snprintf(path, sizeof path, "%.4095s/%s", dir, KL_CONFIG_FILE);
    int r = kl_file_read(path, FILE_BYTES, 0, &text, &len, err, err_len);
    if (r == 0) r = take_text(c, text, path, err, err_len);
    free(text);
    return r == KL_FILE_ABSENT ? 0 : r;
}

int kl_config_settle(struct kl_config *c, char *err, size_t err_len) {
    struct kl_params *p = &c->params;
    if (!c->policy_set) p->policy = p->clocked ? KL_POLICY_BOUNDED : KL_POLICY_STRICT;
    if (p->policy != KL_POLICY_OPTIMISTIC || (p->clocked && p->subframes)) return 0;
    snprintf(err, err_len,
             "KEYLOCK_POLICY: optimistic closes frames by the clock, with a sample a frame: expected %s",
             p->clocked ? "KEYLOCK_SUBFRAMES=on" : "KEYLOCK_SPEED=real");
    return -1;
}

int kl_config_read(struct kl_config *c, const char *system_dir, char *err, size_t err_len) {
    defaults(c);
    if (system_dir && *system_dir && read_file(c, system_dir, err, err_len) != 0) return -1;
    for (size_t i = 0; i < KEYS; i++) {
        const char *v = getenv(keys[i].variable);
        if (v && *v && keys[i].set(c, v, err, err_len) != 0) return -1;
    }
    if (kl_config_settle(c, err, err_len) != 0) return -1;
    if (getenv("KEYLOCK_ROOM") && *getenv("KEYLOCK_ROOM") && !*c->host) {
        snprintf(err, err_len, "KEYLOCK_ROOM is set (\"%s\"), but no relay: set KEYLOCK_RELAY", c->room);
        return -1;
    }
    return 0;
}

bool kl_config_core_from_file_name(const char *wrapper_path, char *out, size_t cap) {
    static const char tail[] = "_keylock_libretro.so";
    const char *slash = strrchr(wrapper_path, '/'), *base = slash ? slash + 1 : wrapper_path;
    size_t len = strlen(base), cut = sizeof tail - 1;
    if (len <= cut || strcasecmp(base + len - cut, tail) != 0) return false;
    int n = snprintf(out, cap, "%.*s_libretro.so", (int)(len - cut), base);
    return n > 0 && (size_t)n < cap;
}
