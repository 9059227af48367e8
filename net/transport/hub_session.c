#include <string.h>

#include "net/engine/engine.h"
#include "net/platform/socket.h"
#include "net/transport/hub_state.h"
#include "net/transport/rate.h"

#define SWEEP_US 100000

#define SECOND_NS UINT64_C(1000000000)
#define EXCESS_NS (10 * SECOND_NS) /* of excess, after which the sender is put out */

/* --- slots --- */

struct kl_hub_session *kl_hub_find(struct kl_hub *hub, uint32_t number) {
    unsigned n = kl_gate_slot(number);
    if (number == 0 || n >= hub->limits.peers) return NULL;
    struct kl_hub_session *s = &hub->session[n];
    return s->state != KL_SESSION_FREE && s->number == number ? s : NULL;
}

static void set_used(struct kl_hub *hub, const struct kl_hub_session *s, bool used) {
    size_t n = (size_t)(s - hub->session);
    uint64_t bit = UINT64_C(1) << n % 64;
    hub->used[n / 64] = used ? hub->used[n / 64] | bit : hub->used[n / 64] & ~bit;
}

/* A session whose first datagram has come. Results as of kl_gate_enter(). */
static int enter(struct kl_hub *hub, uint8_t *bytes, size_t len, struct kl_opened *first,
                 struct kl_hub_session **out) {
    struct kl_gate_session g;
    int result = kl_gate_enter(hub->gate, bytes, len, &g, first);
    if (result != 0) return result;
    struct kl_hub_session *s = &hub->session[kl_gate_slot(g.keys.session)];
    memset(s, 0, sizeof *s);
    s->number = g.keys.session;
    s->state = KL_SESSION_OPEN;
    set_used(hub, s, true);
    s->until_us = hub->now_us + KL_UNCONNECTED_US;
    s->since_us = hub->now_us;
    s->home = g.home;
    kl_path_init(&s->path, &g.home);
    memcpy(s->binding, g.keys.binding, sizeof s->binding);
    kl_sealer_init(&s->sealer, &g.keys, g.keys.down);
    s->opener = g.opener;
    sodium_memzero(&g, sizeof g);
    *out = s;
    return 0;
}

void kl_hub_free(struct kl_hub *hub, struct kl_hub_session *s) {
    ENetPeer *enet = kl_hub_enet_peer(hub, s);
    if (enet) enet_peer_reset(enet);
    kl_gate_leave(hub->gate, kl_gate_slot(s->number));
    s->traffic.up = s->opener.bytes;
    s->traffic.down = s->sealer.bytes;
    sodium_memzero(&s->sealer, sizeof s->sealer);
    sodium_memzero(&s->opener, sizeof s->opener);
    s->state = KL_SESSION_FREE;
    set_used(hub, s, false);
    s->enet = NULL;
}

/* --- a relay that is full --- */

#define IDLE_US 200000 /* a session may do nothing for so long, whatever others want */
#define AT_ONCE 32     /* slots: so that a newcomer need not be quicker than the next one */

static bool is_idle(const struct kl_hub *hub, const struct kl_hub_session *s) {
    return s->state != KL_SESSION_FREE && !s->settled && hub->now_us >= s->since_us + IDLE_US;
}

/* Idle sessions by person (kl_address_person()), in a table of twice as many places as there are sessions. */
struct tally {
    struct {
        uint64_t who;
        uint16_t count;
    } at[2 * (KL_HUB_PEERS_MAX + 1)];
};

static uint16_t *count_of(struct tally *t, const struct kl_hub_session *s) {
    const size_t places = sizeof t->at / sizeof t->at[0];
    const uint64_t who = kl_address_person(&s->home);
    size_t i = (who * UINT64_C(0x9e3779b97f4a7c15) >> 32) % places;
    while (t->at[i].count && t->at[i].who != who)
        i = (i + 1) % places;
    t->at[i].who = who;
    return &t->at[i].count;
}

