/* Strangers at the relay's gate in virtual time: floods of handshakes left half open, from addresses that
 * prove themselves, while newcomers come and players return; from seeds. net/PROTOCOL.md §9.
 *
 * runs: working, check, 4 s
 *
 * runs: working, all, 60 s: SEEDS=15
 *
 * The honest are clients of net/client/dial.h over links with a round trip, jitter and loss.
 * KEYLOCK_SEED: that seed alone. */
#include "tests/unit/unit.h"
#include "tests/lib/rng.h"

#include <stdlib.h>

#include "net/client/dial.h"
#include "net/transport/gate.h"

#define PEERS     4095
#define SECOND_US UINT64_C(1000000)
#define STEP_US   1000
#define FLYING    256  /* of the honest */
#define PROOFS    4096 /* of the flood, under way */
#define HONEST    400
#define PLAYERS   100 /* of 50 rooms, before the flood */
#define AGAIN_US  250000
#define IN_US     (2 * SECOND_US) /* and AGAIN_US for each datagram that its link loses */

/* --- chance: the test's and libsodium's, both from the seed --- */

static struct rng chance;

static uint32_t any(uint32_t below) {
    return rng_below(&chance, below);
}
static const char *chance_name(void) {
    return "the test's seed";
}
static uint32_t chance_u32(void) {
    return any(65536) << 16 | any(65536);
}
static void chance_bytes(void *const to, const size_t len) {
    for (size_t i = 0; i < len; i += 2) {
        uint32_t two = any(65536);
        memcpy((uint8_t *)to + i, &two, len - i < 2 ? 1 : 2);
    }
}
static struct randombytes_implementation from_seed = {
    .implementation_name = chance_name, .random = chance_u32, .buf = chance_bytes};

/* --- the world --- */

struct flood {
    const char *name;
    unsigned addresses, handshakes, seconds;
    bool scattered; /* each address is of a network of its own */
    bool in_one_64; /* all of them are of one IPv6 network */
};
static const struct flood floods[] = {
    {"60,000 in 10 s from 4,000 addresses", 4000, 60000, 10, false, false},
    {"60,000 in 30 s from 15,000 addresses", 15000, 60000, 30, false, false},
    {"300 a second from 14 addresses", 14, 3000, 10, false, false},
    {"60,000 in 10 s from 4,000 networks", 4000, 60000, 10, true, false},
    {"60,000 in 10 s from one /64", 4000, 60000, 10, true, true},
};

struct flying {
    uint64_t due_us; /* 0: none */
    unsigned honest; /* to or from */
    size_t len;
    uint8_t bytes[KL_INIT_BYTES];
};

/* One of the flood's addresses has sent INIT, and sends it again with the cookie. */
struct proof {
    uint64_t due_us;
    struct kl_address from;
    uint8_t init[KL_INIT_BYTES];
};

static struct world {
    struct kl_gate *gate;
    const struct flood *flood;
    uint64_t seed, now_us, begin_us;
    struct flying up[FLYING], down[FLYING];
    struct proof proof[PROOFS]; /* in order of time */
    unsigned proofs, proved, begun, longest_ms, most_half_open;
    struct honest {
        struct kl_dial dial;
        struct kl_sealer sealer;
        struct kl_address at;
        uint64_t trip_us, begun_us, again_us, until_us;
        unsigned loss, slot, old_slot; /* old_slot: of the session before, PEERS: none */
        bool comes, in;
    } honest[HONEST];
    unsigned coming;
} w;

/* --- the relay: what the hub does with a datagram, without ENet and socket --- */

static size_t relay_hears(const struct kl_address *from, uint8_t *bytes, size_t len,
                          uint8_t reply[KL_STRANGER_MAX]) {
    size_t reply_len = kl_gate_ask(w.gate, w.now_us, from, bytes, len, reply);
    if (reply_len > len) fail_msg("seed %llu: %zu bytes for %zu", (unsigned long long)w.seed, reply_len, len);
    unsigned count = w.gate->half_open->count;
    if (count > w.most_half_open) w.most_half_open = count;
    assert_true(count <= w.gate->limits.half_open);
    return reply_len;
}

/* --- the flood --- */

static struct kl_address flood_address(unsigned n) {
    uint8_t near[4] = {100, 64, (uint8_t)(n / 250), (uint8_t)(1 + n % 250)};
    uint8_t far[4] = {(uint8_t)(100 + n / 50000), (uint8_t)(n / 250), (uint8_t)(n % 250), (uint8_t)(n % 7)};
    uint16_t port = (uint16_t)(1024 + any(60000));
    if (!w.flood->in_one_64) return kl_address_v4(w.flood->scattered ? far : near, port);
    struct kl_address at = {.host = {0x20, 0x01, 0x0d, 0xb8}, .port = port};
    randombytes_buf(at.host + 8, 8);
    return at;
}

