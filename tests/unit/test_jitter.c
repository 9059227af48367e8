/* The jitter buffer, in virtual time: packets in their order and at their time, however they come. */
#include "tests/unit/unit.h"

#include "core_wrapper/voice/jitter.h"

#define UNIT  KL_JITTER_UNIT_US
#define MS    UINT64_C(1000)
#define BEGIN UINT64_C(1000000)

static struct kl_voice packet(unsigned number, uint8_t flags) {
    return (struct kl_voice){.number = (uint16_t)number,
                             .flags = flags,
                             .len = 2,
                             .bytes = {(uint8_t)number, (uint8_t)(number >> 8)}};
}

static void put(struct kl_jitter *j, unsigned number, uint8_t flags, uint64_t now_us) {
    struct kl_voice v = packet(number, flags);
    kl_jitter_put(j, &v, now_us);
}

static unsigned number_of(const struct kl_voice *v) {
    return (unsigned)(v->bytes[0] | v->bytes[1] << 8);
}

/* A spurt of `count` units from `first` on, unit i arriving late_us(i) late; the last has KL_VOICE_LAST.
 * Takes a unit each 20 ms, as a loudspeaker does, and every 10 ms in silence. */
struct story {
    unsigned played, lost, gaps, silences, last;
    uint64_t begun_us; /* the first was played */
};

static struct story tell(struct kl_jitter *j, unsigned first, unsigned count, uint64_t begin_us,
                         int64_t (*late_us)(unsigned)) {
    struct story s = {0};
    bool came[2048] = {false};
    uint64_t end_us = begin_us + count * UNIT + 400 * MS, busy_us = 0;
    for (uint64_t now_us = begin_us; now_us < end_us; now_us += MS) {
        for (unsigned i = 0; i < count; i++) {
            if (came[i] || late_us(i) < 0 || now_us < begin_us + i * UNIT + (uint64_t)late_us(i)) continue;
            came[i] = true;
            put(j, first + i, i + 1 == count ? KL_VOICE_LAST : 0, now_us);
        }
        if ((now_us - begin_us) % (10 * MS) || now_us < busy_us) continue;
        struct kl_voice v;
        enum kl_jitter_next next = kl_jitter_take(j, now_us, &v);
        if (next != KL_JITTER_SILENCE) busy_us = now_us + UNIT;
        if (next == KL_JITTER_PACKET) {
            if (!s.begun_us) s.begun_us = now_us;
            if (s.played) assert_true((uint16_t)(number_of(&v) - s.last) < 0x8000);
            s.last = number_of(&v);
        }
        s.played += next == KL_JITTER_PACKET;
        s.lost += next == KL_JITTER_LOST;
        s.gaps += next == KL_JITTER_GAP;
        s.silences += next == KL_JITTER_SILENCE;
    }
    return s;
}

static int64_t at_once(unsigned i) {
    (void)i;
    return 0;
}
static int64_t trembling(unsigned i) {
    return (int64_t)(i * 7919u % 11) * 6000; /* up to 60 ms */
}
static int64_t one_lost(unsigned i) {
    return i == 20 ? -1 : 0;
}
static int64_t first_lost(unsigned i) {
    return i == 0 ? -1 : 0;
}
static int64_t last_lost(unsigned i) {
    return i == 49 ? -1 : 0;
}
static int64_t three_lost(unsigned i) {
    return i >= 20 && i < 23 ? -1 : 0;
}
static int64_t held_up(unsigned i) {
    return i < 30 ? 0 : i < 45 ? (int64_t)(45 - i) * UNIT : 0; /* a link that stood still for 300 ms */
}

static int64_t each_tenth_lost(unsigned i) {
    return i % 10 == 3 ? -1 : 0;
}
static int64_t first_late(unsigned i) {
    return i == 0 ? 8000 : 0;
}

/* A spurt of 50 units over such a link, behind one over an even link or without. A spurt of an even link
 * after them is heard whole; losses make its delay a unit longer, a single one does not. */
