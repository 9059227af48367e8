/* The relay's side of the lock, fed by hand-made CTRLs: refusals, and datagrams out. PROTOCOL.md §4, §5. The
 * rooms of tests/sim judge its frames. */
#include "tests/unit/unit.h"

#include "net/engine/lock_client.h"
#include "tests/lib/lock_memory.h"

static struct kl_lock_relay r;
static struct kl_input ring[KL_WINDOW_FRAMES][KL_MAX_SEATS];
static uint8_t buf[KL_DATAGRAM_MAX];

static void begin(bool subframes, uint8_t spacing, uint16_t hash_every) {
    struct kl_params p = {.subframes = subframes,
                          .clocked = true,
                          .players = 2,
                          .spacing_fixed = spacing,
                          .hash_every = hash_every,
                          .fps_uhz = 50000000};
    lock_begin(&r, &p, NULL);
    for (unsigned i = 0; i < KL_WINDOW_FRAMES; i++)
        for (unsigned s = 0; s < KL_MAX_SEATS; s++)
            ring[i][s] = (struct kl_input){.joypad = (uint16_t)(100 * s + i)};
}

/* Two players and a spectator, in a room under way. */
static void begin_three(bool subframes, uint8_t spacing) {
    begin(subframes, spacing, 0);
    assert_int_equal(kl_lock_add(&r, 0, 1, 0), 0);
    assert_int_equal(kl_lock_add(&r, 3, 2, 0), 0);
    assert_int_equal(kl_lock_add(&r, 9, 0, 0), 0);
    assert_int_equal(kl_lock_start(&r, 1000), 0);
}

static int ctrl(unsigned client, uint32_t acked, uint32_t first, uint32_t count, uint64_t now_us) {
    struct kl_ctrl m = {
        .stamp = (uint32_t)now_us, .frame_acked = acked, .sample_first = first, .sample_count = count};
    size_t len = kl_ctrl_write(&m, ring, r.client[client].seat_count, buf, sizeof buf);
    assert_true(len > 0);
    return kl_lock_receive(&r, client, buf, len, 0, 0, now_us);
}

static uint32_t take_all(struct kl_frame *last) {
    uint32_t n = 0;
    while (kl_lock_take(&r, last))
        n++;
    return n;
}

TEST(only_free_seats_can_be_taken) {
    begin(true, 4, 0);
    assert_int_equal(kl_lock_start(&r, 0), KL_E_STATE); /* nobody is seated */
    assert_int_equal(kl_lock_add(&r, 0, 0x03, 0), 0);
    assert_int_equal(kl_lock_add(&r, 0, 0x04, 0), KL_E_STATE); /* here already */
    assert_int_equal(kl_lock_add(&r, 1, 0x02, 0), KL_E_STATE); /* seat taken */
    assert_int_equal(kl_lock_add(&r, KL_MAX_CLIENTS, 0x04, 0), KL_E_STATE);
    assert_int_equal(kl_lock_add(&r, 1, 0x04, 0), 0);
    kl_lock_remove(&r, 0, 0);
    assert_int_equal(kl_lock_add(&r, 2, 0x03, 0), 0); /* seats are free again */
    assert_int_equal(kl_lock_start(&r, 0), 0);
    assert_int_equal(kl_lock_start(&r, 0), KL_E_STATE);
    assert_int_equal(kl_lock_add(&r, 5, 0x04, 0), KL_E_STATE); /* a seat that is taken */
    kl_lock_remove(&r, 77, 0);
    kl_lock_remove(&r, 8, 0);
    assert_int_equal(kl_lock_receive(&r, 8, buf, 1, 0, 0, 0), KL_E_STATE);
    assert_int_equal(kl_lock_receive(&r, 800, buf, 1, 0, 0, 0), KL_E_STATE);
}

