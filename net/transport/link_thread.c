#include <arpa/inet.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "link_lookup.h"
#include "link_state.h"
#include "udp_filter.h"

#define CONNECT_US (5 * 1000000) /* for the relay to answer, and again to greet */
#define SLEEP_US   10000         /* ENet's repetitions are due to the millisecond; ours are not */

/* Messages sent past the oldest unacknowledged one: pieces of start data, what ENet's window of 64 KiB holds;
 * hashes. */
#define UPLOAD_WINDOW 60
#define HASH_WINDOW   256

static void lock(struct kl_link *l) {
    pthread_mutex_lock(&l->mutex);
}
static void unlock(struct kl_link *l) {
    pthread_mutex_unlock(&l->mutex);
}

static void end(struct kl_link *l, const char *what) {
    char reason[KL_TEXT_MAX];
    snprintf(reason, sizeof reason, what, l->host, l->port);
    lock(l);
    kl_link_end(l, reason);
    unlock(l);
    l->over = true;
}

/* --- datagrams -------------------------------------------------------------------------------------------
 */

static void take_datagram(struct kl_link *l, const uint8_t *bytes, size_t len) {
    struct kl_dgram d;
    if (kl_dgram_read(&d, bytes, len) != KL_OK || d.kind != KL_DGRAM_UPDATE) return;
    if (!l->session || d.session != l->session || !kl_replay_fresh(&l->replay, d.counter)) return;
    uint64_t now_us = kl_now_us();
    lock(l);
    kl_link_take_update(l, bytes + KL_DGRAM_HEADER, len - KL_DGRAM_HEADER, now_us);
    unlock(l);
}

static int intercept(ENetHost *host, ENetEvent *event) {
    (void)event;
    struct kl_link *l = host->peers[0].data;
    const ENetAddress *from = &host->receivedAddress, *relay = &host->peers[0].address;
    if (from->host != relay->host || from->port != relay->port) return 1;
    const uint8_t *bytes = host->receivedData;
    size_t len = host->receivedDataLength;
    if (len > 0 && bytes[0] == KL_DATAGRAM_MAGIC) {
        take_datagram(l, bytes, len);
        return 1;
    }
    return kl_udp_judge(KL_UDP_CLIENT, bytes, len, 0).pass ? 0 : 1;
}

static void send_datagram(struct kl_link *l, const uint8_t *body, size_t len) {
    uint8_t header[KL_DGRAM_HEADER];
    kl_dgram_write(&(struct kl_dgram){KL_DGRAM_CTRL, l->session, ++l->counter}, header);
    ENetBuffer parts[2] = {{.data = header, .dataLength = sizeof header},
                           {.data = (void *)body, .dataLength = len}};
    (void)enet_socket_send(l->enet->socket, &l->peer->address, parts, 2);
}

/* A frontend that does not call (a menu, a dragged window) is said to be away; its next call ends that. */
static void notice_absence(struct kl_link *l) {
    struct kl_link_shared *s = &l->shared;
    lock(l);
    bool playing = s->status.phase == KL_LINK_PLAYING && s->planned_us;
    if (playing && !s->lock.away && kl_now_us() >= s->planned_us + KL_AWAY_US)
        kl_client_set_away(&s->lock, true);
    unlock(l);
}

static void send_datagrams(struct kl_link *l) {
    uint8_t body[KL_DATAGRAM_MAX];
    for (unsigned i = 0; i < KL_BURST_MAX; i++) {
        lock(l);
        size_t len = l->shared.joined ? kl_client_send(&l->shared.lock, kl_now_us(), body, sizeof body) : 0;
        unlock(l);
        if (len == 0) return;
        send_datagram(l, body, len);
    }
}

/* --- messages --------------------------------------------------------------------------------------------
 */

static void send_message(struct kl_link *l, const struct kl_msg *m) {
    uint8_t bytes[KL_MSG_MAX];
    int len = kl_msg_encode(m, bytes, sizeof bytes);
    if (len > 0) (void)kl_enet_send(l->peer, &l->sent, bytes, (size_t)len);
}

static void send_hello(struct kl_link *l) {
    struct kl_msg m = {.kind = KL_MSG_HELLO, .hello = l->hello};
    send_message(l, &m);
}

