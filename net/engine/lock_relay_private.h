/* lock_relay_private.h - shared by these files; lock_relay.h is the interface.
 *
 * lock_relay.c          clients, closing of frames
 * lock_relay_clock.c    closing by the clock (optimistic): new samples are folded into the next open frame;
 *                       absent clients, which the room does not wait for
 * lock_relay_pace.c     clients that slow the room or make it wait; the newest frames
 * lock_relay_command.c  commands, policy, pause; keys that seats hold, and key events that wait for a frame
 * lock_relay_return.c   lost and new sessions; rooms that continue after a restart of the relay
 * lock_relay_wire.c     CTRL in, UPDATE out */
#ifndef KL_LOCK_RELAY_PRIVATE_H
#define KL_LOCK_RELAY_PRIVATE_H

#include <string.h>

#include "net/engine/lock_relay.h"

static inline double kl_lock_period_us(const struct kl_lock_relay *r) {
    return 1e12 / r->params.fps_uhz;
}

/* The newest frames: puts a frame in, which is next_close. */
void kl_lock_keep_near(struct kl_lock_relay *r, const struct kl_frame *f);
/* The buttons of a pad in the newest frame. False: it is not kept, or the pad played another port there. */
bool kl_lock_newest_pad(const struct kl_lock_relay *r, unsigned pad, uint16_t *joypad);
/* The ring is full of frames that were not taken yet. */
static inline bool kl_lock_is_full(const struct kl_lock_relay *r) {
    return r->near.history && r->next_close - r->next_hand >= r->near.places;
}
/* The oldest frame that is kept. */
uint32_t kl_lock_oldest(const struct kl_lock_relay *r);
/* Frames [first, first + count), to be written before anything else happens. Returns how many there are from
 * `first` on. */
uint32_t kl_lock_lay_out(const struct kl_lock_relay *r, uint32_t first, uint32_t count,
                         struct kl_frames_from *from);

/* Closes every frame that can close now. */
void kl_lock_close_frames(struct kl_lock_relay *r, uint64_t now_us);

uint16_t kl_lock_guess_spacing(const struct kl_lock_relay *r);

/* The input of these pads from samples [lo, hi); again: a frame had them, so their remainder counts. */
void kl_lock_fold(struct kl_lock_relay *r, unsigned pad, uint32_t lo, uint32_t hi, bool again,
                  struct kl_input *out);

/* Closing by the clock: the seats whose samples the interval's last frame waits for; the close time of the
 * next frame; its inputs. */
uint8_t kl_lock_missing_by_clock(const struct kl_lock_relay *r);
double kl_lock_clock_line_us(const struct kl_lock_relay *r);
/* Returns the pads that the frame is made from. */
uint8_t kl_lock_fill_by_clock(struct kl_lock_relay *r, struct kl_frame *f);
/* Frees a place for the next sample without overwriting one that is still to be played. */
void kl_lock_make_place(struct kl_lock_relay *r, struct kl_lock_client *c);
/* At a keyframe: decides if the frames of `next` close by the clock. */
void kl_lock_choose_closing(struct kl_lock_relay *r, struct kl_interval *next);

/* To be called before and after each event that may close frames. They charge the time that the room waited,
 * or was slowed, to the clients that it waited for. */
struct kl_lock_event {
    double line_us, period_us; /* the schedule before the event */
    uint64_t waited_us;        /* charged for the present wait */
    uint32_t limit_us;         /* before the event, which may change the policy */
};
struct kl_lock_event kl_lock_event_begins(struct kl_lock_relay *r, uint64_t now_us);
void kl_lock_event_ends(struct kl_lock_relay *r, struct kl_lock_event e);
void kl_lock_find_holding_up(struct kl_lock_relay *r, uint64_t now_us);
uint64_t kl_lock_runs_over_at(
    const struct kl_lock_relay *r); /* the time at which a client may begin to hold the room up */
