/* A client's need of spacing: its lateness, less the part that a frame owes to samples taken late.
 * PROTOCOL.md §5. */
#include "tests/unit/unit.h"

#include "net/engine/lock_relay.h"
#include "net/engine/lock_relay_return.h"
#include "net/engine/lock_wire.h"
#include "tests/lib/relay_hand.h"

static uint32_t need_echo = 8960000;
static uint32_t trip_us; /* the shortest round trip so far */

/* Three players with spacing 4. */
static void begin(uint8_t policy) {
    hand_begin_three(hand_params(policy, 3, 4));
}

TEST(lateness_of_the_sampler_is_no_need_of_the_links) {
    begin(KL_POLICY_STRICT);
    hand_all_say(7, 0);
    hand_all_say(7, 1);
    hand_all_say(3, 2);
    hand_all_say(3, 3);
    hand_late = 16 * 10; /* the newest ten frames late, the one before eleven */
    hand_batch = 2;
    hand_ctrl(2, 2, 2, 0, hand_line(3) + 300000);
    hand_take_all();
    assert_int_equal(r.next_close, interval + 4);
    assert_int_equal(r.excuse[(interval + 1) % KL_KEPT_FRAMES], 0);
    assert_int_equal(r.excuse[(interval + 2) % KL_KEPT_FRAMES], 4 * 11 - 3);
    assert_int_equal(r.excuse[(interval + 3) % KL_KEPT_FRAMES], 4 * 10 - 3);
}

/* Client 2 tells samples 2 and 3 ten frames late, as of one turn each. expect: the excuse of the older. */
static void tells_two_at_once(uint8_t expect) {
    hand_batch = 1;
    hand_late = 16 * 10;
    hand_ctrl(2, 2, 2, 0, hand_line(3) + 300000);
    hand_take_all();
    assert_int_equal(r.excuse[(interval + 2) % KL_KEPT_FRAMES], expect);
}

static void three_say_two_and_two_say_four(void) {
    begin(KL_POLICY_STRICT);
    hand_all_say(7, 0);
    hand_all_say(7, 1);
    hand_all_say(3, 2);
    hand_all_say(3, 3);
}

TEST(samples_that_a_client_keeps_are_late_by_it) {
    three_say_two_and_two_say_four();
    tells_two_at_once(4 * 11 - 3); /* nothing was lost */
    three_say_two_and_two_say_four();
    hand_missing = 1; /* the datagram that told sample 2 was lost */
    tells_two_at_once(0);
    three_say_two_and_two_say_four();
    hand_has_echo = true; /* a CTRL without sample 2, of a client that had an UPDATE of eight frames later */
    hand_echo = (uint32_t)hand_line(2) + 160000;
    r.client[2].sent[5].stamp = hand_echo;
    hand_ctrl(2, 2, 0, 0, hand_line(2) + 200000);
    hand_has_echo = false;
    hand_missing = 1;
    tells_two_at_once(4 * 8 - 3);
}

/* Client 0 says that this was its need, and echoes what was sent 40 ms ago. */
static uint8_t kept_need_of(uint32_t frame, uint8_t told) {
    uint8_t buf[KL_DATAGRAM_MAX];
    r.client[0].sent[7].stamp = 8960000;
    struct kl_ctrl m = {.stamp = 9000000,
                        .has_echo = true,
                        .echo = need_echo,
                        .frame_acked = r.next_close,
                        .backlog = r.next_close - frame - 1,
                        .need_count = 1,
                        .need = {told},
                        .sample_first = r.client[0].next_sample};
    size_t len = kl_ctrl_write(&m, (const struct kl_input(*)[KL_MAX_SEATS])ring, 1, buf, sizeof buf);
    assert_int_equal(kl_lock_receive(&r, 0, buf, len, 0, 0, 9000000), 0);
    return r.spacing.need[0][frame % KL_SPACING_HISTORY];
}

/* The client acknowledged the frame so late that the need may be true. */
static uint8_t kept_need(uint32_t frame, uint8_t told) {
    r.client[0].shown_us[frame % KL_WINDOW_FRAMES] = 9000000;
    return kept_need_of(frame, told);
}

