/* The network thread: it hands datagrams, ENet's events and the time to the participant, and sends the
 * participant's messages. */
#include <stdio.h>
#include <string.h>

#include "net/platform/clock.h"
#include "net/platform/socket.h"
#include "net/platform/wait.h"
#include "net/transport/link_state.h"
#include "net/transport/enet_common.h"

#define DATAGRAMS_MAX 1024    /* in one turn */
#define OTHERS_US     1000000 /* silence of the relay, and others are asked */

static bool is_over(struct kl_link *l) {
    kl_link_lock(l);
    bool over = kl_participant_is_over(&l->participant);
    kl_link_unlock(l);
    return over;
}

/* --- datagrams out --- */

static void send_raw(struct kl_link *l, const void *bytes, size_t len) {
    if (l->relay.port) (void)kl_socket_send(l->socket, &l->relay, bytes, len);
}

/* Addresses of relays with the same key, in a relay's words. */
static void read_places(const struct kl_link *l, const char *places, struct kl_addresses *out) {
    char text[KL_TEXT_MAX];
    struct kl_address a;
    snprintf(text, sizeof text, "%s", places);
    for (char *at = text, *end; *at; at = end) {
        end = at + strcspn(at, " ");
        if (*end) *end++ = 0;
        if (kl_address_parse_place(at, &a) && a.port && kl_address_concerns(&l->relay, &a))
            kl_addresses_add(out, &a);
    }
}

/* Beside a session that is silent: the relay that goes on with the room if this one is gone. */
static void probe_others(struct kl_link *l, const uint8_t init[KL_INIT_BYTES]) {
    if (kl_now_us() < l->participant.dial.s.heard_us + OTHERS_US) return;
    kl_link_lock(l);
    l->others.count = 0;
    read_places(l, l->participant.relays, &l->others);
    kl_link_unlock(l);
    for (unsigned i = 0; i < l->others.count; i++)
        (void)kl_socket_send(l->socket, &l->others.at[i], init, KL_INIT_BYTES);
}

/* Until one of the relay's addresses has answered, each INIT goes to one more of them: the next after 250 ms,
 * at once if no way leads to one (RFC 8305 §5). */
static void send_init(struct kl_link *l, const uint8_t init[KL_INIT_BYTES]) {
    send_raw(l, init, KL_INIT_BYTES);
    if (l->relay.port) {
        probe_others(l, init);
        return;
    }
    for (unsigned i = 0; i < l->tried; i++)
        (void)kl_socket_send(l->socket, &l->names.at[i], init, KL_INIT_BYTES);
    for (bool sent = false; !sent && l->tried < l->names.count; l->tried++)
        sent = kl_socket_send(l->socket, &l->names.at[l->tried], init, KL_INIT_BYTES);
}

/* ENet's, sealed. */
static void send_sealed(void *ctx, uint32_t connect_id, const uint8_t *bytes, size_t len) {
    (void)connect_id;
    send_raw(ctx, bytes, len);
}

static struct kl_sealer *sealer_of(void *ctx, uint32_t connect_id) {
    (void)connect_id; /* the only one */
    struct kl_link *l = ctx;
    return l->has_keys ? &l->sealer : NULL;
}

static void send_straight(struct kl_link *l) {
    uint8_t bytes[KL_PARTICIPANT_DIRECT_BYTES];
    struct kl_address to = {.zone = l->relay.zone};
    for (unsigned i = 0; l->has_keys && i < KL_PEERS_MAX; i++) {
        kl_link_lock(l);
        size_t len = kl_participant_direct_out(&l->participant, kl_now_us(), to.host, &to.port, bytes);
        kl_link_unlock(l);
        if (len == 0) return;
        if (kl_address_concerns(&l->relay, &to)) (void)kl_socket_send(l->socket, &to, bytes, len);
    }
}

