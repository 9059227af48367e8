#include "tests/rooms/attack.h"
#include "tests/rooms/fleet.h"
#include "tests/rooms/rooms.h"

#include "tests/lib/wire_bytes.h"

#define PACKETS  4096  /* under way at once */
#define AGAIN_US 20000 /* a way that is cut is tried again */

#define FREE UINT64_MAX

enum channel { CONTROL, BULK, INPUTS, OUTSIDE };

struct packet {
    enum channel channel;
    bool to_relay;
    unsigned session; /* OUTSIDE: the client's number */
    unsigned relay;   /* OUTSIDE: to it, or of it */
    uint64_t order;
    unsigned number; /* of the datagrams up, in its session */
    size_t len;
    uint8_t bytes[KL_MSG_MAX];
};
static struct packet *packet;
static uint64_t due_us[PACKETS]; /* of each; FREE: there is none */
static unsigned top;             /* all above are free */
static uint64_t order;

struct way {
    uint64_t last_us, sent_us; /* when the newest reliable message arrives; when it was said */
    unsigned under_way;
};

static struct session {
    struct client *client;     /* NULL: nobody is there any more */
    unsigned owner;            /* its number, for ever */
    unsigned relay, peer;      /* at the relay; PEERS: none */
    bool hung_up;              /* by the relay, once all has arrived */
    uint64_t learns_us;        /* the relay that it is broken; 0: it is not, or knows */
    struct way up[2], down[2]; /* by channel: the two know no order between them */
    struct kl_traffic traffic;
    uint8_t binding[32];
    double delay_us, jitter_us, loss;
    unsigned sent, newest, come; /* datagrams up */
} * session;
static unsigned sessions;
static struct kl_hs_relay doorman[RELAYS];
static unsigned at_peer[RELAYS][PEERS]; /* session; 0: none */
static bool calm;
static uint64_t steady_us; /* 0: links are drawn */
static unsigned lives_at[CLIENTS];

#define SESSIONS 4000
#define SEAT_TIME_S                                                                                          \
    12 /* short: a client that is lost before it is welcomed leaves a seat that nobody comes for */

void wire_begin(void) {
    packet = calloc(PACKETS, sizeof *packet);
    session = calloc(SESSIONS, sizeof *session);
    if (!packet || !session) fail("no memory");
    struct kl_keypair own = {.secret = {5}};
    kl_keypair_complete(&own);
    for (unsigned i = 0; i < (fleet ? RELAYS : 1); i++)
        kl_hs_relay_begin(&doorman[i], &own, KL_CIPHER_CHACHA20, now_us);
}

void wire_calm(void) {
    calm = true;
}

void wire_steady(uint64_t one_way_us) {
    steady_us = one_way_us;
}

void wire_live_at(const struct client *c, unsigned last) {
    lives_at[c->number] = last;
}

struct wire_bytes wire_bytes_of(const struct client *c) {
    struct wire_bytes sum = {0};
    for (unsigned i = 1; i <= sessions; i++) {
        if (session[i].owner != c->number) continue;
        sum.up += session[i].traffic.up;
        sum.down += session[i].traffic.down;
    }
    return sum;
}

/* As the relay counts. */
static void count_arrived(struct session *s, bool to_relay, bool reliable, size_t len) {
    if (to_relay) wire_count_up(&s->traffic, reliable, len);
    if (reliable) wire_count_ack(&s->traffic, !to_relay);
}

static struct packet *put(unsigned s, bool to_relay, enum channel channel, uint64_t at_us,
                          const uint8_t *bytes, size_t len) {
    unsigned i = 0;
    while (i < top && due_us[i] != FREE)
        i++;
    if (i == PACKETS) fail("more packets under way than this test has room for");
    if (i == top) top++;
    struct packet *p = &packet[i];
    due_us[i] = at_us;
    p->channel = channel;
    p->to_relay = to_relay;
    p->session = s;
    p->order = order++;
    p->number = session[s].sent;
    p->len = len;
    if (channel != OUTSIDE && !to_relay) wire_count_down(&session[s].traffic, channel != INPUTS, len);
    if (len) memcpy(p->bytes, bytes, len);
    return p;
}

static uint64_t delay(const struct session *s) {
    return (uint64_t)(s->delay_us + s->jitter_us * rng_exponential(&wire_rng));
}

