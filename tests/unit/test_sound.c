/* The first system of sound that is there is taken; one that is there and fails is the last one tried. WAV
 * files in place of devices, at the pace of the clock. runs: waiting, check, 1 s */
#include "tests/unit/folder.h"

#include <stdio.h>

#include "core_wrapper/voice/sound.h"
#include "core_wrapper/voice/wav.h"
#include "net/platform/clock.h"

static unsigned tried;
static int here; /* a device */

static int open_absent(void **device, const char *in, const char *out, char *why, size_t len) {
    (void)device, (void)in, (void)out;
    tried++;
    snprintf(why, len, "absent");
    return KL_SOUND_ABSENT;
}

static int open_failing(void **device, const char *in, const char *out, char *why, size_t len) {
    (void)device, (void)in, (void)out;
    tried++;
    snprintf(why, len, "failed");
    return KL_SOUND_FAILED;
}

static int open_good(void **device, const char *in, const char *out, char *why, size_t len) {
    (void)why, (void)len;
    tried++;
    assert_string_equal(in, "in");
    assert_string_equal(out, "out");
    *device = &here;
    return 0;
}

static const struct kl_sound good = {.open = open_good}, failing = {.open = open_failing, .next = &good},
                             before_good = {.open = open_absent, .next = &good},
                             before_failing = {.open = open_absent, .next = &failing},
                             alone = {.open = open_absent};

static int open_from(const struct kl_sound **sound, void **device) {
    tried = 0;
    return kl_sound_open(sound, device, "in", "out", err, sizeof err);
}

TEST(samples_of_any_number_become_pieces_and_the_newest_stay) {
    static struct kl_sound_inlet inlet;
    int16_t sample[700], piece[KL_SOUND_PIECE];
    unsigned put = 0, took = 0;
    for (; put < 700 * 3; put += 700) {
        for (unsigned i = 0; i < 700; i++)
            sample[i] = (int16_t)(put + i);
        kl_sound_put(&inlet, sample, 700);
    }
    for (; kl_sound_take(&inlet, piece); took++)
        for (unsigned i = 0; i < KL_SOUND_PIECE; i++)
            assert_int_equal(piece[i], took * KL_SOUND_PIECE + i);
    assert_int_equal(took, 4); /* 180 samples stay */
    kl_sound_put(&inlet, NULL, KL_SOUND_PIECE - 180);
    assert_int_equal(kl_sound_take(&inlet, piece), 1);
    assert_int_equal(piece[179], 2099);
    assert_int_equal(piece[180], 0);
    for (unsigned n = 0; n < KL_SOUND_WAITS; n++)
        kl_sound_put(&inlet, sample, KL_SOUND_PIECE);
    kl_sound_put(&inlet, sample + 100, 100);
    for (took = 0; kl_sound_take(&inlet, piece); took++)
        assert_int_equal(piece[0], sample[100]);
    assert_int_equal(took, KL_SOUND_WAITS);
    assert_int_equal(piece[KL_SOUND_PIECE - 1], sample[199]);
}

TEST(the_next_is_taken_if_the_first_is_absent) {
    const struct kl_sound *sound = &before_good;
    void *device = NULL;
    assert_int_equal(open_from(&sound, &device), 0);
    assert_ptr_equal(device, &here);
    assert_ptr_equal(sound, &good);
    assert_int_equal(tried, 2);
}

TEST(one_that_fails_is_the_last_one_tried) {
    const struct kl_sound *sound = &before_failing;
    void *device = NULL;
    assert_int_equal(open_from(&sound, &device), KL_SOUND_FAILED);
    assert_null(device);
    assert_int_equal(tried, 2);
    assert_string_equal(err, "absent; failed");
    sound = &alone;
    assert_int_equal(open_from(&sound, &device), KL_SOUND_ABSENT);
}

