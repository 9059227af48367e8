/* ref_keys.h - keys as net/PROTOCOL.md §3 has them: events that wait for a frame, and what the seats hold.
 *
 * A second implementation beside net/engine/input.c; it uses the engine's structs and none of its
 * functions. */
#ifndef SIM_REF_KEYS_H
#define SIM_REF_KEYS_H

#include "net/engine/input.h"

#define REF_KEYS 344 /* may wait */

/* Of one pad. */
struct ref_keys {
    bool all_up;
    unsigned count;
    struct kl_key at[REF_KEYS];
    uint32_t next;           /* sample; those of samples below were put here, or are forgotten */
    bool said[KL_KEY_CODES]; /* the keys that its samples hold, since frames let all of them go */
};

void ref_keys_put(struct ref_keys *k, const struct kl_input *in);
/* The part for the next frame. */
void ref_keys_take(struct ref_keys *k, struct kl_input *out);
/* A frame is made of no sample; all_up: the next one that is made of some lets the keys go, too. */
void ref_keys_drop(struct ref_keys *k, bool all_up);
/* "All up" stands before the events that wait. */
void ref_keys_all_up(struct ref_keys *k);

/* The keyboard as one machine has it, and the core as its key events left it. */
struct ref_keyboard {
    struct kl_keyboard engine;
    bool held[KL_MAX_SEATS][KL_KEY_CODES];
    bool core[KL_KEY_CODES];
    bool twice; /* the core was told what it knew */
    bool had;   /* the newest frame had keys */
};

/* Plays a frame. NULL, or what is broken. */
const char *ref_keyboard_play(struct ref_keyboard *b, const struct kl_input in[KL_MAX_SEATS]);
/* The seat holds nothing, by the frames that count. */
void ref_keyboard_clear(struct ref_keyboard *b, unsigned seat);

#endif
