#include "net/session/url.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "net/engine/wire.h"
#include "net/platform/address.h"

#define SCHEME      "keylock://"
#define SHOWN_BYTES 60 /* of the given text, in an error */

static const char hex_digits[] = "0123456789abcdef";

static char lower(char c) {
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}
static bool is_alnum(char c) {
    return (c >= '0' && c <= '9') || (lower(c) >= 'a' && lower(c) <= 'z');
}

struct part {
    const char *at;
    size_t len;
};

/* The link is strangers' text: characters that a terminal could act on are shown as '?'. */
static int refuse(char *err, size_t err_len, const char *expected, struct part came) {
    char shown[SHOWN_BYTES + 1];
    size_t n = came.len < SHOWN_BYTES ? came.len : SHOWN_BYTES;
    for (size_t i = 0; i < n; i++)
        shown[i] = came.at[i] > 0x20 && came.at[i] < 0x7f ? came.at[i] : '?';
    shown[n] = 0;
    snprintf(err, err_len, "this link is not one of Keylock's: expected %s, found \"%s%s\"", expected, shown,
             n < came.len ? "..." : "");
    return -1;
}

/* The text up to the first of these characters, or its end; text goes past it. */
static struct part cut(const char **text, const char *at_any_of) {
    struct part p = {*text, strcspn(*text, at_any_of)};
    *text += p.len;
    return p;
}

/* --- each part --- */

static bool has_scheme(const char *text) {
    for (const char *s = SCHEME; *s; s++, text++)
        if (lower(*text) != *s) return false;
    return true;
}

static int parse_v6(struct part p, char host[KL_URL_HOST_MAX + 1], char *err, size_t err_len) {
    char text[KL_ADDRESS_TEXT + 8]; /* the last four bytes may be numbers */
    struct kl_address a;
    size_t len = p.len > 2 && p.at[p.len - 1] == ']' ? p.len - 2 : 0;
    if (len < sizeof text) memcpy(text, p.at + 1, len);
    text[len < sizeof text ? len : 0] = 0;
    if (!memchr(text, ':', strlen(text)) || !kl_address_parse(text, &a))
        return refuse(err, err_len, "an IPv6 address between '[' and ']'", p);
    kl_address_text(host, &a);
    return 0;
}

static int parse_host(struct part p, char *host, char *err, size_t err_len) {
    if (p.len && p.at[0] == '[') return parse_v6(p, host, err, err_len);
    if (memchr(p.at, '@', p.len)) return refuse(err, err_len, "a host without a user or a password", p);
    if (p.len == 0 || p.len > KL_URL_HOST_MAX)
        return refuse(err, err_len, "a host of 1 to 253 characters after keylock://", p);
    for (size_t i = 0; i < p.len; i++) {
        bool edge = i == 0 || p.at[i - 1] == '.';
        if (!is_alnum(p.at[i]) && (edge || (p.at[i] != '-' && p.at[i] != '.')))
            return refuse(err, err_len, "a host of letters, digits, '-' and '.'", p);
        host[i] = lower(p.at[i]);
    }
    host[p.len] = 0;
    return 0;
}

static int parse_port(struct part p, uint16_t *port, char *err, size_t err_len) {
    unsigned long v = 0;
    bool good = p.len >= 1 && p.len <= 5 && p.at[0] != '0';
    for (size_t i = 0; good && i < p.len; i++) {
        good = p.at[i] >= '0' && p.at[i] <= '9';
        v = 10 * v + (unsigned long)(p.at[i] - '0');
    }
    if (!good || v > 65535) return refuse(err, err_len, "a port from 1 to 65535 after ':'", p);
    *port = (uint16_t)v;
    return 0;
}

static int hex_value(char c) {
    const char *at = c ? strchr(hex_digits, lower(c)) : NULL;
    return at ? (int)(at - hex_digits) : -1;
}

static bool is_plain(char c) { /* RFC 3986: unreserved */
    return is_alnum(c) || (c && strchr("-._~", c));
}

_Static_assert(KL_URL_ROOM_MAX >= KL_URL_GAME_MAX && KL_URL_ROOM_MAX < 0x80, "a length of one byte");

/* UTF-8 without control characters, as a str of the wire. */
static bool is_text(const char *text, size_t len) {
    uint8_t coded[1 + KL_URL_ROOM_MAX]; /* the longest of all */
    char out[KL_URL_ROOM_MAX + 1];
    coded[0] = (uint8_t)len;
    memcpy(coded + 1, text, len);
    struct kl_reader r = kl_reader(coded, 1 + len);
    kl_read_string(&r, out, sizeof out);
    return !r.failed;
}

