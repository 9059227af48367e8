/* From the frontend's poll to what the core reads, through the latch, a client and a room over a link that
 * delays and loses: frontends of every rate poll more or less often than samples are due. A press of a single
 * poll is one press in the game, motion adds up to the same, key events come once and in order. */
#include "tests/unit/unit.h"

#include "core_wrapper/frame/latch.h"
#include "net/engine/lock_client.h"
#include "tests/lib/lock_memory.h"

#define STEP_US  250u
#define PLAY_US  20000000u
#define DRAIN_US 4000000u /* nothing is pressed: what is under way arrives */
#define PACKETS  256
#define TAP_SAMPLES                                                                                          \
    16 /* from press to press; no interval is so much longer than the next that two fall together */

static struct kl_lock_relay room;
static struct kl_client client;
static struct kl_held held[KL_WINDOW_FRAMES];
static struct kl_latch latch;
static uint32_t rng;

static uint32_t roll(uint32_t below) {
    rng = rng * 1664525u + 1013904223u;
    return (rng >> 8) % below;
}

/* --- a link --- */

struct packet {
    uint64_t at_us; /* 0: free */
    bool up;
    size_t len;
    uint8_t body[KL_DATAGRAM_MAX];
};
static struct packet wire[PACKETS];
static uint32_t loss_percent, jitter_us;

static void post(bool up, const uint8_t *body, size_t len, uint64_t now_us) {
    if (roll(100) < loss_percent) return;
    for (unsigned i = 0; i < PACKETS; i++) {
        if (wire[i].at_us) continue;
        wire[i] = (struct packet){
            .at_us = now_us + 15000 + (jitter_us ? roll(jitter_us) : 0), .up = up, .len = len};
        memcpy(wire[i].body, body, len);
        return;
    }
    fail_msg("too many packets under way");
}

static void deliver(uint64_t now_us) {
    for (unsigned i = 0; i < PACKETS; i++) {
        struct packet *p = &wire[i];
        if (!p->at_us || p->at_us > now_us) continue;
        p->at_us = 0;
        if (p->up)
            assert_int_equal(kl_lock_receive(&room, 0, p->body, p->len, 0, 0, now_us), 0);
        else
            assert_int_equal(kl_client_receive(&client, p->body, p->len, now_us), 0);
    }
}

static void carry(uint64_t now_us) {
    uint8_t body[KL_DATAGRAM_MAX];
    struct kl_frame ignored;
    size_t len;
    deliver(now_us);
    if (now_us >= kl_lock_tick_at(&room)) kl_lock_tick(&room, now_us);
    while (kl_lock_take(&room, &ignored)) {
    }
    while ((len = kl_client_send(&client, now_us, body, sizeof body)) > 0)
        post(true, body, len, now_us);
    while ((len = kl_lock_send(&room, 0, now_us, body, sizeof body)) > 0)
        post(false, body, len, now_us);
}

/* --- the player --- */

static struct {
    bool down;
    int16_t motion;
    long moved;
    unsigned taps, keys;
    uint64_t tap_us; /* the next */
} player;

static int16_t frontend(unsigned port, unsigned device, unsigned index, unsigned id) {
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
    kl_latch_key(&latch, true, RETROK_a + player.keys % 26, 0, 0);
    player.keys++;
}

/* --- the game --- */

static struct {
    bool down;
    long moved;
    unsigned taps, keys, frames;
} game;

static void run_frame(const struct kl_frame *f) {
    kl_latch_frame(&latch, f, NULL, NULL);
    bool down = kl_latch_state(&latch, 0, RETRO_DEVICE_JOYPAD, 0, RETRO_DEVICE_ID_JOYPAD_A);
    game.taps += down && !game.down;
    game.down = down;
    game.moved += kl_latch_state(&latch, 0, RETRO_DEVICE_MOUSE, 0, RETRO_DEVICE_ID_MOUSE_X);
    for (unsigned i = 0; i < f->in[0].key_count; i++)
        assert_int_equal(f->in[0].key[i].code, RETROK_a + game.keys++ % 26);
    game.frames++;
}

static void call(uint64_t now_us, bool playing) {
    struct kl_input in[KL_MAX_SEATS];
    struct kl_frame f;
    move_player(now_us, playing);
    kl_latch_poll(&latch, frontend, 1);
    struct kl_plan plan = kl_client_plan(&client, now_us, 8);
    for (uint32_t i = 0; i < plan.samples; i++) {
        kl_latch_sample(&latch, in, 1);
        assert_int_equal(kl_client_sample(&client, in, now_us), 0);
    }
    for (uint32_t i = 0; i < plan.runs && kl_client_take(&client, &f); i++)
        run_frame(&f);
}

static void play(double hz, uint8_t policy) {
    const struct kl_params p = {.policy = policy,
                                .subframes = true,
                                .clocked = true,
                                .players = 1,
                                .wait_budget_ms = 250,
                                .fps_uhz = 60000000};
    uint64_t begin_us = 1000000, end_us = begin_us + PLAY_US + DRAIN_US;
    double next_us = 0;
    memset(&player, 0, sizeof player);
    memset(&game, 0, sizeof game);
    memset(wire, 0, sizeof wire);
    kl_latch_init(&latch, true);
    latch.key_events = true;
    kl_latch_state(&latch, 0, RETRO_DEVICE_MOUSE, 0, RETRO_DEVICE_ID_MOUSE_X); /* so that it is read */
    lock_begin(&room, &p, NULL);
    assert_int_equal(kl_lock_add(&room, 0, 1, begin_us), 0);
    kl_client_init(&client, &p, 1, held, KL_WINDOW_FRAMES, begin_us);
    assert_int_equal(kl_lock_start(&room, begin_us), 0);
    for (uint64_t now_us = begin_us; now_us < end_us; now_us += STEP_US) {
        carry(now_us);
        if ((double)now_us < next_us) continue;
        next_us = (double)now_us + 1e6 / hz;
        call(now_us, now_us > begin_us + 1000000 && now_us < begin_us + PLAY_US);
    }
    if (game.frames < (PLAY_US + DRAIN_US) / 16667 - 120) fail_msg("%g Hz: only %u frames", hz, game.frames);
    if (player.taps < 40) fail_msg("%g Hz: only %u taps", hz, player.taps);
    if (game.taps != player.taps || game.moved != player.moved || game.keys != player.keys)
        fail_msg("%g Hz, policy %u: taps %u of %u, moved %ld of %ld, keys %u of %u", hz, policy, game.taps,
                 player.taps, game.moved, player.moved, game.keys, player.keys);
}

static const double rates[] = {144, 120, 240, 60, 59.94, 50, 30};

static void play_all(uint32_t loss, uint32_t jitter) {
    loss_percent = loss;
    jitter_us = jitter;
    rng = 7;
    for (unsigned i = 0; i < COUNT(rates); i++) {
        play(rates[i], KL_POLICY_STRICT);
        play(rates[i], KL_POLICY_BOUNDED);
        if (!loss) play(rates[i], KL_POLICY_OPTIMISTIC);
    }
}

TEST(on_a_steady_link) {
    play_all(0, 0);
}
TEST(on_a_bad_link) {
    play_all(2, 20000);
}
