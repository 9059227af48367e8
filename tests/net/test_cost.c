/* test_cost.c - one client that makes a real relay send much by little, over UDP: it comes back with nothing,
 * joins and goes, watches, again and again. Bytes are counted at its socket. docs/security.md, Bounds for
 * one player. runs: waiting, test, 40 s */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/unit/unit.h"
#include <sodium.h>

#include "net/platform/clock.h"
#include "tests/net/net_intruder.h"

#define FRAMES  100000
#define SAVES   100000 /* bytes of start data */
#define TIMES   31
#define EACH_MS 480 /* 31 in 15 s */
/* docs/security.md, Bounds for one player: bytes down for each byte up, and so many joinings. */
#define RATIO 10
#define FREE  3

static struct program relay;
static struct player ann;
static struct kl_seat_key key;
static uint8_t token[KL_TOKEN_BYTES];
static uint8_t saves[SAVES];

/* --- the client that comes again and again --- */

struct visit {
    uint64_t up, down; /* bytes */
    bool refused;
};

static uint32_t data_total;

static void say_ready(struct intruder *n) {
    struct kl_msg m = {.kind = KL_MSG_READY};
    uint8_t bytes[KL_MSG_MAX];
    kl_facts_add(&m.ready.facts, "system files", "none");
    int len = kl_msg_encode(&m, bytes, sizeof bytes);
    intruder_say(n, bytes, (size_t)len);
}

static void hears(struct intruder *n, const struct kl_msg *m) {
    if (m->kind == KL_MSG_WELCOME) memcpy(token, m->welcome.token, sizeof token);
    if (m->kind == KL_MSG_PREPARE) data_total = m->prepare.data_bytes;
    if (m->kind == KL_MSG_DATA && m->data.offset + m->data.len == data_total) say_ready(n);
}

static void ann_plays(void) {
    player_turn(&ann);
}

static struct kl_hello hello_of(const char *name, unsigned seats) {
    struct kl_hello h = hello_make(name, "room", seats, 2);
    h.params.clocked = true;
    h.params.policy = KL_POLICY_BOUNDED;
    h.params.wait_budget_ms = 250;
    return h;
}

static void enter(struct intruder *n) {
    intruder_enter(n, relay.port);
    n->hears = hears;
}

static void say(struct intruder *n, const struct kl_msg *m) {
    uint8_t bytes[KL_MSG_MAX];
    int len = kl_msg_encode(m, bytes, sizeof bytes);
    assert_true(len > 0);
    intruder_say(n, bytes, (size_t)len);
}

/* Its socket is closed without a word, or after BYE. */
static struct visit end_visit(struct intruder *n, bool bye) {
    if (bye && !n->gone) {
        say(n, &(struct kl_msg){.kind = KL_MSG_BYE});
        intruder_serve(n, 20);
    }
    struct visit v = {.up = n->asked + n->sealer.bytes, .down = n->down, .refused = n->refusal[0]};
    if (n->refusal[0]) assert_non_null(strstr(n->refusal, "try again in "));
    if (n->refusal[0]) assert_in_range(strlen(n->refusal), 1, 60);
    intruder_leave(n);
    return v;
}

static struct visit returns_fresh(void) {
    struct intruder n;
    struct kl_msg m = {.kind = KL_MSG_RETURN, .back.fresh = true, .back.consent = KL_CONSENT_ROOM};
    struct kl_hello h = hello_of("bob", 1);
    enter(&n);
    snprintf(m.back.room, sizeof m.back.room, "room");
    memcpy(m.back.token, token, sizeof token);
    memcpy(m.back.seat_key, key.pub, sizeof m.back.seat_key);
    m.back.facts = h.facts;
    kl_seat_sign(&key, n.outcome.keys.binding, token, m.back.signature);
    say(&n, &m);
    intruder_serve(&n, EACH_MS);
    return end_visit(&n, false);
}

static struct visit comes(const char *name, unsigned seats, unsigned ms, bool bye) {
    struct intruder n;
    struct kl_msg m = {.kind = KL_MSG_HELLO, .hello = hello_of(name, seats)};
    enter(&n);
    if (seats)
        memcpy(m.hello.seat_key, key.pub, sizeof m.hello.seat_key);
    else
        randombytes_buf(m.hello.seat_key, sizeof m.hello.seat_key); /* another one each time */
    say(&n, &m);
    intruder_serve(&n, ms);
    return end_visit(&n, bye);
}

/* --- the room --- */

/* Ann plays; bob has come, loaded and gone without a word, so his seat is kept. */
static uint64_t begun_us;

static struct visit begin(void) {
    struct kl_hello h = hello_of("ann", 1);
    memset(&ann, 0, sizeof ann);
    randombytes_buf(saves, sizeof saves);
    kl_seat_make(&key);
    relay = relay_start(NULL);
    player_open(&ann, &h, relay.port, FRAMES);
    ann.start = saves;
    ann.start_len = sizeof saves;
    assert_true(player_joins(&ann));
    intruder_meanwhile = ann_plays;
    struct visit v = comes("bob", 1, 3000, false);
    assert_int_equal(ann.status.phase, KL_PARTICIPANT_PLAYING);
    begun_us = kl_now_us();
    return v;
}

static void end(void) {
    intruder_meanwhile = NULL;
    assert_int_equal(ann.status.phase, KL_PARTICIPANT_PLAYING);
    assert_true(ann.frames >= (kl_now_us() - begun_us) * 60 / 1000000 * 8 / 10);
    player_close(&ann, 300);
    assert_int_equal(program_stop(&relay, SIGTERM), 0);
}

/* Of all that came down, some joinings are free. ENet repeats a part on a busy machine. */
static void judge(const char *what, const struct visit *first, const struct visit *all, unsigned served,
                  unsigned count) {
    print_message(
        "           %s: %u of %u served, %llu bytes up, %llu down: %.1f for each; one joining %llu\n", what,
        served, count, (unsigned long long)all->up, (unsigned long long)all->down,
        (double)all->down / (double)all->up, (unsigned long long)first->down);
    assert_in_range(served, 1, count / 4);
    assert_in_range(all->down, 1, RATIO * all->up + FREE * first->down);
}

static void add(struct visit *sum, struct visit v, unsigned *served) {
    sum->up += v.up;
    sum->down += v.down;
    *served += !v.refused;
}

TEST(fresh_returns_are_limited) {
    struct visit first = begin(), sum = {0};
    unsigned served = 0;
    for (unsigned i = 0; i < TIMES; i++)
        add(&sum, returns_fresh(), &served);
    judge("31 fresh returns", &first, &sum, served, TIMES);
    end();
}

TEST(watchers_that_come_again_are_limited) {
    struct visit first = begin(), sum = {0};
    unsigned served = 0;
    for (unsigned i = 0; i < TIMES; i++)
        add(&sum, comes("eve", 0, EACH_MS, i % 2), &served);
    judge("31 watchers", &first, &sum, served, TIMES);
    end();
}
