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
static struct kl_commands commands[PAST / 4];
static uint8_t buf[KL_PIECE_BYTES];

/* Intervals of 4; seat 0 shows the frame's number; commands at every `every`-th keyframe. */
static void begin(uint8_t seats, unsigned every) {
    struct kl_params p = {.subframes = true, .clocked = true, .players = 2, .fps_uhz = 50000000};
    kl_client_init(&c, &p, seats, held, HELD, 1000);
    memset(commands, 0, sizeof commands);
    for (uint32_t f = 0; f < PAST; f++) {
        past[f] = (struct kl_frame){.number = f, .keyframe = f / 4 * 4, .spacing = 4, .active = 3};
        if (f % 4 == 0) past[f].flags = KL_FRAME_KEY;
        if (f % 4 == 0 && every && f / 4 % every == 0) {
            past[f].flags |= KL_FRAME_COMMANDS;
            commands[f / 4] = (struct kl_commands){.keyframe = f, .count = 1};
            commands[f / 4].at[0] =
                (struct kl_command){.client = 1, .kind = 99, .len = 1, .data = {(uint8_t)f}};
        }
        past[f].in[0].joypad = (uint16_t)f;
    }
}

/* An UPDATE with frames [first, first + count); frame f is due at t0 + 20 ms * f of the relay's clock. */
static int update(uint32_t first, uint32_t count, uint8_t presence, uint32_t next_sample, uint64_t relay_us,
                  uint64_t t0_us, uint64_t now_us) {
    struct kl_update u = {.stamp = (uint32_t)relay_us,
                          .next_sample = next_sample,
                          .presence = presence,
                          .has_schedule = true,
                          .due_us = (int64_t)(t0_us + first * FRAME_US - relay_us),
                          .first = first,
                          .count = count};
    struct kl_frames_from from = {.ring = past, .places = PAST, .sets = commands, .set_count = PAST / 4};
    size_t len = kl_update_write(&u, &from, buf, sizeof buf);
    assert_true(len > 0);
    return kl_client_receive(&c, buf, len, now_us);
}