/* A key that somebody invented: nothing is computed for it. */
static void flood_asks(void) {
    uint8_t reply[KL_STRANGER_MAX];
    struct kl_hs_client c = {.offers = KL_CIPHER_CHACHA20};
    struct proof *p = &w.proof[w.proofs % PROOFS];
    assert_true(w.proofs - w.proved < PROOFS);
    randombytes_buf(c.ephemeral.pub, sizeof c.ephemeral.pub);
    kl_hs_client_init(&c, p->init);
    p->from = flood_address(w.begun % w.flood->addresses);
    p->due_us = w.now_us + 30000;
    size_t len = relay_hears(&p->from, p->init, KL_INIT_BYTES, reply);
    assert_true(len > 33 && reply[1] == KL_HS_COOKIE);
    memcpy(p->init + 40, reply + 18, 16);
    w.proofs++;
    w.begun++;
}

/* And something sealed for a session that may be waiting: it is not, or the keys are wrong. */
static void flood_forges(void) {
    struct kl_opened o;
    struct kl_gate_session s;
    uint8_t bytes[64] = {KL_SEAL_MAGIC, KL_SEAL_CTRL};
    uint32_t number = w.gate->half_open->cell[any(w.gate->half_open->cells)].number; /* it guesses well */
    memcpy(bytes + 2, &number, sizeof number);
    randombytes_buf(bytes + 6, sizeof bytes - 6);
    assert_int_not_equal(kl_gate_enter(w.gate, bytes, sizeof bytes, &s, &o), 0);
}

static void flood_turn(void) {
    uint8_t reply[KL_STRANGER_MAX];
    uint64_t since_us = w.now_us - w.begin_us;
    unsigned due = (unsigned)(since_us * w.flood->handshakes / (w.flood->seconds * SECOND_US));
    while (w.begun < due)
        flood_asks();
    for (; w.proved < w.proofs && w.proof[w.proved % PROOFS].due_us <= w.now_us; w.proved++) {
        struct proof *p = &w.proof[w.proved % PROOFS];
        relay_hears(&p->from, p->init, KL_INIT_BYTES, reply);
        if (any(4) == 0) relay_hears(&p->from, p->init, KL_INIT_BYTES, reply);
        if (any(8) == 0) flood_forges();
    }
}

/* --- the honest --- */

static void fly(struct flying *all, unsigned n, const uint8_t *bytes, size_t len) {
    struct honest *h = &w.honest[n];
    if (any(100) < h->loss) {
        h->until_us += AGAIN_US; /* its link's doing, not the flood's */
        return;
    }
    for (unsigned i = 0; i < FLYING; i++)
        if (!all[i].due_us) {
            all[i] =
                (struct flying){.due_us = w.now_us + h->trip_us / 2 + any(5000), .honest = n, .len = len};
            memcpy(all[i].bytes, bytes, len);
            return;
        }
    fail_msg("too much under way");
}

static void honest_turn(unsigned n) {
    struct honest *h = &w.honest[n];
    char why[KL_TEXT_MAX] = "";
    uint8_t bytes[KL_INIT_BYTES];
    if (!h->comes || h->in) return;
    if (!kl_dial_turn(&h->dial, false, w.now_us, why) || w.now_us > h->until_us)
        fail_msg("seed %llu, %s: a %s with a round trip of %llu ms is not in after %llu ms%s%s",
                 (unsigned long long)w.seed, w.flood->name, h->old_slot < PEERS ? "returner" : "newcomer",
                 (unsigned long long)h->trip_us / 1000, (unsigned long long)(w.now_us - h->begun_us) / 1000,
                 why[0] ? ": " : "", why);
    if (kl_dial_is_lost(&h->dial, w.now_us)) kl_dial_begin(&h->dial, w.now_us); /* its cell went to another */
    while (kl_dial_send(&h->dial, bytes))
        fly(w.up, n, bytes, sizeof bytes);
    if (h->dial.s.stage == KL_DIAL_HANDSHAKE || w.now_us < h->again_us) return;
    h->again_us = w.now_us + AGAIN_US;
    fly(w.up, n, bytes, kl_seal(&h->sealer, KL_SEAL_ENET, "connect", 7, bytes));
}

static void honest_hears(struct flying *f) {
    struct honest *h = &w.honest[f->honest];
    bool had = h->dial.s.stage != KL_DIAL_HANDSHAKE;
    kl_dial_receive(&h->dial, f->bytes, f->len, w.now_us);
    if (had || h->dial.s.stage == KL_DIAL_HANDSHAKE) return;
    kl_sealer_init(&h->sealer, &h->dial.s.outcome.keys, h->dial.s.outcome.keys.up);
}