/* A percent-encoded text of 1 to max bytes, and at most `chars` characters. what: "a room's name". */
static int parse_text(struct part p, char *out, size_t max, size_t chars, const char *what, char *err,
                      size_t err_len) {
    char expected[100];
    size_t n = 0, used = 0;
    for (size_t i = 0; i < p.len; i++) {
        int c = (unsigned char)p.at[i];
        if (c == '%') {
            int high = i + 2 < p.len ? hex_value(p.at[i + 1]) : -1,
                low = i + 2 < p.len ? hex_value(p.at[i + 2]) : -1;
            if (high < 0 || low < 0) return refuse(err, err_len, "two hexadecimal digits after '%'", p);
            c = high << 4 | low;
            i += 2;
        } else if (!is_plain(p.at[i])) {
            snprintf(expected, sizeof expected, "%s of letters, digits, '-', '.', '_', '~' and %%XX", what);
            return refuse(err, err_len, expected, p);
        }
        if (n == max) break;
        out[n++] = (char)c;
        used = i + 1;
    }
    out[n] = 0;
    snprintf(expected, sizeof expected, "%s of 1 to %zu %s", what, chars,
             chars == max ? "bytes" : "characters");
    if (n == 0 || used < p.len || kl_characters(out) > chars) return refuse(err, err_len, expected, p);
    snprintf(expected, sizeof expected, "%s in UTF-8 without control characters", what);
    return is_text(out, n) ? 0 : refuse(err, err_len, expected, p);
}

/* --- an invitation's core and game --- */

bool kl_url_core_fits(const char *core) {
    size_t len = 0;
    while ((core[len] >= 'a' && core[len] <= 'z') || (core[len] >= '0' && core[len] <= '9') ||
           core[len] == '_')
        len++;
    return len >= 1 && len <= KL_URL_CORE_MAX && core[len] == 0;
}

static int parse_core(struct part p, char *core, char *err, size_t err_len) {
    size_t len = p.len <= KL_URL_CORE_MAX ? p.len : 0;
    memcpy(core, p.at, len);
    core[len] = 0;
    return kl_url_core_fits(core) ? 0 : refuse(err, err_len, "a core of small letters, digits and '_'", p);
}

static int parse_game(struct part p, char *game, char *err, size_t err_len) {
    if (parse_text(p, game, KL_URL_GAME_MAX, KL_URL_GAME_MAX, "a game's name", err, err_len) != 0) return -1;
    bool path = game[strcspn(game, "/\\")] || !strcmp(game, ".") || !strcmp(game, "..");
    return path ? refuse(err, err_len, "a game's name without folders", p) : 0;
}

static int parse_crc(struct part p, uint32_t *crc, char *err, size_t err_len) {
    bool good = p.len == 8;
    for (size_t i = 0; good && i < p.len; i++) {
        good = hex_value(p.at[i]) >= 0;
        *crc = *crc << 4 | (uint32_t)(hex_value(p.at[i]) & 15);
    }
    return good ? 0 : refuse(err, err_len, "8 hexadecimal digits after crc=", p);
}

/* Goes past a key of the query, "core=" or "&game=". */
static bool key(const char **text, const char *name) {
    const char *at = *text;
    while (*name && *at == *name)
        at++, name++;
    if (*name) return false;
    *text = at;
    return true;
}

static int parse_query(const char **text, struct kl_url *u, char *err, size_t err_len) {
    if (!key(text, "core="))
        return refuse(err, err_len, "core=NAME after '?'", (struct part){*text, strlen(*text)});
    if (parse_core(cut(text, "&#"), u->core, err, err_len) != 0) return -1;
    if (!key(text, "&game=")) return 0;
    if (parse_game(cut(text, "&#"), u->game, err, err_len) != 0) return -1;
    if (!key(text, "&crc=")) return 0;
    if (parse_crc(cut(text, "&#"), &u->crc, err, err_len) != 0) return -1;
    if (!key(text, "&size="))
        return refuse(err, err_len, "&size=BYTES after crc", (struct part){*text, strlen(*text)});
    struct part p = cut(text, "&#");
    bool good = p.len >= 1 && p.len <= 10 && p.at[0] != '0';
    for (size_t i = 0; good && i < p.len; i++) {
        good = p.at[i] >= '0' && p.at[i] <= '9';
        u->size = u->size * 10 + (uint64_t)(p.at[i] - '0');
    }
    return good ? 0 : refuse(err, err_len, "a number of bytes after size=", p);
}

