#include "net/transport/hub.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/engine/engine.h"
#include "net/platform/clock.h"
#include "net/platform/socket.h"
#include "net/transport/hub_state.h"
#include "net/transport/link.h"

/* In one service: then the rooms have a turn. */
#define DATAGRAMS_MAX 1024
#define CURVES_MAX    16   /* handshakes, of 0.1 ms each */
#define STALE_MAX     1024 /* batches */

/* --- strangers --- */

/* The length of the answer to PING or LIST; 0: none. */
static size_t answer_question(struct kl_hub *hub, const uint8_t *bytes, size_t len,
                              uint8_t out[KL_STRANGER_MAX]) {
    struct kl_question q;
    struct kl_pong pong = {.version = KL_PROTOCOL_VERSION};
    const struct kl_hub_handler *h = &hub->handler;
    if (kl_question_read(&q, bytes, len) != KL_OK) {
        hub->stats.malformed++;
        return 0;
    }
    if (q.kind == KL_STRANGER_LIST) return h->next_line ? kl_rooms_write(&q, h->next_line, h->ctx, out) : 0;
    memcpy(pong.echo, q.echo, sizeof pong.echo);
    pong.insecure_lan = hub->gate->handshake.ciphers & KL_CIPHER_CLEAR;
    pong.rooms = (uint16_t)(h->rooms ? h->rooms(h->ctx) : 0);
    pong.clients = (uint16_t)kl_shards_clients(hub->gate->shards);
    return kl_pong_write(&pong, out);
}

/* --- hub.c --- */
static void take_stranger(struct kl_hub *hub, const struct kl_address *from, const uint8_t *bytes,
                          size_t len) {
    uint8_t out[KL_STRANGER_MAX];
    hub->stats.asked_bytes += len;
    if (len > sizeof out) {
        hub->stats.malformed++;
        return;
    }
    size_t out_len = bytes[1] >= KL_STRANGER_PING
                         ? answer_question(hub, bytes, len, out)
                         : kl_gate_ask(hub->gate, hub->now_us, from, bytes, len, out);
    hub->stats.answered_bytes += out_len;
    if (out_len) kl_hub_send_raw(hub, from, out, out_len);
}

/* --- arriving datagrams --- */

static void take(struct kl_hub *hub, const struct kl_address *from, uint8_t *bytes, size_t len,
                 uint64_t arrived_us) {
    struct kl_opened o;
    if (from->port == 0 || kl_address_audience(from) == KL_AUDIENCE_NOBODY || len < 2 ||
        len > KL_SOCKET_BYTES || bytes[0] != KL_SEAL_MAGIC) {
        hub->stats.malformed++;
        return;
    }
    if (bytes[1] >= KL_HS_INIT) {
        take_stranger(hub, from, bytes, len);
        return;
    }
    struct kl_hub_session *s = kl_hub_take(hub, from, bytes, len, &o);
    if (!s) return;
    bool known = s->enet && s->state == KL_SESSION_OPEN;
    if (o.kind == KL_SEAL_ENET) {
        kl_hub_enet_take(hub, s, &o);
    } else if (o.kind == KL_SEAL_CTRL && known) {
        hub->stats.datagrams_in++;
        kl_enet_heard(s->enet, hub->now_us);
        hub->handler.datagram(hub->handler.ctx, kl_gate_slot(s->number), o.body, o.len, o.missing,
                              arrived_us);
    } else if (o.kind == KL_SEAL_VOICE && known) {
        if (hub->handler.voice)
            hub->handler.voice(hub->handler.ctx, kl_gate_slot(s->number), o.body, o.len, arrived_us);
    } else if (o.kind == KL_SEAL_PATH) {
        kl_hub_path(hub, s, from, &o);
    } else {
        kl_hub_unfit(hub, s);
    }
}

static void count(struct kl_hub_count counts[KL_HUB_KINDS], const uint8_t *bytes, size_t len) {
    const bool known = len >= 2 && bytes[0] == KL_SEAL_MAGIC;
    const unsigned kind = !known                                                 ? KL_HUB_OTHER
                          : bytes[1] >= KL_HS_INIT                               ? KL_HUB_HANDSHAKES
                          : bytes[1] >= KL_SEAL_CTRL && bytes[1] <= KL_SEAL_PATH ? bytes[1]
                          : bytes[1] == KL_SEAL_VOICE                            ? KL_HUB_VOICES
                                                                                 : KL_HUB_OTHER;
    counts[kind].datagrams++;
    counts[kind].bytes += len;
}

