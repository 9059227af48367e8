#include "net/platform/address.h"

#include <stdio.h>
#include <string.h>

#define GROUPS 8 /* of 16 bits, in an IPv6 address */

static int hex_value(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* --- reading --- */

/* A number without zeros in front and its end, or NULL. */
static const char *read_number(const char *at, unsigned most, unsigned *out) {
    unsigned v = 0, digits = 0;
    for (; *at >= '0' && *at <= '9' && digits < 5; at++, digits++) {
        if (digits == 1 && v == 0) return NULL;
        v = 10 * v + (unsigned)(*at - '0');
    }
    *out = v;
    return digits && v <= most ? at : NULL;
}

/* Four numbers, up to the end of the text. */
static bool read_v4(const char *at, uint8_t out[4]) {
    for (unsigned i = 0; i < 4; i++) {
        unsigned v;
        if (i && *at++ != '.') return false;
        at = read_number(at, 255, &v);
        if (!at) return false;
        out[i] = (uint8_t)v;
    }
    return *at == 0;
}

/* One to four hexadecimal digits and their end, or NULL. */
static const char *read_group(const char *at, uint8_t out[2]) {
    unsigned v = 0, digits = 0;
    for (; digits < 4 && hex_value(*at) >= 0; at++, digits++)
        v = v << 4 | (unsigned)hex_value(*at);
    out[0] = (uint8_t)(v >> 8);
    out[1] = (uint8_t)v;
    return digits ? at : NULL;
}

/* The last 32 bits may be written as four numbers. "::" stands for one group of zeros at least. */
static bool read_v6(const char *at, uint8_t out[KL_HOST_BYTES]) {
    uint8_t v[KL_HOST_BYTES] = {0};
    unsigned n = 0, gap = GROUPS; /* groups read; of them before "::" */
    bool has_gap = at[0] == ':' && at[1] == ':';
    if (has_gap) at += 2, gap = 0;
    while (*at) {
        if (n <= GROUPS - 2 && read_v4(at, v + 2 * n)) {
            n += 2;
            break;
        }
        if (n == GROUPS || !(at = read_group(at, v + 2 * n))) return false;
        n++;
        if (*at == 0) break;
        if (*at++ != ':') return false;
        if (*at == ':') {
            if (has_gap) return false;
            has_gap = true;
            gap = n;
            at++;
        } else if (*at == 0) {
            return false;
        }
    }
    if (has_gap ? n >= GROUPS : n != GROUPS) return false;
    if (!has_gap) gap = n;
    memset(out, 0, KL_HOST_BYTES);
    memcpy(out, v, 2 * gap);
    memcpy(out + KL_HOST_BYTES - 2 * (n - gap), v + 2 * gap, 2 * (n - gap));
    return true;
}

bool kl_address_parse(const char *text, struct kl_address *out) {
    struct kl_address a = {0};
    uint8_t v4[4];
    if (read_v4(text, v4))
        *out = kl_address_v4(v4, 0);
    else if (read_v6(text, a.host))
        *out = a;
    else
        return false;
    return true;
}

bool kl_address_parse_place(const char *text, struct kl_address *out) {
    char host[KL_PLACE_TEXT];
    struct kl_address a;
    bool v6 = text[0] == '[';
    size_t len = v6 ? strcspn(++text, "]") : strcspn(text, ":");
    const char *rest = text + len;
    unsigned port = 0;
    if (len >= sizeof host || (v6 && *rest++ != ']')) return false;
    memcpy(host, text, len);
    host[len] = 0;
    if (!kl_address_parse(host, &a) || v6 != (strchr(host, ':') != NULL)) return false;
    if (*rest == ':') {
        rest = read_number(rest + 1, UINT16_MAX, &port);
        if (!rest || port == 0) return false;
    }
    if (*rest) return false;
    a.port = (uint16_t)port;
    *out = a;
    return true;
}

/* --- writing --- */

/* The first of the longest runs of two groups of zeros or more, which "::" stands for; GROUPS: none. */
static unsigned longest_zeros(const uint8_t host[KL_HOST_BYTES], unsigned *length) {
    unsigned best = GROUPS, run = 0;
    *length = 1;
    for (unsigned i = 0; i < GROUPS; i++) {
        run = host[2 * i] || host[2 * i + 1] ? 0 : run + 1;
        if (run <= *length) continue;
        *length = run;
        best = i + 1 - run;
    }
    return best;
}

const char *kl_address_text(char out[KL_ADDRESS_TEXT], const struct kl_address *a) {
    const uint8_t *h = a->host;
    unsigned length, zeros = longest_zeros(h, &length), n = 0;
    if (kl_address_is_v4(a)) {
        snprintf(out, KL_ADDRESS_TEXT, "%u.%u.%u.%u", h[12], h[13], h[14], h[15]);
        return out;
    }
    for (unsigned i = 0; i < GROUPS; i++) {
        if (i == zeros) {
            n += (unsigned)snprintf(out + n, KL_ADDRESS_TEXT - n, "::");
            i += length - 1;
            continue;
        }
        bool first = i == 0 || i == zeros + length;
        n += (unsigned)snprintf(out + n, KL_ADDRESS_TEXT - n, "%s%x", first ? "" : ":",
                                (unsigned)h[2 * i] << 8 | h[2 * i + 1]);
    }
    return out;
}

const char *kl_address_place(char out[KL_PLACE_TEXT], const struct kl_address *a) {
    char host[KL_ADDRESS_TEXT];
    bool v4 = kl_address_is_v4(a);
    snprintf(out, KL_PLACE_TEXT, "%s%s%s:%u", v4 ? "" : "[", kl_address_text(host, a), v4 ? "" : "]",
             a->port);
    return out;
}

struct kl_host_port kl_host_port(const char *host, uint16_t port) {
    struct kl_host_port p;
    bool v6 = strchr(host, ':') != NULL;
    snprintf(p.text, sizeof p.text, "%s%.253s%s:%u", v6 ? "[" : "", host, v6 ? "]" : "", port);
    return p;
}

/* --- kinds --- */

struct kl_address kl_address_v4(const uint8_t host[4], uint16_t port) {
    struct kl_address a = {.host = {[10] = 0xff, [11] = 0xff}, .port = port};
    memcpy(a.host + 12, host, 4);
    return a;
}

struct kl_address kl_address_loopback(uint16_t port) {
    return kl_address_v4((const uint8_t[]){127, 0, 0, 1}, port);
}

static uint64_t eight(const uint8_t *at) {
    uint64_t v = 0;
    for (unsigned i = 0; i < 8; i++)
        v = v << 8 | at[i];
    return v;
}

#define V4 (UINT64_C(0xffff) << 32) /* no IPv6 address of a host begins with these 64 bits */

uint64_t kl_address_person(const struct kl_address *a) {
    uint64_t v = eight(a->host + (kl_address_is_v4(a) ? 8 : 0));
    return v ? v : 1; /* ::1 */
}

uint64_t kl_address_around(uint64_t person) {
    return person & ((person & ~UINT64_C(0xffffffff)) == V4 ? ~UINT64_C(0xff) : ~UINT64_C(0xffff));
}

const char *kl_address_net(char out[KL_NET_TEXT], const struct kl_address *a) {
    char text[KL_ADDRESS_TEXT];
    struct kl_address net = *a;
    if (!kl_address_is_v4(a)) memset(net.host + 8, 0, 8);
    snprintf(out, KL_NET_TEXT, "%.23s", kl_address_text(text, &net));
    return out;
}

static enum kl_audience audience_of_v4(const uint8_t b[4]) {
    if (b[0] == 0 || b[0] >= 224) return KL_AUDIENCE_NOBODY;
    if (b[0] == 127) return KL_AUDIENCE_MACHINE;
    if (b[0] == 10 || (b[0] == 172 && b[1] >> 4 == 1) || (b[0] == 192 && b[1] == 168))
        return KL_AUDIENCE_NETWORK;
    if (b[0] == 169 && b[1] == 254) return KL_AUDIENCE_NETWORK;    /* given by nobody */
    if (b[0] == 100 && b[1] >> 6 == 1) return KL_AUDIENCE_NETWORK; /* a provider's NAT */
    return KL_AUDIENCE_ALL;
}

enum kl_audience kl_address_audience(const struct kl_address *a) {
    static const uint8_t loopback[KL_HOST_BYTES] = {[15] = 1};
    const uint8_t *b = a->host;
    if (kl_address_is_v4(a)) return audience_of_v4(b + 12);
    if (memcmp(b, loopback, sizeof loopback) == 0) return KL_AUDIENCE_MACHINE;
    if ((b[0] == 0 && b[1] == 0) || b[0] == 0xff) return KL_AUDIENCE_NOBODY;
    if ((b[0] & 0xfe) == 0xfc || (b[0] == 0xfe && b[1] >= 0x80)) return KL_AUDIENCE_NETWORK;
    return KL_AUDIENCE_ALL;
}

bool kl_address_concerns(const struct kl_address *relay, const struct kl_address *to) {
    enum kl_audience whom = kl_address_audience(to);
    return whom == KL_AUDIENCE_ALL ||
           (whom != KL_AUDIENCE_NOBODY && kl_address_audience(relay) != KL_AUDIENCE_ALL);
}

/* --- lists --- */

void kl_addresses_add(struct kl_addresses *list, const struct kl_address *a) {
    for (unsigned i = 0; i < list->count; i++)
        if (kl_address_same(&list->at[i], a)) return;
    if (list->count < KL_ADDRESSES_MAX) list->at[list->count++] = *a;
}

void kl_addresses_mix(struct kl_addresses *list) {
    for (unsigned i = 1; i < list->count; i++) {
        unsigned k = i;
        while (k < list->count && kl_address_is_v4(&list->at[k]) == kl_address_is_v4(&list->at[i - 1]))
            k++;
        if (k == list->count) return;
        struct kl_address next = list->at[k];
        memmove(&list->at[i + 1], &list->at[i], (k - i) * sizeof next);
        list->at[i] = next;
    }
}