/* An empty one is refused, too: a link that was cut off must not become one that trusts anybody. */
static int parse_fingerprint(struct part p, char *fingerprint, char *err, size_t err_len) {
    fingerprint[0] = 0;
    if (p.len == KL_FINGERPRINT_CHARS)
        for (size_t i = 0; i <= p.len; i++)
            fingerprint[i] = i < p.len ? lower(p.at[i]) : 0;
    if (!kl_fingerprint_valid(fingerprint))
        return refuse(err, err_len, "a fingerprint of 32 letters and digits 2 to 7 after '#'", p);
    return 0;
}

int kl_url_parse(const char *text, struct kl_url *out, char *err, size_t err_len) {
    struct kl_url u = {0};
    struct part whole = {text, strlen(text)};
    if (!has_scheme(text)) return refuse(err, err_len, "keylock://HOST[:PORT]/ROOM[#FINGERPRINT]", whole);
    if (whole.len > KL_URL_MAX) return refuse(err, err_len, "a shorter link", whole);
    text += strlen(SCHEME);
    struct part host = {text, strcspn(text, "/?#")}; /* up to there, '@' and '[' are the host's business */
    const char *bracket = host.len && *text == '[' ? memchr(text, ']', host.len) : NULL;
    if (bracket)
        host.len = (size_t)(bracket + 1 - text);
    else if (!memchr(host.at, '@', host.len) && *text != '[')
        host.len = strcspn(text, ":/?#");
    text += host.len;
    if (parse_host(host, u.host, err, err_len) != 0) return -1;
    if (*text == ':') {
        text++;
        if (parse_port(cut(&text, "/?#"), &u.port, err, err_len) != 0) return -1;
    }
    if (*text != '/') return refuse(err, err_len, "'/' and a room's name after the host", whole);
    text++;
    if (parse_text(cut(&text, "/?#"), u.room, KL_URL_ROOM_MAX, KL_NAME_CHARS, "a room's name", err,
                   err_len) != 0)
        return -1;
    if (*text == '?') {
        text++;
        if (parse_query(&text, &u, err, err_len) != 0) return -1;
    }
    if (*text && *text != '#')
        return refuse(err, err_len, "nothing but #FINGERPRINT after room, core and game",
                      (struct part){text, strlen(text)});
    if (*text == '#') {
        text++;
        if (parse_fingerprint((struct part){text, strlen(text)}, u.fingerprint, err, err_len) != 0) return -1;
    }
    *out = u;
    return 0;
}

/* --- writing --- */

static bool append(char **at, const char *end, const char *text) {
    size_t len = strlen(text);
    if ((size_t)(end - *at) <= len) return false;
    memcpy(*at, text, len + 1);
    *at += len;
    return true;
}

static bool append_text(char **at, const char *end, const char *text) {
    for (; *text; text++) {
        uint8_t c = (uint8_t)*text;
        char one[4] = {*text, 0, 0, 0};
        if (!is_plain(*text))
            one[0] = '%', one[1] = "0123456789ABCDEF"[c >> 4], one[2] = "0123456789ABCDEF"[c & 15];
        if (!append(at, end, one)) return false;
    }
    return true;
}

static bool append_query(char **at, const char *end, const struct kl_url *u) {
    char sum[48] = "";
    if (!u->core[0]) return true;
    if (u->size)
        snprintf(sum, sizeof sum, "&crc=%08x&size=%llu", (unsigned)u->crc, (unsigned long long)u->size);
    if (!append(at, end, "?core=") || !append(at, end, u->core)) return false;
    return !u->game[0] ||
           (append(at, end, "&game=") && append_text(at, end, u->game) && append(at, end, sum));
}

/* The link reads back as the same. */
static bool is_same(const struct kl_url *a, const struct kl_url *b) {
    return !strcasecmp(a->host, b->host) && a->port == b->port && !strcmp(a->room, b->room) &&
           !strcasecmp(a->fingerprint, b->fingerprint) && !strcmp(a->core, b->core) &&
           !strcmp(a->game, b->game) && a->size == b->size && (!a->size || a->crc == b->crc);
}

int kl_url_write(const struct kl_url *u, char *out, size_t cap) {
    char *at = out, port[8] = "", err[8];
    bool v6 = strchr(u->host, ':') != NULL;
    const char *end = out + cap;
    struct kl_url back;
    if (u->port) snprintf(port, sizeof port, ":%u", u->port);
    bool fits = append(&at, end, SCHEME) && append(&at, end, v6 ? "[" : "") && append(&at, end, u->host) &&
                append(&at, end, v6 ? "]" : "") && append(&at, end, port) && append(&at, end, "/") &&
                append_text(&at, end, u->room) && append_query(&at, end, u) &&
                (!u->fingerprint[0] || (append(&at, end, "#") && append(&at, end, u->fingerprint)));
    if (!fits || kl_url_parse(out, &back, err, sizeof err) != 0) return -1;
    return is_same(&back, u) ? 0 : -1;
}