TEST(long_reasons_are_cut) {
    const struct kl_sound *sound = &before_failing;
    void *device;
    char cut[9];
    assert_int_equal(kl_sound_open(&sound, &device, "in", "out", cut, sizeof cut), KL_SOUND_FAILED);
    assert_string_equal(cut, "absent; ");
    assert_int_equal(kl_sound_open(&sound, &device, "in", "out", cut, 4), KL_SOUND_FAILED);
    assert_string_equal(cut, "abs");
}

#define PIECES 30

static const struct kl_sound *sound = &kl_sound_files;
static void *s;

/* Counts up, so that each sample is known. */
static void write_in(unsigned channels, uint32_t rate) {
    struct kl_wav w;
    assert_int_equal(kl_wav_open(&w, at("in.wav"), channels), 0);
    w.rate = rate;
    for (int i = 0; i < PIECES * KL_SOUND_PIECE; i++) {
        int16_t v[2] = {(int16_t)i, (int16_t)i};
        kl_wav_add(&w, v, 1);
    }
    assert_int_equal(kl_wav_close(&w), 0);
}

TEST_WITH(the_microphone_gives_the_file_and_then_silence, make_folder, remove_folder) {
    int16_t piece[KL_SOUND_PIECE];
    write_in(1, 48000);
    assert_int_equal(sound->open(&s, at("in.wav"), "", err, sizeof err), 0);
    assert_int_equal(sound->read(s, piece), 0); /* it is closed */
    uint64_t begin_us = kl_now_us();
    sound->listen(s, true);
    assert_int_equal(sound->read(s, piece), 0);
    for (unsigned n = 0; n < PIECES + 2; n++) {
        while (sound->read(s, piece) == 0)
            sound->wait(s, kl_now_us() + 1000);
        assert_true(kl_now_us() >= begin_us + (n + 1) * KL_SOUND_PIECE_US);
        for (unsigned i = 0; i < KL_SOUND_PIECE; i++)
            assert_int_equal(piece[i], n < PIECES ? (int16_t)(n * KL_SOUND_PIECE + i) : 0);
    }
    sound->close(s);
}

TEST_WITH(the_loudspeaker_wants_as_much_as_time_passes, make_folder, remove_folder) {
    int16_t piece[KL_SOUND_PIECE] = {1, 2, 3}, *read;
    size_t count;
    uint64_t begin_us = kl_now_us();
    assert_int_equal(sound->open(&s, "", at("out.wav"), err, sizeof err), 0);
    unsigned written = 0;
    while (written < PIECES) {
        for (int room = sound->room(s); room > 0; room--, written++)
            sound->write(s, piece);
        assert_true(written <= (kl_now_us() - begin_us) / KL_SOUND_PIECE_US + 1);
        sound->wait(s, kl_now_us() + 1000);
    }
    sound->close(s);
    assert_int_equal(kl_wav_read(at("out.wav"), 48000, &read, &count, err, sizeof err), 0);
    assert_int_equal(count, written * KL_SOUND_PIECE);
    assert_memory_equal(read + count - KL_SOUND_PIECE, piece, sizeof piece);
    free(read);
}

TEST_WITH(other_files_are_refused_with_the_reason, make_folder, remove_folder) {
    static const char truncated[] = "RIFF\xff\xff\xff\x7fWAVEfmt \x10\0\0\0";
    write_in(2, 48000);
    assert_int_equal(sound->open(&s, at("in.wav"), "", err, sizeof err), KL_SOUND_FAILED);
    assert_non_null(strstr(err, "one channel"));
    write_in(1, 44100);
    assert_int_equal(sound->open(&s, at("in.wav"), "", err, sizeof err), KL_SOUND_FAILED);
    assert_int_equal(sound->open(&s, at("none.wav"), "", err, sizeof err), KL_SOUND_FAILED);
    FILE *f = fopen(at("cut.wav"), "wb");
    assert_non_null(f);
    fwrite(truncated, 1, sizeof truncated - 1, f);
    fclose(f);
    assert_int_equal(sound->open(&s, at("cut.wav"), "", err, sizeof err), KL_SOUND_FAILED);
    assert_int_equal(sound->open(&s, "", at("no folder/out.wav"), err, sizeof err), KL_SOUND_FAILED);
}
