/* Two players talk: microphone, gate, Opus, two boxes, jitter buffer, loudspeaker, with files in place of
 * devices and this test in place of link and relay. That each word is heard, and soon: voice/talk. Without
 * libopus its tests are skipped. runs: waiting, check, 3 s */
#include <math.h>

#include "tests/unit/folder.h"

#include "core_wrapper/voice/codec.h"
#include "core_wrapper/voice/talk.h"
#include "core_wrapper/voice/wav.h"
#include "net/platform/clock.h"

#define RATE    48000
#define ONE_WAY 30000 /* us */

/* Silence for 200 ms, a hum for 600 ms, silence for 1 s. */
static void write_speech(const char *path) {
    struct kl_wav w;
    assert_int_equal(kl_wav_open(&w, path, 1), 0);
    for (int i = 0; i < RATE * 18 / 10; i++) {
        double t = 2 * M_PI * 200 * i / RATE;
        bool loud = i >= RATE / 5 && i < RATE * 4 / 5;
        int16_t v = (int16_t)(loud ? lrint(6000 * (sin(t) + 0.5 * sin(2 * t))) : 0);
        kl_wav_add(&w, &v, 1);
    }
    assert_int_equal(kl_wav_close(&w), 0);
}

struct player {
    struct kl_voice_box *box;
    struct kl_talk *talk;
    struct kl_talk_news news;
    char out[300];
};

static void join(struct player *p, unsigned client, const char *in, const char *out) {
    snprintf(p->out, sizeof p->out, "%s", at(out));
    p->box = kl_voice_box_new();
    assert_non_null(p->box);
    kl_voice_box_begin(p->box, "");
    kl_voice_box_tell(p->box, &(struct kl_voice_told){.in_room = true,
                                                      .answered = true,
                                                      .client = (uint8_t)client,
                                                      .voices = {.allowed = KL_VOICE_PLAYERS,
                                                                 .hearers = (uint16_t)(1u << (1 - client))}});
    struct kl_talk_setup setup = {&kl_sound_files, in, p->out, p->box};
    p->talk = kl_talk_open(&setup, err, sizeof err);
    assert_non_null(p->talk);
}

static void leave(struct player *p) {
    uint64_t begin_us = kl_now_us();
    kl_talk_close(p->talk);
    assert_true(kl_now_us() - begin_us < KL_TALK_LEFT_MS * 1000);
    kl_voice_box_drop(p->box);
}

struct way {
    struct kl_voice v[64];
    uint64_t due_us[64];
    unsigned put, got, packets;
};

static void carry(struct way *w, struct player *from, unsigned client, struct player *to, uint64_t now_us) {
    while (w->put - w->got < 64 && kl_voice_box_take(from->box, &w->v[w->put % 64])) {
        w->v[w->put % 64].client = (uint8_t)client;
        w->due_us[w->put++ % 64] = now_us + ONE_WAY;
        w->packets++;
    }
    while (w->got != w->put && w->due_us[w->got % 64] <= now_us)
        kl_voice_box_put(to->box, &w->v[w->got++ % 64], now_us);
}

/* Ann speaks, Ben listens. */
static struct player p[2];
static struct way w[2];

static int begin(void **state) {
    memset(p, 0, sizeof p);
    memset(w, 0, sizeof w);
    return make_folder(state);
}

static void join_both(const char *in) {
    if (kl_codec_load(err, sizeof err) != 0) skip();
    write_speech(at("in.wav"));
    join(&p[0], 0, at(in), "a.wav");
    join(&p[1], 1, "", "b.wav");
}

/* Runs both for that time. */
static void talk(uint64_t us) {
    uint64_t until_us = kl_now_us() + us;
    for (uint64_t now_us; (now_us = kl_now_us()) < until_us; kl_sleep_us(1000)) {
        carry(&w[0], &p[0], 0, &p[1], now_us);
        carry(&w[1], &p[1], 1, &p[0], now_us);
        kl_talk_news(p[0].talk, &p[0].news);
        kl_talk_news(p[1].talk, &p[1].news);
    }
}

static void leave_both(void) {
    leave(&p[0]);
    leave(&p[1]);
}

/* The first loud sample; -1: none is. */
static long loud_from(const int16_t *sample, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (sample[i] > 1000) return (long)i;
    return -1;
}

static size_t loud_samples(const int16_t *sample, size_t count) {
    size_t loud = 0;
    for (size_t i = 0; i + 480 <= count; i += 480)
        if (loud_from(sample + i, 480) >= 0) loud += 480;
    return loud;
}