static size_t piece(uint32_t first, uint32_t count) {
    struct kl_frames_from from = {.ring = past, .places = PAST, .sets = commands, .set_count = PAST / 4};
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

static struct kl_ctrl sends(uint64_t now_us) {
    static struct kl_ctrl m;
    uint8_t body[KL_DATAGRAM_MAX];
    size_t len = kl_client_send(&c, now_us, body, sizeof body);
    assert_true(len > 0);
    assert_int_equal(kl_ctrl_open(&m, c.seat_count, 0, body, len), 0);
    return m;
}

/* Frames to 100, the newest three not yet run, samples under way. */
static void play_to_100(void) {
    for (uint32_t f = 0; f < 100; f++) {
        uint64_t now = 1000000 + f * FRAME_US;
        assert_int_equal(update(f, 1, KL_PRESENT, f > 8 ? f - 8 : 0, now, 1000000, now), 0);
        if (f < 97) turn(now, 4);
    }
    assert_int_equal(c.stats.next_closed, 100);
    assert_int_equal(c.standing, KL_STANDING_IN);
    assert_true(c.sample_acked < c.stats.next_sample);
}

/* Frames that were run stay; others, samples, the relay's clock and our place in the game do not. */
TEST(a_new_session) {
    begin(1, 0);
    play_to_100();
    uint32_t run = c.stats.next_run, sample = c.stats.next_sample;
    uint64_t now = 13000000;
    kl_client_drop(&c);
    kl_client_return(&c, now);
    assert_in_range(run, 90, 98); /* a relay that was started anew may close others than those three */
    assert_int_equal(kl_client_have(&c), run);
    assert_int_equal(c.stats.next_run, run);
    assert_true(c.stats.absent);
    struct kl_ctrl m = sends(now);
    assert_true(m.frame_acked == run && m.sample_count == 0 && !m.resume && !m.has_echo);
    struct kl_plan p = turn(now, 4); /* the old schedule is gone, the new one not yet known */
    assert_true(p.runs == 0 && p.samples == 0);

    /* the new relay's clock says something else altogether, older than what the old one's did */
    uint64_t relay = 5000, t0 = relay - 130 * FRAME_US;
    assert_int_equal(update(130, 0, KL_ABSENT, 0, relay, t0, now + 1000), 0);
    assert_int_equal(kl_client_behind(&c), 130 - run);
    p = turn(now + 1000, 4);
    assert_true(p.runs == 0 && p.samples == 0);
    turn(now + 1000, 200);
    assert_int_equal(c.standing, KL_STANDING_OUT); /* it has run all it has, and knows that there is more */
    assert_int_equal(update(run, 130 - run, KL_ABSENT, 0, relay + 1000, t0, now + 2000), 0);
    assert_int_equal(kl_client_behind(&c), 0);
    turn(now + 2000, 4);
    assert_int_equal(c.standing, KL_STANDING_OUT);
    turn(now + 2000, 200);
    assert_int_equal(c.standing, KL_STANDING_BACK);
    turn(now + 21000, 200);
    m = sends(now + 21000);
    assert_true(m.resume && m.sample_count > 0);
    assert_in_range(m.sample_first, 129, 134);
    assert_true(m.sample_first >= sample);
    assert_int_equal(update(130, 0, KL_RETURNING, m.sample_first + 1, relay + 30000, t0, now + 31000), 0);
    assert_int_equal(c.standing, KL_STANDING_IN);
}

/* It is not thanked for samples that it never sent, whatever the relay remembers of an earlier process. */
TEST(a_new_process) {
    begin(1, 0);
    uint64_t now = 50000000, relay = 90000000, t0 = relay - 1000 * FRAME_US;
    kl_client_return(&c, now);
    assert_int_equal(kl_client_have(&c), 0);
    assert_int_equal(history(0, 64, now), 0);
    for (unsigned i = 0; i < 10; i++) { /* no UPDATE yet: it does not know how far the room is */
        turn(now + i, 200);
        assert_int_equal(c.standing, KL_STANDING_OUT);
    }
    uint32_t at = 64;
    for (unsigned i = 0; at < 1000; i++, now += FRAME_US, relay += FRAME_US) {
        assert_int_equal(update(1000, 0, KL_ABSENT, 0, relay, t0, now), 0);
        assert_true(kl_client_behind(&c) > 0);
        uint32_t n = 1000 - at < 60 ? 1000 - at : 60;
        assert_int_equal(history(at, n, now), 0);
        at += n;
        turn(now, 64);
        if (at < 990) assert_int_equal(c.standing, KL_STANDING_OUT);
    }
    for (unsigned i = 0; i < 4; i++)
        turn(now, 500);
    assert_int_equal(c.stats.next_run, 1000);
    assert_in_range(c.stats.late_frames, 0, KL_SPACING_MAX); /* they did not come late, we did */
    assert_int_equal(c.standing, KL_STANDING_BACK);
    assert_in_range(c.stats.next_sample, 999, 1020);
}

/* A frame that comes by history says nothing of how long the way down is. */
TEST(history_is_not_late) {
    begin(1, 0);
    for (uint32_t f = 0; f < PAST; f++)
        past[f].flags |= KL_FRAME_BY_CLOCK;
    kl_client_return(&c, 1000);
    assert_int_equal(update(1000, 0, KL_ABSENT, 0, 90000000, 90000000 - 1000 * FRAME_US, 2000), 0);
    for (uint32_t i = 0; i < 4; i++) /* in windows of their own */
        assert_int_equal(history(64 * i, 64, 3000 + 600000 * i), 0);
    kl_playout_margin_us(&c.playout, 2000000);
    assert_true(kl_playout_margin_us(&c.playout, 60000000) == 0);
}

TEST(a_spectator) {
    begin(0, 0);
    kl_client_return(&c, 1000);
    assert_int_equal(c.standing, KL_STANDING_IN);
    assert_false(c.stats.absent);
    assert_int_equal(history(0, 64, 1000), 0);
    assert_int_equal(update(64, 0, KL_PRESENT, 0, 5000000, 1000000, 2000), 0);
    turn(2000, 20);
    assert_int_equal(c.stats.next_run, 20);
}

/* A piece without a place comes again; nothing is taken twice or out of order. */
TEST(as_much_as_there_is_place_for) {
    begin(1, 0);
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
    assert_int_equal(update(PAST - 1000, 0, KL_ABSENT, 0, 90000000, 90000000 - 1000 * FRAME_US, 1000), 0);
    turn(1000, 100);
    assert_int_equal(history(at, 64, 1000), 0);
    size_t len = piece(at + 64, 10);
    buf[len - 1] ^= 0x7f;
    assert_int_equal(kl_client_history(&c, buf, len - 1, 1000), KL_E_MALFORMED);
    assert_int_equal(c.stats.next_closed, at + 64);
}

/* A frame that was not run goes, with its commands: a relay that was started anew closes other frames there.
 */
TEST(frames_that_were_not_run_come_anew) {
    begin(1, 1);
    past[97].in[0].joypad = past[98].in[0].joypad = past[99].in[0].joypad = 0xdead;
    assert_int_equal(history(0, 60, 1000000), 0);
    assert_int_equal(history(60, 45, 1000000), 0);
    assert_int_equal(update(105, 0, KL_ABSENT, 0, 5000, 5000 - 105 * FRAME_US, 1000000), 0);
    turn(1001000, 97);
    assert_int_equal(c.stats.next_run, 97);
    kl_client_drop(&c);
    kl_client_return(&c, 13000000);
    assert_int_equal(kl_client_have(&c), 97);
    assert_non_null(kl_client_commands(&c, 96)); /* taken, and not yet looked at */
    for (uint32_t f = 97; f < 100; f++)
        past[f].in[0].joypad = (uint16_t)f;
    commands[25].at[0].data[0] = 77; /* at frame 100 */
    assert_int_equal(history(97, 20, 13001000), 0);
    assert_int_equal(update(117, 0, KL_ABSENT, 0, 5000, 5000 - 117 * FRAME_US, 13001000), 0);
    assert_int_equal(turn(13002000, 4).runs, 4);
    assert_int_equal(kl_client_commands(&c, 100)->at[0].data[0], 77);
    assert_int_equal(turn(13002000, 16).runs, 16);
    assert_int_equal(kl_client_commands(&c, 116)->at[0].data[0], 116);
}

/* With as many keyframes' commands as there are: each stands before its frame. */
TEST(commands_come_with_their_frames) {
    begin(1, 1);
    kl_client_return(&c, 1000);
    for (uint32_t at = 0; at < 256; at += 64)
        assert_int_equal(history(at, 64, 1000), 0);
    assert_int_equal(update(500, 0, KL_ABSENT, 0, 90000000, 90000000 - 500 * FRAME_US, 1000), 0);
    while (c.stats.next_run < 256) {
        turn(1000, 1);
        uint32_t frame = c.stats.next_run - 1;
        const struct kl_commands *set = kl_client_commands(&c, frame);
        assert_int_equal(set != NULL, frame % 4 == 0);
        if (set) assert_int_equal(set->at[0].data[0], (uint8_t)frame);
    }
}
