#include <string.h>

#include "net/engine/engine.h"
#include "net/transport/hub_state.h"
#include "net/transport/strangers.h"

#define RATE_US (10 * 1000000ULL)
#define PROBES  4

/* Handshakes cost 0.1 ms each. So many a second take a fifth of a processor. */
#define CURVES_PER_S   2000
#define CURVES_AT_ONCE 64
#define SELDOM         4   /* in 10 s, of one address */
#define SELDOM_NET     128 /* of its network */
#define SECOND_NS      UINT64_C(1000000000)

/* --- limits ------------------------------------------------------------------------------------------------
 */

/* The address's cell. If all its possible cells are taken, the oldest gives way. An attacker with many
 * addresses gets past this limit, but not past those on sessions. */
static struct kl_hub_rate *rate_of(struct kl_hub *hub, struct kl_hub_rate *cells, uint32_t host) {
    uint32_t hash = (host ^ hub->host->randomSeed) * 2654435761U;
    struct kl_hub_rate *best = NULL;
    for (unsigned i = 0; i < PROBES; i++) {
        struct kl_hub_rate *r = &cells[(hash / 65536 + i) % KL_RATE_CELLS];
        if (r->host == host) return r;
        if (!best || r->since_us < best->since_us) best = r;
    }
    *best = (struct kl_hub_rate){.host = host, .since_us = hub->now_us};
    return best;
}

/* Handshakes from there in the last ten seconds, this one included. */
static unsigned how_often(struct kl_hub *hub, struct kl_hub_rate *cells, uint32_t host) {
    struct kl_hub_rate *r = rate_of(hub, cells, host);
    if (hub->now_us - r->since_us >= RATE_US)
        *r = (struct kl_hub_rate){.host = host, .since_us = hub->now_us};
    return ++r->count;
}

/* Whether there is processor time for this handshake now. Half of a burst is kept for those who asked seldom.
 */
static bool affordable(struct kl_hub *hub, unsigned often, unsigned net_often) {
    bool seldom = often <= SELDOM && net_often <= SELDOM_NET;
    if (hub->curves >= CURVES_AT_ONCE) return false;
    if (!kl_hub_let_in(&hub->curves_ns, hub->now_us * 1000, SECOND_NS / CURVES_PER_S,
                       seldom ? SECOND_NS / 4 : SECOND_NS / 8))
        return false;
    hub->curves++;
    return true;
}

/* --- the handshake
 * ------------------------------------------------------------------------------------------
 */

static void reply(struct kl_hub *hub, const ENetAddress *to, const uint8_t *bytes, size_t len) {
    hub->stats.answered_bytes += len;
    kl_hub_send_raw(hub, to, bytes, len);
}

static void refuse(struct kl_hub *hub, const ENetAddress *to, const struct kl_hs_request *req, uint8_t code) {
    uint8_t bytes[KL_INIT_BYTES];
    size_t len = 0;
    hub->stats.refused++;
    kl_hs_relay_refuse(req, code, bytes, &len);
    reply(hub, to, bytes, len);
}

/* This very INIT has made a session. */
static bool has_made(const struct kl_hub *hub, const ENetAddress *from, const struct kl_hs_request *req) {
    for (unsigned n = 0; n < hub->limits.peers; n++)
        if (hub->holder[n] == from->host && memcmp(hub->session[n].init, req->init, sizeof req->init) == 0)
            return true;
    return false;
}

static void make_half_open(struct kl_hub *hub, const ENetAddress *from, const struct kl_hs_request *req,
                           unsigned slot) {
    struct kl_address at = {.host = from->host, .port = from->port};
    struct kl_half_open *h =
        kl_half_open_add(hub->half_open, req->init, &at, slot, KL_PEER_BITS, hub->now_us);
    if (kl_hs_relay_answer(&hub->handshake, req, h->number, &h->keys, h->answer, &h->answer_len) != 0) {
        kl_half_open_forget(hub->half_open, h);
        hub->stats.malformed++;
        return;
    }
    reply(hub, from, h->answer, h->answer_len);
}

static void on_request(struct kl_hub *hub, const ENetAddress *from, const struct kl_hs_request *req) {
    const struct kl_half_open *h = kl_half_open_of(hub->half_open, req->init);
    if (h || has_made(hub, from, req)) { /* the address is in the cookie, so it is the same */
        if (h)
            reply(hub, from, h->answer, h->answer_len);
        else
            hub->stats.replayed++;
        return;
    }
    unsigned often = how_often(hub, hub->rate, from->host), slot;
    unsigned net_often = how_often(hub, hub->net_rate, from->host & ENET_HOST_TO_NET_32(0xffffff00U));
    if (often > hub->limits.handshakes || kl_hub_sessions_of(hub, from->host) >= hub->limits.per_address)
        refuse(hub, from, req, KL_HS_REFUSED_LIMIT);
    else if ((slot = kl_hub_vacant(hub)) == hub->limits.peers)
        refuse(hub, from, req, KL_HS_REFUSED_FULL);
    else if (affordable(hub, often, net_often))
        make_half_open(hub, from, req, slot);
    else
        hub->stats.refused++; /* not told: the client asks again in 250 ms */
}

/* --- PING and LIST
 * ------------------------------------------------------------------------------------------
 */

static void answer_question(struct kl_hub *hub, const ENetAddress *from, const uint8_t *bytes, size_t len) {
    uint8_t out[KL_LIST_BYTES] = {0};
    struct kl_question q;
    struct kl_pong pong = {.version = KL_PROTOCOL_VERSION};
    const struct kl_hub_handler *h = &hub->handler;
    if (kl_question_read(&q, bytes, len) != KL_OK) {
        hub->stats.malformed++;
    } else if (q.kind == KL_STRANGER_LIST) {
        if (h->next_line) reply(hub, from, out, kl_rooms_write(&q, h->next_line, h->ctx, out));
    } else {
        memcpy(pong.echo, q.echo, sizeof pong.echo);
        pong.insecure_lan = hub->handshake.ciphers & KL_CIPHER_CLEAR;
        pong.rooms = (uint16_t)(h->rooms ? h->rooms(h->ctx) : 0);
        pong.clients = (uint16_t)hub->stats.peers;
        reply(hub, from, out, kl_pong_write(&pong, out));
    }
}

void kl_hub_stranger(struct kl_hub *hub, const ENetAddress *from, const uint8_t *bytes, size_t len) {
    uint8_t out[KL_STRANGER_MAX], address[6];
    size_t out_len = 0;
    struct kl_hs_request req;
    uint16_t port = ENET_HOST_TO_NET_16(from->port);
    hub->stats.asked_bytes += len;
    if (len > sizeof out) {
        hub->stats.malformed++;
        return;
    }
    if (bytes[1] >= KL_STRANGER_PING) {
        answer_question(hub, from, bytes, len);
        return;
    }
    memcpy(address, &from->host, 4);
    memcpy(address + 4, &port, 2);
    switch (kl_hs_relay_receive(&hub->handshake, hub->now_us, address, bytes, len, &req, out, &out_len)) {
    case KL_HS_DROP: hub->stats.malformed++; break;
    case KL_HS_REPLY:
        hub->stats.cookies += out[1] == KL_HS_COOKIE;
        reply(hub, from, out, out_len);
        break;
    case KL_HS_WANTS: on_request(hub, from, &req); break;
    }
}
