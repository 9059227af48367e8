#include "core_wrapper/words/config.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <sodium.h>

#include "core_wrapper/words/config_table.h"
#include "core_wrapper/words/hotkeys.h"
#include "net/platform/address.h"
#include "net/platform/environment.h"
#include "net/platform/cfg_file.h"
#include "net/platform/file.h"
#include "net/platform/library.h"
#include "net/session/url.h"
#include "net/transport/link.h"

#define FILE_BYTES 65536 /* of keylock.cfg */

/* --- one value --- */

struct why { /* the line for an error */
    char *text;
    size_t cap;
};

static int refuse(const struct kl_config_row *row, const char *got, struct why *why) {
    char want[KL_CONFIG_TEXT_MAX];
    kl_config_expected(row, want);
    snprintf(why->text, why->cap, "%s: expected %s, got \"%s\"", row->variable, want, got);
    return -1;
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

static void *field_of(const struct kl_config_row *row, struct kl_config *c) {
    return (char *)c + row->field;
}

static void put_number(const struct kl_config_row *row, struct kl_config *c, uint64_t n) {
    void *field = field_of(row, c);
    switch (row->size) {
    case 1: *(uint8_t *)field = (uint8_t)n; break;
    case 2: *(uint16_t *)field = (uint16_t)n; break;
    case 4: *(uint32_t *)field = (uint32_t)n; break;
    default: *(uint64_t *)field = n; break;
    }
}

static bool set_number(const struct kl_config_row *row, struct kl_config *c, const char *v) {
    uint64_t n;
    if (!number(v, row->max, &n) || n < row->min) return false;
    put_number(row, c, n);
    return true;
}

/* Other words of people for on and off. */
static const char *plain_switch(const char *v) {
    if (!strcmp(v, "true") || !strcmp(v, "1")) return "on";
    return !strcmp(v, "false") || !strcmp(v, "0") ? "off" : v;
}

static bool set_word(const struct kl_config_row *row, struct kl_config *c, const char *v) {
    int place = kl_config_word(row, v);
    if (place < 0) place = kl_config_word(row, plain_switch(v));
    if (place >= 0) put_number(row, c, row->min + (uint64_t)place);
    return place >= 0;
}

static bool set_switch(const struct kl_config_row *row, struct kl_config *c, const char *v) {
    static const struct kl_config_row usual = {.words = "off on"};
    int place = row->words ? kl_config_word(row, v) : kl_config_word(&usual, plain_switch(v));
    if (place >= 0) *(bool *)field_of(row, c) = place;
    return place >= 0;
}

static bool set_text(const struct kl_config_row *row, struct kl_config *c, const char *v) {
    size_t len = strlen(v);
    if (len >= row->size) return false;
    memcpy(field_of(row, c), v, len + 1);
    return true;
}

static bool set_name(const struct kl_config_row *row, struct kl_config *c, const char *v) {
    for (const char *p = v; *p; p++)
        if ((unsigned char)*p < 0x20 || *p == 0x7f) return false;
    return *v && kl_characters(v) <= KL_NAME_CHARS && set_text(row, c, v);
}

static bool set_match(const struct kl_config_row *row, struct kl_config *c, const char *v) {
    return kl_match_fits(v) && set_text(row, c, v);
}

/* HOST, HOST:PORT, [V6]:PORT, V6. An address is written as the links have it. */
static bool take_place(char host[KL_CONFIG_HOST_MAX], uint16_t *to, const char *v) {
    const char *colon = strrchr(v, ':'), *bracket = strchr(v, ']');
    bool v6 = v[0] == '[' && bracket;
    if (!v6 && colon && strchr(v, ':') != colon) colon = NULL; /* a bare IPv6 address */
    if (v6 && colon && colon < bracket) colon = NULL;
    uint64_t port = KL_DEFAULT_PORT;
    if (colon && (!number(colon + 1, 65535, &port) || port == 0)) return false;
    const char *from = v6 ? v + 1 : v;
    size_t len = v6 ? (size_t)(bracket - from) : colon ? (size_t)(colon - from) : strlen(from);
    char text[KL_CONFIG_HOST_MAX];
    struct kl_address a;
    if (len == 0 || len >= sizeof text) return false;
    memcpy(text, from, len);
    text[len] = 0;
    if (kl_address_parse(text, &a)) kl_address_text(text, &a);
    memcpy(host, text, sizeof text);
    *to = (uint16_t)port;
    return true;
}

static bool set_relay(struct kl_config *c, const char *v) {
    if (!take_place(c->host, &c->port, v)) return false;
    c->fingerprint[0] = 0;
    return true;
}

/* Of a stranger's making: relay, room, fingerprint and nothing else. */
static int set_link(const struct kl_config_row *row, struct kl_config *c, const char *v, struct why *why) {
    struct kl_url url;
    char reason[400];
    if (kl_url_parse(v, &url, reason, sizeof reason) != 0) {
        snprintf(why->text, why->cap, "%s: %s", row->variable, reason);
        return -1;
    }
    snprintf(c->host, sizeof c->host, "%s", url.host);
    c->port = url.port ? url.port : KL_DEFAULT_PORT;
    snprintf(c->room, sizeof c->room, "%s", url.room);
    snprintf(c->fingerprint, sizeof c->fingerprint, "%s", url.fingerprint);
    c->linked = *url.room;
    return 0;
}

static bool take_password(struct kl_config *c, const char *v) {
    size_t len = strlen(v);
    if (len == 0 || len > KL_DOOR_PASSWORD_MAX) return false;
    memcpy(c->password, v, len + 1);
    return true;
}

/* The value is not shown in errors. */
static int set_password(const struct kl_config_row *row, struct kl_config *c, const char *v,
                        struct why *why) {
    if (take_password(c, v)) return 0;
    snprintf(why->text, why->cap, "%s: expected 1 to %d bytes, got %zu", row->variable, KL_DOOR_PASSWORD_MAX,
             strlen(v));
    return -1;
}

static bool set_password_file(struct kl_config *c, const char *v) {
    char line[KL_DOOR_PASSWORD_MAX + 3] = "";
    FILE *f = kl_file_stream(v, "r");
    bool read = f && fgets(line, sizeof line, f);
    if (f) fclose(f);
    line[strcspn(line, "\r\n")] = 0;
    bool good = read && take_password(c, line);
    sodium_memzero(line, sizeof line);
    return good;
}

static int set_hotkeys(const struct kl_config_row *row, struct kl_config *c, const char *v, struct why *why) {
    struct kl_hotkeys keys;
    char reason[400];
    if (kl_hotkeys_parse(&keys, v, reason, sizeof reason) == 0)
        return set_text(row, c, v) ? 0 : refuse(row, v, why);
    snprintf(why->text, why->cap, "%s: %s", row->variable, reason);
    return -1;
}

/* 0, or -1 with a line that names the variable. */
static int set(const struct kl_config_row *row, struct kl_config *c, const char *v, struct why *why) {
    bool good = false;
    switch (row->kind) {
    case KL_KIND_NONE: break;
    case KL_KIND_TEXT: good = set_text(row, c, v); break;
    case KL_KIND_NAME: good = set_name(row, c, v); break;
    case KL_KIND_MATCH: good = set_match(row, c, v); break;
    case KL_KIND_NUMBER: good = set_number(row, c, v); break;
    case KL_KIND_WORD: good = set_word(row, c, v); break;
    case KL_KIND_SWITCH: good = set_switch(row, c, v); break;
    case KL_KIND_RELAY: good = set_relay(c, v); break;
    case KL_KIND_REACHED_AT: good = take_place(c->reached_host, &c->reached_port, v); break;
    case KL_KIND_LINK: return set_link(row, c, v, why);
    case KL_KIND_PASSWORD: return set_password(row, c, v, why);
    case KL_KIND_PASSWORD_FILE: good = set_password_file(c, v); break;
    case KL_KIND_HOTKEYS: return set_hotkeys(row, c, v, why);
    case KL_KIND_AHEAD: good = kl_config_ahead(v, &c->ahead); break;
    }
    return good ? 0 : refuse(row, v, why);
}

/* As somebody wants it, not as it is anyway. */
static int set_said(const struct kl_config_row *row, struct kl_config *c, const char *v, struct why *why) {
    if (set(row, c, v, why) != 0) return -1;
    if (row->said) *(bool *)((char *)c + row->said) = true;
    return 0;
}

int kl_config_set(struct kl_config *c, const char *key, const char *value, char *err, size_t err_len) {
    const struct kl_config_row *row = kl_config_row(key);
    struct why why = {err, err_len};
    if (row) return set_said(row, c, value, &why);
    snprintf(err, err_len, "there is no key \"%s\"", key);
    return -2;
}

/* --- words by themselves --- */

bool kl_config_ahead(const char *value, uint8_t *out) {
    uint64_t n;
    if (!strcmp(value, "off"))
        *out = 0;
    else if (!strcmp(value, "auto"))
        *out = KL_AHEAD_AUTO;
    else if (number(value, KL_SPACING_MAX, &n) && n > 0)
        *out = (uint8_t)n;
    else
        return false;
    return true;
}

static bool word(const char *key, const char *name, uint8_t *out) {
    const struct kl_config_row *row = kl_config_row(key);
    int place = kl_config_word(row, name);
    if (place >= 0) *out = (uint8_t)(row->min + (uint64_t)place);
    return place >= 0;
}

bool kl_config_mode(const char *name, enum kl_play_mode *out) {
    uint8_t mode;
    if (!word("mode", name, &mode)) return false;
    *out = mode;
    return true;
}

bool kl_config_practice(const char *name, enum kl_practice *out) {
    uint8_t practice;
    if (!word("practice", name, &practice)) return false;
    *out = practice;
    return true;
}

/* --- all values --- */

static void defaults(struct kl_config *c) {
    char ignored[256];
    struct why why = {ignored, sizeof ignored};
    memset(c, 0, sizeof *c);
    c->port = KL_DEFAULT_PORT;
    for (size_t i = 0; i < kl_config_row_count; i++)
        if (kl_config_rows[i].standard) (void)set(&kl_config_rows[i], c, kl_config_rows[i].standard, &why);
}

struct first_error {
    const char *path;
    char *err; /* "" so far */
    size_t err_len;
};

static void check_line(void *ctx, const struct kl_cfg_line *line) {
    const struct first_error *e = ctx;
    if (line->empty || *e->err || (line->key && kl_config_row(line->key))) return;
    if (line->key)
        snprintf(e->err, e->err_len, "%s line %u: there is no key \"%s\"", e->path, line->number, line->key);
    else
        snprintf(e->err, e->err_len, "%s line %u: expected key = value, got \"%s\"", e->path, line->number,
                 line->whole);
}

/* In the order of the table, not of the lines. */
static int take_text(struct kl_config *c, const char *text, const char *path, char *err, size_t err_len) {
    char value[KL_CONFIG_PATH_MAX + 64], reason[512];
    struct why why = {reason, sizeof reason};
    struct first_error e = {path, err, err_len};
    *err = 0;
    if (!kl_cfg_each(text, check_line, &e) || *err) return -1;
    for (size_t i = 0; i < kl_config_row_count; i++) {
        const struct kl_config_row *row = &kl_config_rows[i];
        unsigned line = row->key ? kl_cfg_get(text, row->key, value, sizeof value) : 0;
        if (!line || set_said(row, c, value, &why) == 0) continue;
        snprintf(err, err_len, "%s line %u: %s", path, line, reason);
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
    c->spacing_set = c->spacing_set && p->spacing_fixed > 0;
    c->sparing = c->sparing && !p->half_steps;
    if (!c->policy_set) p->policy = p->clocked ? KL_POLICY_BOUNDED : KL_POLICY_STRICT;
    if (p->economy && (p->half_steps || !p->clocked || !p->subframes)) {
        snprintf(err, err_len,
                 "KEYLOCK_ECONOMY: two frames go in one datagram, at the core's rate: expected %s",
                 p->half_steps ? "KEYLOCK_HALF_STEPS=off"
                 : p->clocked  ? "KEYLOCK_SUBFRAMES=on"
                               : "KEYLOCK_SPEED=real");
        return -1;
    }
    if (p->policy != KL_POLICY_OPTIMISTIC || (p->clocked && p->subframes)) return 0;
    snprintf(err, err_len,
             "KEYLOCK_POLICY: optimistic closes frames by the clock, with a sample a frame: expected %s",
             p->clocked ? "KEYLOCK_SUBFRAMES=on" : "KEYLOCK_SPEED=real");
    return -1;
}

int kl_config_read(struct kl_config *c, const char *system_dir, char *err, size_t err_len) {
    defaults(c);
    if (system_dir && *system_dir && read_file(c, system_dir, err, err_len) != 0) return -1;
    struct why why = {err, err_len};
    for (size_t i = 0; i < kl_config_row_count; i++) {
        const struct kl_config_row *row = &kl_config_rows[i];
        const char *v = row->key ? kl_environment_get(row->variable) : NULL;
        if (v && *v && set_said(row, c, v, &why) != 0) return -1;
    }
    if (kl_config_settle(c, err, err_len) != 0) return -1;
    if (kl_environment_get("KEYLOCK_ROOM") && *kl_environment_get("KEYLOCK_ROOM") && !*c->host) {
        snprintf(err, err_len, "KEYLOCK_ROOM is set (\"%s\"), but no relay: set KEYLOCK_RELAY", c->room);
        return -1;
    }
    return 0;
}

bool kl_config_core_from_file_name(const char *wrapper_path, char *out, size_t cap) {
    static const char tail[] = "_keylock_libretro" KL_LIBRARY_ENDING;
    const char *slash = strrchr(wrapper_path, '/'), *base = slash ? slash + 1 : wrapper_path;
    size_t len = strlen(base), cut = sizeof tail - 1;
    if (len <= cut || strcasecmp(base + len - cut, tail) != 0) return false;
    int n = snprintf(out, cap, "%.*s_libretro" KL_LIBRARY_ENDING, (int)(len - cut), base);
    return n > 0 && (size_t)n < cap;
}

const char *kl_config_replay(void) {
    const char *path = kl_environment_get("KEYLOCK_REPLAY");
    return path && *path ? path : NULL;
}
