/* counts.h - players' hands and machines as numbers, from a recording. They judge nobody:
 * docs/hosting.md says what each means, and how it lies. */
#ifndef KLT_COUNTS_H
#define KLT_COUNTS_H

#include "core_wrapper/record/recording.h"

#define KLT_COUNTED 64 /* players of one recording at most: others are left out */

struct kl_counted {
    uint8_t client;
    char name[KL_NAME_MAX];
    uint32_t presses; /* of the buttons of a pad */
    uint32_t fastest; /* presses of one button within a second of frames, at most */
    uint32_t away;    /* frames of a seat that were played without its player */
    uint32_t desyncs; /* hashes that were not those of most machines; of a tie both sides */
};
/* The players in order of their coming; their number. */
unsigned kl_counts(const struct kl_recording *r, struct kl_counted out[KLT_COUNTED]);

#endif
