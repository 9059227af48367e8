/* Sessions that end, clients that come back, rooms that go on after the relay died. PROTOCOL.md §5, §7. */
#include "tests/unit/unit.h"

#include "tests/lib/relay_hand.h"
#include "net/engine/lock_relay_return.h"

#define FRAME_US UINT64_C(20000)

static uint8_t buf[KL_DATAGRAM_MAX];

static struct kl_params params(uint8_t policy, bool clocked) {
    struct kl_params p = hand_params(policy, 3, 4);
    p.clocked = clocked;
    p.hash_every = 10;
    return p;
}

static void begin(uint8_t policy) {
    hand_begin_three(params(policy, true));
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

TEST(a_client_that_is_cut_gets_nothing_and_holds_nobody_up) {
    begin(KL_POLICY_BOUNDED);
    play(0x207, 0, 20);
    kl_lock_cut(&r, 5, hand_line(20)); /* nobody */
    kl_lock_cut(&r, 2, hand_line(20));
    assert_int_equal(r.client[2].presence, KL_ABSENT);
    assert_int_equal(kl_lock_out(&r), 4);
    assert_int_equal(kl_lock_away(&r), 4);
    uint32_t before = r.next_close;
    play(0x203, 20, 40);
    assert_int_equal(r.next_close, before + 20); /* not one frame waited for it */
    assert_int_equal(hand_ctrl(2, 20, 1, 0, hand_line(40)), KL_E_STATE);
    assert_int_equal(kl_lock_send(&r, 2, hand_line(400), buf, sizeof buf), 0);
    for (unsigned i = 0; i < 10; i++)
        while (kl_lock_send(&r, i, hand_line(40), buf, sizeof buf) > 0) {
        }
    assert_true(kl_lock_send_at(&r) > hand_line(40));
    play(0x203, 40, 1200);
    assert_false(kl_lock_lost(&r, 2));
    assert_true(r.client[2].frame_acked + KL_KEPT_FRAMES < r.next_close);
}

TEST(a_return_must_be_possible) {
    struct kl_params p = params(KL_POLICY_BOUNDED, true);
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

/* From nearby it gets UPDATEs as ever, is absent until it resumes, and then counts from a keyframe on. */
TEST(one_comes_back_from_nearby) {
    begin(KL_POLICY_BOUNDED);
    play(0x207, 0, 20);
    play(0x203, 20, 21);
    assert_int_equal(kl_lock_return(&r, 2, 15, hand_line(40)),
                     0); /* the old session was not known to be over */
    assert_false(kl_lock_fetching(&r, 2));
    struct kl_update u = sent(2, hand_line(40));
    assert_true(u.presence == KL_ABSENT && u.first == 15 && u.first + u.count == r.next_close);
    assert_int_equal(u.next_sample, 0);
    play(0x203, 21, 41);
    uint32_t from = 43;
    assert_int_equal(hand_ctrl(2, from, 1, HAND_RESUME, hand_line(41)), 0);
    assert_int_equal(r.client[2].link, KL_LINK_UP);
    assert_int_equal(r.client[2].presence, KL_RETURNING);
    for (uint32_t n = 41; n < 60; n++) {
        play(0x203, n, n + 1);
        if (n >= from) assert_int_equal(hand_ctrl(2, n + 1, 1, 0, hand_line(n)), 0);
        hand_take_all();
        /* the first interval laid out since that begins at 43 or later begins at 48; the one after shows it
         */
        assert_int_equal(hand_last.in[2].joypad != 0, hand_last.number >= 52);
    }
    assert_int_equal(r.client[2].presence, KL_PRESENT);
    hand_ctrl(0, 60, 1, 0, hand_line(60));
    hand_ctrl(1, 60, 1, 0, hand_line(60));
    hand_ctrl(0, 61, 1, 0, hand_line(60));
    hand_ctrl(1, 61, 1, 0, hand_line(60));
    assert_int_equal(kl_lock_waiting_for(&r), 4); /* and it is waited for again */
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

TEST(nobody_resumes_who_still_fetches) {
    begin(KL_POLICY_BOUNDED);
    play(0x207, 0, 20);
    kl_lock_cut(&r, 2, hand_line(20));
    play(0x203, 20, 600);
    kl_lock_return(&r, 2, 20, hand_line(600));
    struct kl_ctrl m = {
        .stamp = (uint32_t)hand_line(601), .frame_acked = 30, .resume = true, .sample_first = 600};
    size_t len = kl_ctrl_write(&m, (const struct kl_input(*)[KL_MAX_SEATS])ring, 1, buf, sizeof buf);
    assert_int_equal(kl_lock_receive(&r, 2, buf, len, 0, 0, hand_line(601)), 0);
    assert_int_equal(r.client[2].presence, KL_ABSENT);
    assert_int_equal(r.client[2].link, KL_LINK_BACK);
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

TEST(strict_stands_still_until_it_is_back) {
    begin(KL_POLICY_STRICT);
    play(0x207, 0, 20);
    kl_lock_cut(&r, 2, hand_line(20));
    uint32_t before = r.next_close;
    play(0x203, 20, 24);
    assert_int_equal(r.next_close, before);
    assert_int_equal(kl_lock_waiting_for(&r), 4);
    kl_lock_tick(&r, hand_line(5000));
    assert_int_equal(r.next_close, before);
    assert_true(kl_lock_tick_at(&r) == UINT64_MAX);
    kl_lock_return(&r, 2, before, hand_line(5000));
    kl_lock_tick(&r, hand_line(5001));
    assert_int_equal(r.next_close, before); /* not before it says so */
    assert_int_equal(hand_ctrl(2, 23, 1, HAND_RESUME, hand_line(5002)), 0);
    assert_true(r.next_close > before);
    assert_int_equal(kl_lock_waiting_for(&r) & 4, 0); /* not its own yet */
    kl_lock_cut(&r, 2, hand_line(5010));
    before = r.next_close;
    play(0x203, 24, 28);
    assert_int_equal(r.next_close, before);
    kl_lock_remove(&r, 2, hand_line(5020)); /* its time is up */
    assert_true(r.next_close > before);
}

TEST(a_spectator_comes_back) {
    begin(KL_POLICY_STRICT);
    play(0x207, 0, 20);
    kl_lock_cut(&r, 9, hand_line(20));
    play(0x007, 20, 40);
    assert_int_equal(r.next_close, 44);
    kl_lock_return(&r, 9, 20, hand_line(40));
    assert_int_equal(r.client[9].link, KL_LINK_UP);
    assert_int_equal(sent(9, hand_line(40)).first, 20);
}

/* A room without a clock, as fast as its players go: so many samples of each, as far as there is use for
 * them. */
static void press_on(unsigned times) {
    for (unsigned n = 0; n < times; n++)
        for (unsigned i = 0; i < 3; i++)
            if (r.client[i].next_sample < r.next_close + 4)
                assert_int_equal(hand_ctrl(i, r.client[i].next_sample, 1, 0, hand_line(900)), 0);
}

/* Without a clock the others wait for who lags; not for who is cut or fetches. */
TEST(without_a_clock_nobody_waits_for_the_cut) {
    hand_begin_three(params(KL_POLICY_BOUNDED, false));
    press_on(900);
    assert_true(r.next_close < 600); /* the spectator lags */
    kl_lock_cut(&r, 9, hand_line(900));
    press_on(900);
    uint32_t far = r.next_close;
    assert_true(far > 900);
    assert_int_equal(kl_lock_return(&r, 9, 0, hand_line(901)), 0);
    press_on(4);
    assert_true(r.next_close > far);
    acked(9, r.next_close - 256, 0, hand_line(903));
    far = r.next_close;
    press_on(900);
    assert_in_range(r.next_close, far, far + 260);
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
static struct kl_lock_relay before;

static void keeps(uint32_t frame) {
    struct kl_frame f;
    assert_true(kl_lock_frame(&r, frame, &f));
    assert_memory_equal(&f, &past[frame], sizeof f);
}

/* 200 frames with a swap, a change of policy (to `policy`) and one that means nothing here; kept in past. */
static void live(uint8_t policy) {
    uint8_t swap[] = {0, 2}, change[] = {policy, 100, 0, 0, 0};
    struct kl_params p = params(KL_POLICY_BOUNDED, true);
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
    before = r;
}

static void bring_back(uint32_t frames) {
    struct kl_params p = params(KL_POLICY_BOUNDED, true);
    hand_begin(p);
    for (unsigned i = 0; i < 3; i++)
        kl_lock_add(&r, i, (uint8_t)(1u << i), 0);
    for (uint32_t n = 0; n < frames; n++)
        assert_int_equal(kl_lock_adopt(&r, &past[n], orders[n].count ? &orders[n] : NULL), 0);
}

static void same_interval(const struct kl_interval *a, const struct kl_interval *b) {
    assert_int_equal(a->first, b->first);
    assert_int_equal(a->length, b->length);
    assert_int_equal(a->sample_first, b->sample_first);
    assert_int_equal(a->samples, b->samples);
    assert_int_equal(a->samples_end, b->samples_end);
    assert_int_equal(a->active, b->active);
    assert_int_equal(a->hash, b->hash);
    assert_int_equal(a->by_clock, b->by_clock);
}

/* The old room, as far as the frames can tell: nothing else of the old room is left. */
TEST(a_room_is_what_its_frames_made_it) {
    static const uint8_t policies[] = {KL_POLICY_STRICT, KL_POLICY_BOUNDED, KL_POLICY_OPTIMISTIC};
    for (unsigned i = 0; i < COUNT(policies); i++) {
        live(policies[i]);
        bring_back(before.next_close);
        same_interval(&r.now, &before.now);
        same_interval(&r.before, &before.before);
        assert_memory_equal(r.plays, before.plays, sizeof r.plays);
        assert_int_equal(r.params.policy, policies[i]);
        assert_int_equal(r.params.wait_budget_ms, before.params.wait_budget_ms);
        assert_int_equal(r.params.spacing_fixed, before.params.spacing_fixed);
        assert_int_equal(r.hash_next, before.hash_next);
        uint32_t paid = KL_COMMAND_PACE * (before.given_at - r.given_at);
        assert_int_equal(r.commands_given > paid ? r.commands_given - paid : 0, before.commands_given);
        assert_int_equal(r.next_close, before.next_close);
        for (uint32_t f = 0; f < r.next_close; f++)
            keeps(f);
        assert_int_equal(kl_lock_reopen(&r, 0, 70), 0);
        assert_int_equal(hand_take_all(), 0); /* none of them is handed out again */
        assert_int_equal(kl_lock_adopt(&r, &past[r.next_close], NULL), KL_E_STATE);
    }
}

/* The interval between closing by the clock and closing by samples: its end of samples is found again. */
TEST(a_room_between_two_policies) {
    uint8_t change[] = {KL_POLICY_BOUNDED, 100, 0, 0, 0};
    struct kl_frame f;
    uint32_t n = 0;
    begin(KL_POLICY_OPTIMISTIC);
    memset(orders, 0, sizeof orders);
    r.next_hand = 0; /* all of them */
    kl_lock_command(&r, 0, KL_COMMAND_POLICY, change, sizeof change);
    for (; r.now.samples_end == UINT32_MAX || r.next_close == r.now.first; n++) {
        assert_true(n < 100);
        for (unsigned i = 0; i < 3; i++)
            hand_ctrl(i, n, 1, 0, hand_line(n));
        kl_lock_tick(&r, hand_line(n));
    }
    while (kl_lock_take(&r, &f)) {
        struct kl_commands set;
        const struct kl_commands *c = kl_lock_commands(&r, f.number, &set);
        past[f.number] = f;
        if (c) orders[f.number] = *c;
    }
    before = r;
    hand_begin(params(KL_POLICY_OPTIMISTIC, true));
    kl_lock_add(&r, 0, 7, 0);
    for (n = 0; n < before.next_close; n++)
        assert_int_equal(kl_lock_adopt(&r, &past[n], orders[n].count ? &orders[n] : NULL), 0);
    same_interval(&r.now, &before.now);
    same_interval(&r.before, &before.before);
}

/* A pause that a later interval has ended is over; one that none has is not. */
TEST(a_room_that_paused) {
    struct kl_frame f;
    begin(KL_POLICY_BOUNDED);
    memset(orders, 0, sizeof orders);
    r.next_hand = 0;
    kl_lock_command(&r, 0, KL_COMMAND_PAUSE, NULL, 0);
    for (uint32_t n = 0; n < 20; n++) {
        if (r.paused) kl_lock_resume(&r, hand_line(n));
        for (unsigned i = 0; i < 3; i++)
            hand_ctrl(i, n, 1, 0, hand_line(n));
    }
    uint32_t paused_at = 0;
    for (; kl_lock_take(&r, &f); past[f.number] = f) {
        struct kl_commands set;
        const struct kl_commands *c = kl_lock_commands(&r, f.number, &set);
        if (c) orders[f.number] = *c;
        if (c) paused_at = f.number + f.spacing;
    }
    assert_true(paused_at > 0 && paused_at + 4 <= r.next_close);
    bring_back(paused_at + 1);
    assert_int_equal(kl_lock_reopen(&r, 0, 70), 0);
    assert_false(r.paused || r.pausing);
    bring_back(paused_at - 1);
    assert_int_equal(kl_lock_reopen(&r, 0, 70), 0);
    assert_true(r.pausing && !r.paused);
    bring_back(paused_at);
    assert_int_equal(kl_lock_reopen(&r, 0, 70), 0);
    assert_true(r.paused);
}

TEST(only_a_past_is_adopted) {
    live(KL_POLICY_BOUNDED);
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
    live(KL_POLICY_BOUNDED);
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

/* Strict has no limit to its patience, and a new relay's frame F is due soon after whatever its clock says.
 */
TEST(strict_goes_on_when_all_are_back) {
    live(KL_POLICY_STRICT);
    bring_back(before.next_close);
    assert_int_equal(kl_lock_reopen(&r, 0, 5), 0);
    double due = kl_schedule_line_us(&r.schedule, r.next_close);
    assert_in_range((uint64_t)due, 5, 100000);
    come_back(0, 210, 1000);
    come_back(2, 210, 2000);
    kl_lock_tick(&r, 90000000);
    assert_int_equal(r.next_close, before.next_close);
    come_back(1, 210, 90000000);
    assert_true(r.next_close > before.next_close);
}