static void honest_said(struct flying *f) {
    struct honest *h = &w.honest[f->honest];
    uint8_t reply[KL_STRANGER_MAX];
    struct kl_opened o;
    struct kl_gate_session s;
    if (f->bytes[1] >= KL_HS_INIT) {
        size_t len = relay_hears(&h->at, f->bytes, f->len, reply);
        if (len) fly(w.down, f->honest, reply, len);
        return;
    }
    if (h->in || kl_gate_enter(w.gate, f->bytes, f->len, &s, &o) != 0) return;
    assert_memory_equal(s.keys.binding, h->dial.s.outcome.keys.binding, sizeof s.keys.binding);
    assert_true(kl_address_same(&s.home, &h->at));
    h->in = true;
    h->slot = kl_gate_slot(s.keys.session);
    if (h->old_slot < PEERS) kl_gate_leave(w.gate, h->old_slot);
    unsigned took_ms = (unsigned)((w.now_us - h->begun_us) / 1000);
    if (took_ms > w.longest_ms) w.longest_ms = took_ms;
}

/* Every other one returns: its session is still there, and its address the same. */
static void one_comes(void) {
    unsigned n = w.coming++, before = any(PLAYERS);
    struct honest *h = &w.honest[n];
    uint8_t host[4] = {81, (uint8_t)any(256), (uint8_t)any(256), (uint8_t)any(256)};
    struct kl_dial dial = {.offers = KL_CIPHER_CHACHA20};
    assert_true(n < HONEST);
    *h = (struct honest){.trip_us = 10000 + any(190) * 1000, .loss = any(4) ? 0 : 5, .old_slot = PEERS};
    h->at = kl_address_v4(host, (uint16_t)(1024 + any(60000)));
    if (n >= PLAYERS && n % 2 && w.honest[before].in) {
        memcpy(h->at.host, w.honest[before].at.host, sizeof h->at.host);
        h->old_slot = w.honest[before].slot;
        w.honest[before].in = w.honest[before].comes = false; /* one of its sessions returns but once */
    }
    h->dial = dial;
    h->comes = true;
    h->begun_us = w.now_us;
    h->until_us = w.now_us + IN_US;
    kl_dial_begin(&h->dial, w.now_us);
}

/* --- the run --- */

static void arrive(struct flying *all, void (*hears)(struct flying *f)) {
    for (unsigned i = 0; i < FLYING; i++) {
        struct flying f = all[i];
        if (!f.due_us || f.due_us > w.now_us) continue;
        all[i].due_us = 0;
        hears(&f);
    }
}

/* The flood's datagrams of this step come before those of the honest, mostly. */
static void step(void) {
    bool late = any(4) == 0;
    w.now_us += STEP_US;
    if (w.begin_us && !late) flood_turn();
    arrive(w.up, honest_said);
    arrive(w.down, honest_hears);
    for (unsigned n = 0; n < w.coming; n++)
        honest_turn(n);
    if (w.begin_us && late) flood_turn();
    if (w.now_us % 100000 == 0) kl_gate_sweep(w.gate, w.now_us);
}

static void run(uint64_t seed, const struct flood *flood) {
    struct kl_hub_limits limits = {
        .peers = PEERS, .per_address = 64, .handshakes = 128, .half_open = KL_HALF_OPEN_MAX};
    struct kl_keypair own;
    memset(&w, 0, sizeof w);
    chance.state = rng_mix(seed * COUNT(floods) + (uint64_t)(flood - floods));
    w.seed = seed;
    w.flood = flood;
    w.now_us = 100 * SECOND_US;
    kl_keypair_make(&own);
    w.gate = kl_gate_make(&limits, &own, KL_CIPHER_CHACHA20, NULL, w.now_us);
    assert_non_null(w.gate);
    while (w.coming < PLAYERS)
        one_comes();
    for (uint64_t end_us = w.now_us + 2 * SECOND_US; w.now_us < end_us;)
        step();
    w.begin_us = w.now_us;
    w.longest_ms = 0;
    uint64_t end_us = w.begin_us + flood->seconds * SECOND_US;
    for (uint64_t next_us = w.begin_us + SECOND_US; w.now_us < end_us; step()) {
        if (w.now_us < next_us || w.now_us + IN_US >= end_us) continue;
        one_comes();
        next_us = w.now_us + 50000 + any(100000);
    }
    print_message("           seed %llu, %s: %u honest ones came, the last in after %u ms; %u half open, "
                  "%llu refused\n",
                  (unsigned long long)seed, flood->name, w.coming - PLAYERS, w.longest_ms, w.most_half_open,
                  (unsigned long long)w.gate->stats.refused);
    assert_true(w.coming >= PLAYERS + flood->seconds * 5);
    if (flood->in_one_64) assert_in_range(w.most_half_open, 1, 2 * limits.handshakes + HONEST);
    kl_gate_free(w.gate);
}

TEST(the_honest_are_in) {
    const char *count = getenv("SEEDS"), *one = getenv("KEYLOCK_SEED");
    uint64_t first = one ? strtoull(one, NULL, 10) : 1, seeds = one     ? 1
                                                                : count ? strtoull(count, NULL, 10)
                                                                        : 1;
    for (uint64_t seed = first; seed < first + seeds; seed++)
        for (unsigned i = 0; i < COUNT(floods); i++)
            run(seed, &floods[i]);
}

int main(void) {
    if (randombytes_set_implementation(&from_seed) != 0 || sodium_init() < 0) return 1;
    return run_all_tests(NULL, NULL);
}
