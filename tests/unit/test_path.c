/* The addresses of a session in virtual time: clients that roam, somebody on the path whose copies come
 * first, spoofers, loss and reordering, from seeds; judged at every step. net/PROTOCOL.md §9, Addresses. */

#include "tests/unit/unit.h"

#include "net/transport/path.h"
#include "tests/lib/rng.h"

#define SEEDS     400
#define STEP_US   1000
#define TURN_US   16000 /* between a client's datagrams */
#define BYTES     60
#define CHALLENGE 35 /* bytes of PATH */
#define FLYING    256
#define COPIER    9

static struct rng chance;

static uint32_t any(uint32_t below) {
    return rng_below(&chance, below);
}

/* On its way to the relay. */
struct flying {
    uint64_t due_us; /* 0: none */
    unsigned from;
    uint32_t counter;
    bool is_answer;
    uint8_t challenge[KL_CHALLENGE];
};

static struct world {
    struct kl_path path;
    struct flying up[FLYING], challenge[16];     /* challenge: on its way to the client */
    uint64_t now_us, rtt_us, moved_us, heard_us; /* heard_us: when an update last reached the client */
    unsigned loss, home, moves;
    uint32_t counter, highest;
    bool seen[8192], copies, replays, roams;
    uint64_t sent_from[16], sent_to[16]; /* by address; since it was last proved */
} w;

static struct kl_address address(unsigned n) {
    return kl_address_loopback((uint16_t)n);
}

static void fly(struct flying *all, unsigned count, struct flying f) {
    for (unsigned i = 0; i < count; i++)
        if (!all[i].due_us) {
            all[i] = f;
            return;
        }
    fail_msg("too much under way");
}

/* A client's datagram; the copier's copy of it is there 1 ms earlier. */
static void client_sends(const uint8_t *challenge) {
    struct flying f = {.from = w.home, .counter = ++w.counter, .is_answer = challenge != NULL};
    f.due_us = w.now_us + w.rtt_us / 2 + any(5) * 1000 + 1000;
    if (challenge) memcpy(f.challenge, challenge, KL_CHALLENGE);
    bool lost = any(100) < w.loss;
    if (!lost) fly(w.up, FLYING, f);
    if (!w.copies || any(10) == 0) return;
    f.from = COPIER;
    f.due_us -= 1000;
    fly(w.up, FLYING, f);
}

static void relay_sends_challenges(void) {
    struct kl_path_claim *c;
    while ((c = kl_path_due(&w.path, w.now_us))) {
        unsigned to = c->at.port;
        if (!kl_path_spend(c, CHALLENGE)) continue;
        w.sent_to[to] += CHALLENGE;
        struct flying f = {.due_us = w.now_us + w.rtt_us / 2, .from = to};
        memcpy(f.challenge, c->challenge, KL_CHALLENGE);
        if (any(100) >= w.loss) fly(w.challenge, 16, f);
    }
}

static void relay_hears(const struct flying *f) {
    struct kl_address from = address(f->from);
    bool newest = f->counter > w.highest, repeated = w.seen[f->counter];
    w.seen[f->counter] = true;
    if (newest) w.highest = f->counter;
    w.sent_from[f->from] += BYTES;
    if (!repeated || kl_path_moving(&w.path))
        kl_path_heard(&w.path, w.now_us, &from, f->counter, newest, repeated, BYTES);
    if (f->is_answer && kl_path_answer(&w.path, &from, f->counter, f->challenge)) {
        assert_int_not_equal(f->from, COPIER); /* it cannot open the challenge that comes to it */
        w.moves++;
        w.sent_from[f->from] = w.sent_to[f->from] = 0;
    }
    relay_sends_challenges();
}

/* An UPDATE: a client is there if one copy of it goes where the client is. */
static void relay_updates(void) {
    bool reached = w.path.proved.port == w.home;
    for (unsigned i = 0; i < KL_PATH_CLAIMS; i++) {
        struct kl_path_claim *c = &w.path.claim[i];
        if (!kl_path_spend(c, BYTES)) continue;
        w.sent_to[c->at.port] += BYTES;
        reached |= c->at.port == w.home;
    }
    if (reached) w.heard_us = w.now_us;
}

static void step(void) {
    w.now_us += STEP_US;
    for (unsigned i = 0; i < FLYING; i++)
        if (w.up[i].due_us && w.up[i].due_us <= w.now_us) {
            struct flying f = w.up[i];
            w.up[i].due_us = 0;
            relay_hears(&f);
        }
    for (unsigned i = 0; i < 16; i++)
        if (w.challenge[i].due_us && w.challenge[i].due_us <= w.now_us) {
            struct flying f = w.challenge[i];
            w.challenge[i].due_us = 0;
            if (f.from == w.home) client_sends(f.challenge);
        }
    if (w.replays && any(8) == 0 && w.counter > 60) /* recorded long ago, said again from anywhere */
        relay_hears(&(struct flying){.from = 10 + any(4), .counter = 1 + any(w.counter - 50)});
    if (w.now_us % TURN_US == 0) {
        client_sends(NULL);
        relay_updates();
        if (w.now_us % 100000 == 0) relay_sends_challenges();
    }
    if (w.roams && w.now_us - w.moved_us > 2000000 && any(500) == 0) {
        w.home = 1 + w.home % 8;
        w.moved_us = w.now_us;
    }
}

static void judge(uint64_t seed) {
    (void)seed;
    /* the way up and what is under way; each loss costs a turn */
    uint64_t allowed_us = w.rtt_us / 2 + 8000 + TURN_US * (2 + (w.loss ? 8 : 0));
    uint64_t since_us = w.now_us - w.heard_us;
    if (w.moves || w.roams ? since_us > allowed_us : since_us > TURN_US)
        fail_msg("seed %llu: nothing heard for %llu us at %llu us (copies %d, loss %u)",
                 (unsigned long long)seed, (unsigned long long)since_us, (unsigned long long)w.now_us,
                 w.copies, w.loss);
    for (unsigned i = 1; i < 16; i++)
        if (w.path.proved.port != i && w.sent_to[i] > 3 * w.sent_from[i])
            fail_msg("seed %llu: %llu bytes to an unproved address for %llu", (unsigned long long)seed,
                     (unsigned long long)w.sent_to[i], (unsigned long long)w.sent_from[i]);
    /* Proved a round trip after the first datagram from there: that takes half a round trip, a turn and the
     * jitter, twice. A lost challenge is repeated after 100 ms. */
    uint64_t proof_us =
        w.rtt_us * 3 / 2 + TURN_US + 15000 + (w.loss ? w.rtt_us / 2 + 300000 + w.loss * 60000 : 0);
    if (w.home != w.path.proved.port && w.now_us - w.moved_us > proof_us)
        fail_msg("seed %llu: the move is not proved after %llu us, round trip %llu us",
                 (unsigned long long)seed, (unsigned long long)(w.now_us - w.moved_us),
                 (unsigned long long)w.rtt_us);
}

TEST(seeds) {
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        memset(&w, 0, sizeof w);
        chance.state = seed * UINT64_C(0x9e3779b97f4a7c15);
        w.rtt_us = 10000 + any(200) * 1000;
        w.loss = any(3) ? 0 : any(10);
        w.copies = any(2);
        w.replays = any(2);
        w.roams = any(2);
        w.home = 1;
        struct kl_address at = address(1);
        kl_path_init(&w.path, &at);
        while (w.now_us < 10000000) {
            step();
            judge(seed);
        }
        if (!w.roams) assert_int_equal(w.moves, 0);
        if (w.roams) assert_true(w.moves > 0);
    }
}