/* Once more for each that is lost; in order; what is said in one go arrives in one. */
static void put_reliable(unsigned n, bool to_relay, enum channel channel, const uint8_t *bytes, size_t len) {
    if (plain) channel = CONTROL;
    struct session *s = &session[n];
    struct way *w = to_relay ? &s->up[channel] : &s->down[channel];
    uint64_t at_us = now_us + delay(s);
    while (!calm && rng_chance(&wire_rng, s->loss))
        at_us += (uint64_t)(3 * s->delay_us) + 20000;
    if (at_us < w->last_us || (w->last_us && w->sent_us == now_us)) at_us = w->last_us;
    w->last_us = at_us;
    w->sent_us = now_us;
    w->under_way++;
    put(n, to_relay, channel, at_us, bytes, len);
}

void wire_say(unsigned s, const uint8_t *bytes, size_t len) {
    if (s) put_reliable(s, true, CONTROL, bytes, len);
}

void wire_say_bulk(unsigned s, const uint8_t *bytes, size_t len) {
    if (s) put_reliable(s, true, BULK, bytes, len);
}

/* As net/transport has it (kl_bulk_room()). */
void wire_room(unsigned s, struct kl_channels *c) {
    const struct way *up = session[s].up;
    c->control_span = s ? up[CONTROL].under_way : 0;
    bool free_way =
        s && (plain ? up[CONTROL].under_way < 8 : !up[CONTROL].under_way && up[BULK].under_way < 8);
    c->bulk_room = free_way ? 4000 : 0;
}

void wire_datagram(unsigned s, const uint8_t *body, size_t len) {
    if (!s) return;
    session[s].sent++;
    if (!calm && rng_chance(&wire_rng, session[s].loss)) return;
    put(s, true, INPUTS, now_us + delay(&session[s]), body, len);
}

/* --- the relay's side --- */

static unsigned session_at(void *ctx, unsigned peer) {
    return at_peer[*(unsigned *)ctx][peer];
}

static struct kl_traffic relay_traffic(void *ctx, unsigned peer) {
    return session[session_at(ctx, peer)].traffic;
}

static int relay_send(void *ctx, unsigned peer, const uint8_t *bytes, size_t len) {
    if (!session_at(ctx, peer)) fail("the relay speaks to a peer that it hung up on");
    put_reliable(session_at(ctx, peer), false, CONTROL, bytes, len);
    return 0;
}
static int relay_send_bulk(void *ctx, unsigned peer, const uint8_t *bytes, size_t len) {
    if (!session_at(ctx, peer)) fail("the relay speaks to a peer that it hung up on");
    put_reliable(session_at(ctx, peer), false, BULK, bytes, len);
    return 0;
}
static unsigned down_to(unsigned n) {
    return session[n].down[CONTROL].under_way + session[n].down[BULK].under_way;
}
static size_t relay_bulk_room(void *ctx, unsigned peer) {
    const struct way *down = session[session_at(ctx, peer)].down;
    if (plain) return down[CONTROL].under_way < 8 ? 4000 : 0;
    return !down[CONTROL].under_way && down[BULK].under_way < 8 ? 4000 : 0;
}
static unsigned relay_pending(void *ctx, unsigned peer) {
    return down_to(session_at(ctx, peer));
}
static void relay_datagram(void *ctx, unsigned peer, const uint8_t *body, size_t len) {
    unsigned s = session_at(ctx, peer);
    if (!s) fail("the relay sends inputs to a peer that it hung up on");
    if (!calm && rng_chance(&wire_rng, session[s].loss)) return;
    put(s, false, INPUTS, now_us + delay(&session[s]), body, len);
}
static void relay_voice(void *ctx, unsigned peer, const uint8_t *body, size_t len) {
    (void)body, (void)len;
    if (!session_at(ctx, peer)) fail("the relay sends speech to a peer that it hung up on");
}
static void relay_hang_up(void *ctx, unsigned peer) {
    struct session *s = &session[session_at(ctx, peer)];
    s->hung_up = true;
    s->peer = PEERS;
    at_peer[*(unsigned *)ctx][peer] = 0;
}
static uint32_t relay_session(void *ctx, unsigned peer) {
    return session_at(ctx, peer);
}
static const uint8_t *relay_binding(void *ctx, unsigned peer) {
    return session[session_at(ctx, peer)].binding;
}

void wire_relay_gone(unsigned relay) {
    for (unsigned i = 0; i < PEERS; i++) {
        if (at_peer[relay][i]) session[at_peer[relay][i]].peer = PEERS;
        at_peer[relay][i] = 0;
    }
}

