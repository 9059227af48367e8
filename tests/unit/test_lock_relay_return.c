/* Sessions that end, clients that come back, rooms that go on after the relay died. PROTOCOL.md §5, §7. */
#include "tests/unit/unit.h"

#include "tests/lib/relay_hand.h"
#include "net/engine/lock_relay_return.h"

static uint8_t buf[KL_DATAGRAM_MAX];

static struct kl_params params(uint8_t policy) {
    struct kl_params p = hand_params(policy, 3, 4);
    p.hash_every = 10;
    return p;
}

static void begin(uint8_t policy) {
    hand_begin_three(params(policy));
}

/* Samples [from, to) of these clients, each at its time; the spectator acknowledges. */
static void play(unsigned clients, uint32_t from, uint32_t to) {
    for (uint32_t n = from; n < to; n++) {
        for (unsigned i = 0; i < 3; i++)
            if (clients >> i & 1) assert_int_equal(hand_ctrl(i, n, 1, 0, hand_line(n)), 0);
        if (clients >> 9 & 1) assert_int_equal(hand_ctrl(9, 0, 0, 0, hand_line(n)), 0);
        kl_lock_tick(&r, hand_line(n));
        hand_take_all();
    }
}

static struct kl_update sent(unsigned client, uint64_t now_us) {
    static struct kl_update u;
    size_t len = kl_lock_send(&r, client, now_us, buf, sizeof buf);
    assert_true(len > 0);
    assert_int_equal(kl_update_open(&u, buf, len), 0);
    return u;
}

static void acked(unsigned client, uint32_t frames, uint32_t backlog, uint64_t now_us) {
    struct kl_ctrl m = {.stamp = (uint32_t)now_us, .frame_acked = frames, .backlog = backlog};
    size_t len = kl_ctrl_write(&m, (const struct kl_input(*)[KL_MAX_SEATS])ring, r.client[client].seat_count,
                               buf, sizeof buf);
    assert_int_equal(kl_lock_receive(&r, client, buf, len, 0, 0, now_us), 0);
}

TEST(a_return_must_be_possible) {
    struct kl_params p = params(KL_POLICY_BOUNDED);
    hand_begin(p);
    kl_lock_add(&r, 0, 1, 0);
    assert_int_equal(kl_lock_return(&r, 0, 0, 10), KL_E_STATE); /* not started */
    begin(KL_POLICY_BOUNDED);
    play(0x207, 0, 20);
    kl_lock_cut(&r, 2, hand_line(20));
    assert_int_equal(kl_lock_return(&r, 7, 0, hand_line(21)), KL_E_STATE);
    assert_int_equal(kl_lock_return(&r, KL_MAX_CLIENTS, 0, hand_line(21)), KL_E_STATE);
    assert_int_equal(kl_lock_return(&r, 2, r.next_close + 1, hand_line(21)), KL_E_WINDOW);
    assert_int_equal(r.client[2].link, KL_LINK_CUT);
    assert_int_equal(kl_lock_return(&r, 2, r.next_close, hand_line(21)), 0);
    assert_int_equal(r.client[2].link, KL_LINK_BACK);
}

/* Another machine's clock may show anything: its stamps are not older than those of the session before. */
TEST(one_comes_back_with_another_clock) {
    begin(KL_POLICY_BOUNDED);
    play(0x207, 0, 20);
    assert_int_equal(kl_lock_return(&r, 2, r.next_close, hand_line(40)), 0);
    assert_false(sent(2, hand_line(40)).has_echo);
    struct kl_ctrl m = {.stamp = 7, .frame_acked = r.next_close, .resume = true, .sample_first = 24};
    size_t len = kl_ctrl_write(&m, (const struct kl_input(*)[KL_MAX_SEATS])ring, 1, buf, sizeof buf);
    assert_int_equal(kl_lock_receive(&r, 2, buf, len, 0, 0, hand_line(41)), 0);
    assert_int_equal(r.client[2].presence, KL_RETURNING);
    assert_int_equal(sent(2, hand_line(41)).echo, 7);
}

