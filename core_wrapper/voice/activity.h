/* activity.h - tells speech from silence: nothing is sent in silence.
 *
 * The level of speech lies well above that of the room, which is followed: down at once, up slowly. Speech
 * ends when the level has been low for KL_ACTIVITY_TAIL units, so that words are not cut off. Pure. */
#ifndef KLW_ACTIVITY_H
#define KLW_ACTIVITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KL_ACTIVITY_TAIL 15 /* units of 20 ms */

/* All zero: silence. */
struct kl_activity {
    bool known;      /* the level of the room is */
    double floor_db; /* that level */
    double level_db; /* of the last unit; 0: the loudest that there is */
    unsigned tail;   /* units for which speech goes on */
};

/* One unit of 20 ms. True: it is speech, or less than the tail after speech. */
bool kl_activity_unit(struct kl_activity *a, const int16_t *sample, size_t count);

#endif