void relay_begin(unsigned relay) {
    static unsigned number[RELAYS] = {0, 1, 2};
    const struct kl_lobby_limits limits = {.peers = PEERS,
                                           .rooms = 2,
                                           .seats = 8,
                                           .seat_time_s = plain || fleet ? 0 : SEAT_TIME_S,
                                           .watchers = fate_watchers(),
                                           .catch_up_s = fate_catch_up_s(),
                                           .pause_s = attack_is_on() ? ATTACK_PAUSE_S : 0,
                                           .pauses_s = attack_is_on() ? ATTACK_PAUSES_S : 0};
    const struct kl_lobby_net net = {.ctx = &number[relay],
                                     .send = relay_send,
                                     .send_bulk = relay_send_bulk,
                                     .bulk_room = relay_bulk_room,
                                     .pending = relay_pending,
                                     .traffic = relay_traffic,
                                     .datagram = relay_datagram,
                                     .voice = relay_voice,
                                     .hang_up = relay_hang_up,
                                     .session = relay_session,
                                     .binding = relay_binding};
    bool again = lobby[relay] != NULL;
    if (again) kl_lobby_destroy(lobby[relay]);
    wire_relay_gone(relay);
    lobby[relay] = kl_lobby_create(&limits, &net);
    if (!lobby[relay]) fail("no memory");
    kl_lobby_set_secret(lobby[relay], relay_secret);
    fleet ? fleet_relay_begins(relay) : disk_relay_begins(again);
    kl_lobby_run(lobby[relay], again ? now_us : now_us - 60 * SECOND); /* the first is no newborn */
}

/* --- sessions --- */

unsigned wire_open(struct client *c, unsigned relay, const uint8_t binding[32]) {
    unsigned peer = 0;
    while (peer < PEERS && at_peer[relay][peer])
        peer++;
    if (peer == PEERS || sessions + 1 == SESSIONS) fail("more sessions than this test has room for");
    unsigned n = ++sessions;
    struct session *s = &session[n];
    *s = (struct session){.client = c, .relay = relay, .peer = peer, .owner = c->number};
    s->delay_us = rng_between(&wire_rng, 1000, 90000);
    s->jitter_us = rng_chance(&wire_rng, 0.5) ? 0 : rng_between(&wire_rng, 0, 8000);
    s->loss = rng_chance(&wire_rng, 0.5) ? 0 : rng_between(&wire_rng, 0, 0.05);
    if (steady_us) {
        s->delay_us = (double)steady_us;
        s->jitter_us = 300;
        s->loss = 0;
    }
    memcpy(s->binding, binding, sizeof s->binding);
    at_peer[relay][peer] = n;
    char address[24];
    snprintf(address, sizeof address, "192.0.2.%u:5", lives_at[c->number] ? lives_at[c->number] : 1);
    kl_lobby_opened(lobby[relay], peer, address, now_us);
    return n;
}

void wire_break(unsigned n, uint64_t learns_us) {
    if (!n) return;
    struct session *s = &session[n];
    s->client = NULL;
    if (s->peer < PEERS) s->learns_us = now_us + learns_us;
    for (unsigned i = 0; i < top; i++)
        if (due_us[i] != FREE && packet[i].session == n && packet[i].channel != OUTSIDE) due_us[i] = FREE;
    s->up[CONTROL].under_way = s->down[CONTROL].under_way = 0;
    s->up[BULK].under_way = s->down[BULK].under_way = 0;
}

void wire_detach(unsigned n) {
    session[n].client = NULL;
}

/* --- handshakes --- */

static void put_stranger(const struct client *c, unsigned relay, bool to_relay, const uint8_t *bytes,
                         size_t len) {
    uint64_t delay_us = rng_range(&wire_rng, 1000, 90000);
    if (now_us < c->cut_us || (!calm && rng_chance(&wire_rng, 0.02))) return;
    put(c->number, to_relay, OUTSIDE, now_us + delay_us, bytes, len)->relay = relay;
}

void wire_stranger(struct client *c, unsigned relay, const uint8_t *bytes, size_t len) {
    put_stranger(c, relay, true, bytes, len);
}

