#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "net/platform/clock.h"
#include "net/transport/link_state.h"
#include "net/transport/udp_filter.h"

#define INIT_FIRST_US 250000
#define INIT_LAST_US  1000000
#define ANSWER_US     (5 * 1000000ULL) /* for the relay to answer */
#define REFUSED_US    1000000 /* a refusal is not proved to be the relay's: an ANSWER may still come */

static void lock(struct kl_link *l) {
    kl_mutex_lock(&l->mutex);
}
static void unlock(struct kl_link *l) {
    kl_mutex_unlock(&l->mutex);
}

void kl_link_end_with(struct kl_link *l, const char *what) {
    char reason[KL_TEXT_MAX], relay[KL_LINK_HOST_MAX + 8];
    snprintf(relay, sizeof relay, "%s:%u", l->host, l->port);
    snprintf(reason, sizeof reason, what, relay);
    lock(l);
    kl_link_end(l, reason);
    unlock(l);
    l->over = true;
}

/* --- sealed datagrams -------------------------------------------------------------------------------------
 */

static void send_raw(struct kl_link *l, const void *bytes, size_t len) {
    ENetBuffer buffer = {.data = (void *)bytes, .dataLength = len};
    (void)enet_socket_send(l->enet->socket, &l->relay, &buffer, 1);
}

void kl_link_send_sealed(struct kl_link *l, uint8_t kind, const void *body, size_t len) {
    uint8_t bytes[KL_DATAGRAM_MAX + KL_SEAL_OVERHEAD];
    if (l->session.stage == KL_STAGE_HANDSHAKE || len + KL_SEAL_OVERHEAD > sizeof bytes) return;
    size_t sealed = kl_seal(&l->session.sealer, kind, body, len, bytes);
    if (sealed) send_raw(l, bytes, sealed);
}

static struct kl_sealer *sealer_of(void *ctx, uint32_t connect_id) {
    (void)connect_id; /* the only one */
    struct kl_link *l = ctx;
    return l->session.stage == KL_STAGE_HANDSHAKE ? NULL : &l->session.sealer;
}

/* The relay asks whether we are where our datagrams come from. */
static void answer_challenge(struct kl_link *l, const struct kl_opened *o) {
    uint8_t body[16] = {1};
    if (o->len < 2 || o->len > sizeof body || o->body[0] != 0) return;
    memcpy(body + 1, o->body + 1, o->len - 1);
    kl_link_send_sealed(l, KL_SEAL_PATH, body, o->len);
}

static void take_update(struct kl_link *l, const struct kl_opened *o) {
    uint64_t now_us = kl_now_us();
    lock(l);
    if (l->shared.joined) kl_link_take_update(l, o->body, o->len, now_us);
    unlock(l);
}

/* True where ENet goes on with o. */
static bool take_sealed(struct kl_link *l, uint8_t *bytes, size_t len, struct kl_opened *o) {
    struct kl_link_session *s = &l->session;
    if (s->stage == KL_STAGE_HANDSHAKE || kl_open(&s->opener, bytes, len, o) != 0) return false;
    s->heard_us = kl_now_us();
    switch (o->kind) {
    case KL_SEAL_ENET: return kl_udp_judge(KL_UDP_CLIENT, o->body, o->len, NULL).pass;
    case KL_SEAL_UPDATE: take_update(l, o); break;
    case KL_SEAL_PATH: answer_challenge(l, o); break;
    default: break; /* a client's */
    }
    return false;
}

/* --- the handshake -----------------------------------------------------------------------------------------
 */

static void send_init(struct kl_link *l, const struct kl_hs_client *c) {
    uint8_t bytes[KL_INIT_BYTES];
    kl_hs_client_init(c, bytes);
    send_raw(l, bytes, sizeof bytes);
}

/* Whoever answered has proved to own its key. Is it the key that we want? An answer with another one is not
 * the end: the right relay may still speak. */
static bool is_the_one(struct kl_link *l, const struct kl_hs_outcome *out, bool again) {
    struct kl_link_session *s = &l->session;
    char found[KL_FINGERPRINT_CHARS + 1];
    if (again) return memcmp(out->relay_pub, l->known, sizeof l->known) == 0;
    kl_fingerprint(out->relay_pub, found);
    if (l->fingerprint[0] && !kl_fingerprint_is(l->fingerprint, out->relay_pub)) {
        memcpy(s->other, found, sizeof s->other);
        if (!s->refused_us) s->refused_us = kl_now_us();
        return false;
    }
    if (!l->fingerprint[0] && l->trust &&
        l->trust(l->ctx, out->relay_pub, l->untrusted, sizeof l->untrusted)) {
        if (!s->refused_us) s->refused_us = kl_now_us();
        return false;
    }
    memcpy(l->known, out->relay_pub, sizeof l->known);
    lock(l);
    memcpy(l->shared.status.fingerprint, found, sizeof found);
    unlock(l);
    return true;
}

