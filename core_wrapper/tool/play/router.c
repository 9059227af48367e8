#include "core_wrapper/tool/play/router.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <miniupnpc/miniupnpc.h>
#include <miniupnpc/upnpcommands.h>
#include <natpmp.h>

#include "net/platform/clock.h"
#include "net/platform/socket.h"
#include "net/platform/wait.h"

#define NATPMP_US       750000 /* for an answer: the question goes out twice, after 250 ms again */
#define LOOK_US         20000
#define NATPMP_SHORTEST 8 /* bytes of an answer, RFC 6886 §3.5 */
#define NATPMP_LONGEST  16
#define SEARCH_MS       1000 /* for answers to the search by multicast */
#define DEVICES_MAX     4    /* answers to the search that are looked at */
#define CONFLICTS_MAX   4    /* outside ports that are tried, if other machines have the first */
#define TTL             2    /* of the search, as the UPnP device architecture says */

enum { UPNP_NO_SUCH_ENTRY = 714, UPNP_CONFLICT = 718, UPNP_ONLY_PERMANENT = 725 };

struct kl_router {
    uint16_t port;    /* of this machine */
    uint16_t outside; /* the router's; 0: nothing is mapped */
    uint32_t lease_s;
    enum kl_router_way way; /* of the mapping */
    bool found;             /* a UPnP router: */
    struct UPNPUrls urls;
    struct IGDdatas igd;
    char here[KL_ADDRESS_TEXT]; /* this machine's address towards that router */
};

struct kl_router *kl_router_open(uint16_t port, uint32_t lease_s) {
    struct kl_router *r = calloc(1, sizeof *r);
    if (!r) return NULL;
    r->port = port;
    r->lease_s = lease_s;
    return r;
}

/* Forwarding is for IPv4 alone: four numbers. 0: they are none. */
static uint32_t read_host(const char *text) {
    struct kl_address a;
    uint32_t host;
    if (!kl_address_parse(text, &a) || !kl_address_is_v4(&a)) return 0;
    memcpy(&host, a.host + 12, sizeof host);
    return host;
}

static enum kl_audience audience_of(uint32_t host) {
    const struct kl_address a = kl_address_v4((const uint8_t *)&host, 0);
    return kl_address_audience(&a);
}

/* An outside address that can be one: no loopback, no multicast. 0: it is none. */
static uint32_t outside_address(uint32_t host) {
    enum kl_audience whom = audience_of(host);
    return whom == KL_AUDIENCE_ALL || whom == KL_AUDIENCE_NETWORK ? host : 0;
}

/* --- NAT-PMP --- */

/* The library does not look at the length of an answer: a short one is dropped here. */
static bool is_whole(natpmp_t *n, size_t len) {
    uint8_t answer[NATPMP_LONGEST];
    int got = kl_socket_peek(n->s, answer, sizeof answer);
    if (got < 0) return false;
    bool good = got >= NATPMP_SHORTEST && answer[0] == 0 && answer[2] == 0 && answer[3] == 0;
    if ((size_t)got >= (good ? len : NATPMP_SHORTEST)) return true;
    (void)kl_socket_receive(n->s, answer, sizeof answer, NULL);
    return false;
}

/* The answer to the question that is out. As the library has it: 0, NATPMP_TRYAGAIN after NATPMP_US without
 * an answer, or an error. len: bytes of a good answer. */
static int natpmp_answer(natpmp_t *n, uint16_t type, size_t len, natpmpresp_t *out) {
    uint64_t until_us = kl_now_us() + NATPMP_US;
    while (kl_now_us() < until_us) {
        bool came = kl_wait_for(&n->s, 1, kl_now_us() + LOOK_US) != 0;
        if (came && !is_whole(n, len) && kl_wait_for(&n->s, 1, 0)) continue;
        int result = readnatpmpresponseorretry(n, out); /* it also asks again when it is time */
        bool other = result == 0 && out->type != type;
        if (result != NATPMP_TRYAGAIN && result != NATPMP_ERR_WRONGPACKETSOURCE && !other) return result;
    }
    return NATPMP_TRYAGAIN;
}

static uint32_t natpmp_address(natpmp_t *n) {
    natpmpresp_t a;
    if (sendpublicaddressrequest(n) < 0 || natpmp_answer(n, NATPMP_RESPTYPE_PUBLICADDRESS, 12, &a) != 0)
        return 0;
    return outside_address(a.pnu.publicaddress.addr.s_addr);
}

static int natpmp_ask(natpmp_t *n, const struct kl_router *r, uint16_t outside, uint32_t lease_s,
                      natpmpresp_t *out) {
    if (sendnewportmappingrequest(n, NATPMP_PROTOCOL_UDP, r->port, outside, lease_s) < 0)
        return NATPMP_ERR_SENDERR;
    return natpmp_answer(n, NATPMP_RESPTYPE_UDPPORTMAPPING, 16, out);
}

