/* A client that comes back: by a new session, or as a new process. PROTOCOL.md §5, §7. */
#include "tests/unit/unit.h"

#include "net/engine/frames.h"
#include "net/engine/lock_client.h"

#define HELD     512
#define PAST     2000
#define FRAME_US UINT64_C(20000)

static struct kl_client c;
static struct kl_held held[HELD];
static struct kl_frame past[PAST];
static const struct kl_frames_from from = {.ring = past, .places = PAST};
static uint8_t buf[KL_PIECE_BYTES];

/* Intervals of 4; seat 0 shows the frame's number. */
static void begin(uint8_t seats) {
    struct kl_params p = {.subframes = true, .clocked = true, .players = 2, .fps_uhz = 50000000};
    kl_client_init(&c, &p, seats, held, HELD, 1000);
    for (uint32_t f = 0; f < PAST; f++) {
        past[f] = (struct kl_frame){.number = f, .keyframe = f / 4 * 4, .spacing = 4, .active = 3};
        if (f % 4 == 0) past[f].flags = KL_FRAME_KEY;
        past[f].in[0].joypad = (uint16_t)f;
    }
}

/* An UPDATE without frames; `first` is next, and frame f is due at t0 + 20 ms * f of the relay's clock. */
static int update(uint32_t first, uint8_t presence, uint64_t relay_us, uint64_t t0_us, uint64_t now_us) {
    struct kl_update u = {.stamp = (uint32_t)relay_us,
                          .presence = presence,
                          .has_schedule = true,
                          .due_us = (int64_t)(t0_us + first * FRAME_US - relay_us),
                          .first = first};
    size_t len = kl_update_write(&u, &from, buf, sizeof buf);
    assert_true(len > 0);
    return kl_client_receive(&c, buf, len, now_us);
}

static size_t piece(uint32_t first, uint32_t count) {
    uint32_t held_frames;
    size_t len = kl_piece_write(&from, first, count, buf, sizeof buf, &held_frames);
    assert_int_equal(held_frames, count);
    return len;
}

static int history(uint32_t first, uint32_t count, uint64_t now_us) {
    return kl_client_history(&c, buf, piece(first, count), now_us);
}

static struct kl_plan turn(uint64_t now_us, uint32_t max_runs) {
    struct kl_frame f;
    static const struct kl_input in[KL_MAX_SEATS];
    struct kl_plan p = kl_client_plan(&c, now_us, max_runs);
    for (uint32_t i = 0; i < p.samples; i++)
        assert_int_equal(kl_client_sample(&c, in, now_us), 0);
    for (uint32_t i = 0; i < p.runs; i++) {
        uint32_t number = c.stats.next_run;
        assert_true(kl_client_take(&c, &f));
        assert_int_equal(f.number, number);
        assert_int_equal(f.in[0].joypad, number);
    }
    return p;
}

/* A frame that comes by history says nothing of how long the way down is. */
TEST(history_is_not_late) {
    begin(1);
    for (uint32_t f = 0; f < PAST; f++)
        past[f].flags |= KL_FRAME_BY_CLOCK;
    kl_client_return(&c, 1000);
    assert_int_equal(update(1000, KL_ABSENT, 90000000, 90000000 - 1000 * FRAME_US, 2000), 0);
    for (uint32_t i = 0; i < 4; i++) /* in windows of their own */
        assert_int_equal(history(64 * i, 64, 3000 + 600000 * i), 0);
    kl_playout_margin_us(&c.playout, 2000000);
    assert_true(kl_playout_margin_us(&c.playout, 60000000) == 0);
}

TEST(a_spectator) {
    begin(0);
    kl_client_return(&c, 1000);
    assert_int_equal(c.standing, KL_STANDING_IN);
    assert_false(c.stats.absent);
    assert_int_equal(history(0, 64, 1000), 0);
    assert_int_equal(update(64, KL_PRESENT, 5000000, 1000000, 2000), 0);
    turn(2000, 20);
    assert_int_equal(c.stats.next_run, 20);
}

/* A piece without a place comes again; nothing is taken twice or out of order. */
TEST(as_much_as_there_is_place_for) {
    begin(1);
    kl_client_return(&c, 1000);
    assert_int_equal(history(8, 4, 1000), KL_E_WINDOW);
    assert_int_equal(history(0, 64, 1000), 0);
    assert_int_equal(history(0, 64, 1000), 0); /* all had before */
    assert_int_equal(history(40, 64, 1000), 0);
    assert_int_equal(c.stats.next_closed, 104);
    assert_int_equal(history(108, 4, 1000), KL_E_WINDOW);
    int left = 0;
    uint32_t at = 104;
    for (; left == 0; at += left ? 0 : 64)
        left = history(at, 64, 1000);
    assert_int_equal(c.stats.next_closed, HELD - KL_SPACING_MAX);
    assert_int_equal(left, (int)(at + 64 - c.stats.next_closed));
    assert_int_equal(history(at, 64, 1000), left);
    assert_int_equal(update(PAST - 1000, KL_ABSENT, 90000000, 90000000 - 1000 * FRAME_US, 1000), 0);
    turn(1000, 100);
    assert_int_equal(history(at, 64, 1000), 0);
    size_t len = piece(at + 64, 10);
    buf[len - 1] ^= 0x7f;
    assert_int_equal(kl_client_history(&c, buf, len - 1, 1000), KL_E_MALFORMED);
    assert_int_equal(c.stats.next_closed, at + 64);
}