TEST(a_need_counts_without_what_the_frame_owes_to_it) {
    begin(KL_POLICY_STRICT);
    for (uint32_t n = 0; n < 4; n++)
        hand_all_say(n < 2 ? 7 : 3, n);
    hand_late = 16 * 10;
    hand_batch = 2;
    hand_ctrl(2, 2, 2, 0, hand_line(3) + 300000);
    hand_take_all();
    assert_int_equal(kept_need(interval + 1, 9), 9);
    assert_int_equal(kept_need(interval + 2, 50), 50 - 41);
    assert_int_equal(kept_need(interval + 3, 20), 1);
}

/* Groups of two. A sample that waits for its group is not late; the frame of the group's second counts as
 * that of its first. */
TEST(in_an_economy_room_a_sample_may_wait_for_its_group) {
    struct kl_params p = hand_params(KL_POLICY_STRICT, 3, 4);
    p.economy = true;
    hand_begin_three(p);
    assert_int_equal(r.now.length, 4);
    hand_batch = 1;
    hand_late = 0;
    for (unsigned i = 0; i < 3; i++)
        hand_ctrl(i, 0, 2, 0, hand_line(1));
    assert_int_equal(hand_take_all(), 2); /* both frames at once */
    assert_int_equal(r.excuse[(interval + 0) % KL_KEPT_FRAMES], 0);
    assert_int_equal(r.excuse[(interval + 1) % KL_KEPT_FRAMES], 0);
    assert_int_equal(kept_need(interval + 0, 9), 9);
    assert_int_equal(kept_need(interval + 1, 5), 9);
    for (unsigned i = 0; i < 3; i++) /* one that holds back a whole group is late by all that is newer */
        hand_ctrl(i, 2, 4, 0, hand_line(5));
    hand_take_all();
    assert_int_equal(r.excuse[(interval + 2) % KL_KEPT_FRAMES], 4 * 2 - 3);
    assert_int_equal(r.excuse[(interval + 3) % KL_KEPT_FRAMES], 4 * 2 - 3);
}

/* The lead is four frames, and the client had the frame one and a half before it was due, or one round trip
 * before that. */
TEST(a_need_is_no_greater_than_the_acknowledgement_shows) {
    begin(KL_POLICY_STRICT);
    for (uint32_t n = 0; n < 3; n++)
        hand_all_say(7, n);
    assert_int_equal(interval, 4);
    hand_ctrl(0, 3, 0, 0, hand_line(interval + 2) - 30000);
    assert_int_equal(kept_need_of(interval + 2, 254), 4 * 4 - 6 - 8 + 4); /* a trip of two frames */
    r.client[0].trip_us = 1;
    assert_int_equal(kept_need_of(interval + 2, 254), 4 * 4 - 6 + 4 - 1);  /* and a moment */
    assert_int_equal(kept_need_of(interval + 1, 254), 4 * 4 - 12 + 4 - 1); /* three frames before */
}

/* It acknowledges less than it has: it echoes an UPDATE with more. */
TEST(a_client_that_echoes_a_frame_has_it) {
    begin(KL_POLICY_STRICT);
    for (uint32_t n = 0; n < 3; n++)
        hand_all_say(7, n);
    struct kl_lock_client *c = &r.client[0];
    c->frame_acked = c->shown = interval;
    c->sent[3].stamp = (uint32_t)hand_line(interval + 1);
    c->sent[3].whole = true;
    c->sent[3].frame = (interval + 2) & INT32_MAX;
    hand_has_echo = true;
    hand_echo = c->sent[3].stamp;
    uint32_t closed = r.next_close;
    r.next_close = interval; /* as hand_ctrl() acknowledges */
    hand_ctrl(0, 3, 0, 0, hand_line(interval + 2));
    r.next_close = closed;
    assert_int_equal(c->frame_acked, interval);
    assert_int_equal(c->shown, interval + 2);
    assert_int_equal(c->shown_us[(interval + 1) % KL_WINDOW_FRAMES], (uint32_t)hand_line(interval + 2));
}