bool kl_lock_may_return(const struct kl_lock_relay *r, const struct kl_lock_client *c, uint64_t now_us);

/* The begin of the room's present wait for samples: the later of the frame's own time and the last close. */
static inline uint64_t kl_lock_waiting_since(const struct kl_lock_relay *r) {
    double line_us = r->params.clocked ? kl_schedule_line_us(&r->schedule, r->next_close) : 0;
    return line_us > (double)r->last_close_us ? (uint64_t)line_us : r->last_close_us;
}

void kl_lock_set_absent(struct kl_lock_relay *r, struct kl_lock_client *c);
void kl_lock_find_absent(struct kl_lock_relay *r, uint64_t now_us);
uint64_t
kl_lock_absence_at(const struct kl_lock_relay *r); /* the next useful time for kl_lock_find_absent() */
/* The samples of these pads begin anew at this one: their first frame lets all keys go. */
void kl_lock_keys_anew(struct kl_lock_relay *r, uint8_t pads, uint32_t sample);
/* The keys of this pad's samples below `end`, each once. */
void kl_lock_keys_put(struct kl_lock_relay *r, unsigned pad, uint32_t end);
/* As many of them as a frame's input has. */
void kl_lock_keys_take(struct kl_lock_relay *r, unsigned pad, struct kl_input *in);
/* A pad's sample of that number is about to come. */
void kl_lock_keys_keep(struct kl_lock_relay *r, unsigned pad, uint32_t sample);
/* For a frame made from the samples of these pads, which play these seats: all other seats let their keys go.
 */
void kl_lock_keys_settle(struct kl_lock_relay *r, uint8_t made, uint8_t played, struct kl_frame *f);
/* The frame is closed. */
void kl_lock_keys_note(struct kl_lock_relay *r, const struct kl_frame *f);

/* Samples of others that no frame has yet, for this client. */
void kl_lock_hints(const struct kl_lock_relay *r, unsigned client, struct kl_hints *h);

/* The client's samples go on at this number. */
void kl_lock_resumed(struct kl_lock_relay *r, struct kl_lock_client *c, uint32_t sample);

uint8_t kl_lock_out(const struct kl_lock_relay *r);
/* Pads that the room waits for because their owners are cut or not yet caught up, even with samples in. */
static inline uint8_t kl_lock_held_for(const struct kl_lock_relay *r) {
    bool holds = r->params.policy == KL_POLICY_STRICT || r->hold_until_us > 0;
    return r->started && !r->paused && holds ? kl_lock_out(r) : 0;
}
/* To be called after the client's acknowledgement moved: UPDATEs may take over from the history. */
void kl_lock_note_acked(const struct kl_lock_relay *r, struct kl_lock_client *c);

/* False if earlier commands fill the bytes that clients have space for. */
bool kl_lock_affords(struct kl_lock_relay *r, uint32_t frame);
static inline unsigned kl_lock_sets(const struct kl_lock_relay *r) {
    return r->more_commands ? KL_COMMAND_SETS : KL_SETS_LEAST;
}
static inline const struct kl_packed_set *kl_lock_set(const struct kl_lock_relay *r, unsigned i) {
    return i < KL_SETS_LEAST ? &r->commands[i] : &r->more_commands[i - KL_SETS_LEAST];
}
/* A place for commands; those that it holds are lost to clients that lack them. */
static inline void kl_lock_drop_commands(struct kl_lock_relay *r, struct kl_packed_set *set) {
    if (set->count > 0 && set->keyframe >= r->commands_from) r->commands_from = set->keyframe + 1;
    set->count = 0;
}
/* Carries out the part of a command that changes the room. */
void kl_lock_act(struct kl_lock_relay *r, const struct kl_command *c);
/* At a keyframe: puts the queued commands into `next` and carries out the room's own. */
void kl_lock_give_commands(struct kl_lock_relay *r, struct kl_interval *next);

#endif