static void deliver_stranger(struct client *c, unsigned relay, bool to_relay, const uint8_t *bytes,
                             size_t len) {
    static uint32_t number;
    const uint8_t address[KL_HS_ADDRESS] = {192, 0, 2, 1, (uint8_t)c->number};
    uint8_t reply[KL_STRANGER_MAX];
    struct kl_hs_request req;
    struct kl_session_keys keys;
    size_t reply_len = 0;
    if (now_us < c->cut_us) return;
    if (!to_relay) {
        client_stranger(c, relay, bytes, len);
        return;
    }
    switch (kl_hs_relay_receive(&doorman[relay], now_us, address, bytes, len, &req, reply, &reply_len)) {
    case KL_HS_DROP: fail("%s: the relay drops a handshake", c->name);
    case KL_HS_REPLY: break;
    case KL_HS_WANTS:
        if (kl_hs_relay_answer(&doorman[relay], &req, ++number, &keys, reply, &reply_len) != KL_OK)
            fail("%s: no answer to a handshake", c->name);
    }
    put_stranger(c, relay, false, reply, reply_len);
}

/* In a fleet: the way is cut, or the relay is gone, or stands still. Reliable messages wait for the way, and
 * all for a relay that stands still. */
static bool is_stopped(struct packet *p) {
    const struct session *s = &session[p->session];
    const bool outside = p->channel == OUTSIDE;
    const unsigned relay = outside ? p->relay : s->relay;
    const bool stands = p->to_relay && fleet_stands(relay);
    if (fleet_way(relay, outside ? p->session : s->owner) && !stands) return false;
    const bool stays = stands || p->channel == CONTROL || p->channel == BULK;
    due_us[p - packet] = stays ? now_us + AGAIN_US : FREE;
    return true;
}

static void deliver(struct packet *p) {
    if (fleet && is_stopped(p)) return;
    unsigned number = p->session;
    struct session *s = &session[number];
    static uint8_t bytes[KL_MSG_MAX];
    size_t len = p->len;
    enum channel channel = p->channel;
    unsigned missing = 0, at = p->number;
    bool reliable = channel == CONTROL || channel == BULK, to_relay = p->to_relay;
    memcpy(bytes, p->bytes, len);
    due_us[p - packet] = FREE;
    while (top && due_us[top - 1] == FREE)
        top--;
    if (channel == OUTSIDE) {
        deliver_stranger(&client[number], p->relay, to_relay, bytes, len);
        return;
    }
    if (reliable) (to_relay ? s->up : s->down)[channel].under_way--;
    if (s->client || to_relay) count_arrived(s, to_relay, reliable, len);
    if (to_relay && channel == INPUTS) {
        if (at > s->newest) s->newest = at;
        missing = s->newest - ++s->come;
    }
    if (to_relay && s->peer < PEERS) {
        if (reliable)
            kl_lobby_message(lobby[s->relay], s->peer, bytes, len, now_us);
        else
            kl_lobby_datagram(lobby[s->relay], s->peer, bytes, len, missing, 0, now_us);
    }
    if (to_relay || !s->client) return;
    if (reliable)
        client_hears(s->client, bytes, len);
    else
        client_update(s->client, bytes, len);
}

static struct packet *next_due(void) {
    unsigned next = PACKETS;
    for (unsigned i = 0; i < top; i++) {
        if (due_us[i] > now_us) continue;
        bool sooner = next == PACKETS || due_us[i] < due_us[next] ||
                      (due_us[i] == due_us[next] && packet[i].order < packet[next].order);
        if (sooner) next = i;
    }
    return next < PACKETS ? &packet[next] : NULL;
}

/* ENet's pings: an empty datagram stands for one, and tells the client no more than that the relay is there.
 */
static void ping(void) {
    if (now_us % SECOND >= STEP_US) return;
    for (unsigned n = 1; n <= sessions; n++)
        if (session[n].client && session[n].peer < PEERS && !session[n].learns_us &&
            (!fleet || fleet_runs(session[n].relay)))
            put(n, false, INPUTS, now_us + delay(&session[n]), NULL, 0);
}

void wire_step(void) {
    struct packet *p;
    ping();
    while ((p = next_due()) != NULL)
        deliver(p);
    for (unsigned n = 1; n <= sessions; n++) {
        struct session *s = &session[n];
        if (s->hung_up && s->client && !down_to(n)) {
            struct client *c = s->client;
            s->client = NULL;
            client_hung_up(c);
        }
        if (!s->learns_us || now_us < s->learns_us || (fleet && !fleet_runs(s->relay))) continue;
        s->learns_us = 0;
        if (s->peer == PEERS) continue;
        unsigned peer = s->peer;
        s->peer = PEERS;
        kl_lobby_lost(lobby[s->relay], peer, now_us);
        at_peer[s->relay][peer] = 0;
    }
}
