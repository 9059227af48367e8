/* Keys from two frontends to two cores: no key stays down that nobody holds, and each that somebody holds is
 * down, also after hitches, menus, lost links, swaps and changes of policy, from a seed. */
#include "tests/unit/unit.h"

#include <stdlib.h>

#include "core_wrapper/frame/latch.h"
#include "net/engine/lock_relay_return.h"
#include "net/engine/lock_client.h"
#include "tests/lib/lock_memory.h"

#define STEP_US   4000
#define DELAY_US  20000
#define SECOND_US UINT64_C(1000000)
#define CODES     14
#define PACKETS   64

static struct packet {
    uint64_t at_us;
    bool up;
    unsigned client;
    size_t len;
    uint8_t bytes[KL_DATAGRAM_MAX];
} wire[PACKETS];

static struct player {
    struct kl_latch latch;
    struct kl_client lock;
    struct kl_held held[2 * KL_WINDOW_FRAMES];
    bool keys[KL_KEY_CODES]; /* under its fingers */
    bool events;             /* its core takes events, else it asks */
    bool core[KL_KEY_CODES]; /* as its core has heard by events */
    uint8_t plays[KL_MAX_SEATS];
    uint32_t returns;
    uint64_t still_us; /* its frontend runs no frame before */
    bool menu;         /* and gives no events */
} player[2], *fingers;

static struct kl_lock_relay room;
static uint32_t random_is;

static unsigned roll(unsigned n) {
    random_is = random_is * 1664525 + 1013904223;
    return (random_is >> 8) % n;
}

static void post(bool up, unsigned client, const uint8_t *bytes, size_t len, uint64_t now_us) {
    struct packet *p = wire;
    while (p < wire + PACKETS && p->len)
        p++;
    if (p == wire + PACKETS) return; /* lost */
    *p = (struct packet){.at_us = now_us + DELAY_US, .up = up, .client = client, .len = len};
    memcpy(p->bytes, bytes, len);
}

/* The oldest that has come. */
static struct packet *next_packet(uint64_t now_us) {
    struct packet *first = NULL;
    for (struct packet *p = wire; p < wire + PACKETS; p++)
        if (p->len && p->at_us <= now_us && (!first || p->at_us < first->at_us)) first = p;
    return first;
}

static void carry(uint64_t now_us) {
    uint8_t body[KL_DATAGRAM_MAX];
    struct kl_frame ignored;
    size_t len;
    for (struct packet *p; (p = next_packet(now_us)) != NULL; p->len = 0)
        if (p->up)
            (void)kl_lock_receive(&room, p->client, p->bytes, p->len, 0, 0,
                                  now_us); /* of a lost session, perhaps */
        else
            (void)kl_client_receive(&player[p->client].lock, p->bytes, p->len, now_us);
    if (now_us >= kl_lock_tick_at(&room)) kl_lock_tick(&room, now_us);
    while (kl_lock_take(&room, &ignored)) {
    }
    for (unsigned i = 0; i < 2; i++) {
        while ((len = kl_client_send(&player[i].lock, now_us, body, sizeof body)) > 0)
            post(true, i, body, len, now_us);
        while ((len = kl_lock_send(&room, i, now_us, body, sizeof body)) > 0)
            post(false, i, body, len, now_us);
    }
}

static int16_t frontend(unsigned port, unsigned device, unsigned index, unsigned id) {
    (void)port, (void)index;
    return device == RETRO_DEVICE_KEYBOARD && id < KL_KEY_CODES && fingers->keys[id];
}

static void core_hears(void *ctx, const struct kl_key *k) {
    struct player *p = ctx;
    p->core[k->code] = k->down;
}

static void obey(struct player *p, uint32_t keyframe) {
    const struct kl_commands *set = kl_client_commands(&p->lock, keyframe);
    for (unsigned i = 0; set && i < set->count; i++)
        for (unsigned s = 0; s < KL_MAX_SEATS && set->at[i].kind == KL_COMMAND_SWAP; s++) {
            const uint8_t *d = set->at[i].data;
            p->plays[s] = p->plays[s] == d[0] ? d[1] : p->plays[s] == d[1] ? d[0] : p->plays[s];
        }
}

/* As core_wrapper/match/play.c does. */
static void turn(struct player *p, uint64_t now_us) {
    struct kl_input in[KL_MAX_SEATS];
    struct kl_frame f;
    fingers = p;
    if (p->returns != p->lock.stats.returns) {
        p->returns = p->lock.stats.returns;
        kl_latch_forget(&p->latch);
        kl_latch_press_again(&p->latch);
    }
    kl_latch_poll(&p->latch, frontend, 1);
    struct kl_plan plan = kl_client_plan(&p->lock, now_us, 8);
    for (uint32_t i = 0; i < plan.samples; i++) {
        kl_latch_sample(&p->latch, in, 1);
        assert_int_equal(kl_client_sample(&p->lock, in, now_us), 0);
    }
    for (uint32_t i = 0; i < plan.runs && kl_client_take(&p->lock, &f); i++) {
        if (f.flags & KL_FRAME_COMMANDS) obey(p, f.number);
        kl_latch_frame(&p->latch, &f, core_hears, p);
        for (unsigned code = 97; code < 97 + CODES; code++)
            (void)kl_latch_state(&p->latch, 0, RETRO_DEVICE_KEYBOARD, 0, code);
        unsigned own = (unsigned)(p - player);
        if (f.in[p->plays[own]].all_up) kl_latch_press_again(&p->latch);
    }
}

