/* latch.h - the two ends of the input: the frontend's devices become samples, and the lock's closed frames
 * become the core's input. docs/design.md §3.
 *
 * The frontend is polled once in each retro_run. Only devices that the core has ever asked for are read. The
 * i-th own seat reads the frontend's port i; the core's port is the seat.
 *
 * Keys come as the frontend's events, or, if the core has no use for events, from asking. Events get lost:
 * the frontend keeps them for its menu, samples are dropped in an absence, the room lets a seat's keys go. So
 * the latch knows the keys that are down here and those that its samples have pressed, and says the
 * difference. */
#ifndef KLW_LATCH_H
#define KLW_LATCH_H

#include <libretro.h>

#include "net/engine/input.h"
#include "net/engine/lock_client.h"

struct kl_latch {
    bool bitmasks;    /* the frontend gives the pad as one mask */
    bool key_events;  /* the core has a keyboard callback, so keys come as the frontend's events */
    unsigned own_key; /* RETROK_*, a key that the game does not get; 0: none. By the caller */
    /* The buttons of a pad that the game gets; NULL: all. */
    uint16_t (*filter)(void *ctx, unsigned port, uint16_t pad);
    void *filter_ctx;

    uint32_t asked; /* bit per RETRO_DEVICE_* class */
    bool asked_sticks, asked_triggers;
    struct kl_key_set asked_key;

    struct kl_input now[KL_MAX_SEATS];     /* the last poll */
    struct kl_input pending[KL_MAX_SEATS]; /* all polls since the last sample */
    bool has_pending;
    struct kl_keys keys;         /* events that wait for a sample */
    struct kl_key_set pressed;   /* by the frontend's newest event */
    struct kl_key_set confirmed; /* of these: the frontend has also answered that they are down */
    struct kl_key_set down;      /* after all events that wait */
    struct kl_key_set said;      /* after all that samples had */
    enum { KL_LATCH_FIRST, KL_LATCH_AGAIN, KL_LATCH_CHANGES, KL_LATCH_GOES_ON } say;

    struct kl_frame frame; /* the frame whose input the core reads */
    struct kl_keyboard keyboard;
};

void kl_latch_init(struct kl_latch *l, bool bitmasks);

/* A game begins: the core has no key down. */
void kl_latch_begin(struct kl_latch *l);

/* Reads the frontend's ports 0..seats-1, after its input_poll. A short press between two samples stays in
 * the next sample. */
void kl_latch_poll(struct kl_latch *l, retro_input_state_t state, unsigned seats);
/* A keyboard event of the frontend. */
void kl_latch_key(struct kl_latch *l, bool down, unsigned code, uint32_t character, uint16_t modifiers);
/* Makes the next sample of `seats` own seats. Without a poll since the last sample, it holds the lasting
 * part of that sample. Keyboard events go to the first seat. */
void kl_latch_sample(struct kl_latch *l, struct kl_input *out, unsigned seats);
/* Drops all input that waits for the next sample. Keys that have changed meanwhile are said anew. */
void kl_latch_forget(struct kl_latch *l);
/* The room has let our keys go, or may have: all that are down here are said anew. */
void kl_latch_press_again(struct kl_latch *l);

/* From now on the core reads this frame. tell: gets the key events that are the core's; NULL: nobody listens.
 */
void kl_latch_frame(struct kl_latch *l, const struct kl_frame *frame, kl_key_fn *tell, void *ctx);
/* Answers the core's input_state, for all devices and their subclasses, and notes the device. */
int16_t kl_latch_state(struct kl_latch *l, unsigned port, unsigned device, unsigned index, unsigned id);

#endif