/* False: nothing waits. */
static bool take_next(struct kl_hub *hub) {
    struct kl_socket_batch *in = &hub->in;
    bool emptied = in->count > 0 && in->count < KL_SOCKET_BATCH; /* so was the socket, a moment ago */
    if (hub->in_next == in->count) {
        hub->in_next = 0;
        if (emptied) in->count = 0;
        if (emptied || !kl_socket_receive_batch(hub->socket, in)) return false;
    }
    unsigned i = hub->in_next++;
    count(hub->stats.in, in->bytes[i], in->len[i]);
    take(hub, &in->at[i], in->bytes[i], in->len[i], in->arrived_us[i]);
    return true;
}

static void send_batch(struct kl_hub *hub) {
    hub->crowded = !kl_socket_send_batch(hub->socket, &hub->out) || hub->crowded;
}

void kl_hub_send_raw(struct kl_hub *hub, const struct kl_address *to, const void *bytes, size_t len) {
    struct kl_socket_batch *out = &hub->out;
    if (len > KL_SOCKET_BYTES) return;
    count(hub->stats.out, bytes, len);
    if (out->count == KL_SOCKET_BATCH) send_batch(hub);
    out->at[out->count] = *to;
    out->len[out->count] = len;
    memcpy(out->bytes[out->count++], bytes, len);
}

/* --- opening and closing --- */

static void explain_bind(int error, const char *bind, uint16_t port, char *err, size_t err_len) {
    switch (error) {
    case EADDRINUSE:
        snprintf(err, err_len, "UDP port %u on %s is taken: is a relay running there already?", port, bind);
        break;
    case EACCES:
    case EPERM:
        snprintf(err, err_len, "no permission to open UDP port %u (below 1024 it takes root); try --port %d",
                 port, KL_DEFAULT_PORT);
        break;
    case EADDRNOTAVAIL: snprintf(err, err_len, "%s is not an address of this machine", bind); break;
    default: snprintf(err, err_len, "cannot open UDP port %u on %s: %s", port, bind, strerror(error));
    }
}

int kl_hub_bind(const char *bind, uint16_t *port, char *err, size_t err_len) {
    struct kl_addresses found;
    char why[128];
    if (kl_lookup(bind, &found, NULL, NULL, why, sizeof why) != KL_LOOKUP_FOUND) {
        snprintf(err, err_len, "cannot listen on '%s': %s (an address of this machine or its name is needed)",
                 bind, why);
        return -1;
    }
    unsigned i = 0; /* of a name with both kinds the IPv4 address */
    while (i + 1 < found.count && !kl_address_is_v4(&found.at[i]))
        i++;
    struct kl_address at = found.at[kl_address_is_v4(&found.at[i]) ? i : 0];
    int s = kl_socket_open();
    at.port = *port;
    if (s >= 0 && kl_socket_bind(s, &at) == 0) {
        *port = at.port;
        return s;
    }
    int why_not = errno;
    explain_bind(why_not, bind, *port, err, err_len);
    kl_socket_close(s);
    errno = why_not;
    return -1;
}

static int take_socket(struct kl_hub *hub, const struct kl_hub_config *config, char *err, size_t err_len) {
    struct kl_address at;
    hub->port = config->port;
    hub->socket = config->shards ? config->socket : kl_hub_bind(config->bind, &hub->port, err, err_len);
    if (hub->socket < 0) return -1;
    kl_socket_enlarge(hub->socket, KL_SOCKET_BUFFER_BYTES, KL_SOCKET_BUFFER_BYTES);
    (void)kl_socket_time_arrivals(hub->socket);
    if (kl_socket_name(hub->socket, &at)) kl_address_text(hub->address, &at);
    if (config->shards && config->again) {
        /* Datagrams that came while nobody was here are of sessions that are gone, or come again. */
        for (unsigned i = 0; i < STALE_MAX && kl_socket_receive_batch(hub->socket, &hub->in); i++)
            continue;
        hub->in.count = 0;
    }
    return 0;
}

