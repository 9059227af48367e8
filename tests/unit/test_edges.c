/* From a frontend's poll to a core, through the latch, a client, a room and a link that delays and loses.
 *
 * Edges: frontends of every rate poll more or less often than samples are due. A press of a single poll is
 * one press in the game, motion adds up to the same, key events come once and in order.
 *
 * Keys of two machines: no key stays down that nobody holds, and each that somebody holds is down, also after
 * hitches, menus, lost links, swaps and changes of policy, from a seed. */
#include "tests/unit/unit.h"

#include "core_wrapper/frame/latch.h"
#include "net/engine/lock_client.h"
#include "net/engine/lock_relay_return.h"
#include "tests/lib/lock_memory.h"

#define SECOND_US UINT64_C(1000000)
#define PACKETS   256

static struct kl_lock_relay room;
static uint32_t random_is;

static uint32_t roll(uint32_t below) {
    random_is = random_is * 1664525u + 1013904223u;
    return (random_is >> 8) % below;
}

static struct machine {
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
} machine[2], *fingers;
static unsigned machines;

/* --- the link --- */

static struct packet {
    uint64_t at_us;
    bool up;
    unsigned client;
    size_t len; /* 0: free */
    uint8_t bytes[KL_DATAGRAM_MAX];
} wire[PACKETS];
static uint32_t delay_us, jitter_us, loss_percent;
static bool sessions_end; /* datagrams of an ended one still come */

static void post(bool up, unsigned client, const uint8_t *bytes, size_t len, uint64_t now_us) {
    struct packet *p = wire;
    if (loss_percent && roll(100) < loss_percent) return;
    while (p < wire + PACKETS && p->len)
        p++;
    if (p == wire + PACKETS) return; /* lost */
    *p = (struct packet){.at_us = now_us + delay_us + (jitter_us ? roll(jitter_us) : 0),
                         .up = up,
                         .client = client,
                         .len = len};
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
    for (struct packet *p; (p = next_packet(now_us)) != NULL; p->len = 0) {
        int result = p->up ? kl_lock_receive(&room, p->client, p->bytes, p->len, 0, 0, now_us)
                           : kl_client_receive(&machine[p->client].lock, p->bytes, p->len, now_us);
        assert_true(result == 0 || sessions_end);
    }
    if (now_us >= kl_lock_tick_at(&room)) kl_lock_tick(&room, now_us);
    while (kl_lock_take(&room, &ignored)) {
    }
    for (unsigned i = 0; i < machines; i++) {
        while ((len = kl_client_send(&machine[i].lock, now_us, body, sizeof body)) > 0)
            post(true, i, body, len, now_us);
        while ((len = kl_lock_send(&room, i, now_us, body, sizeof body)) > 0)
            post(false, i, body, len, now_us);
    }
}

/* Machine i has seat i. */
static void begin(unsigned count, uint8_t policy, uint64_t now_us) {
    const struct kl_params p = {.policy = policy,
                                .subframes = true,
                                .clocked = true,
                                .players = (uint8_t)count,
                                .wait_budget_ms = 250,
                                .fps_uhz = 60000000};
    machines = count;
    memset(wire, 0, sizeof wire);
    memset(machine, 0, sizeof machine);
    lock_begin(&room, &p, NULL);
    for (unsigned i = 0; i < count; i++) {
        assert_int_equal(kl_lock_add(&room, i, (uint8_t)(1u << i), now_us), 0);
        kl_client_init(&machine[i].lock, &p, (uint8_t)(1u << i), machine[i].held, COUNT(machine[i].held),
                       now_us);
        kl_latch_init(&machine[i].latch, true);
    }
    assert_int_equal(kl_lock_start(&room, now_us), 0);
}

/* --- edges --- */

#define STEP_US  250u
#define PLAY_US  (20 * SECOND_US)
#define DRAIN_US (4 * SECOND_US) /* nothing is pressed: what is under way arrives */
#define TAP_SAMPLES                                                                                          \
    16 /* from press to press; no interval is so much longer than the next that two fall together */

