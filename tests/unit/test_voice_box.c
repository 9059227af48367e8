/* The box of packets between a link's thread and the voice thread: what goes through, what is dropped, and
 * which of its holders ends first; from link to link: tests/net/test_voice.c. net/transport/voice_box.h.
 * runs: working, check, 1 s */
#include "tests/unit/unit.h"

#include "net/platform/thread.h"
#include "net/platform/wait.h"
#include "net/transport/voice_box.h"

static struct kl_voice_box *box[2]; /* of clients 0 and 1 */
static struct kl_voice_news news;

/* A relay's word to client i: the other one takes part. */
static struct kl_voice_told told_of(unsigned i) {
    struct kl_voice_told t = {.in_room = true, .client = (uint8_t)i, .room_id = {5}, .answered = true};
    struct kl_hear other;
    kl_voice_box_wish(box[1 - i], &other);
    t.voices = (struct kl_voices){.allowed = KL_VOICE_PLAYERS, .hearers = (uint16_t)(2 >> i), .count = 1};
    t.voices.salt[0] = 7;
    t.voices.speaker[0].client = (uint8_t)(1 - i);
    memcpy(t.voices.speaker[0].id, other.id, sizeof other.id);
    return t;
}

static void begin(const char *password) {
    for (unsigned i = 0; i < 2; i++) {
        kl_voice_box_begin(box[i], password);
        kl_voice_box_hear(box[i], true, 0xffff);
    }
    for (unsigned i = 0; i < 2; i++) {
        struct kl_voice_told t = told_of(i);
        kl_voice_box_tell(box[i], &t);
        kl_voice_box_news(box[i], &news);
    }
}

static int make_two(void **state) {
    (void)state;
    for (unsigned i = 0; i < 2; i++)
        box[i] = kl_voice_box_new();
    if (!box[0] || !box[1]) return -1;
    begin("");
    return 0;
}
static int drop_two(void **state) {
    (void)state;
    kl_voice_box_drop(box[0]);
    kl_voice_box_drop(box[1]);
    return 0;
}

#define NOW UINT64_C(12345)
static uint64_t arrived_us;

static struct kl_voice packet_of(uint16_t number) {
    return (struct kl_voice){.number = number, .len = 5, .bytes = "hello"};
}

static bool is_woken(struct kl_voice_box *b) {
    int wake = kl_voice_box_wake(b);
    bool woken = kl_wait_for(&wake, 1, 0);
    kl_wake_clear(wake);
    return woken;
}

/* The packets of client 0 arrive at 1, as those of this client. */
static unsigned carry(uint8_t client) {
    struct kl_voice v;
    unsigned count = 0;
    for (; kl_voice_box_take(box[0], &v); count++) {
        v.client = client;
        kl_voice_box_put(box[1], &v, NOW);
    }
    return count;
}

TEST_WITH(full_boxes_drop_their_oldest_packets, make_two, drop_two) {
    struct kl_voice v = {.len = KL_VOICE_BYTES + 1}, got;
    assert_int_equal(news.why, KL_VOICE_HEARD);
    assert_false(kl_voice_box_say(box[0], &v));
    (void)is_woken(box[0]);
    for (uint16_t i = 0; i < 20; i++) {
        v = packet_of(i);
        assert_true(kl_voice_box_say(box[0], &v));
    }
    assert_true(is_woken(box[0]));
    assert_int_equal(carry(0), 16);
    assert_true(kl_voice_box_next(box[1], &got, &arrived_us));
    assert_int_equal(arrived_us, NOW);
    assert_int_equal(got.number, 4);
    for (uint16_t i = 0; i < 100; i++) {
        v = packet_of(i);
        kl_voice_box_put(box[1], &v, NOW);
    }
    assert_true(kl_voice_box_next(box[1], &got, &arrived_us));
    assert_int_equal(got.number, 36);
}

TEST_WITH(nothing_comes_from_those_that_are_not_wanted, make_two, drop_two) {
    struct kl_voice v = packet_of(3), got;
    struct kl_hear wish;
    (void)is_woken(box[1]);
    kl_voice_box_hear(box[1], true, 2);
    assert_true(is_woken(box[1]));
    kl_voice_box_hear(box[1], true, 2);
    assert_false(is_woken(box[1]));
    kl_voice_box_wish(box[1], &wish);
    assert_true(wish.on);
    assert_int_equal(wish.mask, 2);
    kl_voice_box_put(box[1], &v, NOW);
    assert_false(kl_voice_box_next(box[1], &got, &arrived_us));
    kl_voice_box_hear(box[1], false, 3);
    kl_voice_box_wish(box[1], &wish);
    assert_false(wish.on);
    assert_int_equal(wish.mask, 0);
}