TEST_WITH(by_key_nothing_is_sent_until_it_is_pushed, begin, remove_folder) {
    join_both("in.wav");
    kl_talk_wish(p[0].talk, &(struct kl_talk_wish){.by_key = true});
    talk(500000);
    assert_int_equal(w[0].packets, 0);
    assert_true(p[0].news.listens && !p[0].news.speaks);
    kl_talk_wish(p[0].talk, &(struct kl_talk_wish){.by_key = true, .key_pushed = true});
    talk(300000);
    assert_in_range(w[0].packets, 12, 16);
    assert_true(p[0].news.speaks);
    assert_int_equal(p[1].news.heard, 1);
    talk(KL_TALK_KEY_US); /* the key is not said again */
    assert_false(p[0].news.speaks);
    leave_both();
}

/* Ben has no device. This test is his game, too: of 60 frames a second. */
TEST_WITH(without_a_device_voices_come_with_the_games_sound, begin, remove_folder) {
    static int16_t heard[RATE * 2];
    static const int16_t game[800 * 2];
    size_t count = 0;
    if (kl_codec_load(err, sizeof err) != 0) skip();
    write_speech(at("in.wav"));
    join(&p[0], 0, at("in.wav"), "a.wav");
    join(&p[1], 1, at("none.wav"), "b.wav");
    for (uint64_t from_us = kl_now_us(); count < RATE; talk(1000))
        for (; count < RATE && count < (kl_now_us() - from_us) * RATE / 1000000; count += 800) {
            size_t n = 800;
            const int16_t *sound = kl_talk_game(p[1].talk, game, &n, RATE);
            assert_int_equal(n, 800);
            for (unsigned i = 0; i < 800; i++)
                heard[count + i] = sound[2 * i];
        }
    assert_true(p[1].news.open && p[1].news.in_game && !p[1].news.listens);
    assert_non_null(strstr(p[1].news.error, "none.wav"));
    assert_true(p[0].news.open && !p[0].news.in_game && p[0].news.listens);
    leave_both();
    assert_in_range(loud_samples(heard, count), RATE * 4 / 10, RATE * 3 / 4);
    assert_in_range(w[0].packets, 34, 50); /* 600 ms, and the tail of 300 ms */
    assert_int_equal(w[1].packets, 0);
}

/* --- a device that goes as soon as it is open --- */

static volatile unsigned opened;

static int open_short(void **device, const char *in, const char *out, char *why, size_t why_len) {
    (void)in, (void)out, (void)why, (void)why_len;
    static int one;
    opened++;
    *device = &one;
    return 0;
}
static int gone(void *s) {
    (void)s;
    return -1;
}
static void close_short(void *s) {
    (void)s;
}

TEST_WITH(a_device_that_goes_at_once_is_left_for_a_while, begin, remove_folder) {
    if (kl_codec_load(err, sizeof err) != 0) skip();
    static const struct kl_sound brief = {.open = open_short, .close = close_short, .room = gone};
    struct kl_voice_box *box = kl_voice_box_new();
    struct kl_talk_setup setup = {&brief, "", "", box};
    struct kl_talk *t = kl_talk_open(&setup, err, sizeof err);
    struct kl_talk_news news = {.open = false};
    for (unsigned i = 0; i < 2000 && !news.in_game; i++) {
        kl_sleep_us(1000);
        kl_talk_news(t, &news);
    }
    kl_sleep_us(100000);
    kl_talk_close(t);
    kl_voice_box_drop(box);
    assert_true(news.in_game);
    assert_string_equal(news.error, "the sound devices are gone");
    assert_int_equal(opened, 1);
}

/* --- a library that hangs --- */

static volatile bool hangs, opens, closed;

static int open_hanging(void **device, const char *in, const char *out, char *why, size_t why_len) {
    (void)in, (void)out, (void)why, (void)why_len;
    static int one;
    opens = true;
    while (hangs)
        kl_sleep_us(1000);
    *device = &one;
    return 0;
}
static void close_hanging(void *s) {
    (void)s;
    closed = true;
}

TEST(a_library_that_hangs_holds_nobody_up) {
    if (kl_codec_load(err, sizeof err) != 0) skip();
    static const struct kl_sound hanging = {.name = "hanging", .open = open_hanging, .close = close_hanging};
    hangs = true;
    struct kl_voice_box *box = kl_voice_box_new();
    struct kl_talk_setup setup = {&hanging, "", "", box};
    struct kl_talk *t = kl_talk_open(&setup, err, sizeof err);
    assert_non_null(t);
    for (unsigned i = 0; i < 2000 && !opens; i++)
        kl_sleep_us(1000);
    assert_true(opens);
    uint64_t begin_us = kl_now_us();
    kl_talk_close(t);
    assert_true(kl_now_us() - begin_us < 2 * KL_TALK_LEFT_MS * 1000);
    kl_voice_box_drop(box); /* the thread has its own hold of it */
    hangs = false;
    for (unsigned i = 0; i < 2000 && !closed; i++)
        kl_sleep_us(1000);
    assert_true(closed);
}
