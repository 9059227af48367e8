/* Speech through Opus, the jitter buffer and the mixer: the sound that went in comes out, and the bytes of
 * strangers do no harm. Without libopus its tests are skipped. */
#include <math.h>

#include "tests/unit/unit.h"

#include "core_wrapper/voice/speakers.h"

#define UNIT     KL_JITTER_UNIT_US
#define BEGIN    UINT64_C(1000000)
#define PIECE_US 10000

static struct kl_speakers speakers;
static struct kl_encoder *encoder;

static int begin(void **state) {
    char err[200];
    (void)state;
    memset(&speakers, 0, sizeof speakers);
    encoder = kl_codec_load(err, sizeof err) == 0 ? kl_encoder_new() : NULL;
    return 0;
}

static int finish(void **state) {
    (void)state;
    kl_speakers_free(&speakers);
    kl_encoder_free(encoder);
    return 0;
}

/* A voice of 200 Hz with overtones. */
static void hum(int16_t *sample, size_t count, size_t from, double loud) {
    for (size_t i = 0; i < count; i++) {
        double t = 2 * M_PI * 200 * (double)(from + i) / KL_CODEC_RATE;
        sample[i] = (int16_t)lrint(loud * (sin(t) + 0.5 * sin(2 * t) + 0.3 * sin(3 * t)));
    }
}

static struct kl_voice encode(unsigned client, unsigned unit, size_t count, double loud) {
    struct kl_voice v = {.client = (uint8_t)client, .number = (uint16_t)unit};
    int16_t sample[2 * KL_CODEC_UNIT];
    hum(sample, count, (size_t)unit * KL_CODEC_UNIT, loud);
    v.len = (uint8_t)kl_encoder_packet(encoder, sample, count, v.bytes, KL_VOICE_BYTES);
    assert_true(v.len > 2);
    return v;
}

static double loudness(const int16_t *sample) {
    double sum = 0;
    for (unsigned i = 0; i < KL_CODEC_PIECE; i++)
        sum += (double)sample[i] * sample[i];
    return sqrt(sum / KL_CODEC_PIECE);
}

/* The 10 ms pieces of `units` units that are loud; lost: a bit for each unit of the first 64 that does not
 * come. */
static unsigned loud_pieces(unsigned units, unsigned of_packet, uint64_t lost) {
    unsigned loud = 0;
    int16_t out[KL_CODEC_PIECE];
    for (unsigned p = 0; p < 2 * units + 40; p++) {
        uint64_t now_us = BEGIN + p * PIECE_US;
        unsigned unit = p / 2;
        if (p % 2 == 0 && unit < units && unit % of_packet == 0) {
            struct kl_voice v = encode(3, unit, (size_t)of_packet * KL_CODEC_UNIT, 6000);
            if (unit + of_packet >= units) v.flags = KL_VOICE_LAST;
            if (!(lost >> unit & 1)) kl_speakers_packet(&speakers, &v, now_us);
        }
        uint16_t heard = kl_speakers_mix(&speakers, now_us, out);
        if (heard) assert_int_equal(heard, 1u << 3);
        if (!heard) assert_true(loudness(out) == 0);
        loud += loudness(out) > 2000;
    }
    return loud;
}

TEST_WITH(what_one_says_the_others_hear, begin, finish) {
    if (!encoder) skip();
    static const struct {
        const char *packets;
        unsigned units;
        uint64_t lost;
    } of[] = {{"of 20 ms", 1, 0}, {"of 40 ms", 2, 0}, {"some lost", 1, 1u << 10 | 1u << 20 | 1u << 30}};
    for (unsigned i = 0; i < COUNT(of); i++) {
        unsigned loud = loud_pieces(50, of[i].units, of[i].lost);
        if (loud < 97 || loud > 101) fail_msg("%s: %u pieces are loud", of[i].packets, loud);
        kl_speakers_free(&speakers);
        memset(&speakers, 0, sizeof speakers);
    }
}

/* The loudness of the difference between a unit and its copy in the packet after it, in parts of its own. A
 * tone that begins with that unit cannot be guessed. */