static bool next_hash(struct kl_link *l, struct kl_msg *m) {
    struct kl_link_shared *s = &l->shared;
    lock(l);
    bool some = s->joined && s->hash_got != s->hash_put;
    if (some) *m = (struct kl_msg){.kind = KL_MSG_HASH, .hash = s->hash[s->hash_got++ % KL_LINK_HASHES]};
    unlock(l);
    return some;
}

static bool next_order(struct kl_link *l, struct kl_msg *m) {
    struct kl_link_shared *s = &l->shared;
    lock(l);
    bool some = s->joined && s->order_got != s->order_put;
    if (some)
        *m = (struct kl_msg){.kind = KL_MSG_COMMAND, .order = s->order[s->order_got++ % KL_LINK_ORDERS]};
    unlock(l);
    return some;
}

static bool next_ready(struct kl_link *l, struct kl_msg *m) {
    struct kl_link_shared *s = &l->shared;
    lock(l);
    bool some = s->ready_wanted;
    if (some) *m = (struct kl_msg){.kind = KL_MSG_READY, .ready.facts = s->ready_facts};
    s->ready_wanted = false;
    unlock(l);
    return some;
}

static void upload(struct kl_link *l) {
    struct kl_link_shared *s = &l->shared;
    lock(l);
    bool is_given = s->is_given;
    const uint8_t *bytes = s->given;
    size_t total = s->given_len;
    unlock(l);
    /* no start data at all is still said: one empty piece */
    while (is_given && kl_sent_span(&l->sent) < UPLOAD_WINDOW && (l->uploaded < total || l->uploaded == 0)) {
        size_t len = total - l->uploaded < KL_CHUNK_MAX ? total - l->uploaded : KL_CHUNK_MAX;
        struct kl_msg m = {.kind = KL_MSG_DATA};
        m.data =
            (struct kl_data){.offset = (uint32_t)l->uploaded, .total = (uint32_t)total, .len = (uint16_t)len};
        memcpy(m.data.bytes, bytes + l->uploaded, len);
        send_message(l, &m);
        l->uploaded += len ? len : 1;
    }
}

static void send_messages(struct kl_link *l) {
    struct kl_msg m;
    while (kl_sent_span(&l->sent) < HASH_WINDOW && next_hash(l, &m))
        send_message(l, &m);
    while (next_order(l, &m))
        send_message(l, &m);
    if (next_ready(l, &m)) send_message(l, &m);
    upload(l);
    enet_host_flush(l->enet);
}

static void on_receive(struct kl_link *l, ENetPacket *packet) {
    struct kl_msg m;
    int result = kl_msg_decode(&m, packet->data, packet->dataLength);
    enet_packet_destroy(packet);
    if (result != KL_OK) {
        end(l, "the relay %s:%u sent something that protocol 1 does not know");
        return;
    }
    lock(l);
    kl_link_take_message(l, &m);
    if (l->shared.status.phase == KL_LINK_ENDED) l->over = true;
    unlock(l);
}

static void on_disconnect(struct kl_link *l, uint32_t data) {
    l->connected = false;
    if (data == KL_ENET_BYE)
        end(l, "the relay %s:%u closed the connection");
    else
        end(l, "the relay %s:%u does not answer any more");
}

static void dispatch(struct kl_link *l, const ENetEvent *event, uint64_t *greet_by_us) {
    switch (event->type) {
    case ENET_EVENT_TYPE_CONNECT:
        l->connected = true;
        *greet_by_us = kl_now_us() + CONNECT_US;
        send_hello(l);
        break;
    case ENET_EVENT_TYPE_RECEIVE: on_receive(l, event->packet); break;
    case ENET_EVENT_TYPE_DISCONNECT: on_disconnect(l, event->data); break;
    case ENET_EVENT_TYPE_NONE: break;
    }
}

/* --- coming and going ------------------------------------------------------------------------------------
 */

static bool is_leaving(struct kl_link *l) {
    lock(l);
    bool leaving = l->shared.leaving;
    unlock(l);
    return leaving;
}

