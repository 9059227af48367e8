/* keyboard.h - the keyboard of a room: the keys that each seat holds, and key events that wait for a frame.
 * net/PROTOCOL.md §3, "Keys".
 *
 * The keys that a seat holds follow from the frames alone. The core has one keyboard for all seats, so a key
 * is up when the last seat lets go of it. Pure. */
#ifndef KL_KEYBOARD_H
#define KL_KEYBOARD_H

#include "net/engine/input.h"

/* --- sets of keys --- */

struct kl_key_set {
    uint8_t bits[KL_KEY_CODES / 8]; /* by code; code 0 is no key */
};

static inline bool kl_key_in(const struct kl_key_set *set, unsigned code) {
    return code < KL_KEY_CODES && (set->bits[code / 8] >> (code % 8) & 1);
}
/* Codes that are no key change nothing. */
void kl_key_put(struct kl_key_set *set, unsigned code, bool in);

/* --- the keyboard --- */

struct kl_keyboard {
    struct kl_key_set held[KL_MAX_SEATS]; /* by seat, after the newest frame */
    struct kl_key_set pressed;            /* in the newest frame, even if it also released them */
};

/* Plays one frame's inputs. tell: gets the events that are the core's, in order; NULL: nobody listens. */
typedef void kl_key_fn(void *ctx, const struct kl_key *key);
void kl_keyboard_play(struct kl_keyboard *k, const struct kl_input in[KL_MAX_SEATS], kl_key_fn *tell,
                      void *ctx);
/* For a core that asks: some seat holds the key, or the newest frame pressed it. */
bool kl_keyboard_down(const struct kl_keyboard *k, unsigned code);
bool kl_keyboard_holds(const struct kl_keyboard *k, unsigned seat);

/* --- events that wait --- */

/* Of each code one event, at least, can wait. */
#define KL_KEYS_WAITING KL_KEY_CODES
struct kl_keys {
    bool all_up; /* stands before them */
    uint16_t count;
    uint32_t next; /* the owner's: the keys of samples below were put */
    struct kl_key at[KL_KEYS_WAITING];
};

/* Nothing waits. `at` need not be initialized. */
static inline void kl_keys_clear(struct kl_keys *q) {
    q->all_up = false;
    q->count = 0;
}
/* If no place is left, only the last event of each code stays. Events of codes past KL_KEY_CODES are
 * ignored. */
void kl_keys_add(struct kl_keys *q, const struct kl_key *key);
/* The keys of an input; "all up" takes the place of all that waited. */
void kl_keys_put(struct kl_keys *q, const struct kl_input *in);
/* As many as an input can have, in place of its own. */
void kl_keys_take(struct kl_keys *q, struct kl_input *in);

#endif