TEST(impossible_samples_do_not_count) {
    static struct kl_lock_relay before;
    struct kl_frame f;
    begin(true, 4, 0);
    kl_lock_add(&r, 0, 1, 0);
    kl_lock_add(&r, 3, 2, 0);
    assert_int_equal(ctrl(0, 0, 0, 1, 500), KL_E_WINDOW); /* a sample before the start */
    assert_int_equal(ctrl(0, 1, 0, 0, 500), KL_E_WINDOW); /* a frame before the start */
    kl_lock_start(&r, 1000);
    take_all(&f);
    before = r;
    assert_int_equal(ctrl(0, 5, 0, 1, 2000), KL_E_WINDOW); /* has more than was closed */
    struct kl_ctrl m = {.frame_acked = 4, .backlog = 2, .need_count = 3};
    size_t len = kl_ctrl_write(&m, ring, 1, buf, sizeof buf);
    assert_int_equal(kl_lock_receive(&r, 0, buf, len, 0, 0, 2000),
                     KL_E_MALFORMED); /* needs of more frames than it has run */
    assert_memory_equal(&r, &before, sizeof r);
    assert_int_equal(ctrl(0, 4, 0, KL_WINDOW_FRAMES, 2000), 0);
    assert_int_equal(ctrl(0, 4, KL_WINDOW_FRAMES, 1, 2000), KL_E_WINDOW); /* out of the window */
    m = (struct kl_ctrl){.sample_count = 2};
    len = kl_ctrl_write(&m, ring, 1, buf, sizeof buf);
    before = r;
    for (size_t cut = 0; cut < len; cut++)
        assert_int_equal(kl_lock_receive(&r, 3, buf, cut, 0, 0, 2000), KL_E_MALFORMED);
    assert_memory_equal(&r, &before, sizeof r);
}

TEST(a_spectator_has_no_samples) {
    begin_three(true, 4);
    assert_int_equal(ctrl(9, 4, 0, 0, 2000), 0);
    struct kl_ctrl m = {.frame_acked = 4, .sample_count = 1};
    size_t len = kl_ctrl_write(&m, ring, 0, buf, sizeof buf);
    assert_int_equal(kl_lock_receive(&r, 9, buf, len, 0, 0, 2000), KL_E_MALFORMED);
}

static struct kl_update sent(unsigned client, uint64_t now_us) {
    struct kl_update u = {0};
    size_t len = kl_lock_send(&r, client, now_us, buf, sizeof buf);
    assert_true(len > 0);
    assert_int_equal(kl_update_open(&u, buf, len), 0);
    return u;
}

TEST(frames_are_repeated_until_acknowledged) {
    begin_three(true, 4);
    struct kl_update u = sent(0, 1000);
    assert_true(u.first == 0 && u.count == 4 && u.waiting_for == 3 && u.has_schedule);
    assert_int_equal(kl_lock_send(&r, 0, 1000, buf, sizeof buf), 0);
    assert_int_equal(kl_lock_send(&r, 0, 25999, buf, sizeof buf), 0);
    u = sent(0, 26000); /* 1.25 frame times later, though nothing is new */
    assert_true(u.first == 0 && u.count == 4);
    assert_int_equal(ctrl(0, 3, 0, 1, 27000), 0);
    u = sent(0, 51000);
    assert_true(u.first == 3 && u.count == 1 && u.next_sample == 1);
    assert_int_equal(ctrl(0, 1, 0, 1, 52000), 0); /* overtaken: takes nothing back */
    u = sent(0, 76000);
    assert_true(u.first == 3 && u.count == 1);
    assert_int_equal(ctrl(0, 4, 0, 1, 77000), 0);
    u = sent(0, 101000); /* nothing to say: the timer still does, or a lost datagram would end it all */
    assert_true(u.first == 4 && u.count == 0 && u.has_echo && u.hold_us == 24000);
}

