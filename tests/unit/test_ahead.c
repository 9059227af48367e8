/* Running ahead of the lock: a relay and two players of the engine over links of RTT 50, or of unequal
 * ones, of whom one shows guessed frames. A core is a fold of all its inputs, so one wrong input shows in
 * every later frame. runs: working, check, 1 s */
#include "tests/unit/unit.h"

#include "net/engine/ahead.h"
#include "tests/lib/lock_memory.h"

#define FPS_UHZ    60000000
#define FRAME_US   16667
#define SECONDS    8
#define FRAMES     (SECONDS * 60)
#define ON_THE_WAY 64

struct datagram {
    uint64_t at_us;
    size_t len;
    uint8_t bytes[KL_DATAGRAM_MAX];
};
struct way {
    struct datagram sent[ON_THE_WAY];
    unsigned put, got;
};

static uint64_t way_us[2] = {25000, 25000};
static uint8_t spacing = 6;
static bool hints;
static uint64_t straight_us; /* from Bob to Ann without the relay; 0: nothing goes there */
static unsigned bob_lies;    /* in one of so many straight samples; 0: in none */
static bool at_once;         /* all frames ahead from the beginning, not one more in a second */
static struct kl_lock_relay relay;
static struct player {
    struct kl_client lock;
    struct kl_held held[KL_WINDOW_FRAMES];
    struct way up, down, straight;
    uint32_t told;                                  /* samples below have gone straight */
    uint64_t core, after[FRAMES + KL_AHEAD_FRAMES]; /* the true core, and as it was after each frame */
    uint32_t held_for; /* frames for which a pad stands still; 0: it never moves */
} player[2];

static struct {
    struct kl_ahead plan;
    uint64_t core, kept[KL_AHEAD_FRAMES], on_screen[FRAMES + KL_AHEAD_FRAMES];
    uint32_t again, felt_most, felt_count;
    bool guessed_wrong[FRAMES + KL_AHEAD_FRAMES];
    uint16_t bob_pad;                    /* in the frame on the screen */
    uint64_t bob_us;                     /* time of Bob's newest press; 0: it has been on the screen */
    uint64_t bob_sum_us, bob_longest_us; /* from his presses to the screen */
    unsigned bob_count;
} shown;

static uint64_t step(uint64_t core, const struct kl_frame *f) {
    for (unsigned s = 0; s < KL_MAX_SEATS; s++)
        core = (core ^ f->in[s].joypad) * UINT64_C(0x9e3779b97f4a7c15) + f->number;
    return core;
}

static void put(struct way *w, const uint8_t *bytes, size_t len, uint64_t at_us) {
    struct datagram *d = &w->sent[w->put++ % ON_THE_WAY];
    assert_true(w->put - w->got <= ON_THE_WAY);
    d->at_us = at_us;
    d->len = len;
    memcpy(d->bytes, bytes, len);
}

static struct datagram *come(struct way *w, uint64_t now_us) {
    if (w->got == w->put || w->sent[w->got % ON_THE_WAY].at_us > now_us) return NULL;
    return &w->sent[w->got++ % ON_THE_WAY];
}

static void carry_straight(uint64_t now_us) {
    struct player *ann = &player[0], *bob = &player[1];
    struct kl_direct out;
    uint8_t body[KL_DIRECT_BYTES];
    struct datagram *d;
    if (straight_us && bob->lock.stats.next_sample > bob->told) {
        bob->told = bob->lock.stats.next_sample;
        kl_client_direct_out(&bob->lock, &out);
        assert_int_equal(out.first + out.count, bob->told);
        for (unsigned i = 0; i < out.count; i++)
            if (bob_lies && (out.first + i) % bob_lies == 0)
                out.joypad[0][i] ^= (uint16_t)(0x5a5a + out.first + i);
        put(&bob->straight, body, kl_direct_write(&out, 2, body), now_us + straight_us);
    }
    while ((d = come(&bob->straight, now_us))) {
        assert_int_equal(kl_direct_read(&out, 2, d->bytes, d->len), 0);
        kl_client_direct(&ann->lock, 2, &out);
        kl_client_direct(&ann->lock, 1, &out); /* her own seat: ignored */
    }
}