static void send_datagrams(struct kl_link *l) {
    uint8_t init[KL_INIT_BYTES], body[KL_DATAGRAM_MAX], bytes[KL_DATAGRAM_MAX + KL_SEAL_OVERHEAD], kind;
    while (kl_dial_send(&l->participant.dial, init))
        send_init(l, init);
    for (unsigned i = 0; l->has_keys && i < KL_BURST_MAX; i++) {
        kl_link_lock(l);
        size_t len = kl_participant_send(&l->participant, kl_now_us(), &kind, body, sizeof body);
        kl_link_unlock(l);
        if (len == 0) return;
        size_t sealed = kl_seal(&l->sealer, kind, body, len, bytes);
        if (sealed) send_raw(l, bytes, sealed);
    }
}

/* Wishes and news go both ways, and speech goes out. */
static void serve_voice(struct kl_link *l) {
    uint8_t body[KL_VOICE_DATAGRAM], bytes[KL_VOICE_DATAGRAM + KL_SEAL_OVERHEAD];
    struct kl_voice_told told;
    struct kl_hear wish;
    struct kl_voice v;
    if (!l->voice) return;
    kl_voice_box_wish(l->voice, &wish);
    kl_link_lock(l);
    kl_participant_hear(&l->participant, &wish);
    kl_participant_voices(&l->participant, &told);
    kl_link_unlock(l);
    kl_voice_box_tell(l->voice, &told);
    while (kl_voice_box_take(l->voice, &v)) {
        if (!l->has_keys || !told.in_room) continue;
        size_t len = kl_voice_write(&v, false, body);
        size_t sealed = kl_seal(&l->sealer, KL_SEAL_VOICE, body, len, bytes);
        if (sealed) send_raw(l, bytes, sealed);
    }
}

/* --- datagrams in --- */

/* The first of the relay's addresses that answers is tried first from then on. */
static void choose(struct kl_link *l, const struct kl_address *is) {
    struct kl_addresses others = l->names;
    l->relay = *is;
    l->names = (struct kl_addresses){.count = 1, .at = {*is}};
    for (unsigned i = 0; i < others.count; i++)
        kl_addresses_add(&l->names, &others.at[i]);
}

static void take_stranger(struct kl_link *l, const struct kl_address *from, const uint8_t *bytes,
                          size_t len) {
    uint8_t pub[32];
    kl_link_lock(l);
    const struct kl_dial_session *d = &l->participant.dial.s;
    bool found = d->found_us;
    bool answered = kl_participant_stranger(&l->participant, bytes, len, kl_now_us());
    if (answered && !l->relay.port) choose(l, from);
    if (!found && d->found_us) l->found = *from;
    bool asks = kl_dial_asks(&l->participant.dial, pub);
    kl_link_unlock(l);
    if (asks) {
        /* The caller of the link is asked whether this relay is the right one. It may read files: not under
         * the mutex. */
        char err[KL_TEXT_MAX] = "";
        bool trusted = l->trust(l->ctx, pub, err, sizeof err) == 0;
        kl_link_lock(l);
        kl_participant_trust(&l->participant, trusted ? NULL : err, kl_now_us());
        kl_link_unlock(l);
    }
}

static void take_voice(struct kl_link *l, const struct kl_opened *o, uint64_t now_us) {
    struct kl_voice v;
    if (kl_voice_read(&v, true, o->body, o->len) == KL_OK) kl_voice_box_put(l->voice, &v, now_us);
}

/* True if o is for ENet. */
static bool take_sealed(struct kl_link *l, uint8_t *bytes, size_t len, struct kl_opened *o) {
    if (!l->has_keys || kl_open(&l->opener, bytes, len, o) != 0) return false;
    uint64_t now_us = kl_now_us();
    kl_link_lock(l);
    kl_participant_heard(&l->participant, now_us);
    if (o->kind == KL_SEAL_UPDATE) kl_participant_update(&l->participant, o->body, o->len, now_us);
    if (o->kind == KL_SEAL_PATH) kl_participant_challenge(&l->participant, o->body, o->len);
    kl_link_unlock(l);
    if (l->voice && o->kind == KL_SEAL_VOICE) take_voice(l, o, now_us);
    if (l->peer && o->kind == KL_SEAL_UPDATE) kl_enet_heard(l->peer, now_us);
    return o->kind == KL_SEAL_ENET && kl_udp_judge(KL_UDP_CLIENT, o->body, o->len, NULL).pass;
}