TEST(a_client_in_debt_gets_no_frame_again) {
    begin_three(true, 4);
    sent(0, 1000);
    r.client[0].debt = 16383;
    struct kl_update u = sent(0, 26000);
    assert_true(u.first == 0 && u.count == 4);
    r.client[0].debt = 16384; /* bytes ahead of its CTRLs */
    u = sent(0, 51000);
    assert_true(u.first == 4 && u.count == 0);
}

TEST(a_closed_frame_goes_out_at_once) {
    begin_three(true, 4);
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++)
        while (kl_lock_send(&r, i, 1000, buf, sizeof buf) > 0) {
        }
    assert_int_equal(kl_lock_send_at(&r), 26000);
    ctrl(0, 4, 0, 1, 2000);
    assert_int_equal(kl_lock_send(&r, 3, 2000, buf, sizeof buf), 0);
    ctrl(3, 4, 0, 1, 3000);
    assert_true(kl_lock_send_at(&r) <= 3000);
    struct kl_update u = sent(3, 3000);
    assert_true(u.first == 4 && u.count == 1);
    u = sent(9, 3000);
    assert_true(u.first == 0 && u.count == 5);
    sent(0, 3000);
    assert_int_equal(kl_lock_send_at(&r), 28000);
}

TEST(a_silent_spectator_is_lost_and_waits_for_nobody) {
    struct kl_frame f;
    begin_three(true, 4);
    for (uint32_t s = 0; s < KL_KEPT_FRAMES - 4; s++) {
        assert_int_equal(ctrl(0, 0, s, 1, s * 20000), 0);
        assert_int_equal(ctrl(3, 0, s, 1, s * 20000), 0);
        take_all(&f);
    }
    assert_int_equal(f.number, KL_KEPT_FRAMES - 1);
    assert_false(kl_lock_lost(&r, 9));
    ctrl(0, 1000, KL_KEPT_FRAMES - 4, 1, 9000000);
    ctrl(3, 1000, KL_KEPT_FRAMES - 4, 1, 9000000);
    assert_true(kl_lock_lost(&r, 9));
    assert_false(kl_lock_lost(&r, 0));
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++) /* its traffic stays within bounds */
        for (unsigned n = 0; kl_lock_send(&r, i, 9000000, buf, sizeof buf) > 0; n++)
            assert_true(n < KL_BURST_MAX);
}

/* UPDATEs to the spectator in so many ms in which the players play, and those with frames. */
static unsigned updates(uint64_t *now_us, unsigned ms, unsigned *with_frames) {
    unsigned count = 0;
    *with_frames = 0;
    for (uint64_t end_us = *now_us + ms * UINT64_C(1000); *now_us < end_us; *now_us += 20000) {
        struct kl_update u;
        size_t len;
        uint32_t next = r.client[0].next_sample;
        assert_int_equal(ctrl(0, r.next_close, next, 1, *now_us), KL_OK);
        assert_int_equal(ctrl(3, r.next_close, next, 1, *now_us), KL_OK);
        for (; (len = kl_lock_send(&r, 9, *now_us, buf, sizeof buf)) > 0; count++) {
            assert_int_equal(kl_update_open(&u, buf, len), KL_OK);
            *with_frames += u.count > 0;
        }
        struct kl_frame last;
        (void)take_all(&last);
    }
    return count;
}

/* So nobody makes the relay send much by one datagram. */
TEST(few_updates_to_one_that_says_nothing) {
    unsigned with_frames;
    uint64_t now_us = 1000;
    begin_three(true, 4);
    unsigned count = updates(&now_us, 5000, &with_frames);
    assert_in_range(with_frames, 100, 128);
    assert_in_range(count, 128, 128 + 10 * 5);
    count = updates(&now_us, 5000, &with_frames);
    assert_int_equal(with_frames, 0);
    assert_in_range(count, 45, 51);
    assert_int_equal(ctrl(9, 0, 0, 0, now_us), KL_OK);
    (void)updates(&now_us, 1000, &with_frames);
    assert_int_equal(with_frames, 8);
}
