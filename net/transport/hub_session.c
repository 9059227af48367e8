#include <stdio.h>
#include <string.h>

#include "net/engine/engine.h"
#include "net/platform/socket.h"
#include "net/transport/hub_state.h"

#define SWEEP_US 100000

/* An unproved address gets at most so many times the bytes that came from there. */
#define AMPLIFICATION 3

#define SECOND_NS UINT64_C(1000000000)
#define EXCESS_NS (10 * SECOND_NS) /* of excess, after which the sender is put out */

void kl_hub_write_address(const ENetAddress *address, char out[KL_HUB_ADDRESS_MAX]) {
    char host[KL_ADDRESS_TEXT];
    snprintf(out, KL_HUB_ADDRESS_MAX, "%s:%u", kl_address_text(host, address->host), address->port);
}

/* --- slots ------------------------------------------------------------------------------------------------
 */

struct kl_hub_session *kl_hub_find(struct kl_hub *hub, uint32_t number) {
    unsigned n = kl_hub_slot(number);
    if (number == 0 || n >= hub->limits.peers) return NULL;
    struct kl_hub_session *s = &hub->session[n];
    return s->state != KL_SESSION_FREE && s->number == number ? s : NULL;
}

static uint32_t new_number(const struct kl_hub_session *s, unsigned n) {
    uint32_t random = 0;
    while (random == 0 || random == s->number >> KL_PEER_BITS)
        random = randombytes_random() & ((1U << (32 - KL_PEER_BITS)) - 1);
    return random << KL_PEER_BITS | n;
}

struct kl_hub_session *kl_hub_claim(struct kl_hub *hub, const ENetAddress *from) {
    unsigned n = 0;
    while (n < hub->limits.peers && hub->holder[n])
        n++;
    if (n == hub->limits.peers) return NULL;
    struct kl_hub_session *s = &hub->session[n];
    uint32_t number = new_number(s, n);
    memset(s, 0, sizeof *s);
    s->number = number;
    s->state = KL_SESSION_HALF_OPEN;
    s->until_us = hub->now_us + KL_HALF_OPEN_US;
    s->home = s->at = *from;
    hub->holder[n] = from->host;
    hub->half_open++;
    return s;
}

static ENetPeer *enet_of(struct kl_hub *hub, const struct kl_hub_session *s) {
    for (size_t i = 0; i < hub->host->peerCount; i++)
        if (hub->host->peers[i].connectID == s->number) return &hub->host->peers[i];
    return NULL;
}

void kl_hub_free(struct kl_hub *hub, struct kl_hub_session *s) {
    ENetPeer *enet = enet_of(hub, s);
    if (enet) enet_peer_reset(enet);
    hub->half_open -= s->state == KL_SESSION_HALF_OPEN;
    hub->moving -= s->moving;
    hub->holder[kl_hub_slot(s->number)] = 0;
    sodium_memzero(&s->sealer, sizeof s->sealer);
    sodium_memzero(&s->opener, sizeof s->opener);
    s->state = KL_SESSION_FREE;
    s->moving = false;
    s->enet = NULL;
}

/* --- a session's address --- */

void kl_hub_send_sealed(struct kl_hub *hub, struct kl_hub_session *s, uint8_t kind, const void *body,
                        size_t len) {
    uint8_t bytes[KL_DATAGRAM_MAX + KL_SEAL_OVERHEAD];
    if (len + KL_SEAL_OVERHEAD > sizeof bytes) return;
    if (s->moving) {
        if (s->credit < len + KL_SEAL_OVERHEAD) return;
        s->credit -= len + KL_SEAL_OVERHEAD;
    }
    size_t sealed = kl_seal(&s->sealer, kind, body, len, bytes);
    if (sealed) kl_hub_send_raw(hub, &s->at, bytes, sealed);
}

static void send_challenge(struct kl_hub *hub, struct kl_hub_session *s) {
    uint8_t body[1 + KL_CHALLENGE] = {0};
    memcpy(body + 1, s->challenge, KL_CHALLENGE);
    s->challenge_us = hub->now_us + KL_CHALLENGE_US;
    kl_hub_send_sealed(hub, s, KL_SEAL_PATH, body, sizeof body);
}

static void set_moving(struct kl_hub *hub, struct kl_hub_session *s, bool moving) {
    hub->moving += (unsigned)moving - (unsigned)s->moving;
    s->moving = moving;
}

/* Takes the source of a session's newest datagram as its address, for the time being. An attacker on the path
 * that copies a datagram and sends it faster diverts the session until the next one. */
static void follow(struct kl_hub *hub, struct kl_hub_session *s, const ENetAddress *from, size_t len) {
    s->at = *from;
    set_moving(hub, s, !kl_same_address(from, &s->home));
    if (!s->moving) return;
    s->credit = AMPLIFICATION * len;
    randombytes_buf(s->challenge, sizeof s->challenge);
    send_challenge(hub, s);
}