static void use_keys(struct kl_link *l, const struct kl_hs_outcome *out) {
    struct kl_link_session *s = &l->session;
    s->outcome = *out;
    s->heard_us = s->answered_us = kl_now_us();
    s->stage = KL_STAGE_ANSWERED;
    kl_sealer_init(&s->sealer, &out->keys, out->keys.up);
    kl_opener_init(&s->opener, &out->keys, out->keys.down);
    kl_hs_client_end(&s->handshake);
    lock(l);
    l->shared.status.cipher = out->keys.cipher;
    unlock(l);
}

static void take_answer(struct kl_link *l, const struct kl_hs_outcome *out) {
    lock(l);
    bool again = l->shared.status.cipher != 0;
    unlock(l);
    if (is_the_one(l, out, again)) use_keys(l, out);
}

/* --- probes: a relay that was started anew does not know the session, and cannot say so in a way that one
 * could believe. So where it is silent a new handshake is begun early, and used if the old session stays
 * silent. */

void kl_link_probe(struct kl_link *l, uint64_t now_us) {
    struct kl_link_session *s = &l->session;
    if (now_us == 0) {
        if (s->probing) kl_hs_client_end(&s->probe);
        sodium_memzero(&s->found, sizeof s->found);
        s->probing = false;
        s->found_us = 0;
        return;
    }
    if (!s->probing) {
        kl_hs_client_begin(&s->probe, l->offers);
        s->probing = true;
        s->probe_us = now_us;
    }
    if (s->found_us || now_us < s->probe_us) return;
    send_init(l, &s->probe);
    s->probe_us = now_us + INIT_FIRST_US;
}

static void take_found(struct kl_link *l, const uint8_t *bytes, size_t len) {
    struct kl_link_session *s = &l->session;
    struct kl_hs_outcome out;
    switch (kl_hs_client_receive(&s->probe, bytes, len, &out)) {
    case KL_HS_AGAIN: send_init(l, &s->probe); break;
    case KL_HS_ESTABLISHED:
        if (memcmp(out.relay_pub, l->known, sizeof l->known) != 0) break;
        s->found = out;
        s->found_us = kl_now_us();
        break;
    case KL_HS_IGNORED:
    case KL_HS_REFUSED: break;
    }
    sodium_memzero(&out, sizeof out);
}

static void take_stranger(struct kl_link *l, const uint8_t *bytes, size_t len) {
    struct kl_link_session *s = &l->session;
    struct kl_hs_outcome out;
    if (s->probing && !s->found_us) take_found(l, bytes, len);
    if (s->stage != KL_STAGE_HANDSHAKE) return;
    switch (kl_hs_client_receive(&s->handshake, bytes, len, &out)) {
    case KL_HS_IGNORED: break;
    case KL_HS_AGAIN: send_init(l, &s->handshake); break;
    case KL_HS_ESTABLISHED: take_answer(l, &out); break;
    case KL_HS_REFUSED:
        if (!s->refused_us) s->refused_us = kl_now_us();
        s->outcome = out;
        break;
    }
    sodium_memzero(&out, sizeof out);
}

static int intercept(ENetHost *host, ENetEvent *event) {
    (void)event;
    struct kl_link *l = ((struct kl_enet_seal *)host->compressor.context)->ctx;
    const ENetAddress *from = &host->receivedAddress;
    uint8_t *bytes = host->receivedData;
    size_t len = host->receivedDataLength;
    struct kl_opened o;
    if (from->host != l->relay.host || from->port != l->relay.port) return 1;
    if (len < 2 || bytes[0] != KL_SEAL_MAGIC) return 1;
    if (bytes[1] >= KL_HS_INIT)
        take_stranger(l, bytes, len);
    else if (take_sealed(l, bytes, len, &o)) {
        kl_enet_seal_deliver(host, &o, &l->relay);
        return 0;
    }
    return 1;
}