static void release(struct kl_hub *hub) {
    kl_hub_enet_close(hub);
    kl_socket_close(hub->socket);
    if (hub->gate) kl_gate_free(hub->gate);
    free(hub);
}

/* NULL: out of memory or descriptors, or no loopback. */
static struct kl_hub *allocate(const struct kl_hub_config *config) {
    struct kl_hub *hub = calloc(1, sizeof *hub + config->limits.peers * sizeof hub->session[0]);
    if (!hub) return NULL;
    hub->limits = config->limits;
    hub->now_us = kl_now_us();
    hub->gate = kl_gate_make(&config->limits, &config->key, config->ciphers, config->shards, hub->now_us);
    hub->socket = hub->sink.socket = -1;
    if (hub->gate && kl_hub_enet_open(hub)) return hub;
    release(hub);
    return NULL;
}

int kl_hub_open(struct kl_hub **out, const struct kl_hub_config *config, const struct kl_hub_handler *handler,
                char *err, size_t err_len) {
    struct kl_hub *hub = allocate(config);
    if (!hub) {
        snprintf(err, err_len, "no memory or no socket for %u connections", config->limits.peers);
        return -1;
    }
    hub->handler = *handler;
    if (take_socket(hub, config, err, err_len) != 0) {
        release(hub);
        return -1;
    }
    hub->gate->make_room = kl_hub_make_room;
    hub->gate->ctx = hub;
    *out = hub;
    return 0;
}

void kl_hub_drop(struct kl_hub *hub) {
    kl_hub_enet_hang_up(hub, KL_ENET_LOST);
    send_batch(hub);
}

void kl_hub_close(struct kl_hub *hub) {
    kl_hub_enet_hang_up(hub, KL_ENET_BYE);
    send_batch(hub);
    release(hub);
}

int kl_hub_fd(const struct kl_hub *hub) {
    return hub->socket;
}
uint16_t kl_hub_port(const struct kl_hub *hub) {
    return hub->port;
}
const char *kl_hub_address(const struct kl_hub *hub) {
    return hub->address;
}

/* --- the loop --- */

void kl_hub_service(struct kl_hub *hub) {
    hub->now_us = kl_now_us();
    if (hub->now_us >= hub->sweep_us) kl_hub_sweep(hub);
    atomic_store_explicit(&hub->gate->own->clients, hub->stats.peers, memory_order_relaxed);
    if (hub->stuffed) {
        hub->stuffed = false;
        for (unsigned n = 0; n < hub->limits.peers; n++)
            if (hub->session[n].stuffed)
                kl_hub_put_out(hub, &hub->session[n], "your machine does not read what the relay sends");
    }
    for (int i = 0; i < DATAGRAMS_MAX; i++)
        if (kl_gate_curves(hub->gate, hub->now_us) >= CURVES_MAX || !take_next(hub)) break;
    if (hub->now_us >= hub->enet_us) kl_hub_enet_service(hub);
    send_batch(hub);
}

void kl_hub_flush(struct kl_hub *hub) {
    kl_hub_enet_flush(hub);
    send_batch(hub);
    /* Frames and messages go first: what is said now means nothing later. */
    if (hub->crowded) {
        hub->stats.voices_unsent += hub->voice.count;
        hub->voice.count = 0;
    }
    hub->crowded = false;
    for (unsigned i = 0; i < hub->voice.count; i++)
        count(hub->stats.out, hub->voice.bytes[i], hub->voice.len[i]);
    (void)kl_socket_send_batch(hub->socket, &hub->voice);
}

uint64_t kl_hub_due_us(const struct kl_hub *hub) {
    return hub->in_next < hub->in.count ? 0 : hub->enet_us;
}

uint32_t kl_hub_session(const struct kl_hub *hub, unsigned peer) {
    return hub->session[peer].number;
}
const uint8_t *kl_hub_binding(const struct kl_hub *hub, unsigned peer) {
    return hub->session[peer].binding;
}

struct kl_traffic kl_hub_traffic(const struct kl_hub *hub, unsigned peer) {
    const struct kl_hub_session *s = &hub->session[peer];
    struct kl_traffic t = s->traffic;
    if (s->state == KL_SESSION_FREE) return t;
    t.up = s->opener.bytes;
    t.down = s->sealer.bytes;
    return t;
}