void kl_hub_path(struct kl_hub *hub, struct kl_hub_session *s, const ENetAddress *from,
                 const struct kl_opened *o) {
    bool answered = s->moving && kl_same_address(from, &s->at) && o->len == 1 + KL_CHALLENGE &&
                    o->body[0] == 1 && sodium_memcmp(o->body + 1, s->challenge, KL_CHALLENGE) == 0;
    if (!answered) {
        hub->stats.unfit++;
        return;
    }
    set_moving(hub, s, false);
    s->home = s->at;
    hub->holder[kl_hub_slot(s->number)] = s->home.host;
    hub->stats.moves++;
    ENetPeer *enet = enet_of(hub, s);
    if (enet) enet->address = s->home;
    if (!s->enet || s->state != KL_SESSION_OPEN || !hub->handler.moved) return;
    char address[KL_HUB_ADDRESS_MAX];
    kl_hub_write_address(&s->home, address);
    hub->handler.moved(hub->handler.ctx, kl_hub_slot(s->number), address);
}

/* --- datagrams --------------------------------------------------------------------------------------------
 */

/* The generic cell rate algorithm (ITU-T I.371): *until_ns is when all that was let in would be over at the
 * rate, and may lie so far ahead (a second). So a burst passes, and a lasting overload is slowed, never cut
 * off for long. */
static bool let_in(uint64_t *until_ns, uint64_t now_ns, uint64_t cost_ns, uint64_t ahead_ns) {
    uint64_t from_ns = *until_ns > now_ns ? *until_ns : now_ns;
    if (from_ns + cost_ns > now_ns + ahead_ns) return false;
    *until_ns = from_ns + cost_ns;
    return true;
}

static bool within_limits(struct kl_hub *hub, struct kl_hub_session *s, size_t len) {
    uint64_t now_ns = hub->now_us * 1000;
    return let_in(&s->datagrams_ns, now_ns, SECOND_NS / hub->limits.datagrams, SECOND_NS) &&
           let_in(&s->bytes_ns, now_ns, len * SECOND_NS / (hub->limits.kbytes * UINT64_C(1024)), SECOND_NS);
}

bool kl_hub_paced(struct kl_hub *hub, struct kl_hub_session *s, const uint16_t pieces[KL_ENET_CHANNELS]) {
    const unsigned limit[KL_ENET_CHANNELS] = {
        [KL_CHANNEL_CONTROL] = hub->limits.messages, [KL_CHANNEL_BULK] = hub->limits.pieces};
    for (unsigned i = 0; i < KL_ENET_CHANNELS; i++)
        if (pieces[i] && limit[i] &&
            !let_in(&s->pieces_ns[i], hub->now_us * 1000, pieces[i] * SECOND_NS / limit[i], SECOND_NS)) {
            hub->stats.slowed++;
            return false;
        }
    return true;
}

void kl_hub_put_out(struct kl_hub *hub, struct kl_hub_session *s, const char *why) {
    unsigned peer = kl_hub_slot(s->number);
    if (s->state != KL_SESSION_OPEN || !s->enet) return;
    hub->stats.flooded++;
    if (hub->handler.flooded) hub->handler.flooded(hub->handler.ctx, peer, why);
    kl_hub_disconnect(hub, peer);
}

void kl_hub_blame(struct kl_hub *hub, struct kl_hub_session *s, unsigned per_s) {
    if (!let_in(&s->excess_ns, hub->now_us * 1000, SECOND_NS / per_s, EXCESS_NS))
        kl_hub_put_out(hub, s, "your machine sends more than this relay accepts");
}

static void proved(struct kl_hub *hub, struct kl_hub_session *s) {
    s->state = KL_SESSION_OPEN;
    s->until_us = hub->now_us + KL_UNCONNECTED_US;
    hub->half_open--;
    hub->stats.handshakes++;
}

struct kl_hub_session *kl_hub_take(struct kl_hub *hub, const ENetAddress *from, uint8_t *bytes, size_t len,
                                   struct kl_opened *o) {
    struct kl_hub_session *s = kl_hub_find(hub, kl_seal_session(bytes, len));
    if (!s) {
        hub->stats.strange++;
        return NULL;
    }
    int result = kl_open(&s->opener, bytes, len, o);
    if (result != 0) {
        *(result == KL_E_WINDOW ? &hub->stats.replayed : &hub->stats.forged) += 1;
        return NULL;
    }
    if (s->state == KL_SESSION_HALF_OPEN) proved(hub, s);
    if (!within_limits(hub, s, len)) {
        hub->stats.limited++;
        kl_hub_blame(hub, s, hub->limits.datagrams);
        return NULL;
    }
    if (s->moving && kl_same_address(from, &s->at)) s->credit += AMPLIFICATION * len;
    if (o->newest && !kl_same_address(from, &s->at)) follow(hub, s, from, len);
    return s;
}

static void sweep_session(struct kl_hub *hub, struct kl_hub_session *s) {
    bool waits = s->state != KL_SESSION_OPEN || !s->enet;
    bool over = s->state == KL_SESSION_ENDING && (!s->enet || s->enet->connectID != s->number);
    if (over || (waits && hub->now_us >= s->until_us))
        kl_hub_free(hub, s);
    else if (s->moving && hub->now_us >= s->challenge_us)
        send_challenge(hub, s);
}

void kl_hub_sweep(struct kl_hub *hub) {
    hub->sweep_us = hub->now_us + SWEEP_US;
    for (unsigned n = 0; n < hub->limits.peers; n++)
        if (hub->holder[n]) sweep_session(hub, &hub->session[n]);
}
