#include "net/transport/gate.h"

#include <stdlib.h>
#include <string.h>

#include "net/engine/engine.h"
#include "net/transport/rate.h"

#define PROBES 4

/* cells: 1..KL_HALF_OPEN_MAX. NULL: no memory. */
static struct kl_half_opens *half_open_make(unsigned cells) {
    struct kl_half_opens *t = calloc(1, sizeof *t + cells * sizeof t->cell[0]);
    if (!t) return NULL;
    t->cells = cells;
    randombytes_buf(t->secret, sizeof t->secret);
    return t;
}

static void half_open_free(struct kl_half_opens *t) {
    if (t) sodium_memzero(t, sizeof *t + t->cells * sizeof t->cell[0]);
    free(t);
}

/* The cells that this INIT may have. */
static void probe(const struct kl_half_opens *t, const uint8_t init[KL_INIT_BYTES], unsigned at[PROBES]) {
    uint16_t hash[PROBES];
    crypto_shorthash((uint8_t *)hash, init, KL_INIT_BYTES, t->secret);
    for (unsigned i = 0; i < PROBES; i++)
        at[i] = hash[i] % t->cells;
}

/* The one that this INIT has made, or NULL. */
static struct kl_half_open *half_open_of(struct kl_half_opens *t, const uint8_t init[KL_INIT_BYTES]) {
    unsigned at[PROBES];
    probe(t, init, at);
    for (unsigned i = 0; i < PROBES; i++) {
        struct kl_half_open *h = &t->cell[at[i]];
        if (h->number && memcmp(h->init, init, KL_INIT_BYTES) == 0) return h;
    }
    return NULL;
}

/* The one of this number, or NULL. */
static struct kl_half_open *half_open_find(struct kl_half_opens *t, uint32_t number) {
    unsigned cell = number >> (32 - KL_HALF_OPEN_BITS);
    return number && cell < t->cells && t->cell[cell].number == number ? &t->cell[cell] : NULL;
}

/* A free one, else one of those that ask often, else any. */
static unsigned cell_for(const struct kl_half_opens *t, const uint8_t init[KL_INIT_BYTES]) {
    unsigned at[PROBES], first = randombytes_uniform(PROBES);
    probe(t, init, at);
    unsigned cell = at[first];
    for (unsigned i = 0; i < PROBES; i++) {
        unsigned n = at[(first + i) % PROBES];
        if (!t->cell[n].number) return n;
        if (t->cell[cell].seldom && !t->cell[n].seldom) cell = n;
    }
    return cell;
}

static void half_open_forget(struct kl_half_opens *t, struct kl_half_open *h) {
    sodium_memzero(h, sizeof *h);
    t->count--;
}

/* A new one with a number whose low bits, all but KL_HALF_OPEN_BITS, are `low`, which is not 0; the caller
 * fills in keys and answer. Never NULL. */
static struct kl_half_open *half_open_add(struct kl_half_opens *t, const uint8_t init[KL_INIT_BYTES],
                                          const struct kl_address *from, bool seldom, uint32_t low,
                                          uint64_t now_us) {
    unsigned cell = cell_for(t, init);
    struct kl_half_open *h = &t->cell[cell];
    if (h->number) half_open_forget(t, h);
    h->number = (uint32_t)cell << (32 - KL_HALF_OPEN_BITS) | low;
    h->from = *from;
    h->seldom = seldom;
    h->until_us = now_us + KL_HALF_OPEN_US;
    memcpy(h->init, init, KL_INIT_BYTES);
    t->count++;
    return h;
}

/* Forgets those whose time is up. */
static void half_open_sweep(struct kl_half_opens *t, uint64_t now_us) {
    for (unsigned i = 0; i < t->cells && t->count; i++)
        if (t->cell[i].number && now_us >= t->cell[i].until_us) half_open_forget(t, &t->cell[i]);
}

#define RATE_US (10 * 1000000ULL)

#define GET(x)    atomic_load_explicit(&(x), memory_order_relaxed)
#define PUT(x, v) atomic_store_explicit(&(x), (v), memory_order_relaxed)

/* Handshakes cost 0.1 ms each. So many a second take a fifth of a processor. */
#define CURVES_PER_S   2000
#define CURVES_AT_ONCE 64
#define SELDOM         2   /* in 10 s, of one address */
#define SELDOM_NET     128 /* of its network */
#define SECOND_NS      UINT64_C(1000000000)

