/* test_participant_voice.c - a client says HEAR once voice is wanted, and again in each session and at each
 * change; the voice thread is told what the relay said. net/ROOMS.md §7, Voice. runs: working, check, 1 s */
#include "tests/lib/participant_bare.h"

static const struct kl_hear off = {.id = {1}}, on = {.on = true, .mask = 6, .id = {1}},
                            less = {.on = true, .mask = 2, .id = {1}};

static void expect(const struct kl_hear *h) {
    struct kl_msg m;
    assert_true(kl_participant_next_hear(s, &m));
    assert_int_equal(m.kind, KL_MSG_HEAR);
    assert_int_equal(m.hear.on, h->on);
    assert_int_equal(m.hear.mask, h->mask);
    assert_memory_equal(m.hear.id, h->id, sizeof h->id);
    assert_false(kl_participant_next_hear(s, &m));
}
static void expect_nothing(void) {
    struct kl_msg m;
    assert_false(kl_participant_next_hear(s, &m));
}

static void hear(uint16_t hearers) {
    struct kl_msg m = {.kind = KL_MSG_VOICES, .voices = {.hearers = hearers}};
    kl_participant_take_message(s, &m, 1);
}

static struct kl_voice_told told(void) {
    struct kl_voice_told t;
    kl_participant_voices(s, &t);
    return t;
}

TEST_WITH(each_wish_is_said_once, make, drop) {
    expect_nothing();
    kl_participant_hear(s, &off);
    expect_nothing();
    kl_participant_hear(s, &on);
    expect(&on);
    kl_participant_hear(s, &on);
    expect_nothing();
    kl_participant_hear(s, &less);
    expect(&less);
    kl_participant_hear(s, &off);
    expect(&off);
    kl_participant_hear(s, &on);
    expect(&on);
    kl_participant_voice_forget(s); /* the session is lost */
    expect(&on);
    kl_participant_voice_forget(s);
    kl_participant_hear(s, &off);
    expect_nothing();
}

TEST_WITH(the_voice_thread_is_told_what_this_session_knows, make, drop) {
    struct kl_msg m;
    s->status.welcome.client = 3;
    assert_true(told().in_room);
    assert_int_equal(told().client, 3);
    hear(4); /* it was not asked */
    assert_false(told().answered);
    kl_participant_hear(s, &on);
    assert_true(kl_participant_next_hear(s, &m));
    assert_false(told().answered);
    hear(4);
    assert_true(told().answered);
    assert_int_equal(told().voices.hearers, 4);
    kl_participant_hear(s, &off);
    assert_true(kl_participant_next_hear(s, &m));
    assert_false(told().answered);
    s->status.phase = KL_PARTICIPANT_RETURNING;
    assert_false(told().in_room);
    assert_int_equal(told().client, KL_WATCHER);
}