static void press(struct player *p, bool menu) {
    unsigned code = 97 + roll(CODES);
    if (p->events && menu && !p->keys[code]) return; /* the menu's own */
    p->keys[code] = !p->keys[code];
    if (p->events && !menu) kl_latch_key(&p->latch, p->keys[code], code, 0, 0);
}

static void mishap(unsigned i, uint64_t now_us) {
    struct player *p = &player[i];
    static const uint8_t policy[][5] = {{0, 250, 0, 0, 0},  {1, 200, 0, 0, 0}, {2, 250, 0, 0, 0},
                                        {1, 200, 0, 12, 0}, {1, 200, 0, 1, 0}, {0, 200, 0, 9, 0}};
    static const uint8_t swaps[][2] = {{0, 1}, {0, 5}, {1, 3}};
    switch (roll(6)) {
    case 0: p->still_us = now_us + roll(2) * 400000 + roll(1200000); break;
    case 1:
        p->still_us = now_us + 200000 + roll(1500000);
        p->menu = true;
        kl_client_set_away(&p->lock, true);
        break;
    case 2: /* the link is lost */
        assert_int_equal(kl_lock_return(&room, i, p->lock.stats.next_closed, now_us), 0);
        for (unsigned n = 0; n < PACKETS; n++)
            if (wire[n].client == i) wire[n].len = 0;
        kl_client_return(&p->lock, now_us);
        break;
    case 3: (void)kl_lock_command(&room, i, KL_COMMAND_SWAP, swaps[roll(COUNT(swaps))], 2); break;
    case 4: (void)kl_lock_command(&room, i, KL_COMMAND_POLICY, policy[roll(COUNT(policy))], 5); break;
    default: /* a dozen keys at once */
        for (unsigned n = 0; n < 12; n++)
            press(p, p->menu);
    }
}

/* One that is still kept out, for holding the game up, holds nothing. */
static bool holds(unsigned i, unsigned code) {
    return player[i].keys[code] && !player[i].lock.stats.absent;
}

static void judge(uint32_t seed) {
    for (unsigned i = 0; i < 2; i++)
        for (unsigned code = 1; code < KL_KEY_CODES; code++) {
            const struct player *p = &player[i];
            bool is = kl_keyboard_down(&p->latch.keyboard, code), should = holds(0, code) || holds(1, code);
            if (is == should && p->core[code] == should) continue;
            fail_msg("seed %u: machine %u has key %u %s (its core: %s)", seed, i, code, is ? "down" : "up",
                     p->core[code] ? "down" : "up");
        }
}

static void begin(uint32_t seed, uint64_t now_us) {
    const struct kl_params p = {.policy = (uint8_t)(seed % 3),
                                .subframes = true,
                                .clocked = true,
                                .players = 2,
                                .wait_budget_ms = 250,
                                .fps_uhz = 60000000};
    random_is = seed;
    memset(wire, 0, sizeof wire);
    memset(player, 0, sizeof player);
    lock_begin(&room, &p, NULL);
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(kl_lock_add(&room, i, (uint8_t)(1u << i), now_us), 0);
        kl_client_init(&player[i].lock, &p, (uint8_t)(1u << i), player[i].held, COUNT(player[i].held),
                       now_us);
        kl_latch_init(&player[i].latch, true);
        player[i].events = player[i].latch.key_events = (seed / 3 + i) % 3 != 0;
        for (uint8_t s = 0; s < KL_MAX_SEATS; s++)
            player[i].plays[s] = s;
    }
    assert_int_equal(kl_lock_start(&room, now_us), 0);
}

static void play(uint32_t seed) {
    uint64_t begin_us = SECOND_US, end_us = begin_us + 12 * SECOND_US, next_us[2] = {0};
    begin(seed, begin_us);
    for (uint64_t now_us = begin_us; now_us < end_us; now_us += STEP_US) {
        bool wild = now_us < begin_us + 8 * SECOND_US;
        carry(now_us);
        for (unsigned i = 0; i < 2; i++) {
            struct player *p = &player[i];
            if (wild && roll(40) == 0) press(p, p->menu);
            if (wild && roll(250) == 0) mishap(i, now_us);
            if (now_us < next_us[i] || now_us < p->still_us) continue;
            if (p->menu) kl_client_set_away(&p->lock, false);
            if (p->menu) kl_latch_forget(&p->latch); /* as kl_play_idle() */
            p->menu = false;
            turn(p, now_us);
            next_us[i] = now_us + 16000;
        }
    }
    judge(seed);
}

TEST(every_key_is_down_that_somebody_holds_and_no_other) {
    for (uint32_t seed = 1; seed <= 60; seed++)
        play(seed);
}