/* A client that shows no stamp of ours shows nothing of its link. */
TEST(needs_without_a_true_echo_say_nothing) {
    begin(KL_POLICY_STRICT);
    for (uint32_t n = 0; n < 3; n++)
        hand_all_say(7, n);
    uint32_t trips = r.client[0].rtt.count;
    need_echo++;
    assert_int_equal(kept_need(interval + 2, 9), 0);
    assert_int_equal(r.client[0].rtt.count, trips);
    need_echo--;
    assert_int_equal(kept_need(interval + 2, 9), 9);
    assert_int_equal(r.client[0].rtt.count, trips + 1);
}

/* Time in the relay's socket makes no round trip longer, neither the relay's nor the client's. */
TEST(the_time_in_the_relays_socket_enters_no_round_trip) {
    uint8_t buf[KL_DATAGRAM_MAX];
    struct kl_update u;
    begin(KL_POLICY_STRICT);
    for (uint32_t n = 0; n < 3; n++)
        hand_all_say(7, n);
    struct kl_lock_client *c = &r.client[0];
    uint64_t sent_us = hand_line(interval + 1), heard_us = sent_us + 90000;
    assert_true(kl_lock_send(&r, 0, sent_us, buf, sizeof buf) > 0);
    hand_has_echo = true;
    hand_echo = (uint32_t)sent_us;
    hand_waited_us = 60000;
    c->rtt = (struct kl_rtt){0};
    c->trip_us = 0;
    assert_int_equal(hand_ctrl(0, 3, 0, 0, heard_us), 0);
    assert_int_equal(c->rtt.srtt_us, 30000);
    assert_int_equal(c->trip_us, 30000);
    size_t len = kl_lock_send(&r, 0, heard_us + 20000, buf, sizeof buf);
    assert_int_equal(kl_update_open(&u, buf, len), 0);
    assert_int_equal(u.hold_us, 80000);
    hand_waited_us = UINT32_MAX; /* more than all of it */
    hand_echo = (uint32_t)heard_us + 20000;
    assert_int_equal(hand_ctrl(0, 3, 0, 0, heard_us + 90000), 0);
    assert_int_equal(c->trip_us, 0);
}

/* Client 2 sends sample 2 long after its time. */
static uint8_t excuse_with_echo(bool has_echo, uint32_t echo) {
    begin(KL_POLICY_STRICT);
    for (uint32_t n = 0; n < 3; n++)
        hand_all_say(n < 2 ? 7 : 3, n);
    hand_has_echo = has_echo;
    hand_echo = echo;
    r.client[2].trip_us = trip_us;
    if (echo < hand_line(50)) r.client[2].sent[5].stamp = echo; /* one of ours */
    hand_ctrl(2, 2, 1, 0, hand_line(2) + 200000);
    hand_take_all();
    return r.excuse[(interval + 2) % KL_KEPT_FRAMES];
}

/* The datagram that it echoes was sent eight frames after the sample's time: it held the sample back,
 * whatever it says of itself. With an old echo its link may be long. One that has shown how short its link
 * is, and now echoes nothing of ours, has had the newest. */
TEST(a_sample_that_left_late_by_its_echo_is_no_need_of_the_links) {
    begin(KL_POLICY_STRICT);
    uint32_t sent = (uint32_t)hand_line(2);
    assert_int_equal(excuse_with_echo(true, sent + 160000), 4 * 8 - 3);
    assert_int_equal(excuse_with_echo(true, sent - 1000), 0);
    assert_int_equal(excuse_with_echo(true, sent + 10000), 0);         /* a frontend's phase */
    assert_int_equal(excuse_with_echo(true, sent + 100 * 1000000), 0); /* no stamp of ours: it is to come */
    assert_int_equal(excuse_with_echo(false, 0), 0);
    trip_us = 40000;
    assert_int_equal(excuse_with_echo(true, sent + 100 * 1000000), 4 * 8 - 3);
    assert_int_equal(excuse_with_echo(false, 0), 4 * 8 - 3);
    assert_int_equal(excuse_with_echo(true, sent - 1000), 0);
    trip_us = 0;
}

