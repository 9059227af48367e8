/* A client brings to a relay that has forgotten the room: frames that it has run, not those that came
 * and were not run yet, and a mark on them. PROTOCOL.md §7, tags and tickets. */
#include "tests/lib/stay_bare.h"

static struct kl_frame ring[KL_KEPT_FRAMES];
static const struct kl_frames_from frames = {.ring = ring, .places = KL_KEPT_FRAMES};
static struct kl_held held[KL_KEPT_FRAMES];

static int play(void **state) {
    const struct kl_params p = {
        .policy = KL_POLICY_STRICT, .subframes = true, .players = 2, .fps_uhz = 60000000};
    if (make(state) != 0) return -1;
    s->status.phase = KL_STAY_PLAYING;
    kl_client_init(&s->lock, &p, 1, held, KL_KEPT_FRAMES, 1000000);
    for (uint32_t f = 0; f < KL_KEPT_FRAMES; f++)
        ring[f] = (struct kl_frame){
            .number = f, .keyframe = f / 4 * 4, .spacing = 4, .active = 3, .flags = f % 4 ? 0 : KL_FRAME_KEY};
    return 0;
}

/* Frames up to `end` come, under a mark that tells which. */
static void come(uint32_t first, uint32_t end) {
    uint8_t buf[KL_DATAGRAM_MAX];
    struct kl_update u = {.stamp = 1000000, .first = first, .count = end - first, .has_mark = true};
    memset(u.mark, (int)end, sizeof u.mark);
    size_t len = kl_update_write(&u, &frames, buf, sizeof buf);
    assert_true(len > 0);
    kl_stay_update(s, buf, len, 1000000);
    assert_int_equal(s->lock.stats.next_closed, end);
}

static void run_frames(uint32_t count) {
    struct kl_frame f;
    struct kl_input in[KL_MAX_SEATS] = {0};
    while (count > 0) {
        struct kl_plan p = kl_stay_plan(s, count, 2000000);
        for (uint32_t i = 0; i < p.samples; i++)
            (void)kl_stay_sample(s, in, 2000000);
        assert_in_range(p.runs, 1, count);
        for (uint32_t i = 0; i < p.runs; i++, count--)
            assert_true(kl_stay_take(s, &f));
    }
}

static struct brought {
    uint32_t ticket, start, frames, mark_end, tags;
    uint8_t mark;
    bool end;
} brought;

static void want(uint8_t what, uint32_t from) {
    const struct kl_channels room = {.bulk_room = 1}, none = {0};
    static struct kl_msg m;
    brought = (struct brought){0};
    kl_stay_take_message(s, &(struct kl_msg){.kind = KL_MSG_WANT, .want = {.what = what, .from = from}}, 1);
    assert_false(kl_stay_say(s, &none, 1, &m)); /* while what was said before is under way */
    while (kl_stay_say(s, &room, 1, &m)) {
        assert_int_equal(m.kind, KL_MSG_BRING);
        assert_false(brought.end);
        switch (m.bring.what) {
        case KL_BRING_TICKET:
            assert_int_equal(m.bring.piece.offset, brought.ticket);
            brought.ticket += m.bring.piece.len;
            break;
        case KL_BRING_START:
            assert_int_equal(m.bring.piece.offset, brought.start);
            brought.start += m.bring.piece.len;
            break;
        case KL_BRING_TAGS: brought.tags = m.bring.tags.end_frame; break;
        case KL_BRING_MARK:
            brought.mark_end = m.bring.mark.end;
            brought.mark = m.bring.mark.mark[0];
            break;
        case KL_BRING_HISTORY: brought.frames += m.bring.past.bytes[4]; break;
        default: brought.end = true;
        }
    }
    assert_true(brought.end);
}

static void a_mark_on_what_was_run(void **state) {
    static const uint32_t run[][2] = {{4, 0}, {5, 5}, {8, 5}, {9, 9}, {12, 12}};
    uint32_t had = 0;
    (void)state;
    come(0, 5), come(5, 9), come(9, 12);
    for (unsigned i = 0; i < sizeof run / sizeof *run; i++) {
        run_frames(run[i][0] - had);
        had = run[i][0];
        want(0, 0);
        assert_int_equal(brought.mark_end, run[i][1]);
        if (brought.mark_end) assert_int_equal(brought.mark, brought.mark_end);
        assert_int_equal(brought.frames, had);
    }
}

static void ticket_start_and_tag(void **state) {
    struct kl_msg m = {.kind = KL_MSG_TICKET, .piece = {.total = 5000, .len = 4000}};
    (void)state;
    come(0, 12);
    run_frames(9);
    kl_stay_take_message(s, &m, 1);
    assert_false(kl_stay_can_bring(s)); /* the ticket is not whole */
    m.piece.offset = 4000;
    m.piece.len = 1000;
    kl_stay_take_message(s, &m, 1);
    assert_false(kl_stay_can_bring(s)); /* the start data is not here */
    s->start = malloc(9000);
    s->start_len = 9000;
    assert_true(s->start && kl_stay_can_bring(s));
    memset(s->start, 1, 9000);
    for (uint32_t i = 0; i < 3; i++) {
        m = (struct kl_msg){.kind = KL_MSG_TAGS, .tags = {.first = i, .end_frame = 4 * (i + 1), .count = 1}};
        kl_stay_take_message(s, &m, 1);
    }
    want(KL_WANT_TICKET | KL_WANT_START, 0);
    assert_int_equal(brought.ticket, 5000);
    assert_int_equal(brought.start, 9000);
    assert_int_equal(brought.tags, 8); /* 12 has not been run */
    assert_int_equal(brought.frames, 9);
    want(0, 9);
    assert_true(brought.ticket == 0 && brought.start == 0 && brought.frames == 0);
    run_frames(3);
    kl_stay_past_forget(s, 12, 3); /* as after a snapshot of frame 12 */
    assert_false(kl_stay_can_bring(s));
    come(12, 20);
    run_frames(6);
    assert_true(kl_stay_can_bring(s)); /* without frame 0 */
    want(0, 12);
    assert_int_equal(brought.frames, 6);
    assert_int_equal(brought.mark_end, 12);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(a_mark_on_what_was_run, play, drop),
                                       cmocka_unit_test_setup_teardown(ticket_start_and_tag, play, drop)};
    return cmocka_run_group_tests_name("stay_bring", tests, NULL, NULL);
}
