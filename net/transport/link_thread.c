#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "net/platform/clock.h"
#include "net/transport/link_lookup.h"
#include "net/transport/link_state.h"

#define GREET_US (5 * 1000000) /* for ENet to connect, and for the relay to greet, after the handshake */
#define FRESH_US                                                                                             \
    (12 * 1000000)     /* the same for a seat of before: a relay that was restarted waits for its room */
#define SLEEP_US 10000 /* ENet's repetitions are due to the millisecond; ours are not */

/* Messages sent past the oldest unacknowledged one. */
#define HASH_WINDOW 256

static void lock(struct kl_link *l) {
    kl_mutex_lock(&l->mutex);
}
static void unlock(struct kl_link *l) {
    kl_mutex_unlock(&l->mutex);
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
        kl_link_send_sealed(l, KL_SEAL_CTRL, body, len);
    }
}

/* --- messages --------------------------------------------------------------------------------------------
 */

static void send_on(struct kl_link *l, uint8_t channel, const struct kl_msg *m) {
    uint8_t bytes[KL_MSG_MAX];
    int len = kl_msg_encode(m, bytes, sizeof bytes);
    if (len > 0) (void)kl_enet_send(l->session.peer, l->session.sent, channel, bytes, (size_t)len);
}
void kl_link_send_message(struct kl_link *l, const struct kl_msg *m) {
    send_on(l, kl_msg_is_bulk(m->kind) ? KL_CHANNEL_BULK : KL_CHANNEL_CONTROL, m);
}

static bool next_word(struct kl_link *l, struct kl_msg *m) {
    bool may_hash = kl_sent_span(&l->session.sent[KL_CHANNEL_CONTROL]) < HASH_WINDOW;
    lock(l);
    bool some = kl_link_next_word(&l->shared, may_hash, m);
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
    while (is_given && kl_bulk_room(l->session.sent) > 0 && (l->uploaded < total || l->uploaded == 0)) {
        size_t len = total - l->uploaded < KL_CHUNK_MAX ? total - l->uploaded : KL_CHUNK_MAX;
        struct kl_msg m = {.kind = KL_MSG_DATA};
        m.data =
            (struct kl_data){.offset = (uint32_t)l->uploaded, .total = (uint32_t)total, .len = (uint16_t)len};
        memcpy(m.data.bytes, bytes + l->uploaded, len);
        kl_link_send_message(l, &m);
        l->uploaded += len ? len : 1;
    }
}

static void send_messages(struct kl_link *l) {
    struct kl_msg m;
    while (next_word(l, &m))
        kl_link_send_message(l, &m);
    while (next_order(l, &m))
        kl_link_send_message(l, &m);
    if (next_ready(l, &m)) kl_link_send_message(l, &m);
    upload(l);
    kl_link_shot_turn(l);
    enet_host_flush(l->enet);
}

static void on_receive(struct kl_link *l, ENetPacket *packet) {
    struct kl_msg m;
    int result = kl_msg_decode(&m, packet->data, packet->dataLength);
    enet_packet_destroy(packet);
    if (result != KL_OK) {
        kl_link_end_with(l, "the relay %s sent something that this protocol does not know");
        return;
    }
    if (kl_link_door_take(l, &m)) return;
    lock(l);
    kl_link_take_message(l, &m);
    if (l->shared.status.phase == KL_LINK_ENDED) l->over = true;
    unlock(l);
}

static void on_disconnect(struct kl_link *l, uint32_t data) {
    l->session.peer = NULL;
    if (kl_link_turned_away(l)) return;
    if (data == KL_ENET_BYE)
        kl_link_end_with(l, "the relay %s closed the connection");
    else
        kl_link_lost(l);
}

static void dispatch(struct kl_link *l, const ENetEvent *event) {
    switch (event->type) {
    case ENET_EVENT_TYPE_CONNECT:
        l->session.stage = KL_STAGE_CONNECTED;
        kl_link_enter(l);
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

/* Up to the handshake being under way; false where it ended. */
static bool begin(struct kl_link *l) {
    char why[128];
    switch (kl_link_lookup(l, &l->relay.host, why, sizeof why)) {
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
    l->relay.port = l->port;
    kl_link_session_attach(l);
    kl_link_session_begin(l);
    return true;
}

static void check_greeting(struct kl_link *l) {
    const struct kl_link_session *s = &l->session;
    lock(l);
    bool waiting = !l->shared.joined;
    unlock(l);
    uint64_t patience_us = l->fresh ? FRESH_US : GREET_US;
    if (!waiting || s->stage == KL_STAGE_HANDSHAKE || kl_now_us() < s->answered_us + patience_us) return;
    kl_link_end_with(l, "%s answers, but does not greet");
}

/* Under the mutex: everything that others need of us is with the relay. */
static bool all_said(const struct kl_link_shared *s) {
    if (!s->joined) return true;
    return s->hash_got == s->hash_put && s->lock.sample_acked >= s->lock.stats.next_sample;
}

static void say_bye(struct kl_link *l) {
    struct kl_msg m = {.kind = KL_MSG_BYE, .text.text = "left"};
    kl_link_send_message(l, &m);
    enet_host_flush(l->enet);
    enet_peer_disconnect_later(l->session.peer, KL_ENET_BYE);
    l->said_bye = true;
}

static bool is_connected(const struct kl_link *l) {
    return l->session.stage == KL_STAGE_CONNECTED;
}

static void leave(struct kl_link *l) {
    lock(l);
    bool said = all_said(&l->shared);
    bool late = kl_now_us() >= l->shared.leave_by_us;
    unlock(l);
    if (is_connected(l) && !l->said_bye && (said || late)) say_bye(l);
    if (!is_connected(l) || late) l->over = true;
}

/* Sleeps until a datagram comes, the frontend's thread has something, or the time has come. */
static void rest(struct kl_link *l) {
    uint64_t now_us = kl_now_us(), until_us = now_us + SLEEP_US;
    lock(l);
    if (l->shared.joined && l->shared.status.phase != KL_LINK_RETURNING) {
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

static void turn(struct kl_link *l) {
    ENetEvent event;
    rest(l);
    while (!l->over && kl_enet_service(l->enet, &event))
        dispatch(l, &event);
    if (l->over) return;
    kl_link_session_turn(l, kl_now_us());
    if (!l->over) kl_link_return_turn(l, kl_now_us());
    if (l->over) return;
    if (is_connected(l)) kl_link_bring_turn(l);
    if (is_connected(l) && !l->said_bye && !kl_link_is_returning(l)) {
        notice_absence(l);
        send_datagrams(l);
        send_messages(l);
    }
    check_greeting(l);
    if (is_leaving(l)) leave(l);
}

void kl_link_thread(void *arg) {
    struct kl_link *l = arg;
    if (begin(l)) {
        while (!l->over)
            turn(l);
        kl_link_session_end(l);
    }
    lock(l);
    kl_link_end(l, "left");
    unlock(l);
}
