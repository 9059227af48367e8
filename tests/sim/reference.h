/* reference.h - the inputs that a frame must hold, written from docs/design.md §3 alone ("Sub-frames").
 *
 * Uses the engine's structs and none of its functions, so that the two can disagree. */
#ifndef SIM_REFERENCE_H
#define SIM_REFERENCE_H

#include "net/engine/input.h"
#include "net/engine/lock_client.h"
#include "tests/sim/ref_keys.h"

#define REF_RING 4096 /* samples and frames remembered; far more than anybody may lag */

/* Everything one seat was ever told, the last REF_RING of it. */
struct ref_seat {
    uint32_t count; /* samples given so far; sample k is at[k % REF_RING] */
    struct kl_input at[REF_RING];
    uint64_t given_us[REF_RING];
    int64_t motion_sampled,
        motion_played;    /* both axes added, of the samples that are due and the frames that closed */
    struct ref_keys keys; /* of samples that are due */
};

struct ref_interval {
    uint32_t first, length;         /* frames */
    uint32_t sample_first, samples; /* taken during it */
};

/* Frame `o` of cur takes samples [lo, hi) of prev, counted within prev. */
void ref_map(uint32_t o, uint32_t n, uint32_t m, uint32_t *lo, uint32_t *hi);

/* The input that seat s must show in frame `o` of cur. lo_hi, where not NULL, gets the range of samples, by
 * absolute number. */
void ref_frame(struct ref_seat *s, const struct ref_interval *prev, const struct ref_interval *cur,
               uint32_t o, struct kl_input *out, uint32_t lo_hi[2]);

/* Samples [lo, hi) folded into one frame; events and motion only of those from fresh_from on. */
void ref_add(struct ref_seat *s, struct kl_input *out, uint32_t lo, uint32_t hi, uint32_t fresh_from);

/* Everything of an input that is pressed or not, as one mask. */
uint64_t ref_buttons(const struct kl_input *in);

/* The first field in which two inputs differ, and its two values. */
struct ref_difference {
    const char *field;
    int64_t is, expected;
};

/* True where they differ; d, where not NULL, then says in which field. */
bool ref_input_differs(const struct kl_input *is, const struct kl_input *expected, struct ref_difference *d);
bool ref_input_equal(const struct kl_input *a, const struct kl_input *b);

/* The three about presses and the sum of motion, looked at one by one: NULL, or what is broken. To be called
 * for each frame in order; `shown` is what the engine gave. */
const char *ref_presses(struct ref_seat *s, const struct ref_interval *prev, const struct ref_interval *cur,
                        uint32_t o, const struct kl_input *shown, bool saturating);

#endif
