/* shown.h - the shown core, and the crossfade of its sound. */
#ifndef KLW_SHOWN_H
#define KLW_SHOWN_H

#include <fenv.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core_wrapper/core/statehash.h"
#include "core_wrapper/env/outside.h"
#include "net/engine/ahead.h"

/* --- the crossfade --- */

/* A crossfade where the sound was made by other guesses than before, or by the other core: the end of the
 * sound given so far, backwards, fades out under the new sound. No step between two samples is larger than
 * the largest in either sound, or than KL_FADE_STEP; so the fade lasts a little longer if it must. Stereo, 16
 * bits. Pure. */

#define KL_FADE_MAX  768 /* samples: 4 ms at 192 kHz */
#define KL_FADE_STEP 64  /* of 32768: a sound without steps gets from one level to another all the same */

struct kl_fade {
    unsigned tail;                  /* samples of `given` that are set */
    int16_t given[KL_FADE_MAX * 4]; /* the newest sound given; room for two tails, so that few are moved */
    unsigned at, count;             /* of a fade under way: samples mixed, and in all */
    int16_t out[KL_FADE_MAX * 2];   /* the sound that fades out */
    bool on;                        /* a fade is under way */
    struct kl_fade_side {
        int new, mixed, step; /* the sample before, new and as mixed; the largest step */
    } side[2];
};

/* Begins a fade over at most `most` samples. */
void kl_fade_begin(struct kl_fade *f, unsigned most);
/* Mixes the next samples, if a fade is under way. */
void kl_fade_mix(struct kl_fade *f, int16_t *stereo, size_t samples);
/* This sound has been given. */
void kl_fade_keep(struct kl_fade *f, const int16_t *stereo, size_t samples);

/* --- the shown core --- */

/* The shown core: a second instance of the core in this process, which plays ahead of the lock and is shown
 * in the true core's place. README.md "Running ahead".
 *
 * It has a world, options, pads and a save folder of its own, and the frontend hears nothing of it. It goes
 * back by the pages of its memory, or to states that it saved itself. Nothing that it does reaches the true
 * core, not even by the floating-point environment. One thread. */

#define KL_SHOWN_BYTES_MAX ((size_t)256 << 20) /* of all states that are kept at once */

/* The owner's functions. */
struct kl_shown_hooks {
    void *ctx;
    void (*video)(void *ctx, const void *data, unsigned width, unsigned height, size_t pitch);
    void (*sound)(void *ctx, const int16_t *stereo, size_t frames);
};

/* The core before a frame. */
struct kl_shown_state {
    uint32_t frame;
    bool kept;
    uint8_t *bytes; /* cap of them are allocated */
    size_t cap, len;
    struct kl_world_time time;
    uint64_t chance;
    struct kl_outside outside;
    struct kl_fileset *files; /* NULL: the core has written none */
};

struct kl_shown {
    bool open;
    struct kl_emulator emu;
    struct kl_shown_hooks hooks;
    fenv_t fenv; /* the core's own */
    size_t state_bytes;
    bool by_pages;           /* it goes back by the pages of its memory, else by savestates */
    struct kl_outside begun; /* the other core's, from which it began */
    struct kl_shown_state state[KL_AHEAD_FRAMES]; /* by frame */
    struct kl_ram ram;
};

/* Loads the core of `like`, which has been loaded with the same start data. by_pages: it may go back by the
 * pages of its memory (pages.h), as the probe has found. save_dir: a folder of its own
 * with the room's save files. Strings are borrowed. Returns 0, or -1 with a line in err that says why this
 * core cannot be had twice, and nothing is open. */
int kl_shown_open(struct kl_shown *s, const struct kl_emulator *like, const struct kl_start *start,
                  uint64_t epoch_s, const char *system_dir, const char *save_dir,
                  const struct kl_shown_hooks *hooks, bool by_pages, char *err, size_t err_len);
/* Harmless if none is open. */
void kl_shown_close(struct kl_shown *s);

/* Sets the core to the present state of `like`: these bytes are the serialized part, and files its files.
 * bytes NULL: both stand before their first frame, and nothing is loaded. Drops all kept states. Returns "",
 * or why it could not be: then the core is in no known state. */
const char *kl_shown_begin(struct kl_shown *s, const struct kl_emulator *like, const uint8_t *bytes,
                           size_t len, const struct kl_fileset *files);
/* Guessed frames that can be gone back to, by the size of a state; 0: none, or unknown. */
unsigned kl_shown_depth(const struct kl_shown *s);

/* Keeps the state before this frame. False: the core gave none, its files cannot be kept, or there is no
 * memory. */
bool kl_shown_keep(struct kl_shown *s, uint32_t frame);
/* Loads the kept state before this frame. False: it is not kept, or the core refused it. */
bool kl_shown_back(struct kl_shown *s, uint32_t frame);

/* Around all other calls of its core, which has a floating-point environment of its own; ours: the thread's,
 * meanwhile. */
void kl_shown_enter(struct kl_shown *s, fenv_t *ours);
void kl_shown_leave(struct kl_shown *s, const fenv_t *ours);

/* The hash of the system RAM; false: the core shows none. */
bool kl_shown_ram(struct kl_shown *s, uint64_t *hash);

#endif
