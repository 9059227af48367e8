#include <string.h>

#include "net/engine/engine.h"
#include "net/transport/hub_state.h"
#include "net/transport/strangers.h"

#define RATE_US (10 * 1000000ULL)
#define PROBES  4

/* --- limits ------------------------------------------------------------------------------------------------
 */

static unsigned sessions_of(const struct kl_hub *hub, uint32_t host) {
    unsigned count = 0;
    for (unsigned n = 0; n < hub->limits.peers; n++)
        count += hub->holder[n] == host;
    return count;
}

/* The address's cell. If all its possible cells are taken, the oldest gives way. An attacker with many
 * addresses gets past this limit, but not past those on sessions. */
static struct kl_hub_rate *rate_of(struct kl_hub *hub, uint32_t host) {
    uint32_t hash = (host ^ hub->host->randomSeed) * 2654435761U;
    struct kl_hub_rate *best = NULL;
    for (unsigned i = 0; i < PROBES; i++) {
        struct kl_hub_rate *r = &hub->rate[(hash / 65536 + i) % KL_RATE_CELLS];
        if (r->host == host) return r;
        if (!best || r->since_us < best->since_us) best = r;
    }
    *best = (struct kl_hub_rate){.host = host, .since_us = hub->now_us};
    return best;
}

static bool too_often(struct kl_hub *hub, uint32_t host) {
    struct kl_hub_rate *r = rate_of(hub, host);
    if (hub->now_us - r->since_us >= RATE_US)
        *r = (struct kl_hub_rate){.host = host, .since_us = hub->now_us};
    return ++r->count > hub->limits.handshakes;
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

/* The session that this very INIT has made. */
static struct kl_hub_session *made_by(struct kl_hub *hub, const ENetAddress *from,
                                      const struct kl_hs_request *req) {
    for (unsigned n = 0; n < hub->limits.peers; n++)
        if (hub->holder[n] == from->host && memcmp(hub->session[n].init, req->init, sizeof req->init) == 0)
            return &hub->session[n];
    return NULL;
}

static void make_session(struct kl_hub *hub, const ENetAddress *from, const struct kl_hs_request *req) {
    struct kl_session_keys keys;
    struct kl_hub_session *s = kl_hub_claim(hub, from);
    if (!s) {
        refuse(hub, from, req, KL_HS_REFUSED_FULL);
        return;
    }
    if (kl_hs_relay_answer(&hub->handshake, req, s->number, &keys, s->answer, &s->answer_len) != 0) {
        kl_hub_free(hub, s);
        hub->stats.malformed++;
        return;
    }
    memcpy(s->init, req->init, sizeof s->init);
    memcpy(s->binding, keys.binding, sizeof s->binding);
    kl_sealer_init(&s->sealer, &keys, keys.down);
    kl_opener_init(&s->opener, &keys, keys.up);
    sodium_memzero(&keys, sizeof keys);
    reply(hub, from, s->answer, s->answer_len);
}

static void on_request(struct kl_hub *hub, const ENetAddress *from, const struct kl_hs_request *req) {
    struct kl_hub_session *s = made_by(hub, from, req);
    if (s && s->state == KL_SESSION_HALF_OPEN && kl_same_address(&s->home, from))
        reply(hub, from, s->answer, s->answer_len);
    else if (s)
        hub->stats.replayed++;
    else if (hub->half_open >= hub->limits.half_open)
        refuse(hub, from, req, KL_HS_REFUSED_FULL);
    else if (sessions_of(hub, from->host) >= hub->limits.per_address || too_often(hub, from->host))
        refuse(hub, from, req, KL_HS_REFUSED_LIMIT);
    else
        make_session(hub, from, req);
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