TEST(each_link_loses_only_what_it_loses) {
    static const struct {
        const char *link;
        int64_t (*late_us)(unsigned);
        bool after_even;
        unsigned played, lost_or_gaps, then_waits;
    } of[] = {
        {"even", at_once, false, 50, 0, 0},
        {"even after even", at_once, true, 50, 0, 0},
        {"one lost", one_lost, false, 49, 1, 0},
        {"three lost", three_lost, true, 47, 3, 1},
        {"the first lost", first_lost, false, 49, 0, 0},
        {"the last lost", last_lost, true, 49, 5, 0}, /* until it gives up */
        {"the first late", first_late, true, 50, 0, 0},
    };
    for (size_t i = 0; i < COUNT(of); i++) {
        struct kl_jitter j = {0};
        struct story s;
        if (of[i].after_even) tell(&j, 0, 50, BEGIN, at_once);
        s = tell(&j, 50, 50, 3 * BEGIN, of[i].late_us);
        if (s.played != of[i].played || s.lost + s.gaps != of[i].lost_or_gaps)
            fail_msg("%s: played %u, lost %u, gaps %u", of[i].link, s.played, s.lost, s.gaps);
        assert_int_equal(j.state, KL_JITTER_IDLE); /* it has given up */
        s = tell(&j, 100, 50, 6 * BEGIN, at_once);
        if (s.played != 50 || s.begun_us != 6 * BEGIN + KL_JITTER_MIN_US + of[i].then_waits * UNIT)
            fail_msg("%s: then %u from %llu", of[i].link, s.played, (unsigned long long)s.begun_us);
    }
}

TEST(a_trembling_link_is_waited_for) {
    struct kl_jitter j = {0};
    tell(&j, 0, 200, BEGIN, trembling);
    struct story s = tell(&j, 200, 200, 10 * BEGIN, trembling);
    assert_in_range(j.target_us, 50 * MS, 65 * MS);
    assert_int_equal(s.played, 200);
    assert_int_equal(s.lost + s.gaps, 0);
}

TEST(the_delay_stays_below_its_most) {
    struct kl_jitter j = {0};
    for (unsigned i = 0; i < 300; i++)
        put(&j, i, 0, BEGIN + i * UNIT + (i % 2) * 900 * MS);
    assert_int_equal(j.target_us, KL_JITTER_MAX_US);
}

TEST(after_a_stall_of_the_link_speech_goes_on) {
    struct kl_jitter j = {0};
    struct story s = tell(&j, 0, 100, BEGIN, held_up);
    assert_true(s.played > 75);
    assert_int_equal(s.last, 99);
}

/* The copy of a lost packet is in the next one. */
TEST(where_packets_get_lost_their_copies_are_waited_for) {
    struct kl_jitter j = {0};
    tell(&j, 0, 200, BEGIN, each_tenth_lost);
    assert_true(j.lossy && j.waits);
    struct story s = tell(&j, 200, 200, 10 * BEGIN, each_tenth_lost);
    assert_int_equal(s.begun_us, 10 * BEGIN + KL_JITTER_MIN_US + UNIT);
    assert_int_equal(s.played, 180);
    assert_int_equal(s.lost, 20);
    assert_int_equal(s.gaps, 0);
    tell(&j, 400, 600, 20 * BEGIN, at_once);
    assert_false(j.lossy || j.waits);
}

TEST(a_lost_packet_of_40_ms_is_made_as_a_whole) {
    struct kl_jitter j = {0};
    struct kl_voice v;
    for (unsigned i = 0; i < 8; i += 2)
        if (i != 4) put(&j, i, 0, BEGIN + i * UNIT);
    for (unsigned i = 0; i < 4; i += 2) {
        assert_int_equal(kl_jitter_take(&j, BEGIN + (i + 6) * UNIT, &v), KL_JITTER_PACKET);
        kl_jitter_longer(&j, 1);
    }
    assert_int_equal(kl_jitter_take(&j, BEGIN + 10 * UNIT, &v), KL_JITTER_LOST);
    assert_int_equal(kl_jitter_take(&j, BEGIN + 12 * UNIT, &v), KL_JITTER_PACKET);
    assert_int_equal(number_of(&v), 6);
}

TEST(numbers_wrap) {
    struct kl_jitter j = {0};
    struct story s = tell(&j, 65520, 100, BEGIN, at_once);
    assert_int_equal(s.played, 100);
    assert_int_equal(s.last, (65520 + 99) % 65536);
}