/* All stood still and one is coming back: the frames between close by the schedule alone, whatever the lead
 * is. */
TEST(needs_of_a_frame_that_nobody_fed_say_nothing) {
    begin(KL_POLICY_BOUNDED);
    hand_all_say(7, 0);
    kl_lock_tick(&r, hand_line(interval + 1) + HAND_BUDGET_US);
    assert_int_equal(kl_lock_away(&r), 7);
    hand_ctrl(0, 30, 0, HAND_RESUME, hand_line(30)); /* no later interval counts before frame 30 */
    hand_take_all();
    uint32_t f = r.next_close;
    for (; r.next_close < f + 3;)
        kl_lock_tick(&r, kl_lock_tick_at(&r));
    assert_int_equal(r.client[0].presence, KL_RETURNING);
    assert_int_equal(kept_need(f, 60), 0);
    assert_int_equal(kept_need(f + 2, 60), 0);
}

/* The others played on meanwhile. It has the frames, and says that they came late. */
TEST(needs_of_frames_that_closed_without_the_client_say_nothing) {
    begin(KL_POLICY_BOUNDED);
    hand_all_say(7, 0);
    hand_ctrl(0, 1, 0, HAND_AWAY, hand_line(1));
    for (uint32_t n = 1; n < 12; n++)
        hand_all_say(6, n);
    hand_take_all();
    uint32_t missed = r.next_close - 1;
    hand_ctrl(0, 12, 1, HAND_RESUME, hand_line(12));
    hand_all_say(6, 12);
    for (uint32_t n = 13; n < 40; n++)
        hand_all_say(7, n);
    assert_int_equal(r.client[0].presence, KL_PRESENT);
    hand_take_all();
    assert_true(kept_need(r.next_close - 1, 60) > 0);
    r.client[0].presence = KL_PRESENT; /* that CTRL came seconds later */
    assert_int_equal(kept_need(missed, 60), 0);
}

/* Round trips measured right after a machine stood still are too long. In a new session they are all there
 * is. */
TEST(a_client_that_returns_asks_for_no_more_spacing_than_it_left) {
    for (unsigned new_session = 0; new_session < 2; new_session++) {
        begin(KL_POLICY_BOUNDED);
        r.params.spacing_fixed = 0;
        hand_all_say(7, 0);
        hand_ctrl(2, 1, 0, HAND_AWAY, hand_line(1));
        if (new_session) assert_int_equal(kl_lock_return(&r, 2, r.next_close, hand_line(1)), 0);
        for (unsigned i = 0; i < KL_RTT_RECENT; i++)
            kl_rtt_sample(&r.client[2].rtt, 450000);
        hand_ctrl(2, 4, 1, HAND_RESUME, hand_line(1) + 1);
        for (uint32_t n = 1; r.client[2].presence != KL_PRESENT && n < 40; n++)
            hand_all_say(3, n);
        assert_int_equal(r.client[2].presence, KL_PRESENT);
        if (new_session)
            assert_true(r.spacing.current > 20);
        else
            assert_int_equal(r.spacing.current, 4);
    }
}

/* For 4 s and a bit: the needs of three clients, quarter frames. */
static void all_need(unsigned a, unsigned b, unsigned c) {
    uint32_t from = r.spacing.reported;
    for (uint32_t f = from; f < from + 250; f++) {
        kl_spacing_need(&r.spacing, 0, f, (uint8_t)a);
        kl_spacing_need(&r.spacing, 1, f, (uint8_t)b);
        kl_spacing_need(&r.spacing, 2, f, (uint8_t)c);
    }
}

static void all_are_so_far(uint32_t a_us, uint32_t b_us, uint32_t c_us) {
    const uint32_t rtt_us[] = {a_us, b_us, c_us};
    for (unsigned i = 0; i < 3; i++)
        for (unsigned n = 0; n < KL_RTT_RECENT; n++)
            kl_rtt_sample(&r.client[i].rtt, rtt_us[i]);
}