static bool is_among(const struct kl_address *a, const struct kl_addresses *all, unsigned count) {
    for (unsigned i = 0; i < count; i++)
        if (kl_address_same(a, &all->at[i])) return true;
    return false;
}

static bool is_of_relay(const struct kl_link *l, const struct kl_address *from) {
    if (l->relay.port) return kl_address_same(from, &l->relay);
    return is_among(from, &l->names, l->tried);
}

/* True if o is for ENet. */
static bool take_datagram(struct kl_link *l, const struct kl_address *from, uint8_t *bytes, size_t len,
                          struct kl_opened *o) {
    bool probed = l->participant.dial.s.probing && is_among(from, &l->others, l->others.count);
    if (probed && len >= 2 && bytes[0] == KL_SEAL_MAGIC && bytes[1] >= KL_HS_INIT) {
        take_stranger(l, from, bytes, len);
        return false;
    }
    if (!is_of_relay(l, from)) {
        if (kl_participant_knows(&l->participant, from->host, from->port)) {
            kl_link_lock(l);
            kl_participant_direct_in(&l->participant, from->host, from->port, bytes, len, kl_now_us());
            kl_link_unlock(l);
        }
        return false;
    }
    if (len < 2 || bytes[0] != KL_SEAL_MAGIC) return false;
    if (bytes[1] < KL_HS_INIT) return take_sealed(l, bytes, len, o);
    take_stranger(l, from, bytes, len);
    return false;
}

/* --- sessions --- */

static void forget_session(struct kl_link *l) {
    l->peer = NULL;
    l->has_keys = false;
    l->tried = 0;
    sodium_memzero(&l->sealer, sizeof l->sealer);
    sodium_memzero(&l->opener, sizeof l->opener);
    memset(l->sent, 0, sizeof l->sent);
}

static void connect_enet(struct kl_link *l, const struct kl_session_keys *keys) {
    kl_sealer_init(&l->sealer, keys, keys->up);
    kl_opener_init(&l->opener, keys, keys->down);
    l->has_keys = true;
    /* The relay takes these from our CONNECT. Deceleration 0: the throttle also shrinks the window of
     * reliable data when the RTT jitters, which would slow start data down on just the slow links. */
    ENetPeer *peer = &l->enet.host->peers[0];
    peer->packetThrottleInterval = ENET_PEER_PACKET_THROTTLE_INTERVAL;
    peer->packetThrottleAcceleration = ENET_PEER_PACKET_THROTTLE_SCALE;
    peer->packetThrottleDeceleration = 0;
    l->peer = kl_enet_feed_connect(&l->enet, keys->session);
    if (l->peer) kl_enet_peer_setup(l->peer);
    kl_link_lock(l);
    kl_participant_connecting(&l->participant, l->peer != NULL);
    kl_link_unlock(l);
}

/* A new handshake: with the relay that has the room, else with the one so far; and with those that may go on
 * with the room. */
static void choose_names(struct kl_link *l) {
    struct kl_participant *s = &l->participant;
    struct kl_addresses names = {0};
    kl_link_lock(l);
    l->others.count = 0;
    read_places(l, s->relays, &l->others);
    if (s->goes_on) read_places(l, s->elsewhere, &names);
    const struct kl_addresses *more = s->goes_on ? &l->others : &l->names;
    for (unsigned i = 0; i < more->count; i++)
        kl_addresses_add(&names, &more->at[i]);
    const bool comes = !s->joined || s->status.phase == KL_PARTICIPANT_RETURNING;
    for (unsigned i = 0; i < l->others.count && comes; i++)
        kl_addresses_add(&names, &l->others.at[i]);
    s->goes_on = false;
    if (names.count) l->names = names;
    kl_link_unlock(l);
}

