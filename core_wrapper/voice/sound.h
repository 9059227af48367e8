/* sound.h - a microphone and a loudspeaker: 48 kHz, one channel, in pieces of 10 ms.
 *
 * One thread, which may wait in any of these calls if a library hangs. All may fail; a failed one says so at
 * the next kl_sound_read() or kl_sound_room(). */
#ifndef KLW_SOUND_H
#define KLW_SOUND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KL_SOUND_PIECE    480 /* samples of 10 ms */
#define KL_SOUND_PIECE_US 10000

/* The microphone's sound, from a system that gives any number of samples. */
#define KL_SOUND_WAITS 50 /* pieces; the newest stay */
struct kl_sound_inlet {
    int16_t sample[KL_SOUND_WAITS * KL_SOUND_PIECE];
    size_t count;
};
/* data NULL: a hole of that size. */
void kl_sound_put(struct kl_sound_inlet *i, const int16_t *data, size_t count);
/* 1 and the next piece, or 0. */
int kl_sound_take(struct kl_sound_inlet *i, int16_t piece[KL_SOUND_PIECE]);

#define KL_SOUND_FAILED (-1)
#define KL_SOUND_ABSENT (-2) /* this machine has no such system */

struct kl_sound {
    const char *name; /* for people: "files" */
    /* Opens the loudspeaker; NULL: its owner does (sound_game.h). in, out: the files in place of devices. 0;
     * or, with a line in err, KL_SOUND_FAILED or KL_SOUND_ABSENT: *device stays as it is. */
    int (*open)(void **device, const char *in, const char *out, char *err, size_t err_len);
    void (*close)(void *s);
    /* The microphone is opened, or closed; NULL: there is none. */
    void (*listen)(void *s, bool on);
    /* Waits until until_us at the latest, and lets the library work. */
    void (*wait)(void *s, uint64_t until_us);
    /* The next piece of the microphone. 1; 0: none has come yet; -1: the devices are gone. */
    int (*read)(void *s, int16_t piece[KL_SOUND_PIECE]);
    /* The number of pieces that the loudspeaker wants now; -1: the devices are gone. */
    int (*room)(void *s);
    void (*write)(void *s, const int16_t piece[KL_SOUND_PIECE]);
    const struct kl_sound *next; /* to be tried if this one is absent; NULL: none */
};

/* Opens *sound, or the next one that is there, and sets *sound to that. A system that is there and does not
 * answer is the last one tried: the next would wait for it, too. Returns as `open` does, all reasons in
 * err. */
int kl_sound_open(const struct kl_sound **sound, void **device, const char *in, const char *out, char *err,
                  size_t err_len);

/* A WAV file is read in place of a microphone, and another has what is to be heard, at the pace of the
 * clock. in "": silence; out "": nothing is written. */
extern const struct kl_sound kl_sound_files;
/* The system's default devices: PulseAudio or PipeWire, and then ALSA; on Windows WASAPI. */
extern const struct kl_sound kl_sound_pulse, kl_sound_alsa, kl_sound_wasapi;
#ifdef _WIN32
#define KL_SOUND_DEVICES (&kl_sound_wasapi)
#else
#define KL_SOUND_DEVICES (&kl_sound_pulse)
#endif

#endif