static struct {
    bool down;
    int16_t motion;
    long moved;
    unsigned taps, keys;
    uint64_t tap_us; /* the next */
} player;

static int16_t hand_of_player(unsigned port, unsigned device, unsigned index, unsigned id) {
    (void)index;
    if (port) return 0;
    if (device == RETRO_DEVICE_MOUSE) return id == RETRO_DEVICE_ID_MOUSE_X ? player.motion : 0;
    if (device != RETRO_DEVICE_JOYPAD) return 0;
    unsigned mask = (unsigned)player.down << RETRO_DEVICE_ID_JOYPAD_A;
    return (int16_t)(id == RETRO_DEVICE_ID_JOYPAD_MASK ? mask : mask >> id & 1);
}

/* A tap is down for one poll, whatever the frontend's rate. */
static void move_player(uint64_t now_us, bool playing) {
    player.down = playing && now_us >= player.tap_us;
    player.motion = (int16_t)(playing ? (int)roll(21) - 10 : 0);
    player.moved += player.motion;
    if (!player.down) return;
    player.taps++;
    player.tap_us = now_us + TAP_SAMPLES * 16667 + roll(100000);
    kl_latch_key(&machine[0].latch, true, RETROK_a + player.keys % 26, 0, 0);
    player.keys++;
}

static struct {
    bool down;
    long moved;
    unsigned taps, keys, frames;
} game;

static void run_frame(const struct kl_frame *f) {
    kl_latch_frame(&machine[0].latch, f, NULL, NULL);
    bool down = kl_latch_state(&machine[0].latch, 0, RETRO_DEVICE_JOYPAD, 0, RETRO_DEVICE_ID_JOYPAD_A);
    game.taps += down && !game.down;
    game.down = down;
    game.moved += kl_latch_state(&machine[0].latch, 0, RETRO_DEVICE_MOUSE, 0, RETRO_DEVICE_ID_MOUSE_X);
    for (unsigned i = 0; i < f->in[0].key_count; i++)
        assert_int_equal(f->in[0].key[i].code, RETROK_a + game.keys++ % 26);
    game.frames++;
}

static void call(uint64_t now_us, bool playing) {
    struct kl_input in[KL_MAX_SEATS];
    struct kl_frame f;
    move_player(now_us, playing);
    kl_latch_poll(&machine[0].latch, hand_of_player, 1);
    struct kl_plan plan = kl_client_plan(&machine[0].lock, now_us, 8);
    for (uint32_t i = 0; i < plan.samples; i++) {
        kl_latch_sample(&machine[0].latch, in, 1);
        assert_int_equal(kl_client_sample(&machine[0].lock, in, now_us), 0);
    }
    for (uint32_t i = 0; i < plan.runs && kl_client_take(&machine[0].lock, &f); i++)
        run_frame(&f);
}

static void play_edges(double hz, uint8_t policy) {
    uint64_t begin_us = SECOND_US, end_us = begin_us + PLAY_US + DRAIN_US;
    double next_us = 0;
    memset(&player, 0, sizeof player);
    memset(&game, 0, sizeof game);
    begin(1, policy, begin_us);
    machine[0].latch.key_events = true;
    kl_latch_state(&machine[0].latch, 0, RETRO_DEVICE_MOUSE, 0,
                   RETRO_DEVICE_ID_MOUSE_X); /* so that it is read */
    for (uint64_t now_us = begin_us; now_us < end_us; now_us += STEP_US) {
        carry(now_us);
        if ((double)now_us < next_us) continue;
        next_us = (double)now_us + 1e6 / hz;
        call(now_us, now_us > begin_us + SECOND_US && now_us < begin_us + PLAY_US);
    }
    if (game.frames < (PLAY_US + DRAIN_US) / 16667 - 120) fail_msg("%g Hz: only %u frames", hz, game.frames);
    if (player.taps < 40) fail_msg("%g Hz: only %u taps", hz, player.taps);
    if (game.taps != player.taps || game.moved != player.moved || game.keys != player.keys)
        fail_msg("%g Hz, policy %u: taps %u of %u, moved %ld of %ld, keys %u of %u", hz, policy, game.taps,
                 player.taps, game.moved, player.moved, game.keys, player.keys);
}