static void carry(uint64_t now_us) {
    uint8_t buf[KL_DATAGRAM_MAX];
    struct datagram *d;
    size_t len;
    for (unsigned i = 0; i < 2; i++) {
        while ((len = kl_client_send(&player[i].lock, now_us, buf, sizeof buf)) > 0)
            put(&player[i].up, buf, len, now_us + way_us[i]);
        while ((d = come(&player[i].up, now_us)))
            assert_int_equal(kl_lock_receive(&relay, i, d->bytes, d->len, 0, 0, now_us), 0);
    }
    carry_straight(now_us);
    kl_lock_tick(&relay, now_us);
    for (unsigned i = 0; i < 2; i++) {
        while ((len = kl_lock_send(&relay, i, now_us, buf, sizeof buf)) > 0)
            put(&player[i].down, buf, len, now_us + way_us[i]);
        while ((d = come(&player[i].down, now_us)))
            assert_int_equal(kl_client_receive(&player[i].lock, d->bytes, d->len, now_us), 0);
    }
}

/* The shown frames have caught up with the goal after the first seconds. */
static void note_bob(uint64_t now_us) {
    const struct kl_client *bob = &player[1].lock;
    uint16_t pad = bob->sample[(bob->stats.next_sample - 1) % KL_WINDOW_FRAMES][0].joypad;
    if (!shown.bob_us || shown.bob_pad != pad) return;
    uint64_t took_us = now_us - shown.bob_us;
    shown.bob_us = 0;
    if (now_us < 5000000) return;
    shown.bob_sum_us += took_us;
    shown.bob_count++;
    if (took_us > shown.bob_longest_us) shown.bob_longest_us = took_us;
}

static void run_shown(uint32_t due, uint64_t now_us, uint16_t goal) {
    static const uint8_t plays[KL_MAX_SEATS] = {0, 1, 2, 3, 4, 5, 6, 7};
    const struct kl_client *c = &player[0].lock;
    struct kl_ahead_call call = {now_us, due, goal, KL_AHEAD_FRAMES};
    struct kl_frame f;
    struct kl_commands set;
    uint32_t back = kl_ahead_hear(&shown.plan, c, plays);
    if (back != KL_AHEAD_NOWHERE) {
        shown.core = shown.kept[back % KL_AHEAD_FRAMES];
        for (uint32_t n = back; n < shown.plan.shown; n++)
            shown.guessed_wrong[n] = true;
    }
    kl_ahead_call(&shown.plan, c, &call);
    while (shown.plan.at < shown.plan.want) {
        shown.again += shown.plan.at < shown.plan.shown;
        bool closed = kl_ahead_next(&shown.plan, c, plays, &f, &set);
        if (!closed) shown.kept[f.number % KL_AHEAD_FRAMES] = shown.core;
        shown.core = step(shown.core, &f);
        if (f.number >= shown.plan.shown) shown.on_screen[f.number] = shown.core;
    }
    if (shown.plan.at > 0)
        shown.bob_pad = shown.plan.played[(shown.plan.at - 1) % KL_AHEAD_FRAMES].in[1].joypad;
    note_bob(now_us);
    kl_ahead_showed(&shown.plan);
    int64_t newest = kl_ahead_sample_in(c, shown.plan.shown - 1);
    shown.felt_count = newest < 0 ? 0 : (uint32_t)(c->stats.next_sample - newest);
    if (now_us > 7500000 && shown.felt_count > shown.felt_most) shown.felt_most = shown.felt_count;
}

static void tick(unsigned i, uint64_t now_us, int goal) {
    struct player *p = &player[i];
    struct kl_frame f;
    struct kl_plan plan = kl_client_plan(&p->lock, now_us, 8);
    for (uint32_t k = 0; k < plan.samples; k++) {
        struct kl_input in[KL_MAX_SEATS] = {0};
        uint32_t n = p->lock.stats.next_sample;
        if (p->held_for) in[0].joypad = (uint16_t)(n / p->held_for * (7 + i));
        if (i == 1 && p->held_for && n % p->held_for == 0) shown.bob_us = now_us;
        assert_int_equal(kl_client_sample(&p->lock, in, now_us), 0);
    }
    if (i == 0 && goal >= 0 && shown.plan.on)
        run_shown(p->lock.stats.next_run + plan.due, now_us, (uint16_t)goal);
    for (uint32_t k = 0; k < plan.runs && kl_client_take(&p->lock, &f); k++) {
        if (i == 0 && f.number == 60 && goal >= 0) { /* a marked keyframe's state */
            kl_ahead_begin(&shown.plan, 60);
            kl_ahead_show(&shown.plan, 60, now_us);
            if (at_once) shown.plan.frames = (uint16_t)goal;
            shown.core = p->core;
        }
        p->core = step(p->core, &f);
        if (f.number < FRAMES) p->after[f.number] = p->core;
    }
}