static void natpmp_take(struct kl_router *r, natpmp_t *n, const natpmpresp_t *a, struct kl_router_news *out) {
    uint32_t lease_s = a->pnu.newportmapping.lifetime;
    bool fits =
        a->pnu.newportmapping.privateport == r->port && a->pnu.newportmapping.mappedpublicport && lease_s;
    out->result = fits ? KL_ROUTER_MAPPED : KL_ROUTER_ODD;
    if (!fits) return;
    out->port = r->outside = a->pnu.newportmapping.mappedpublicport;
    out->lease_s = lease_s < r->lease_s ? lease_s : r->lease_s;
    out->host = natpmp_address(n);
    r->way = KL_ROUTER_NATPMP;
}

static bool is_refusal(int result) {
    return result == NATPMP_ERR_NOTAUTHORIZED || result == NATPMP_ERR_NETWORKFAILURE ||
           result == NATPMP_ERR_OUTOFRESOURCES || result == NATPMP_ERR_UNDEFINEDERROR;
}

static void natpmp_map(struct kl_router *r, struct kl_router_news *out) {
    natpmp_t n;
    natpmpresp_t a;
    *out = (struct kl_router_news){.result = KL_ROUTER_NONE, .way = KL_ROUTER_NATPMP};
    if (initnatpmp(&n, 0, 0) != 0) return;
    int result = natpmp_ask(&n, r, r->outside ? r->outside : r->port, r->lease_s, &a);
    if (result == 0) natpmp_take(r, &n, &a, out);
    if (is_refusal(result)) out->result = KL_ROUTER_REFUSED;
    out->code = result;
    closenatpmp(&n);
}

static void natpmp_remove(const struct kl_router *r) {
    natpmp_t n;
    natpmpresp_t a;
    if (initnatpmp(&n, 0, 0) != 0) return;
    (void)natpmp_ask(&n, r, 0, 0, &a);
    closenatpmp(&n);
}

/* --- UPnP --- */

/* The host of "http://HOST:PORT/…" if it is an address of a private network: a router has one, and another
 * machine's pages are none of ours to ask for. 0: it is none. */
static uint32_t near_host(const char *url) {
    char text[KL_ADDRESS_TEXT];
    if (!url || strncmp(url, "http://", 7) != 0) return 0;
    size_t len = strspn(url + 7, "0123456789.");
    if (len >= sizeof text || !strchr(":/", url[7 + len])) return 0;
    memcpy(text, url + 7, len);
    text[len] = 0;
    uint32_t host = read_host(text);
    return audience_of(host) == KL_AUDIENCE_NETWORK ? host : 0;
}

static bool is_connection(const char *service) {
    static const char *const known[] = {"urn:schemas-upnp-org:service:WANIPConnection:",
                                        "urn:schemas-upnp-org:service:WANPPPConnection:"};
    return !strncmp(service, known[0], strlen(known[0])) || !strncmp(service, known[1], strlen(known[1]));
}

static bool is_connected(struct kl_router *r) {
    char status[64] = "";
    unsigned up_s;
    if (UPNP_GetStatusInfo(r->urls.controlURL, r->igd.first.servicetype, status, &up_s, NULL) != 0)
        return false;
    return !strcmp(status, "Connected") || !strcmp(status, "Up");
}

static void look_at(struct kl_router *r, const char *url) {
    char here[64] = "";
    uint32_t host = near_host(url);
    if (!host || UPNP_GetIGDFromUrl(url, &r->urls, &r->igd, here, sizeof here) != 1) return;
    r->found = is_connection(r->igd.first.servicetype) && near_host(r->urls.controlURL) == host &&
               read_host(here) && strlen(here) < sizeof r->here;
    if (!r->found) {
        FreeUPNPUrls(&r->urls);
        return;
    }
    snprintf(r->here, sizeof r->here, "%s", here);
    /* A router may have two connections, and one may not be in use. */
    struct IGDdatas_service second = r->igd.second;
    if (!is_connection(second.servicetype) || is_connected(r)) return;
    r->igd.second = r->igd.first;
    r->igd.first = second;
    FreeUPNPUrls(&r->urls);
    GetUPNPUrls(&r->urls, &r->igd, url, 0);
    r->found = near_host(r->urls.controlURL) == host;
}

static void search(struct kl_router *r) {
    static const char *const kinds[] = {"urn:schemas-upnp-org:device:InternetGatewayDevice:1", NULL};
    int ignored;
    struct UPNPDev *all = upnpDiscoverDevices(kinds, SEARCH_MS, NULL, "", 0, 0, TTL, &ignored, 0);
    unsigned n = 0;
    for (struct UPNPDev *d = all; d && n < DEVICES_MAX && !r->found; d = d->pNext, n++)
        look_at(r, d->descURL);
    freeUPNPDevlist(all);
}