/* Applies the participant's decisions to ENet. */
static void follow(struct kl_link *l) {
    const struct kl_dial *d = &l->participant.dial; /* this thread alone changes it */
    if (l->number != d->number) {
        if (d->s.stage == KL_DIAL_HANDSHAKE)
            choose_names(l);
        else if (l->found.port) /* with the probe's keys */
            choose(l, &l->found);
        l->found.port = 0;
        if (l->peer) enet_peer_reset(l->peer);
        forget_session(l);
        l->number = d->number;
        if (d->s.stage == KL_DIAL_HANDSHAKE) l->relay.port = 0; /* any of its addresses may be the way now */
    }
    if (d->s.stage == KL_DIAL_ANSWERED) connect_enet(l, &d->s.outcome.keys);
}

/* --- messages --- */

static void send_messages(struct kl_link *l) {
    struct kl_msg m;
    uint8_t bytes[KL_MSG_MAX];
    bool some = false;
    while (l->peer) {
        struct kl_channels c = {.control_span = kl_sent_span(&l->sent[KL_CHANNEL_CONTROL]),
                                .bulk_room = kl_bulk_room(l->sent)};
        kl_link_lock(l);
        bool more = kl_participant_say(&l->participant, &c, kl_now_us(), &m);
        kl_link_unlock(l);
        if (!more) break;
        int len = kl_msg_encode(&m, bytes, sizeof bytes);
        uint8_t channel = kl_msg_is_bulk(m.kind) ? KL_CHANNEL_BULK : KL_CHANNEL_CONTROL;
        if (len > 0) (void)kl_enet_send(l->peer, l->sent, channel, bytes, (size_t)len);
        if (m.kind == KL_MSG_PROVE) sodium_memzero(&m, sizeof m);
        some = true;
        if (m.kind == KL_MSG_BYE) {
            enet_host_flush(l->enet.host);
            enet_peer_disconnect_later(l->peer, KL_ENET_BYE);
        }
    }
    if (some) enet_host_flush(l->enet.host);
}

/* For a process that comes back: this relay, and those that may go on with the room. */
static void tell_to_keep(struct kl_link *l) {
    char text[KL_TEXT_MAX] = "", place[KL_PLACE_TEXT];
    struct kl_addresses at = {.count = 1, .at = {l->relay}};
    kl_link_lock(l);
    struct kl_welcome welcome = l->participant.status.welcome;
    read_places(l, l->participant.relays, &at);
    kl_link_unlock(l);
    for (unsigned i = 0; i < at.count && at.count > 1; i++) {
        size_t len = strlen(text);
        snprintf(text + len, sizeof text - len, "%s%s", i ? " " : "", kl_address_place(place, &at.at[i]));
    }
    l->keep(l->ctx, &welcome, text);
}

static void on_receive(struct kl_link *l, ENetPacket *packet) {
    uint8_t salt[KL_DOOR_SALT];
    kl_link_lock(l);
    kl_participant_message(&l->participant, packet->data, packet->dataLength, kl_now_us());
    bool welcomed = kl_participant_welcomed(&l->participant),
         changed = kl_participant_has_new_relays(&l->participant),
         wants = kl_participant_wants_secret(&l->participant, salt);
    kl_link_unlock(l);
    enet_packet_destroy(packet);
    if ((welcomed || changed) && l->keep) tell_to_keep(l);
    if (wants) {
        uint8_t secret[KL_DOOR_SECRET];
        bool possible = kl_door_stretch(l->password, salt, secret) == KL_OK;
        kl_link_lock(l);
        kl_participant_secret(&l->participant, possible ? secret : NULL);
        kl_link_unlock(l);
        sodium_memzero(secret, sizeof secret);
    }
}

