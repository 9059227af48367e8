/* test_voice.c - speech from one real link to another, through a relay process. net/ROOMS.md §7, Voice.
 * runs: waiting, test, 10 s */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "tests/unit/unit.h"

#include "net/platform/clock.h"
#include "net/platform/wait.h"
#include "tests/net/net_intruder.h"

#define PACKETS 50

static struct program relay;
static struct player player[2];
static struct kl_voice_box *box[2];

static int start_relay(void **state) {
    static const char *const args[] = {"--shards", "2", NULL};
    (void)state;
    relay = relay_start(args);
    return 0;
}
static int stop_relay(void **state) {
    (void)state;
    return program_stop(&relay, SIGTERM);
}

static void enter(unsigned i, const char *room, const char *password) {
    char err[200] = "";
    struct kl_hello h = hello_make(i ? "bob" : "ann", room, 1, 4);
    struct kl_link_config config = player_config(&player[i], &h, relay.port, 100);
    config.password = password;
    config.voice = box[i] = kl_voice_box_new();
    assert_non_null(box[i]);
    kl_voice_box_hear(box[i], true, 0xffff);
    if (kl_link_open(&player[i].link, &config, err, sizeof err) != 0) fail_msg("%s", err);
    assert_true(player_joins(&player[i]));
}

static void rest(uint64_t us) {
    (void)kl_wait_for(NULL, 0, kl_now_us() + us);
}

/* Waits for it, 5 s at most. */
static bool comes_to(unsigned i, enum kl_voice_why why) {
    struct kl_voice_news news;
    for (unsigned n = 0; n < 500; n++, rest(10000)) {
        kl_voice_box_news(box[i], &news);
        if (news.why == why) return true;
    }
    fprintf(stderr, "why=%d\n", news.why);
    return false;
}

static int by_number(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Ann says a second of packets. Bob gets them in their order; the median of their ways is short. */
static void talk(void) {
    uint64_t way_us[PACKETS], arrived_us;
    struct kl_voice got;
    for (uint16_t n = 0; n < PACKETS; n++) {
        struct kl_voice v = {.number = n, .len = 40, .bytes = {'w', (uint8_t)n}};
        uint64_t said_us = kl_now_us(), until_us = said_us + 1000000;
        assert_true(kl_voice_box_say(box[0], &v));
        while (!kl_voice_box_next(box[1], &got, &arrived_us) && kl_now_us() < until_us)
            rest(200);
        way_us[n] = kl_now_us() - said_us;
        assert_int_equal(got.number, n);
        assert_int_equal(got.len, 40);
        assert_memory_equal(got.bytes, v.bytes, 40);
        rest(20000 - (way_us[n] < 20000 ? way_us[n] : 20000));
    }
    qsort(way_us, PACKETS, sizeof way_us[0], by_number);
    printf("speech: median %llu us, longest %llu us\n", (unsigned long long)way_us[PACKETS / 2],
           (unsigned long long)way_us[PACKETS - 1]);
    assert_in_range(way_us[PACKETS / 2], 0, 5000);
}

static void leave(void) {
    for (unsigned i = 0; i < 2; i++) {
        player_close(&player[i], 100);
        assert_true(comes_to(i, KL_VOICE_NO_ROOM)); /* the box outlives the link */
        kl_voice_box_drop(box[i]);
    }
}

TEST_WITH(speech_goes_from_link_to_link, start_relay, stop_relay) {
    enter(0, "room", NULL);
    assert_true(comes_to(0, KL_VOICE_NOBODY));
    enter(1, "room", NULL);
    assert_true(comes_to(0, KL_VOICE_HEARD));
    assert_true(comes_to(1, KL_VOICE_HEARD));
    talk();
    kl_voice_box_hear(box[1], false, 0);
    assert_true(comes_to(0, KL_VOICE_NOBODY));
    assert_true(comes_to(1, KL_VOICE_OFF));
    leave();
}

TEST_WITH(a_rooms_password_seals_speech_from_end_to_end, start_relay, stop_relay) {
    struct kl_voice_news news;
    enter(0, "shut", "password");
    enter(1, "shut", "password");
    assert_true(comes_to(0, KL_VOICE_HEARD));
    assert_true(comes_to(1, KL_VOICE_HEARD));
    kl_voice_box_news(box[0], &news);
    assert_true(news.sealed);
    talk();
    leave();
}

/* Noise at 2,000 packets a second, of all lengths and with numbers that jump. */
static void shout(struct intruder *n) {
    static uint32_t seed = 1;
    uint8_t body[KL_VOICE_DATAGRAM + 8];
    for (unsigned i = 0; i < 40; i++) {
        for (unsigned k = 0; k < sizeof body; k++)
            body[k] = (uint8_t)((seed = seed * 1103515245 + 12345) >> 16);
        body[0] = (uint8_t)(seed >> 24 & 7);
        intruder_send(n, -1, KL_SEAL_VOICE, body, i % 2 ? 60 : (seed >> 8) % sizeof body);
    }
    intruder_look(n);
}

TEST_WITH(a_client_that_shouts_is_in_nobodys_way, start_relay, stop_relay) {
    struct intruder n;
    struct kl_msg hear = {.kind = KL_MSG_HEAR, .hear = {.on = true}};
    uint8_t bytes[KL_MSG_MAX];
    struct kl_voice v = {.len = 40, .bytes = "words"}, got;
    uint64_t arrived_us;
    unsigned words = 0, noise = 0;
    enter(0, "room", NULL);
    enter(1, "room", NULL);
    intruder_room = "room";
    intruder_enter(&n, relay.port);
    struct kl_hello h = hello_make("eve", "room", 1, 4);
    intruder_hello(&n, &h);
    intruder_say(&n, bytes, (size_t)kl_msg_encode(&hear, bytes, sizeof bytes));
    intruder_serve(&n, 500);
    assert_true(n.welcome);
    assert_true(comes_to(0, KL_VOICE_HEARD));
    for (uint64_t end_us = kl_now_us() + 2000000; kl_now_us() < end_us; rest(20000)) {
        struct kl_voice_news news;
        kl_voice_box_news(box[0], &news);
        assert_true(kl_voice_box_say(box[0], &v));
        v.number++;
        shout(&n);
        while (kl_voice_box_next(box[1], &got, &arrived_us))
            *(got.client == 0 ? &words : &noise) += 1;
    }
    printf("words %u of %u, noise %u\n", words, v.number, noise);
    assert_in_range(words, v.number - 3u, v.number);
    assert_in_range(noise, 30, 2 * 55 + 12);
    assert_false(n.gone);
    intruder_leave(&n);
    leave();
}