/* goal: frames ahead; negative: without a shown core. */
static void play(int goal, uint32_t ann_holds, uint32_t bob_holds) {
    struct kl_params params = {.policy = KL_POLICY_BOUNDED,
                               .subframes = true,
                               .clocked = true,
                               .players = 2,
                               .wait_budget_ms = 1000,
                               .fps_uhz = FPS_UHZ,
                               .hash_every = 60,
                               .spacing_fixed = spacing};
    memset(player, 0, sizeof player);
    memset(&shown, 0, sizeof shown);
    player[0].held_for = ann_holds;
    player[1].held_for = bob_holds;
    lock_begin(&relay, &params, NULL);
    for (unsigned i = 0; i < 2; i++) {
        kl_client_init(&player[i].lock, &params, (uint8_t)(1u << i), player[i].held, KL_WINDOW_FRAMES, 0);
        assert_int_equal(kl_lock_add(&relay, i, (uint8_t)(1u << i), 0), 0);
    }
    kl_client_guess(&player[0].lock, hints);
    assert_int_equal(kl_lock_start(&relay, 1000), 0);
    uint64_t next[2] = {3000, 11000};
    for (uint64_t now_us = 1000; now_us < SECONDS * UINT64_C(1000000); now_us += 1000) {
        carry(now_us);
        for (unsigned i = 0; i < 2; i++)
            for (; now_us >= next[i]; next[i] += FRAME_US)
                tick(i, now_us, goal);
    }
    assert_true(player[0].lock.stats.next_run > 400);
}

TEST(right_guesses_show_the_true_frames) {
    play(6, 5, 0); /* Bob's pad stands still: Ann's own presses are all that happens */
    assert_int_equal(shown.again, 0);
    for (uint32_t f = 61; f < player[0].lock.stats.next_run; f++)
        assert_int_equal(shown.on_screen[f], player[0].after[f]);
}

TEST(an_own_press_is_felt_in_the_same_call) {
    play(6, 5, 0);
    assert_int_equal(shown.plan.frames, 6);
    assert_true(shown.felt_most >= 1 && shown.felt_most <= 2);
}

TEST(a_wrong_guess_is_corrected_by_the_news) {
    play(6, 5, 23);
    assert_true(shown.again > 0);
    uint32_t wrong = 0;
    for (uint32_t f = 61; f < player[0].lock.stats.next_run; f++) {
        bool same = shown.on_screen[f] == player[0].after[f];
        if (!same) assert_true(shown.guessed_wrong[f]); /* no other reason */
        wrong = same ? 0 : wrong + 1;
        assert_true(wrong <= 6); /* the news takes RTT 50 and the other's frame: four frames, and two calls */
    }
}

/* A button that goes on and off by four frames, and two more by 8 and by 16: as held they are wrong a hundred
 * times. */
TEST(the_others_rhythm_is_guessed) {
    play(6, 5, 4);
    assert_in_range(shown.again, 5, 50);
}

TEST(the_lock_does_not_notice) {
    static uint64_t with[FRAMES], other[FRAMES];
    play(6, 5, 23);
    memcpy(with, player[0].after, sizeof with);
    memcpy(other, player[1].after, sizeof other);
    uint32_t both = player[0].lock.stats.next_run < player[1].lock.stats.next_run
                        ? player[0].lock.stats.next_run
                        : player[1].lock.stats.next_run;
    play(-1, 5, 23);
    assert_memory_equal(with, player[0].after, both * sizeof *with);
    assert_memory_equal(other, player[0].after, both * sizeof *other);
}

/* Between two frames of a call the room begins anew, and so does the client: at its beginning, or after the
 * frames that come as history. */
TEST(a_client_that_begins_elsewhere_turns_it_off) {
    static const uint8_t plays[KL_MAX_SEATS] = {0, 1, 2, 3, 4, 5, 6, 7};
    struct kl_frame f;
    struct kl_commands set;
    for (int beyond = -600; beyond <= 60; beyond += 60) {
        play(6, 5, 0);
        struct kl_client *c = &player[0].lock;
        int64_t first = (int64_t)shown.plan.at + beyond;
        assert_true(c->stats.next_closed < shown.plan.at);
        kl_client_init(c, &c->params, 1, player[0].held, KL_WINDOW_FRAMES, 0);
        memset(player[0].held, 0, sizeof player[0].held);
        c->first = c->stats.next_closed = (uint32_t)(first > 0 ? first : 0);
        assert_false(kl_ahead_next(&shown.plan, c, plays, &f, &set));
        assert_false(shown.plan.on);
        shown.plan.on = true;
        kl_ahead_hear(&shown.plan, c, plays);
        assert_false(shown.plan.on);
    }
}