struct kl_gate *kl_gate_make(const struct kl_hub_limits *limits, const struct kl_keypair *own,
                             uint8_t ciphers, struct kl_shards *shards, uint64_t now_us) {
    struct kl_gate *g = calloc(1, sizeof *g);
    if (!g) return NULL;
    kl_hs_relay_begin(&g->handshake, own, ciphers, now_us);
    g->limits = *limits;
    g->shards = shards ? shards : &g->alone;
    if (!shards) kl_shards_begin(&g->alone, calloc(1, sizeof *g->own), 1);
    if (g->shards->all) g->own = &g->shards->all[g->shards->own];
    kl_hs_relay_share(&g->handshake, g->shards->secret);
    g->init = calloc(limits->peers, sizeof g->init[0]);
    g->half_open = half_open_make(limits->half_open);
    if (g->own && g->init && g->half_open) return g;
    kl_gate_free(g);
    return NULL;
}

void kl_gate_free(struct kl_gate *g) {
    if (!g) return;
    kl_hs_relay_end(&g->handshake);
    half_open_free(g->half_open);
    free(g->alone.all);
    free(g->init);
    free(g);
}

/* --- slots --- */

/* In turn: until a slot comes again, whoever it was for has had the time to take it. limits.peers if the
 * relay is full. */
static unsigned vacant(struct kl_gate *g) {
    for (unsigned i = 0; i < g->limits.peers; i++) {
        unsigned n = (g->next + i) % g->limits.peers;
        if (GET(g->own->holder[n])) continue;
        g->next = n + 1;
        return n;
    }
    return g->limits.peers;
}

void kl_gate_moved(struct kl_gate *g, unsigned slot, const struct kl_address *to) {
    PUT(g->own->holder[slot], kl_address_person(to));
}
void kl_gate_leave(struct kl_gate *g, unsigned slot) {
    PUT(g->own->holder[slot], 0);
}

/* --- limits --- */

/* The person's cell. If all its possible cells are taken, the oldest gives way. An attacker with many
 * addresses gets past this limit, but not past those on sessions. */
static struct kl_shard_cell *cell_now(const struct kl_gate *g, struct kl_shard_cell *cells, uint64_t who,
                                      uint64_t now_us) {
    struct kl_shard_cell *c = kl_shards_cell(g->shards, cells, who);
    if (GET(c->who) == who && now_us - GET(c->since_us) < RATE_US) return c;
    PUT(c->count, 0);
    PUT(c->last, 0);
    PUT(c->who, who);
    PUT(c->since_us, now_us);
    return c;
}

static void add_one(struct kl_shard_cell *c) {
    PUT(c->count, GET(c->count) + 1);
}

/* Handshakes of the last ten seconds, this one included. A client that was not answered asks again, and asks
 * no oftener for that. */
struct often {
    unsigned address, network;
};
static struct often how_often(struct kl_gate *g, uint64_t who, const struct kl_hs_request *req,
                              uint64_t now_us) {
    const uint64_t around = kl_address_around(who), since_us = now_us > RATE_US ? now_us - RATE_US : 0;
    struct kl_shard_cell *address = cell_now(g, g->own->rate, who, now_us);
    struct kl_shard_cell *network = cell_now(g, g->own->net_rate, around, now_us);
    uint32_t mark;
    memcpy(&mark, req->init + KL_INIT_CHANCE, sizeof mark);
    mark ^= req->init[KL_INIT_BUCKET]; /* the cookie is good for each of them */
    if (GET(address->count) == 0 || GET(address->last) != mark) {
        add_one(address);
        add_one(network);
    }
    PUT(address->last, mark);
    return (struct often){GET(address->count) + kl_shards_asked(g->shards, false, who, since_us),
                          GET(network->count) + kl_shards_asked(g->shards, true, around, since_us)};
}

unsigned kl_gate_curves(const struct kl_gate *g, uint64_t now_us) {
    return g->curves_us == now_us ? g->curves : 0;
}

/* Whether there is processor time for this handshake now. Half of a burst is kept for those who asked seldom.
 */
static bool affordable(struct kl_gate *g, uint64_t now_us, bool seldom) {
    unsigned curves = kl_gate_curves(g, now_us);
    if (curves >= CURVES_AT_ONCE) return false;
    if (!kl_rate_let_in(&g->curves_ns, now_us * 1000, SECOND_NS / CURVES_PER_S,
                        seldom ? SECOND_NS / 4 : SECOND_NS / 8))
        return false;
    g->curves_us = now_us;
    g->curves = curves + 1;
    return true;
}

/* --- INIT --- */

/* This very INIT has made a session. */
static bool has_made(const struct kl_gate *g, uint64_t who, const struct kl_hs_request *req) {
    for (unsigned n = 0; n < g->limits.peers; n++)
        if (GET(g->own->holder[n]) == who && memcmp(g->init[n], req->init, sizeof req->init) == 0)
            return true;
    return false;
}

static size_t again(const struct kl_half_open *h, uint8_t *reply) {
    memcpy(reply, h->answer, h->answer_len);
    return h->answer_len;
}