/* --- leaving datagrams --- */

static bool is_open(const struct kl_hub *hub, unsigned peer) {
    return hub->session[peer].state == KL_SESSION_OPEN && hub->session[peer].enet;
}

unsigned kl_hub_pending(struct kl_hub *hub, unsigned peer) {
    struct kl_sent *sent = hub->session[peer].sent;
    return kl_sent_span(&sent[KL_CHANNEL_CONTROL]) + kl_sent_span(&sent[KL_CHANNEL_BULK]);
}
size_t kl_hub_bulk_room(struct kl_hub *hub, unsigned peer) {
    return is_open(hub, peer) && !kl_path_moving(&hub->session[peer].path)
               ? kl_bulk_room(hub->session[peer].sent)
               : 0;
}

static int send_on(struct kl_hub *hub, unsigned peer, uint8_t channel, const void *bytes, size_t len) {
    struct kl_hub_session *s = &hub->session[peer];
    if (!is_open(hub, peer) || s->stuffed) return -1;
    if (kl_sent_full(&s->sent[channel], len)) {
        s->stuffed = hub->stuffed = true; /* told in the next service: the caller is busy with it */
        return -1;
    }
    kl_hub_enet_queued(hub, s);
    return kl_enet_send(s->enet, s->sent, channel, bytes, len);
}

int kl_hub_send(struct kl_hub *hub, unsigned peer, const void *bytes, size_t len) {
    return send_on(hub, peer, KL_CHANNEL_CONTROL, bytes, len);
}
int kl_hub_send_bulk(struct kl_hub *hub, unsigned peer, const void *bytes, size_t len) {
    return send_on(hub, peer, KL_CHANNEL_BULK, bytes, len);
}

void kl_hub_send_datagram(struct kl_hub *hub, unsigned peer, const uint8_t *body, size_t len) {
    if (!is_open(hub, peer)) return;
    kl_hub_send_update(hub, &hub->session[peer], body, len);
    hub->stats.datagrams_out++;
}

void kl_hub_send_voice(struct kl_hub *hub, unsigned peer, const uint8_t *body, size_t len) {
    struct kl_socket_batch *to = &hub->voice;
    if (!is_open(hub, peer) || len + KL_SEAL_OVERHEAD > KL_SOCKET_BYTES) return;
    struct kl_hub_session *s = &hub->session[peer];
    if (to->count == KL_SOCKET_BATCH) {
        hub->stats.voices_unsent++;
        return;
    }
    size_t sealed = kl_seal(&s->sealer, KL_SEAL_VOICE, body, len, to->bytes[to->count]);
    if (!sealed) return;
    s->traffic.frames += sealed;
    to->at[to->count] = s->home;
    to->len[to->count++] = sealed;
}

void kl_hub_disconnect(struct kl_hub *hub, unsigned peer) {
    struct kl_hub_session *s = &hub->session[peer];
    if (!is_open(hub, peer)) return;
    s->state = KL_SESSION_ENDING;
    s->settled = false;
    s->since_us = hub->now_us;
    s->until_us = hub->now_us + KL_ENDING_US;
    hub->stats.peers--;
    enet_peer_disconnect_later(s->enet, KL_ENET_BYE);
    kl_hub_enet_queued(hub, s);
}

void kl_hub_ping(struct kl_hub *hub, unsigned peer) {
    if (!is_open(hub, peer)) return;
    enet_peer_ping(hub->session[peer].enet);
    kl_hub_enet_queued(hub, &hub->session[peer]);
}

void kl_hub_settle(struct kl_hub *hub, unsigned peer) {
    hub->session[peer].settled = true;
}

struct kl_hub_stats kl_hub_stats(const struct kl_hub *hub) {
    const struct kl_gate_stats *g = &hub->gate->stats;
    struct kl_hub_stats s = hub->stats;
    s.malformed += g->malformed;
    s.replayed += g->replayed;
    s.cookies = g->cookies;
    s.handshakes = g->handshakes;
    s.refused = g->refused;
    return s;
}

unsigned kl_hub_lingering(const struct kl_hub *hub) {
    unsigned count = 0;
    for (unsigned n = 0; n < hub->limits.peers; n++)
        count += hub->session[n].state == KL_SESSION_ENDING;
    return count;
}
