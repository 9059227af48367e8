/* press.h - the time from press to play, measured on the own pad: from the first sample with a button to the
 * first frame that plays it. The measurement needs nothing of the room, so it also holds if frames close by
 * the clock and name no samples. Pure. */
#ifndef KLW_PRESS_H
#define KLW_PRESS_H

#include <stdbool.h>
#include <stdint.h>

#define KL_PRESS_LOST_US 2000000 /* a press that is not played by then was dropped (an absence) */

/* Zeros: nothing pressed yet. */
struct kl_press {
    uint16_t sampled, played; /* buttons down in the newest sample, and in the newest frame */
    uint16_t awaited;         /* the timed button; 0: none */
    uint64_t since_us;        /* time of its press */
    uint64_t took_us;         /* of the newest press that was played; 0: none was yet */
};

/* The first own pad as it is sampled, and the buttons of the seat that it plays in a frame that runs. */
void kl_press_sample(struct kl_press *p, uint16_t buttons, uint64_t now_us);
void kl_press_frame(struct kl_press *p, uint16_t buttons, uint64_t now_us);

#endif
