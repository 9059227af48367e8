/* latch.h - the two ends of the input: the frontend's devices become samples, and the lock's closed frames
 * become the core's input. docs/design.md §3.
 *
 * The frontend is polled once in each retro_run. Only devices that the core has ever asked for are read. The
 * i-th own seat reads the frontend's port i; the core's port is the seat. */
#ifndef KLW_LATCH_H
#define KLW_LATCH_H

#include <libretro.h>

#include "net/engine/lock_client.h"

#define KL_LATCH_KEYS  256 /* keyboard events waiting for a sample; more are dropped */
#define KL_LATCH_CODES 512 /* RETROK_* codes tracked */

struct kl_latch {
    bool bitmasks;   /* the frontend gives the pad as one mask */
    bool key_events; /* the core has a keyboard callback, so keys come as the frontend's events */
    /* The buttons of a pad that the game gets; NULL: all. */
    uint16_t (*filter)(void *ctx, unsigned port, uint16_t pad);
    void *filter_ctx;

    uint32_t asked; /* bit per RETRO_DEVICE_* class */
    bool asked_sticks, asked_triggers;
    uint8_t asked_key[KL_LATCH_CODES / 8];

    struct kl_input now[KL_MAX_SEATS];     /* the last poll */
    struct kl_input pending[KL_MAX_SEATS]; /* all polls since the last sample */
    bool has_pending;
    struct kl_key queue[KL_LATCH_KEYS];
    unsigned queued;
    uint8_t key_polled[KL_LATCH_CODES / 8]; /* keys that were down at the last poll */

    struct kl_frame frame; /* the frame whose input the core reads */
    uint8_t key_down[KL_LATCH_CODES / 8];
};

void kl_latch_init(struct kl_latch *l, bool bitmasks);

/* Reads the frontend's ports 0..seats-1, after its input_poll. A short press between two samples stays in
 * the next sample. */
void kl_latch_poll(struct kl_latch *l, retro_input_state_t state, unsigned seats);
/* A keyboard event of the frontend. */
void kl_latch_key(struct kl_latch *l, bool down, unsigned code, uint32_t character, uint16_t modifiers);
/* Makes the next sample of `seats` own seats. Without a poll since the last sample, it holds the lasting
 * part of that sample. Keyboard events go to the first seat. */
void kl_latch_sample(struct kl_latch *l, struct kl_input *out, unsigned seats);
/* Drops all input that waits for the next sample. */
void kl_latch_forget(struct kl_latch *l);

/* From now on the core reads this frame. */
void kl_latch_frame(struct kl_latch *l, const struct kl_frame *frame);
/* Answers the core's input_state, for all devices and their subclasses, and notes the device. */
int16_t kl_latch_state(struct kl_latch *l, unsigned port, unsigned device, unsigned index, unsigned id);

#endif
