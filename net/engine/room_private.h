/* room_private.h - shared by the room's files; room.h is the interface.
 *
 * room.c          clients, closing of frames
 * room_clock.c    closing by the clock (optimistic): new samples are folded into the next open frame
 * room_absence.c  absent clients, which the room does not wait for
 * room_pace.c     clients that slow the room or make it wait
 * room_command.c  commands, policy, pause
 * room_return.c   lost and new sessions; rooms that continue after a restart of the relay
 * room_wire.c     CTRL in, UPDATE out */
#ifndef KL_ROOM_PRIVATE_H
#define KL_ROOM_PRIVATE_H

#include <string.h>

#include "net/engine/room.h"

static inline double kl_room_period_us(const struct kl_room *r) {
    return 1e12 / r->params.fps_uhz;
}

/* Closes every frame that can close now. */
void kl_room_close_frames(struct kl_room *r, uint64_t now_us);

uint8_t kl_room_seats_owned(const struct kl_room *r);

uint16_t kl_room_guess_spacing(const struct kl_room *r);

/* Closing by the clock: the seats whose samples the interval's last frame waits for; the close time of the
 * next frame; its inputs. */
uint8_t kl_room_missing_by_clock(const struct kl_room *r);
double kl_room_clock_line_us(const struct kl_room *r);
void kl_room_fill_by_clock(struct kl_room *r, struct kl_frame *f);
/* Frees a place for the next sample without overwriting one that is still to be played. */
void kl_room_make_place(struct kl_room *r, struct kl_room_client *c);
/* At a keyframe: decides if the frames of `next` close by the clock. */
void kl_room_choose_closing(struct kl_room *r, struct kl_interval *next);

/* To be called before and after each event that may close frames. They charge the time that the room waited,
 * or was slowed, to the clients that it waited for. */
struct kl_room_event {
    double line_us, period_us; /* the schedule before the event */
    uint64_t waited_us;        /* charged for the present wait */
    uint32_t limit_us;         /* before the event, which may change the policy */
};
struct kl_room_event kl_room_event_begins(struct kl_room *r, uint64_t now_us);
void kl_room_event_ends(struct kl_room *r, struct kl_room_event e);
void kl_room_find_holding_up(struct kl_room *r, uint64_t now_us);
uint64_t
kl_room_runs_over_at(const struct kl_room *r); /* the time at which a client may begin to hold the room up */
void kl_room_paid(struct kl_room_client *c);   /* the pause pays for its delays; its count of pauses stays */
bool kl_room_may_return(const struct kl_room *r, const struct kl_room_client *c, uint64_t now_us);

/* The begin of the room's present wait for samples: the later of the frame's own time and the last close. */
uint64_t kl_room_waiting_since(const struct kl_room *r);

void kl_room_set_absent(struct kl_room *r, struct kl_room_client *c);
void kl_room_find_absent(struct kl_room *r, uint64_t now_us);
uint64_t kl_room_absence_at(const struct kl_room *r); /* the next useful time for kl_room_find_absent() */
/* The client's samples go on at this number. */
void kl_room_resumed(struct kl_room *r, struct kl_room_client *c, uint32_t sample);

/* Pads that the room waits for because their owners are cut or not yet caught up, even with samples in. */
uint8_t kl_room_held_for(const struct kl_room *r);
uint8_t kl_room_out(const struct kl_room *r);
/* To be called after the client's acknowledgement moved: UPDATEs may take over from the history. */
void kl_room_note_acked(const struct kl_room *r, struct kl_room_client *c);

/* False if earlier commands fill the bytes that clients have space for. */
bool kl_room_affords(struct kl_room *r, uint32_t frame);
/* Carries out the part of a command that changes the room. */
void kl_room_act(struct kl_room *r, const struct kl_command *c);
/* At a keyframe, before its commands: notes the rules. */
static inline void kl_room_note_rules(struct kl_room *r) {
    r->rules.params = r->params;
    memcpy(r->rules.plays, r->plays, sizeof r->plays);
}
/* At a keyframe: puts the queued commands into `next` and carries out the room's own. */
void kl_room_give_commands(struct kl_room *r, struct kl_interval *next);

#endif