/* Each row is a state of the link in which nobody hears client 0, and the reason. */
TEST_WITH(a_silent_client_is_told_why, make_two, drop_two) {
    struct kl_voice v = packet_of(3);
    const struct kl_voice_told well = told_of(0);
    struct kl_voice_told t[] = {well, well, well, well, well};
    static const enum kl_voice_why why[] = {KL_VOICE_NO_ROOM, KL_VOICE_ASKING, KL_VOICE_FORBIDDEN,
                                            KL_VOICE_WATCHING, KL_VOICE_NOBODY};
    t[0].in_room = t[1].answered = false;
    t[2].voices.allowed = KL_VOICE_NONE;
    t[3].client = KL_WATCHER;
    t[4].voices.hearers = 0;
    for (unsigned i = 0; i < 5; i++) {
        kl_voice_box_tell(box[0], &t[i]);
        kl_voice_box_news(box[0], &news);
        assert_int_equal(news.why, why[i]);
        assert_false(kl_voice_box_say(box[0], &v));
    }
    kl_voice_box_tell(box[0], &well);
    kl_voice_box_hear(box[0], false, 0);
    kl_voice_box_news(box[0], &news);
    assert_int_equal(news.why, KL_VOICE_OFF);
    assert_int_equal(news.speakers, 2);
}

TEST_WITH(with_a_password_packets_are_sealed_from_end_to_end, make_two, drop_two) {
    struct kl_voice v = packet_of(3), sealed, got;
    begin("password");
    assert_true(news.sealed);
    assert_true(kl_voice_box_say(box[0], &v));
    assert_true(kl_voice_box_take(box[0], &sealed));
    assert_int_equal(sealed.flags, KL_VOICE_SHUT);
    assert_memory_not_equal(sealed.bytes + 4, "hello", 5);
    kl_voice_box_put(box[1], &v, NOW); /* of the relay's own */
    sealed.client = 1;
    kl_voice_box_put(box[1], &sealed, NOW); /* as of another speaker */
    sealed.client = 0;
    kl_voice_box_put(box[1], &sealed, NOW);
    kl_voice_box_put(box[1], &sealed, NOW);
    assert_true(kl_voice_box_next(box[1], &got, &arrived_us));
    assert_int_equal(got.client, 0);
    assert_int_equal(got.flags, 0);
    assert_memory_equal(got.bytes, "hello", 5);
    assert_false(kl_voice_box_next(box[1], &got, &arrived_us));
}

/* A relay goes back to an id, or to a salt, of before: a packet that has come does not come again. */
TEST_WITH(an_old_packet_never_comes_again, make_two, drop_two) {
    struct kl_voice v = packet_of(3), got, kept;
    begin("secret");
    const struct kl_voice_told well = told_of(1);
    struct kl_voice_told other_id = well, other_salt = well;
    const struct kl_voice_told *const told[] = {&other_id, &well, &other_salt, &well};
    other_id.voices.speaker[0].id[0] ^= 1;
    other_salt.voices.salt[0] ^= 1;
    assert_true(kl_voice_box_say(box[0], &v));
    assert_true(kl_voice_box_take(box[0], &kept));
    kl_voice_box_put(box[1], &kept, NOW);
    assert_true(kl_voice_box_next(box[1], &got, &arrived_us));
    for (unsigned i = 0; i < sizeof told / sizeof *told; i++) {
        kl_voice_box_tell(box[1], told[i]);
        kl_voice_box_news(box[1], &news);
        kl_voice_box_put(box[1], &kept, NOW);
        assert_false(kl_voice_box_next(box[1], &got, &arrived_us));
    }
}

TEST_WITH(another_password_is_another_key, make_two, drop_two) {
    struct kl_voice v = packet_of(3), got;
    begin("password");
    kl_voice_box_begin(box[0], "passwort");
    struct kl_voice_told t = told_of(0);
    kl_voice_box_tell(box[0], &t);
    kl_voice_box_news(box[0], &news);
    assert_true(kl_voice_box_say(box[0], &v));
    assert_int_equal(carry(0), 1);
    assert_false(kl_voice_box_next(box[1], &got, &arrived_us));
    begin("");
    assert_true(kl_voice_box_say(box[0], &v));
    assert_int_equal(carry(0), 1);
    assert_true(kl_voice_box_next(box[1], &got, &arrived_us));
}

#define ROUNDS 20000

static void say_much(void *arg) {
    struct kl_voice_box *b = arg;
    for (unsigned i = 0; i < ROUNDS; i++) {
        struct kl_voice v = packet_of((uint16_t)i), got;
        uint64_t got_us;
        (void)kl_voice_box_say(b, &v);
        (void)kl_voice_box_next(b, &got, &got_us);
    }
    kl_voice_box_drop(b);
}

/* The voice thread ends after the link: ASan and TSan see a wrong end. */
TEST_WITH(either_holder_may_end_first, make_two, drop_two) {
    struct kl_thread t = {0};
    struct kl_voice v;
    struct kl_voice_box *b = kl_voice_box_hold(box[0]);
    assert_int_equal(kl_thread_start(&t, "voice", say_much, b), 0);
    for (unsigned i = 0; i < ROUNDS; i++) {
        if (kl_voice_box_take(box[0], &v)) kl_voice_box_put(box[0], &v, NOW);
    }
    kl_voice_box_drop(box[0]);
    box[0] = NULL;
    kl_thread_join(&t);
    assert_null(kl_voice_box_hold(NULL));
}