static unsigned wrong_pictures(void) {
    unsigned wrong = 0;
    for (uint32_t f = 61; f < player[0].lock.stats.next_run; f++)
        wrong += shown.on_screen[f] != player[0].after[f];
    return wrong;
}

/* Ann is far, Bob is near: his samples are at the relay long before a frame that waits for hers. */
TEST(hints_come_before_the_frame) {
    static uint64_t with[FRAMES];
    way_us[0] = 60000;
    way_us[1] = 10000;
    spacing = 10;
    hints = true;
    play(10, 5, 23);
    unsigned wrong = wrong_pictures();
    assert_int_equal(player[0].lock.hints.ports, 2); /* the other's alone */
    assert_int_equal(player[1].lock.hints.ports, 0); /* it does not want any */
    memcpy(with, player[0].after, sizeof with);
    hints = false;
    play(10, 5, 23);
    assert_memory_equal(with, player[0].after, 400 * sizeof *with);
    print_message("wrong pictures: %u with hints, %u without\n", wrong, wrong_pictures());
    assert_true(wrong * 10 <= wrong_pictures() * 7);
    way_us[0] = way_us[1] = 25000;
    spacing = 6;
}

/* Links of three lengths, in virtual time and without jitter: neither way, hints alone, and both. */
TEST(unequal_triangles) {
    static const struct {
        uint64_t ann_ms, bob_ms, between_ms;
        uint8_t spacing;
    } links[] = {{120, 20, 130, 16}, {60, 60, 10, 10}, {100, 30, 40, 14}};
    static const char *const how[] = {"neither", "hints", "straight"};
    static uint64_t with[FRAMES];
    for (unsigned l = 0; l < sizeof links / sizeof *links; l++) {
        unsigned wrong[3];
        uint64_t press_us[3];
        way_us[0] = links[l].ann_ms * 1000;
        way_us[1] = links[l].bob_ms * 1000;
        spacing = links[l].spacing;
        at_once = true;
        for (unsigned n = 0; n < 3; n++) {
            hints = n > 0;
            straight_us = n > 1 ? links[l].between_ms * 1000 : 0;
            play(spacing, 5, 23);
            if (n == 0) memcpy(with, player[0].after, sizeof with);
            assert_memory_equal(with, player[0].after, 400 * sizeof *with);
            assert_true(shown.bob_count > 5);
            wrong[n] = wrong_pictures();
            press_us[n] = shown.bob_sum_us / shown.bob_count;
            print_message(
                "%u/%u ms to the relay, %u between, %s: the press after %.1f ms, %u wrong pictures\n",
                (unsigned)links[l].ann_ms, (unsigned)links[l].bob_ms, (unsigned)links[l].between_ms, how[n],
                (double)press_us[n] / 1e3, wrong[n]);
        }
        assert_true(wrong[1] <= wrong[0] && wrong[2] <= wrong[1]);
        assert_true(press_us[1] <= press_us[0] && press_us[2] <= press_us[1]);
    }
    straight_us = 0;
    hints = at_once = false;
    way_us[0] = way_us[1] = 25000;
    spacing = 6;
}

/* Both are far from the relay, and near each other. */
TEST(straight_samples_come_before_the_relays) {
    static uint64_t with[FRAMES];
    way_us[0] = way_us[1] = 60000;
    spacing = 10;
    hints = at_once = true;
    play(10, 5, 23);
    unsigned without = wrong_pictures(), again = shown.again;
    uint64_t by_relay_us = shown.bob_sum_us / shown.bob_count;
    memcpy(with, player[0].after, sizeof with);
    straight_us = 10000;
    play(10, 5, 23);
    unsigned straight = wrong_pictures();
    print_message("Bob's press on Ann's screen after %.1f ms by the relay, %.1f straight, %.1f at most\n",
                  (double)by_relay_us / 1e3, (double)(shown.bob_sum_us / shown.bob_count) / 1e3,
                  (double)shown.bob_longest_us / 1e3);
    assert_true(shown.bob_count > 5 && by_relay_us > 120000);
    assert_true(shown.bob_longest_us <= straight_us + FRAME_US + 2000);
    assert_memory_equal(with, player[0].after, 400 * sizeof *with);
    assert_memory_equal(with, player[1].after, 400 * sizeof *with);
    assert_true(straight * 3 <= without && shown.plan.distrust[1] == 0);
    for (bob_lies = 1; bob_lies < 200; bob_lies += 1 + bob_lies / 2) {
        play(10, 5, 23);
        print_message("wrong pictures: %u by the relay, %u with straight samples, %u with one of %u false\n",
                      without, straight, wrong_pictures(), bob_lies);
        assert_memory_equal(with, player[0].after, 400 * sizeof *with);
        assert_memory_equal(with, player[1].after, 400 * sizeof *with);
        assert_true(wrong_pictures() <= without + 12);
        assert_true(shown.again <= again + 100); /* heeded for some frames */
        if (bob_lies == 1) assert_int_equal(shown.plan.distrust[1], KL_AHEAD_MOST);
    }
    bob_lies = 0;
    straight_us = 0;
    hints = at_once = false;
    way_us[0] = way_us[1] = 25000;
    spacing = 6;
}