static void forget(struct kl_router *r) {
    if (r->found) FreeUPNPUrls(&r->urls);
    r->found = false;
}

static int add(struct kl_router *r, uint16_t outside, uint32_t lease_s) {
    char from[8], to[8], lease[16];
    snprintf(from, sizeof from, "%u", outside);
    snprintf(to, sizeof to, "%u", r->port);
    snprintf(lease, sizeof lease, "%u", lease_s);
    return UPNP_AddPortMapping(r->urls.controlURL, r->igd.first.servicetype, from, to, r->here, "Keylock",
                               "UDP", NULL, lease);
}

/* The library takes any text without an error's number for a yes: the router is asked for the entry. A router
 * that cannot tell is believed. */
static bool has_entry(struct kl_router *r, uint16_t outside) {
    char from[8], client[16] = "", port[6] = "", lease[16] = "", enabled[4] = "", text[80] = "";
    snprintf(from, sizeof from, "%u", outside);
    int result = UPNP_GetSpecificPortMappingEntry(r->urls.controlURL, r->igd.first.servicetype, from, "UDP",
                                                  NULL, client, port, text, enabled, lease);
    if (result == 0) return !strcmp(client, r->here) && strtoul(port, NULL, 10) == r->port;
    return result > 0 && result != UPNP_NO_SUCH_ENTRY;
}

static uint32_t upnp_address(struct kl_router *r) {
    char text[KL_ADDRESS_TEXT] = ""; /* the library writes 16 bytes */
    if (UPNP_GetExternalIPAddress(r->urls.controlURL, r->igd.first.servicetype, text) != 0) return 0;
    return outside_address(read_host(text));
}

static void upnp_add(struct kl_router *r, struct kl_router_news *out) {
    uint16_t outside = r->outside ? r->outside : r->port;
    uint32_t lease_s = r->lease_s;
    int result = add(r, outside, lease_s);
    for (unsigned i = 0; i < CONFLICTS_MAX && result == UPNP_CONFLICT && outside < UINT16_MAX; i++)
        result = add(r, ++outside, lease_s);
    if (result == UPNP_ONLY_PERMANENT) result = add(r, outside, lease_s = 0);
    out->result = result > 0 ? KL_ROUTER_REFUSED : KL_ROUTER_ODD;
    out->code = result;
    if (result != 0 || !has_entry(r, outside)) return;
    out->result = KL_ROUTER_MAPPED;
    out->port = r->outside = outside;
    out->lease_s = lease_s;
    out->host = upnp_address(r);
    r->way = KL_ROUTER_UPNP;
}

static void upnp_map(struct kl_router *r, struct kl_router_news *out) {
    *out = (struct kl_router_news){.result = KL_ROUTER_NONE, .way = KL_ROUTER_UPNP};
    if (!r->found) search(r);
    if (r->found) upnp_add(r, out);
    if (out->result != KL_ROUTER_MAPPED) forget(r); /* after its restart a router may have other addresses */
}

/* --- either --- */

void kl_router_map(struct kl_router *r, struct kl_router_news *out) {
    struct kl_router_news other = {0};
    bool upnp_first = r->outside && r->way == KL_ROUTER_UPNP;
    (upnp_first ? upnp_map : natpmp_map)(r, out);
    if (out->result == KL_ROUTER_MAPPED) return;
    (upnp_first ? natpmp_map : upnp_map)(r, &other);
    if (other.result == KL_ROUTER_MAPPED || out->result == KL_ROUTER_NONE) *out = other;
}

void kl_router_close(struct kl_router *r) {
    if (!r) return;
    if (r->outside && r->way == KL_ROUTER_NATPMP) natpmp_remove(r);
    if (r->outside && r->way == KL_ROUTER_UPNP) {
        char from[8];
        snprintf(from, sizeof from, "%u", r->outside);
        if (r->found) UPNP_DeletePortMapping(r->urls.controlURL, r->igd.first.servicetype, from, "UDP", NULL);
    }
    forget(r);
    free(r);
}

const char *kl_router_reason(enum kl_router_way way, int code) {
    if (way == KL_ROUTER_NATPMP)
        return code == NATPMP_ERR_NOTAUTHORIZED    ? "not allowed"
               : code == NATPMP_ERR_NETWORKFAILURE ? "it has no connection"
               : code == NATPMP_ERR_OUTOFRESOURCES ? "it has no room for more"
                                                   : "an error without a reason";
    return code == 606                  ? "not allowed"
           : code == UPNP_CONFLICT      ? "other machines have the ports"
           : code == 501                ? "it failed"
           : code == 401 || code == 602 ? "it cannot forward ports"
                                        : "an error";
}
