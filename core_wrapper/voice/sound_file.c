#include <stdio.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core_wrapper/voice/sound.h"
#include "core_wrapper/voice/wav.h"
#include "net/platform/clock.h"

#define RATE 48000

struct files {
    int16_t *in;
    size_t in_count;
    struct kl_wav out;
    uint64_t heard_since_us, played_since_us;
    uint64_t heard, played; /* pieces */
    bool listens;
};

static void close_files(void *s) {
    struct files *f = s;
    kl_wav_close(&f->out);
    free(f->in);
    free(f);
}

static int open_files(void **device, const char *in, const char *out, char *err, size_t err_len) {
    struct files *f = calloc(1, sizeof *f);
    if (!f) {
        snprintf(err, err_len, "no memory");
        return KL_SOUND_FAILED;
    }
    f->played_since_us = kl_now_us();
    if (*in && kl_wav_read(in, RATE, &f->in, &f->in_count, err, err_len) != 0) {
        close_files(f);
        return KL_SOUND_FAILED;
    }
    if (*out && kl_wav_open(&f->out, out, 1) != 0) {
        snprintf(err, err_len, "cannot write %s: %s", out, strerror(errno));
        close_files(f);
        return KL_SOUND_FAILED;
    }
    *device = f;
    return 0;
}

/* The file goes on where it stopped. */
static void listen_files(void *s, bool on) {
    struct files *f = s;
    if (on && !f->listens) f->heard_since_us = kl_now_us() - f->heard * KL_SOUND_PIECE_US;
    f->listens = on;
}

/* Until something is due. */
static void wait_files(void *s, uint64_t until_us) {
    struct files *f = s;
    uint64_t read_us = f->heard_since_us + (f->heard + 1) * KL_SOUND_PIECE_US,
             write_us = f->played_since_us + f->played * KL_SOUND_PIECE_US;
    if (f->listens && read_us < until_us) until_us = read_us;
    if (write_us < until_us) until_us = write_us;
    kl_sleep_until(until_us);
}

/* A piece is there when its last sample is. Behind the end of the file is silence. */
static int read_files(void *s, int16_t piece[KL_SOUND_PIECE]) {
    struct files *f = s;
    if (!f->listens || kl_now_us() < f->heard_since_us + (f->heard + 1) * KL_SOUND_PIECE_US) return 0;
    size_t from = f->heard * KL_SOUND_PIECE, left = f->in_count > from ? f->in_count - from : 0;
    size_t count = left < KL_SOUND_PIECE ? left : KL_SOUND_PIECE;
    memset(piece, 0, KL_SOUND_PIECE * sizeof *piece);
    if (count) memcpy(piece, f->in + from, count * sizeof *piece);
    f->heard++;
    return 1;
}

static int room_files(void *s) {
    struct files *f = s;
    uint64_t due = (kl_now_us() - f->played_since_us) / KL_SOUND_PIECE_US + 1;
    return due > f->played ? (int)(due - f->played) : 0;
}

static void write_files(void *s, const int16_t piece[KL_SOUND_PIECE]) {
    struct files *f = s;
    kl_wav_add(&f->out, piece, KL_SOUND_PIECE);
    f->played++;
}

const struct kl_sound kl_sound_files = {"files",    open_files, close_files, listen_files, wait_files,
                                        read_files, room_files, write_files, NULL};