static size_t refuse(struct kl_gate *g, const struct kl_hs_request *req, uint8_t code, uint8_t *reply) {
    size_t len = 0;
    g->stats.refused++;
    kl_hs_relay_refuse(req, code, reply, &len);
    return len;
}

/* Never 0: there are at least two that lead to each shard. */
static uint32_t shard_bits(const struct kl_gate *g) {
    const unsigned count = g->shards->count, own = g->shards->own;
    const unsigned choices = ((1U << KL_SHARD_BITS) - own + count - 1) / count;
    return own ? own + count * randombytes_uniform(choices) : count * (1 + randombytes_uniform(choices - 1));
}

static size_t make_half_open(struct kl_gate *g, uint64_t now_us, const struct kl_address *from,
                             const struct kl_hs_request *req, bool seldom, unsigned slot, uint8_t *reply) {
    struct kl_half_open *h =
        half_open_add(g->half_open, req->init, from, seldom, shard_bits(g) << KL_PEER_BITS | slot, now_us);
    if (kl_hs_relay_answer(&g->handshake, req, h->number, &h->keys, h->answer, &h->answer_len) == 0)
        return again(h, reply);
    half_open_forget(g->half_open, h);
    g->stats.malformed++;
    return 0;
}

/* The address is proved; it is in the cookie, so a repetition comes from the same. */
static size_t on_request(struct kl_gate *g, uint64_t now_us, const struct kl_address *from,
                         const struct kl_hs_request *req, uint8_t *reply) {
    const struct kl_half_open *h = half_open_of(g->half_open, req->init);
    const uint64_t who = kl_address_person(from);
    if (h) return again(h, reply);
    if (has_made(g, who, req)) {
        g->stats.replayed++;
        return 0;
    }
    struct often often = how_often(g, who, req, now_us);
    bool seldom = often.address <= SELDOM && often.network <= SELDOM_NET;
    unsigned slot;
    if (often.address > g->limits.handshakes ||
        kl_shards_sessions(g->shards, g->limits.peers, who) >= g->limits.per_address)
        return refuse(g, req, KL_HS_REFUSED_LIMIT, reply);
    slot = vacant(g);
    if (slot == g->limits.peers && g->make_room && g->make_room(g->ctx)) slot = vacant(g);
    if (slot == g->limits.peers) return refuse(g, req, KL_HS_REFUSED_FULL, reply);
    if (affordable(g, now_us, seldom)) return make_half_open(g, now_us, from, req, seldom, slot, reply);
    g->stats.refused++; /* not told: the client asks again in 250 ms */
    return 0;
}

size_t kl_gate_ask(struct kl_gate *g, uint64_t now_us, const struct kl_address *from, const uint8_t *bytes,
                   size_t len, uint8_t reply[KL_STRANGER_MAX]) {
    uint8_t address[KL_HS_ADDRESS] = {[16] = (uint8_t)(from->port >> 8), [17] = (uint8_t)from->port};
    struct kl_hs_request req;
    size_t reply_len = 0;
    memcpy(address, from->host, sizeof from->host);
    switch (kl_hs_relay_receive(&g->handshake, now_us, address, bytes, len, &req, reply, &reply_len)) {
    case KL_HS_DROP: g->stats.malformed++; return 0;
    case KL_HS_REPLY: g->stats.cookies += reply[1] == KL_HS_COOKIE; return reply_len;
    case KL_HS_WANTS: return on_request(g, now_us, from, &req, reply);
    }
    return 0;
}

/* --- the first datagram of a session --- */

int kl_gate_enter(struct kl_gate *g, uint8_t *bytes, size_t len, struct kl_gate_session *out,
                  struct kl_opened *first) {
    struct kl_half_open *h = half_open_find(g->half_open, kl_seal_session(bytes, len));
    if (!h) return KL_E_STATE;
    unsigned slot = kl_gate_slot(h->number);
    const uint64_t who = kl_address_person(&h->from);
    if (GET(g->own->holder[slot]) ||
        kl_shards_sessions(g->shards, g->limits.peers, who) >= g->limits.per_address)
        return KL_E_STATE;
    kl_opener_init(&out->opener, &h->keys, h->keys.up);
    if (kl_open(&out->opener, bytes, len, first) != 0) {
        sodium_memzero(&out->opener, sizeof out->opener);
        return KL_E_MALFORMED;
    }
    out->keys = h->keys;
    out->home = h->from;
    PUT(g->own->holder[slot], who);
    memcpy(g->init[slot], h->init, sizeof g->init[slot]);
    half_open_forget(g->half_open, h);
    g->stats.handshakes++;
    return 0;
}

void kl_gate_sweep(struct kl_gate *g, uint64_t now_us) {
    half_open_sweep(g->half_open, now_us);
}