/* Pieces from where it is, as far as it may run ahead, and UPDATEs when it has come near. */
TEST(one_comes_back_from_afar) {
    begin(KL_POLICY_BOUNDED);
    play(0x207, 0, 20);
    kl_lock_cut(&r, 2, hand_line(20));
    play(0x203, 20, 9000);
    uint32_t from = 7;
    assert_false(kl_lock_wants_history(&r, 2, &from));
    assert_int_equal(kl_lock_return(&r, 2, 20, hand_line(9000)), 0);
    assert_true(kl_lock_fetching(&r, 2));
    assert_false(kl_lock_lost(&r, 2));
    struct kl_update u = sent(2, hand_line(9000));
    assert_true(u.count == 0 && u.first == r.next_close);
    assert_true(kl_lock_wants_history(&r, 2, &from));
    assert_int_equal(from, 20);
    kl_lock_gave_history(&r, 2, 64);
    kl_lock_gave_history(&r, 2, 30); /* never back */
    assert_true(kl_lock_wants_history(&r, 2, &from));
    assert_int_equal(from, 64);
    kl_lock_gave_history(&r, 2, 20 + KL_HISTORY_AHEAD);
    assert_false(kl_lock_wants_history(&r, 2, &from));
    acked(2, 1000, 979, hand_line(9001)); /* has run 21 */
    assert_true(kl_lock_wants_history(&r, 2, &from));
    hand_ctrl(2, 9000, 1, HAND_RESUME,
              hand_line(9001) + 1); /* acknowledges everything, and resumes at once */
    assert_false(kl_lock_fetching(&r, 2));
    assert_false(kl_lock_wants_history(&r, 2, &from));

    assert_int_equal(kl_lock_return(&r, 2, 0, hand_line(9002)), 0); /* a new process */
    kl_lock_gave_history(&r, 2, 8000);
    acked(2, 8000, 0, hand_line(9002));
    assert_true(kl_lock_fetching(&r, 2));
    kl_lock_gave_history(&r, 2, r.next_close - 10);
    assert_false(kl_lock_wants_history(&r, 2, &from)); /* no crumbs while more is under way */
    acked(2, r.next_close - 260, 0, hand_line(9003));
    assert_true(kl_lock_fetching(&r, 2));
    acked(2, r.next_close - 256, 0, hand_line(9004));
    assert_false(kl_lock_fetching(&r, 2));
    u = sent(2, hand_line(9005));
    assert_int_equal(u.first, r.next_close - 256);
    assert_true(u.count > 0);
}

/* A keyframe's commands that the room has no longer must come by history, however near the frame is. */
TEST(commands_that_are_gone_come_by_history) {
    begin(KL_POLICY_STRICT);
    play(0x207, 0, 20);
    for (uint32_t n = 20; n < 20 + 4 * (KL_COMMAND_SETS + 4); n++) {
        if (n % 4 == 0) assert_int_equal(kl_lock_command(&r, 0, KL_COMMAND_FREE, NULL, 0), 0);
        play(0x207, n, n + 1);
    }
    uint32_t from;
    struct kl_commands set;
    assert_null(kl_lock_commands(&r, 28, &set));
    assert_int_equal(kl_lock_return(&r, 2, 0, hand_line(100)), 0);
    assert_true(kl_lock_fetching(&r, 2));
    kl_lock_gave_history(&r, 2, r.next_close - 1);
    acked(2, r.next_close - 1, 0, hand_line(101));
    assert_false(kl_lock_fetching(&r, 2));
    assert_false(kl_lock_wants_history(&r, 2, &from));
    sent(2, hand_line(101));
}

TEST(a_client_that_is_lost_can_fetch) {
    begin(KL_POLICY_BOUNDED);
    play(0x007, 0, 1100);
    uint32_t from;
    assert_true(kl_lock_lost(&r, 9));
    kl_lock_fetch(&r, 9);
    kl_lock_fetch(&r, 7);
    assert_false(kl_lock_lost(&r, 9));
    assert_true(kl_lock_wants_history(&r, 9, &from));
    assert_int_equal(from, 0);
}

/* --- after the relay died --- */

static struct kl_frame past[2000];
static struct kl_commands orders[2000];

static void keeps(uint32_t frame) {
    struct kl_frame f;
    assert_true(kl_lock_frame(&r, frame, &f));
    assert_memory_equal(&f, &past[frame], sizeof f);
}

/* 200 frames with a swap, a change of the budget and one that means nothing here; kept in past. */
static void live(void) {
    uint8_t swap[] = {0, 2}, change[] = {KL_POLICY_BOUNDED, 100, 0, 0, 0};
    struct kl_params p = params(KL_POLICY_BOUNDED);
    struct kl_frame f;
    uint32_t taken = 0;
    hand_begin(p);
    for (unsigned i = 0; i < KL_WINDOW_FRAMES; i++)
        ring[i][0].joypad = 0x10;
    for (unsigned i = 0; i < 3; i++)
        kl_lock_add(&r, i, (uint8_t)(1u << i), 0);
    kl_lock_start(&r, 1000);
    for (uint32_t n = 0; n < 200 || r.next_close == r.now.first; n++) { /* ends within an interval */
        if (n == 50) kl_lock_command(&r, 0, KL_COMMAND_SWAP, swap, sizeof swap);
        if (n == 100) kl_lock_command(&r, 0, KL_COMMAND_POLICY, change, sizeof change);
        if (n == 130) kl_lock_command(&r, 1, KL_COMMAND_FREE, swap, 2);
        for (unsigned i = 0; i < 3; i++)
            hand_ctrl(i, n, 1, 0, hand_line(n));
        kl_lock_tick(&r, hand_line(n));
        while (kl_lock_take(&r, &f)) {
            struct kl_commands set;
            const struct kl_commands *c = kl_lock_commands(&r, f.number, &set);
            past[taken] = f;
            orders[taken++] = c ? *c : (struct kl_commands){0};
        }
    }
    assert_int_equal(taken, r.next_close);
}

