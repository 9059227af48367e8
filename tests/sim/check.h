/* check.h - the truth of a room: every closed frame as the relay handed it out, checked against the reference
 * (ref_relay.h) and against what the players did, and compared with what each client was given. */
#ifndef SIM_CHECK_H
#define SIM_CHECK_H

#include "tests/sim/ref_relay.h"
#include "tests/sim/scenario.h"

struct truth {
    const struct scenario *scenario;
    struct ref_seat seat[KL_MAX_SEATS]; /* each pad's samples */
    struct ref_relay ref;
    uint32_t next; /* frames below have closed */
    struct kl_frame frame[REF_RING];
    struct ref_keyboard keyboard; /* after the newest */
    uint32_t last_sample[REF_RING]
                        [KL_MAX_SEATS]; /* by pad: the newest sample each was made from; UINT32_MAX: none */
    struct kl_commands commands[REF_RING]; /* by keyframe; count 0: none */
    uint64_t still_us;                     /* when the room last held still: paused, or all absent */
    double slipped_us;                     /* by which the schedule has moved since the start */
    double moved_us; /* by which it has moved in this event, by frames that closed late in it */
    uint32_t marks, changes, changes_settled;
    bool renumbers[KL_MAX_SEATS]; /* a new process: its next sample may have any number */
    uint64_t *print;              /* of every frame; clients that begin anew run old ones */
    uint32_t prints;
    char error[240];
};

/* Everything that a frame says, in 64 bits. */
uint64_t truth_print(const struct kl_frame *f, const struct kl_commands *commands);

/* The relay goes on at frame `at` without what it had closed after it. */
void truth_rewind(struct truth *t, const struct kl_lock_relay *room, uint32_t at, uint64_t hold_us,
                  uint64_t relay_us);
void truth_clear(struct truth *t);

void truth_init(struct truth *t, const struct scenario *s);

/* A player's pad gave this sample. False where the number is not the next, unless he was absent, or resumes.
 */
bool truth_sample(struct truth *t, unsigned client, unsigned seat, uint32_t number, bool resumes,
                  const struct kl_input *in, uint64_t now_us);

/* Before an event is given to the room, so that the reference judges by the same schedule. */
void truth_before(struct truth *t, const struct kl_lock_relay *room);

/* After one: takes the frames that closed out of the room. False, and t->error says why, where a frame is not
 * what the players did, or closed too early, or has not closed though it must. Times are the relay's; now_us
 * the world's. */
bool truth_after(struct truth *t, struct kl_lock_relay *room, uint64_t relay_us, uint64_t now_us);

/* A client was given f. False where it is not what the relay closed. */
bool truth_same(struct truth *t, const struct kl_frame *f, const struct kl_commands *commands);

#endif