static void dispatch(struct kl_link *l, const ENetEvent *event) {
    if (event->type == ENET_EVENT_TYPE_RECEIVE) {
        on_receive(l, event->packet);
        follow(l); /* a refusal may begin another session: the end of this one means nothing then */
        return;
    }
    kl_link_lock(l);
    if (event->type == ENET_EVENT_TYPE_CONNECT) kl_participant_connected(&l->participant);
    if (event->type == ENET_EVENT_TYPE_DISCONNECT) {
        l->peer = NULL;
        kl_participant_hung_up(&l->participant, event->data == KL_ENET_BYE, kl_now_us());
    }
    kl_link_unlock(l);
    follow(l);
}

/* --- turns --- */

static void serve_enet(struct kl_link *l) {
    ENetEvent event;
    while (!is_over(l) && kl_enet_service(l->enet.host, &event))
        dispatch(l, &event);
}

static void receive(struct kl_link *l) {
    uint8_t bytes[KL_SOCKET_BYTES];
    struct kl_address from;
    struct kl_opened o;
    for (unsigned i = 0; i < DATAGRAMS_MAX && !is_over(l); i++) {
        int len = kl_socket_receive(l->socket, bytes, sizeof bytes, &from);
        if (len < 0) return;
        if ((size_t)len > sizeof bytes || !take_datagram(l, &from, bytes, (size_t)len, &o)) continue;
        kl_enet_feed_begin(&l->enet, &o);
        serve_enet(l);
        kl_enet_feed_end(&l->enet);
    }
}

void kl_link_turn(struct kl_link *l) {
    receive(l);
    serve_enet(l);
    kl_link_lock(l);
    kl_participant_turn(&l->participant, kl_now_us());
    kl_link_unlock(l);
    follow(l);
    send_datagrams(l);
    send_straight(l);
    serve_voice(l);
    send_messages(l);
}

static bool is_wanted(void *ctx) {
    struct kl_link *l = ctx;
    kl_link_lock(l);
    bool leaving = l->participant.leaving;
    kl_link_unlock(l);
    return !leaving;
}

bool kl_link_open_enet(struct kl_link *l) {
    const struct kl_enet_seal seal = {.ctx = l, .sealer = sealer_of, .send = send_sealed};
    return kl_enet_feed_open(&l->enet, 1, &l->sink, &seal);
}

bool kl_link_begin(struct kl_link *l) {
    char why[128], reason[KL_TEXT_MAX];
    enum kl_lookup found = kl_lookup(l->host, &l->names, is_wanted, l, why, sizeof why);
    for (unsigned i = 0; i < l->names.count; i++)
        l->names.at[i].port = l->port;
    kl_link_lock(l);
    if (found == KL_LOOKUP_FAILED) {
        snprintf(reason, sizeof reason, "cannot find the relay %s: %s", l->host, why);
        kl_participant_end(&l->participant, reason);
    }
    if (found == KL_LOOKUP_FOUND) kl_participant_begin(&l->participant, kl_now_us());
    kl_link_unlock(l);
    return found == KL_LOOKUP_FOUND;
}

void kl_link_thread(void *arg) {
    struct kl_link *l = arg;
    if (kl_link_begin(l)) {
        while (!is_over(l)) {
            /* Sleeps until a datagram comes, the frontend's thread or the voice thread has something, or the
             * time has come. */
            kl_link_lock(l);
            uint64_t until_us = kl_participant_wake_at(&l->participant, kl_now_us());
            kl_link_unlock(l);
            const int what[] = {l->kick_fd, l->socket, l->voice ? kl_voice_box_wake(l->voice) : -1};
            uint32_t came = kl_wait_for(what, 3, until_us);
            if (came & 1) kl_wake_clear(what[0]);
            if (came & 4) kl_wake_clear(what[2]);
            kl_link_turn(l);
        }
        if (l->peer) {
            enet_host_flush(l->enet.host); /* acknowledges the last message */
            if (l->peer->state != ENET_PEER_STATE_DISCONNECTED)
                enet_peer_disconnect_now(l->peer, KL_ENET_BYE);
        }
        forget_session(l);
    }
    kl_link_lock(l);
    kl_participant_end(&l->participant, "left");
    kl_link_unlock(l);
}