/* Its way up lengthens all needs and its own round trip; its way down its own needs, too. */
TEST(the_client_that_needs_most_is_named_if_it_stands_out) {
    begin(KL_POLICY_BOUNDED);
    assert_int_equal(kl_lock_farthest(&r), KL_MAX_CLIENTS); /* of fixed spacing nobody's */
    r.params.spacing_fixed = 0;
    assert_int_equal(kl_lock_farthest(&r), KL_MAX_CLIENTS); /* not known yet */
    all_are_so_far(20000, 30000, 25000);
    all_need(8, 9, 8);
    assert_int_equal(kl_lock_farthest(&r), KL_MAX_CLIENTS); /* none stands out */
    all_need(8, 9, 16);
    assert_int_equal(kl_lock_farthest(&r), 2); /* down */
    all_need(12, 12, 12);
    assert_int_equal(kl_lock_farthest(&r), KL_MAX_CLIENTS);
    all_are_so_far(20000, 60000, 25000);
    assert_int_equal(kl_lock_farthest(&r), 1); /* up */
}

/* A link that loses and delays, and a machine that takes its samples late or holds them back. */
TEST(lateness_of_a_client_is_told_from_lateness_of_its_link) {
    begin(KL_POLICY_BOUNDED);
    for (uint32_t n = 0; n < 40; n++) {
        hand_all_say(3, n);
        assert_int_equal(hand_ctrl(2, n, 1, 0, hand_line(n) + 50000), 0);
    }
    assert_false(kl_lock_late_itself(&r, 2));
    for (uint32_t n = 40; n < 80; n++) {
        hand_all_say(3, n);
        hand_late = 48; /* three frames, as the client says or the relay finds */
        assert_int_equal(hand_ctrl(2, n, 1, 0, hand_line(n) + 50000), 0);
        hand_late = 0;
    }
    assert_true(kl_lock_late_itself(&r, 2));
    assert_false(kl_lock_late_itself(&r, 0));
    for (uint32_t n = 80; n < 160; n++) {
        hand_all_say(3, n);
        hand_turn_late = n < 120 ? 0 : 32; /* its machine was busy, and the network's thread with it */
        assert_int_equal(hand_ctrl(2, n, 1, 0, hand_line(n) + 50000), 0);
        hand_turn_late = 0;
        if (n == 119) assert_false(kl_lock_late_itself(&r, 2));
    }
    assert_true(kl_lock_late_itself(&r, 2));
}

/* 5/16 of a frame are a frontend's phase; where the turn came late they are not, and what is rounded up in
 * needs goes with them. */
TEST(a_late_turn_is_no_phase) {
    begin(KL_POLICY_STRICT);
    for (uint32_t n = 0; n < 4; n++)
        hand_all_say(n < 2 ? 7 : 3, n);
    hand_late = 5;
    hand_batch = 1;
    hand_ctrl(2, 2, 1, 0, hand_line(2) + 6250);
    hand_turn_late = 5;
    hand_ctrl(2, 3, 1, 0, hand_line(3) + 6250);
    hand_take_all();
    assert_int_equal(r.excuse[(interval + 2) % KL_KEPT_FRAMES], 0);
    assert_int_equal(r.excuse[(interval + 3) % KL_KEPT_FRAMES], 1); /* the others' came at its line */
}

/* Another's sample came hardly earlier: that is a long link. */
TEST(a_frame_that_would_have_been_late_all_the_same_is_no_excuse) {
    begin(KL_POLICY_STRICT);
    hand_all_say(7, 0);
    hand_ctrl(0, 1, 1, 0, hand_line(1));
    hand_ctrl(1, 1, 1, 0, hand_line(1) + 90000);
    hand_late = 16 * 60;
    hand_batch = 1;
    hand_ctrl(2, 1, 1, 0, hand_line(1) + 100000);
    assert_int_equal(r.excuse[(interval + 1) % KL_KEPT_FRAMES], 2); /* 10 ms of 20 */
}