/* Numbers that counted on in the silence, and such that stood still, are the same to the listener. */
TEST(silence_is_no_lateness) {
    struct kl_jitter j = {0};
    tell(&j, 0, 50, BEGIN, at_once);
    tell(&j, 50, 50, 20 * BEGIN, at_once);
    struct story s = tell(&j, 9000, 50, 30 * BEGIN, at_once);
    assert_int_equal(s.played, 50);
    assert_int_equal(j.target_us, KL_JITTER_MIN_US);
}

TEST(two_spurts_without_a_pause_are_both_played) {
    struct kl_jitter j = {0};
    struct kl_voice v;
    unsigned played = 0;
    for (unsigned i = 0; i < 20; i++)
        put(&j, i, i == 9 ? KL_VOICE_LAST : 0, BEGIN + i * UNIT);
    for (uint64_t now_us = BEGIN + 20 * UNIT; now_us < BEGIN + 60 * UNIT; now_us += UNIT)
        played += kl_jitter_take(&j, now_us, &v) == KL_JITTER_PACKET;
    assert_int_equal(played, 20);
}

TEST(an_end_without_sound_ends_a_spurt) {
    struct kl_jitter j = {0};
    struct kl_voice end = {.number = 1, .flags = KL_VOICE_LAST}, v;
    put(&j, 0, 0, BEGIN);
    kl_jitter_put(&j, &end, BEGIN + UNIT);
    assert_int_equal(kl_jitter_take(&j, BEGIN + 3 * UNIT, &v), KL_JITTER_PACKET);
    assert_int_equal(kl_jitter_take(&j, BEGIN + 4 * UNIT, &v), KL_JITTER_SILENCE);
    assert_int_equal(j.state, KL_JITTER_IDLE);
}

TEST(what_comes_twice_or_too_late_is_played_once_or_not) {
    struct kl_jitter j = {0};
    struct kl_voice v;
    put(&j, 10, 0, BEGIN);
    put(&j, 10, 0, BEGIN);
    put(&j, 11, 0, BEGIN + UNIT);
    assert_int_equal(kl_jitter_take(&j, BEGIN + 3 * UNIT, &v), KL_JITTER_PACKET);
    put(&j, 9, 0, BEGIN + 3 * UNIT);
    put(&j, 10, 0, BEGIN + 3 * UNIT);
    assert_int_equal(kl_jitter_take(&j, BEGIN + 4 * UNIT, &v), KL_JITTER_PACKET);
    assert_int_equal(number_of(&v), 11);
    assert_int_equal(kl_jitter_take(&j, BEGIN + 5 * UNIT, &v), KL_JITTER_GAP);
}

/* A stranger's numbers may be anything: no read outside, and honest speech afterwards is heard. */
TEST(numbers_that_jump_harm_nobody) {
    struct kl_jitter j = {0};
    uint32_t seed = 7;
    struct kl_voice v;
    for (unsigned i = 0; i < 200000; i++) {
        seed = seed * 1664525 + 1013904223;
        put(&j, seed >> 9, (uint8_t)(seed >> 30), BEGIN + i * MS * (seed >> 8 & 3));
        if (seed & 0x800) kl_jitter_take(&j, BEGIN + i * MS, &v);
        if ((seed & 0x7000) == 0) kl_jitter_longer(&j, seed >> 28 & 3);
    }
    for (uint64_t now_us = 1000 * BEGIN; now_us < 1001 * BEGIN; now_us += UNIT)
        kl_jitter_take(&j, now_us, &v);
    struct story s = tell(&j, 40000, 200, 2000 * BEGIN, at_once);
    assert_true(s.played >= 198);
}

TEST(a_delay_that_is_longer_than_wanted_shows) {
    struct kl_jitter j = {0};
    struct kl_voice v;
    for (unsigned i = 0; i < 20; i++)
        put(&j, i, 0, BEGIN + i * UNIT);
    kl_jitter_take(&j, BEGIN + 4 * UNIT, &v);
    assert_int_equal(kl_jitter_excess_us(&j, BEGIN + 5 * UNIT), 4 * UNIT - KL_JITTER_MIN_US);
}