TEST(frames_ahead_move_by_one_in_a_second) {
    play(3, 5, 0);
    assert_int_equal(shown.plan.frames, 3);
    struct kl_ahead_call call = {
        .now_us = shown.plan.moved_us + 1000000, .due = shown.plan.due, .depth = KL_AHEAD_FRAMES};
    kl_ahead_call(&shown.plan, &player[0].lock, &call);
    assert_int_equal(shown.plan.frames, 2);
    call.now_us += 900000;
    kl_ahead_call(&shown.plan, &player[0].lock, &call);
    assert_int_equal(shown.plan.frames, 2);
}

/* States too large to be kept leave nothing to go back to: only closed frames are played, and all of them. */
TEST(without_states_the_closed_frames_are_played) {
    play(3, 5, 0);
    const struct kl_client *c = &player[0].lock;
    uint32_t shown_before = c->stats.next_closed - 2;
    kl_ahead_begin(&shown.plan, shown_before);
    kl_ahead_show(&shown.plan, shown_before, shown.plan.moved_us);
    struct kl_ahead_call call = {.now_us = shown.plan.moved_us, .due = shown_before + 9};
    kl_ahead_call(&shown.plan, c, &call);
    assert_int_equal(shown.plan.want, c->stats.next_closed);
}

TEST(a_machine_gets_as_many_frames_as_fit) {
    struct kl_ahead_work w = {.true_us = 2000, .frame_us = 2000, .load_us = 100, .period_us = 16667};
    assert_int_equal(kl_ahead_fits(&w, 6, 6), 6); /* 16.1 of 16.7 ms */
    assert_int_equal(kl_ahead_fits(&w, 6, 0), 5); /* 14.1 of 15.0, for one more */
    w.true_us = 4000;                             /* it draws */
    assert_int_equal(kl_ahead_fits(&w, 6, 6), 5);
    w.true_us = w.frame_us = 3000;
    assert_int_equal(kl_ahead_fits(&w, 6, 6), 3); /* 15.1 */
    w.true_us = w.frame_us = 6000;
    assert_int_equal(kl_ahead_fits(&w, 6, 6), 0);
}

/* Often wrong, and 1.5 frames run again in a call: with the two that always run 6.0 ms of 8.3. */
TEST(an_average_call_has_half_of_the_time) {
    struct kl_ahead_work w = {
        .true_us = 1700, .frame_us = 1700, .load_us = 100, .period_us = 16667, .again = 1.5};
    assert_int_equal(kl_ahead_fits(&w, 6, 6), 6);
    w.again = 3; /* 8.5 ms; with 5 of the 6 it is 7.7 */
    assert_int_equal(kl_ahead_fits(&w, 6, 6), 5);
    w.again = 6; /* 8.5 ms with 3 of them, 6.8 with 2 */
    assert_int_equal(kl_ahead_fits(&w, 6, 6), 2);
}

/* Half of the pictures wrong: a frame fewer every five seconds, up to four. All right: one more in thirty. */
TEST(wrong_for_long_is_guessed_less) {
    struct kl_ahead_doubt d = {0};
    uint64_t now_us = 1;
    for (unsigned i = 0; i < 60 * 60; i++, now_us += FRAME_US) {
        kl_ahead_doubt_see(&d, i % 2, now_us);
        if (i == 60 * 4) assert_int_equal(d.fewer, 0);
        if (i == 60 * 6) assert_int_equal(d.fewer, 1);
    }
    assert_int_equal(d.fewer, KL_AHEAD_FEWER);
    for (unsigned i = 0; i < 60 * 33; i++, now_us += FRAME_US)
        kl_ahead_doubt_see(&d, false, now_us);
    assert_int_equal(d.fewer, KL_AHEAD_FEWER - 1);
    for (unsigned i = 0; i < 60 * 33; i++, now_us += FRAME_US)
        kl_ahead_doubt_see(&d, i % 25 < 9, now_us); /* neither many nor few */
    assert_int_equal(d.fewer, KL_AHEAD_FEWER - 1);
}