/* The oldest of the address with most of them; NULL: there is none. */
static struct kl_hub_session *most_idle(struct kl_hub *hub, struct tally *t, unsigned *most) {
    struct kl_hub_session *best = NULL;
    *most = 0;
    for (unsigned n = 0; n < hub->limits.peers; n++) {
        struct kl_hub_session *s = &hub->session[n];
        if (!is_idle(hub, s)) continue;
        unsigned count = *count_of(t, s);
        if (count < *most || (best && count == *most && s->since_us >= best->since_us)) continue;
        best = s;
        *most = count;
    }
    return best;
}

bool kl_hub_make_room(void *ctx) {
    struct kl_hub *hub = ctx;
    struct tally t = {0};
    unsigned most, freed = 0;
    for (unsigned n = 0; n < hub->limits.peers; n++)
        if (is_idle(hub, &hub->session[n])) ++*count_of(&t, &hub->session[n]);
    for (; freed < AT_ONCE; freed++) {
        struct kl_hub_session *s = most_idle(hub, &t, &most);
        if (!s || (freed && most < 2)) break;
        --*count_of(&t, s);
        bool told = s->state == KL_SESSION_OPEN && s->enet;
        hub->stats.peers -= told;
        kl_hub_free(hub, s);
        if (told) hub->handler.lost(hub->handler.ctx, kl_gate_slot(s->number));
    }
    return freed;
}

/* --- a session's addresses --- */

static void send_claim(struct kl_hub *hub, struct kl_path_claim *c, const void *bytes, size_t len) {
    if (len && kl_path_spend(c, len)) kl_hub_send_raw(hub, &c->at, bytes, len);
}

void kl_hub_send_update(struct kl_hub *hub, struct kl_hub_session *s, const void *body, size_t len) {
    uint8_t bytes[KL_DATAGRAM_MAX + KL_SEAL_OVERHEAD];
    if (len + KL_SEAL_OVERHEAD > sizeof bytes) return;
    size_t sealed = kl_seal(&s->sealer, KL_SEAL_UPDATE, body, len, bytes);
    if (sealed) kl_hub_send_raw(hub, &s->home, bytes, sealed);
    s->traffic.frames += sealed;
    for (unsigned i = 0; i < KL_PATH_CLAIMS; i++)
        send_claim(hub, &s->path.claim[i], bytes, sealed);
}

static void send_challenges(struct kl_hub *hub, struct kl_hub_session *s) {
    struct kl_path_claim *c;
    uint8_t body[1 + KL_CHALLENGE] = {0}, bytes[sizeof body + KL_SEAL_OVERHEAD];
    while ((c = kl_path_due(&s->path, hub->now_us))) {
        memcpy(body + 1, c->challenge, KL_CHALLENGE);
        size_t sealed = kl_seal(&s->sealer, KL_SEAL_PATH, body, sizeof body, bytes);
        send_claim(hub, c, bytes, sealed);
    }
}

static void heard(struct kl_hub *hub, struct kl_hub_session *s, const struct kl_address *from,
                  const struct kl_opened *o, bool repeated, size_t len) {
    kl_path_heard(&s->path, hub->now_us, from, o->counter, o->newest, repeated, len);
    send_challenges(hub, s);
}

void kl_hub_path(struct kl_hub *hub, struct kl_hub_session *s, const struct kl_address *from,
                 const struct kl_opened *o) {
    if (o->len != 1 + KL_CHALLENGE || o->body[0] != 1 ||
        !kl_path_answer(&s->path, from, o->counter, o->body + 1)) {
        hub->stats.unfit++;
        return;
    }
    s->home = *from;
    kl_gate_moved(hub->gate, kl_gate_slot(s->number), from);
    hub->stats.moves++;
    if (!s->enet || s->state != KL_SESSION_OPEN || !hub->handler.moved) return;
    char address[KL_PLACE_TEXT];
    kl_address_place(address, &s->home);
    hub->handler.moved(hub->handler.ctx, kl_gate_slot(s->number), address);
}

/* --- datagrams --- */

static bool within_limits(struct kl_hub *hub, struct kl_hub_session *s, size_t len) {
    uint64_t now_ns = hub->now_us * 1000;
    return kl_rate_let_in(&s->datagrams_ns, now_ns, SECOND_NS / hub->limits.datagrams, SECOND_NS) &&
           kl_rate_let_in(&s->bytes_ns, now_ns, len * SECOND_NS / (hub->limits.kbytes * UINT64_C(1024)),
                          SECOND_NS);
}