static double wrong_copy(size_t count) {
    struct kl_decoder *all = kl_decoder_new(), *some = kl_decoder_new();
    int16_t sample[2 * KL_CODEC_UNIT], right[KL_CODEC_MOST], made[KL_CODEC_MOST];
    double sum = 0, wrong = 0;
    for (unsigned u = 0; u < 14; u++) {
        uint8_t bytes[200];
        for (size_t i = 0; i < count; i++) {
            double t = 2 * M_PI * (u < 11 ? 200 : 310) * (double)(u * count + i) / KL_CODEC_RATE;
            sample[i] = (int16_t)lrint(5000 * (sin(t) + 0.5 * sin(2 * t)));
        }
        size_t len = kl_encoder_packet(encoder, sample, count, bytes, sizeof bytes);
        if (u == 12) assert_int_equal(kl_decoder_lost(some, bytes, len, count, made), count);
        for (size_t i = 0; u == 12 && i < count; i++) {
            sum += (double)right[i] * right[i];
            wrong += pow(right[i] - made[i], 2);
        }
        assert_int_equal(kl_decoder_packet(all, bytes, len, right), count);
        if (u < 11) assert_int_equal(kl_decoder_packet(some, bytes, len, made), count);
    }
    kl_decoder_free(all);
    kl_decoder_free(some);
    return sqrt(wrong / sum);
}

TEST_WITH(a_packet_has_a_copy_of_the_one_before, begin, finish) {
    if (!encoder) skip();
    double without = wrong_copy(KL_CODEC_UNIT);
    kl_encoder_copies(encoder, true);
    double with = wrong_copy(KL_CODEC_UNIT), of_40_ms = wrong_copy(2 * KL_CODEC_UNIT);
    print_message("wrong without %.2f, with %.2f, of 40 ms %.2f\n", without, with, of_40_ms);
    assert_true(without > 0.9);
    assert_true(with < 0.6 && of_40_ms < 0.6);
}

TEST_WITH(losses_are_noticed, begin, finish) {
    if (!encoder) skip();
    assert_in_range(loud_pieces(50, 1, 0), 97, 101);
    assert_false(kl_speakers_miss(&speakers));
    (void)loud_pieces(60, 1, 0x249249249249249);
    assert_true(kl_speakers_miss(&speakers));
}

/* The hum of 6,000 has a loudness of some 4,200. */
TEST_WITH(each_is_as_loud_as_the_player_wishes, begin, finish) {
    if (!encoder) skip();
    speakers.louder[3] = -70;
    assert_int_equal(loud_pieces(50, 1, 0), 0);
    speakers.louder[3] = 100;
    assert_in_range(loud_pieces(50, 1, 0), 97, 101);
    speakers.louder[3] = -100;
    assert_int_equal(loud_pieces(50, 1, 0), 0);
}

TEST_WITH(two_at_once_are_both_heard, begin, finish) {
    if (!encoder) skip();
    int16_t out[KL_CODEC_PIECE];
    uint16_t heard = 0;
    struct kl_encoder *other = kl_encoder_new();
    assert_non_null(other);
    for (unsigned p = 0; p < 20; p++) {
        uint64_t now_us = BEGIN + p * PIECE_US;
        if (p % 2 == 0) {
            struct kl_voice a = encode(0, p / 2, KL_CODEC_UNIT, 30000), b = a;
            b.client = 15;
            kl_speakers_packet(&speakers, &a, now_us);
            kl_speakers_packet(&speakers, &b, now_us);
        }
        heard |= kl_speakers_mix(&speakers, now_us, out);
    }
    assert_int_equal(heard, 0x8001);
    kl_encoder_free(other);
}

/* A link whose clock is slower, or that stood still, made the delay longer: pauses make it short again. */
TEST_WITH(a_long_delay_becomes_short_where_it_is_quiet, begin, finish) {
    if (!encoder) skip();
    int16_t out[KL_CODEC_PIECE], none[KL_CODEC_UNIT] = {0};
    struct kl_jitter *j = &speakers.of[1].jitter;
    int64_t longest_us = 0;
    for (unsigned p = 0; p < 400; p++) {
        uint64_t now_us = BEGIN + p * PIECE_US;
        if (p % 2 == 0) {
            struct kl_voice v = {.client = 1, .number = (uint16_t)(p / 2)};
            v.len = (uint8_t)kl_encoder_packet(encoder, none, KL_CODEC_UNIT, v.bytes, KL_VOICE_BYTES);
            kl_speakers_packet(&speakers, &v, now_us);
        }
        if (p < 30) continue; /* the loudspeaker begins late */
        kl_speakers_mix(&speakers, now_us, out);
        int64_t excess_us = kl_jitter_excess_us(j, now_us);
        if (excess_us > longest_us) longest_us = excess_us;
    }
    assert_true(longest_us > 200000);
    assert_true(kl_jitter_excess_us(j, BEGIN + 400 * PIECE_US) < 40000);
}