/* Up to the connection being under way; false where it ended. */
static bool begin(struct kl_link *l) {
    ENetAddress relay = {.port = l->port};
    char why[128];
    switch (kl_link_lookup(l, &relay.host, why, sizeof why)) {
    case KL_LOOKUP_FOUND: break;
    case KL_LOOKUP_LEFT: return false;
    case KL_LOOKUP_FAILED: {
        char reason[KL_TEXT_MAX];
        snprintf(reason, sizeof reason, "cannot find the relay %s: %s", l->host, why);
        lock(l);
        kl_link_end(l, reason);
        unlock(l);
        return false;
    }
    }
    l->enet->intercept = intercept;
    ENetPeer *peer = &l->enet->peers[0];
    peer->data = l; /* intercept gets no other context */
    /* The relay takes these from our CONNECT. Deceleration 0: the throttle also shrinks the window of
     * reliable data when the RTT jitters, which would slow start data down on just the links where it is
     * slow. */
    peer->packetThrottleInterval = ENET_PEER_PACKET_THROTTLE_INTERVAL;
    peer->packetThrottleAcceleration = ENET_PEER_PACKET_THROTTLE_SCALE;
    peer->packetThrottleDeceleration = 0;
    l->peer = enet_host_connect(l->enet, &relay, KL_ENET_CHANNELS, 0);
    if (!l->peer) {
        end(l, "no memory for a connection to %s:%u");
        return false;
    }
    kl_enet_peer_setup(l->peer);
    return true;
}

static void check_greeting(struct kl_link *l, uint64_t greet_by_us) {
    lock(l);
    bool waiting = !l->shared.joined;
    unlock(l);
    if (!waiting || kl_now_us() < greet_by_us) return;
    end(l, l->connected ? "%s:%u answers, but not as a keylock-relay does"
                        : "no answer from %s:%u after 5 s (is keylock-relay running there?)");
}

/* Under the mutex: everything that others need of us is with the relay. */
static bool all_said(const struct kl_link_shared *s) {
    if (!s->joined) return true;
    return s->hash_got == s->hash_put && s->lock.sample_acked >= s->lock.stats.next_sample;
}

static void say_bye(struct kl_link *l) {
    struct kl_msg m = {.kind = KL_MSG_BYE, .text.text = "left"};
    send_message(l, &m);
    enet_host_flush(l->enet);
    enet_peer_disconnect_later(l->peer, KL_ENET_BYE);
    l->said_bye = true;
}

static void leave(struct kl_link *l) {
    lock(l);
    bool said = all_said(&l->shared);
    bool late = kl_now_us() >= l->shared.leave_by_us;
    unlock(l);
    if (l->connected && !l->said_bye && (said || late)) say_bye(l);
    if (!l->connected || late) l->over = true;
}

/* Sleeps until a datagram comes, the frontend's thread has something, or the time has come. */
static void rest(struct kl_link *l) {
    uint64_t now_us = kl_now_us(), until_us = now_us + SLEEP_US;
    lock(l);
    if (l->shared.joined) {
        uint64_t send_us = kl_client_send_at(&l->shared.lock);
        if (send_us < until_us) until_us = send_us;
    }
    l->shared.wake_us = until_us;
    unlock(l);
    uint64_t left_us = until_us > now_us ? until_us - now_us : 0;
    struct timespec left = {.tv_sec = 0, .tv_nsec = (long)left_us * 1000};
    struct pollfd fds[2] = {{.fd = l->enet->socket, .events = POLLIN}, {.fd = l->kick_fd, .events = POLLIN}};
    if (ppoll(fds, 2, &left, NULL) <= 0 || !fds[1].revents) return;
    uint64_t kicks;
    ssize_t got = read(l->kick_fd, &kicks, sizeof kicks);
    (void)got;
}

static void turn(struct kl_link *l, uint64_t *greet_by_us) {
    ENetEvent event;
    rest(l);
    while (!l->over && kl_enet_service(l->enet, &event))
        dispatch(l, &event, greet_by_us);
    if (l->over) return;
    if (l->connected && !l->said_bye) {
        notice_absence(l);
        send_datagrams(l);
        send_messages(l);
    }
    check_greeting(l, *greet_by_us);
    if (is_leaving(l)) leave(l);
}

void *kl_link_thread(void *arg) {
    struct kl_link *l = arg;
    pthread_setname_np(pthread_self(), "keylock-net");
    if (begin(l)) {
        uint64_t greet_by_us = kl_now_us() + CONNECT_US;
        while (!l->over)
            turn(l, &greet_by_us);
        enet_host_flush(l->enet); /* acknowledges what ended it */
        if (l->peer->state != ENET_PEER_STATE_DISCONNECTED) enet_peer_disconnect_now(l->peer, KL_ENET_BYE);
    }
    lock(l);
    kl_link_end(l, "left");
    unlock(l);
    return NULL;
}