bool kl_hub_paced(struct kl_hub *hub, struct kl_hub_session *s, const uint16_t pieces[KL_ENET_CHANNELS]) {
    const unsigned limit[KL_ENET_CHANNELS] = {
        [KL_CHANNEL_CONTROL] = hub->limits.messages, [KL_CHANNEL_BULK] = hub->limits.pieces};
    for (unsigned i = 0; i < KL_ENET_CHANNELS; i++)
        if (pieces[i] && limit[i] &&
            !kl_rate_let_in(&s->pieces_ns[i], hub->now_us * 1000, pieces[i] * SECOND_NS / limit[i],
                            SECOND_NS)) {
            hub->stats.slowed++;
            return false;
        }
    return true;
}

void kl_hub_put_out(struct kl_hub *hub, struct kl_hub_session *s, const char *why) {
    unsigned peer = kl_gate_slot(s->number);
    if (s->state != KL_SESSION_OPEN || !s->enet) return;
    hub->stats.flooded++;
    if (hub->handler.flooded) hub->handler.flooded(hub->handler.ctx, peer, why);
    kl_hub_disconnect(hub, peer);
}

void kl_hub_blame(struct kl_hub *hub, struct kl_hub_session *s, unsigned per_s) {
    if (!kl_rate_let_in(&s->excess_ns, hub->now_us * 1000, SECOND_NS / per_s, EXCESS_NS))
        kl_hub_put_out(hub, s, "your machine sends more than this relay accepts");
}

/* While a claim is open: a repetition tells where else the client may be. An answer to a challenge is good in
 * a repetition too, for a copy of it from elsewhere proves nothing. */
static void take_repeated(struct kl_hub *hub, struct kl_hub_session *s, const struct kl_address *from,
                          uint8_t *bytes, size_t len) {
    struct kl_opened o;
    if (!within_limits(hub, s, len) || kl_open_repeated(&s->opener, bytes, len, &o) != 0) return;
    heard(hub, s, from, &o, true, len);
    if (o.kind == KL_SEAL_PATH) kl_hub_path(hub, s, from, &o);
}

struct kl_hub_session *kl_hub_take(struct kl_hub *hub, const struct kl_address *from, uint8_t *bytes,
                                   size_t len, struct kl_opened *o) {
    uint32_t number = kl_seal_session(bytes, len);
    struct kl_hub_session *s = kl_hub_find(hub, number);
    int result = s ? kl_open(&s->opener, bytes, len, o) : enter(hub, bytes, len, o, &s);
    if (result == KL_E_WINDOW && kl_path_moving(&s->path)) take_repeated(hub, s, from, bytes, len);
    if (result != 0) {
        *(result == KL_E_STATE    ? &hub->stats.strange
          : result == KL_E_WINDOW ? &hub->stats.replayed
                                  : &hub->stats.forged) += 1;
        return NULL;
    }
    if (!within_limits(hub, s, len)) {
        hub->stats.limited++;
        kl_hub_blame(hub, s, hub->limits.datagrams);
        return NULL;
    }
    heard(hub, s, from, o, false, len);
    return s;
}

void kl_hub_sweep(struct kl_hub *hub) {
    hub->sweep_us = hub->now_us + SWEEP_US;
    kl_gate_sweep(hub->gate, hub->now_us);
    for (unsigned i = 0; i < sizeof hub->used / sizeof hub->used[0]; i++)
        for (uint64_t left = hub->used[i]; left; left &= left - 1) {
            struct kl_hub_session *s = &hub->session[64 * i + (unsigned)__builtin_ctzll(left)];
            bool waits = s->state != KL_SESSION_OPEN || !s->enet;
            bool over = s->state == KL_SESSION_ENDING && (!s->enet || s->enet->connectID != s->number);
            if (over || (waits && hub->now_us >= s->until_us))
                kl_hub_free(hub, s);
            else
                send_challenges(hub, s);
        }
}