static void play_all(uint32_t loss, uint32_t jitter) {
    static const double rates[] = {144, 120, 240, 60, 59.94, 50, 30};
    delay_us = 15000;
    loss_percent = loss;
    jitter_us = jitter;
    sessions_end = false;
    random_is = 7;
    for (unsigned i = 0; i < COUNT(rates); i++) {
        play_edges(rates[i], KL_POLICY_STRICT);
        play_edges(rates[i], KL_POLICY_BOUNDED);
        if (!loss) play_edges(rates[i], KL_POLICY_OPTIMISTIC);
    }
}

TEST(edges_on_a_steady_link) {
    play_all(0, 0);
}
TEST(edges_on_a_bad_link) {
    play_all(2, 20000);
}

/* --- keys --- */

#define CODES 14

static int16_t frontend(unsigned port, unsigned device, unsigned index, unsigned id) {
    (void)port, (void)index;
    return device == RETRO_DEVICE_KEYBOARD && id < KL_KEY_CODES && fingers->keys[id];
}

static void core_hears(void *ctx, const struct kl_key *k) {
    struct machine *p = ctx;
    p->core[k->code] = k->down;
}

static void obey(struct machine *p, uint32_t keyframe) {
    const struct kl_commands *set = kl_client_commands(&p->lock, keyframe);
    for (unsigned i = 0; set && i < set->count; i++)
        for (unsigned s = 0; s < KL_MAX_SEATS && set->at[i].kind == KL_COMMAND_SWAP; s++) {
            const uint8_t *d = set->at[i].data;
            p->plays[s] = p->plays[s] == d[0] ? d[1] : p->plays[s] == d[1] ? d[0] : p->plays[s];
        }
}

/* As core_wrapper/match/play.c does. */
static void turn(struct machine *p, uint64_t now_us) {
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
        unsigned own = (unsigned)(p - machine);
        if (f.in[p->plays[own]].all_up) kl_latch_press_again(&p->latch);
    }
}

static void press(struct machine *p, bool menu) {
    unsigned code = 97 + roll(CODES);
    if (p->events && menu && !p->keys[code]) return; /* the menu's own */
    p->keys[code] = !p->keys[code];
    if (p->events && !menu) kl_latch_key(&p->latch, p->keys[code], code, 0, 0);
}

static void mishap(unsigned i, uint64_t now_us) {
    struct machine *p = &machine[i];
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
    return machine[i].keys[code] && !machine[i].lock.stats.absent;
}

static void judge(uint32_t seed) {
    for (unsigned i = 0; i < 2; i++)
        for (unsigned code = 1; code < KL_KEY_CODES; code++) {
            const struct machine *p = &machine[i];
            bool is = kl_keyboard_down(&p->latch.keyboard, code), should = holds(0, code) || holds(1, code);
            if (is == should && p->core[code] == should) continue;
            fail_msg("seed %u: machine %u has key %u %s (its core: %s)", seed, i, code, is ? "down" : "up",
                     p->core[code] ? "down" : "up");
        }
}

static void play_keys(uint32_t seed) {
    uint64_t begin_us = SECOND_US, end_us = begin_us + 12 * SECOND_US, next_us[2] = {0};
    begin(2, (uint8_t)(seed % 3), begin_us);
    random_is = seed;
    for (unsigned i = 0; i < 2; i++) {
        machine[i].events = machine[i].latch.key_events = (seed / 3 + i) % 3 != 0;
        for (uint8_t s = 0; s < KL_MAX_SEATS; s++)
            machine[i].plays[s] = s;
    }
    for (uint64_t now_us = begin_us; now_us < end_us; now_us += 4000) {
        bool wild = now_us < begin_us + 8 * SECOND_US;
        carry(now_us);
        for (unsigned i = 0; i < 2; i++) {
            struct machine *p = &machine[i];
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
    delay_us = 20000;
    jitter_us = loss_percent = 0;
    sessions_end = true;
    for (uint32_t seed = 1; seed <= 60; seed++)
        play_keys(seed);
}
