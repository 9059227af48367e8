/* check.h - the truth of a room: every closed frame as the relay handed it out, checked against the samples
 * that the players gave, and compared with what each client was given. */
#ifndef SIM_CHECK_H
#define SIM_CHECK_H

#include "reference.h"
#include "scenario.h"

struct truth {
    const struct scenario *scenario;
    struct ref_seat seat[KL_MAX_SEATS];
    struct ref_interval before, now;
    bool first_interval;
    uint8_t seated, active; /* seats with an owner; active in the interval under way */
    uint8_t
        seated_before; /* when the newest frame closed: an interval may have been laid out since, unseen */
    uint32_t next;     /* frames below have closed */
    struct kl_frame frame[REF_RING];
    uint64_t closed_us[REF_RING];
    uint32_t last_sample[REF_RING]; /* the newest sample each was made from; UINT32_MAX: none */
    uint32_t marks, changes, changes_settled;
    char error[200];
};

void truth_init(struct truth *t, const struct scenario *s);

/* A player gave sample number t->seat[seat].count. */
void truth_sample(struct truth *t, unsigned seat, const struct kl_input *in, uint64_t now_us);

/* These seats have no owner any more; what closes from here on is neutral for them. */
void truth_remove(struct truth *t, uint8_t seats);

/* The relay handed f out. False, and t->error says why, where it is not what the players did. */
bool truth_close(struct truth *t, const struct kl_frame *f, uint64_t now_us);

/* A client was given f. False where it is not what the relay closed. */
bool truth_same(struct truth *t, const struct kl_frame *f);

#endif