static void connect_enet(struct kl_link *l) {
    /* The relay takes these from our CONNECT. Deceleration 0: the throttle also shrinks the window of
     * reliable data when the RTT jitters, which would slow start data down on just the links where it is
     * slow. */
    ENetPeer *peer = &l->enet->peers[0];
    peer->packetThrottleInterval = ENET_PEER_PACKET_THROTTLE_INTERVAL;
    peer->packetThrottleAcceleration = ENET_PEER_PACKET_THROTTLE_SCALE;
    peer->packetThrottleDeceleration = 0;
    l->session.peer = kl_enet_seal_connect(l->enet, &l->relay, l->session.outcome.keys.session);
    if (!l->session.peer) {
        kl_link_end_with(l, "no memory for a connection to %s");
        return;
    }
    kl_enet_peer_setup(l->session.peer);
    l->session.stage = KL_STAGE_CONNECTING;
}

static void end_unlike(struct kl_link *l) {
    char what[KL_TEXT_MAX];
    snprintf(what, sizeof what,
             "%%s is not the relay that was expected: its fingerprint is %s, expected was %s",
             l->session.other, l->fingerprint);
    kl_link_end_with(l, what);
}

static void end_refused(struct kl_link *l) {
    char what[KL_TEXT_MAX];
    const struct kl_hs_outcome *out = &l->session.outcome;
    if (l->session.other[0]) {
        end_unlike(l);
        return;
    }
    if (l->untrusted[0]) {
        lock(l);
        kl_link_end(l, l->untrusted);
        unlock(l);
        l->over = true;
        return;
    }
    switch (out->code) {
    case KL_HS_REFUSED_VERSION:
        snprintf(what, sizeof what, "the relay %%s speaks protocol %u, you speak %d", out->version,
                 KL_PROTOCOL_VERSION);
        kl_link_end_with(l, what);
        break;
    case KL_HS_REFUSED_FULL: kl_link_end_with(l, "the relay %s is full"); break;
    case KL_HS_REFUSED_LIMIT:
        kl_link_end_with(l, "the relay %s has as many connections from your address as it takes");
        break;
    default: kl_link_end_with(l, "the relay %s has no cipher in common with you"); break;
    }
}

static void ask(struct kl_link *l, uint64_t now_us) {
    struct kl_link_session *s = &l->session;
    bool returning = kl_link_is_returning(l);
    if (!returning && s->refused_us && now_us >= s->refused_us + REFUSED_US) {
        end_refused(l);
    } else if (!returning && now_us >= s->begun_us + ANSWER_US) {
        if (s->refused_us)
            end_refused(l);
        else
            kl_link_end_with(l, "no answer from %s after 5 s (is keylock-relay running there?)");
    } else if (now_us >= s->init_us) {
        send_init(l, &s->handshake);
        s->init_us = now_us + s->pause_us;
        if (returning && s->pause_us < INIT_LAST_US) s->pause_us *= 2;
    }
}

void kl_link_session_turn(struct kl_link *l, uint64_t now_us) {
    switch (l->session.stage) {
    case KL_STAGE_HANDSHAKE: ask(l, now_us); break;
    case KL_STAGE_ANSWERED: connect_enet(l); break;
    case KL_STAGE_CONNECTING:
    case KL_STAGE_CONNECTED: break;
    }
}

void kl_link_session_attach(struct kl_link *l) {
    l->seal.ctx = l;
    l->seal.sealer = sealer_of;
    kl_enet_seal_attach(l->enet, &l->seal);
    l->enet->intercept = intercept;
}

void kl_link_session_begin(struct kl_link *l) {
    struct kl_link_session *s = &l->session;
    uint64_t now_us = kl_now_us();
    if (s->peer) enet_peer_reset(s->peer);
    sodium_memzero(s, sizeof *s);
    kl_hs_client_begin(&s->handshake, l->offers);
    s->begun_us = s->init_us = s->heard_us = now_us;
    s->pause_us = INIT_FIRST_US;
}

void kl_link_session_begin_with(struct kl_link *l, const struct kl_hs_outcome *found) {
    struct kl_hs_outcome out = *found; /* it lies in what is wiped */
    kl_link_session_begin(l);
    use_keys(l, &out);
    sodium_memzero(&out, sizeof out);
}

void kl_link_session_end(struct kl_link *l) {
    ENetPeer *peer = l->session.peer;
    if (peer) {
        enet_host_flush(l->enet); /* acknowledges what ended it */
        if (peer->state != ENET_PEER_STATE_DISCONNECTED) enet_peer_disconnect_now(peer, KL_ENET_BYE);
    }
    sodium_memzero(&l->session, sizeof l->session);
}