static void bring_back(uint32_t frames) {
    struct kl_params p = params(KL_POLICY_BOUNDED);
    hand_begin(p);
    for (unsigned i = 0; i < 3; i++)
        kl_lock_add(&r, i, (uint8_t)(1u << i), 0);
    for (uint32_t n = 0; n < frames; n++)
        assert_int_equal(kl_lock_adopt(&r, &past[n], orders[n].count ? &orders[n] : NULL), 0);
}

TEST(only_a_past_is_adopted) {
    live();
    uint32_t key = 0;
    while (orders[key].count == 0)
        key++;
    bring_back(0);
    assert_int_equal(kl_lock_reopen(&r, 0, 70), KL_E_STATE);
    bring_back(key);
    struct kl_frame f = past[key];
    assert_int_equal(kl_lock_adopt(&r, &past[key + 1], NULL), KL_E_WINDOW);
    assert_int_equal(kl_lock_adopt(&r, &f, NULL), KL_E_MALFORMED);
    assert_int_equal(kl_lock_adopt(&r, &f, &orders[0]), KL_E_MALFORMED);
    f.flags = 0;
    assert_int_equal(kl_lock_adopt(&r, &f, NULL), KL_E_MALFORMED);
    f = past[key];
    f.keyframe = 0;
    assert_int_equal(kl_lock_adopt(&r, &f, &orders[key]), KL_E_MALFORMED);
    f = past[key];
    f.spacing = KL_SPACING_MAX + 1;
    assert_int_equal(kl_lock_adopt(&r, &f, &orders[key]), KL_E_MALFORMED);
    assert_int_equal(kl_lock_adopt(&r, &past[key], &orders[key]), 0);
    f = past[key + 1];
    f.spacing++;
    assert_int_equal(kl_lock_adopt(&r, &f, NULL), KL_E_MALFORMED);
    kl_lock_remove(&r, 0, 0), kl_lock_remove(&r, 1, 0), kl_lock_remove(&r, 2, 0);
    assert_int_equal(kl_lock_reopen(&r, 0, 70), KL_E_STATE); /* nobody has a seat */
}

static void come_back(unsigned client, uint32_t sample, uint64_t now_us) {
    assert_int_equal(kl_lock_return(&r, client, r.next_close, now_us), 0);
    assert_int_equal(hand_ctrl(client, sample, 1, HAND_RESUME, now_us + 1), 0);
}

/* It waits for who is still on his way, for so long; then it goes on without him. */
TEST(a_room_goes_on_when_they_are_back) {
    uint64_t now = 77000000;
    live();
    bring_back(190);
    assert_int_equal(kl_lock_reopen(&r, 3000000, now), 0);
    assert_int_equal(kl_lock_out(&r), 7);
    assert_int_equal(kl_lock_send(&r, 0, now + 100000, buf, sizeof buf), 0);
    come_back(0, 190, now + 100000);
    come_back(1, 190, now + 200000);
    assert_int_equal(kl_lock_waiting_for(&r), 4); /* though the seats of 0 and 2 were swapped */
    assert_true(kl_lock_tick_at(&r) == now + 3000000);
    kl_lock_tick(&r, now + 2900000);
    assert_int_equal(r.next_close, 190);
    kl_lock_tick(&r, now + 3000000);
    assert_int_equal(r.next_close, 191); /* the schedule has moved: not all at once */
    assert_true(kl_lock_tick_at(&r) > now + 3000000);
    keeps(100);
    hand_take_all();
    assert_int_equal(hand_last.number, 190);
    assert_int_equal(hand_last.keyframe, past[190].keyframe);

    bring_back(190);
    assert_int_equal(kl_lock_reopen(&r, 3000000, now), 0);
    for (unsigned i = 0; i < 3; i++)
        come_back(i, 190, now + 100000 * i);
    kl_lock_tick(&r, now + 250001);
    assert_true(r.next_close > 190); /* all are here: at once */
}
