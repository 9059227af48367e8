/* lock_client.h - one client's side of the lock: samples out, closed frames in. net/PROTOCOL.md §4.
 *
 * Pure: time comes in, datagram bodies go out. Not thread-safe: one caller at a time. The object is a plain
 * struct of fixed size that the caller allocates; nothing in it needs freeing.
 *
 * A turn of the caller (once per retro_run) is
 *     kl_client_plan()            what is due now
 *     kl_client_sample()          once per sample that the plan asks for
 *     kl_client_take()            once per frame to run
 * and whenever a datagram comes kl_client_receive(), whenever kl_client_send_at() has come
 * kl_client_send() until it gives 0. */
#ifndef KL_LOCK_CLIENT_H
#define KL_LOCK_CLIENT_H

#include "net/engine/clock.h"
#include "net/engine/command_store.h"
#include "net/engine/engine.h"
#include "net/engine/lock_wire.h"

/* What one turn of the caller should do. */
struct kl_plan {
    uint32_t samples; /* call kl_client_sample() this often, before the frames are run */
    uint32_t runs;    /* closed frames to take and run now; 0: show the last frame again */
    bool stalled;     /* a frame is due and not closed: this turn the link made us wait */
    uint32_t backlog; /* closed frames not yet run, those of this turn included */
    uint32_t due; /* frames due by the schedule and not yet run, closed or not, those of this turn included */
};

struct kl_client_stats {
    uint32_t next_run, next_sample, next_closed; /* frames, samples, frames */
    uint16_t spacing;                            /* of the newest closed frame's interval, frames */
    uint8_t waiting_for;                         /* seats whose samples the relay lacked, by its last word */
    uint8_t away;                                /* seats that are absent or away, by its last word */
    bool paused, absent;                         /* the room pauses; our seats are not waited for */
    uint32_t rtt_us, jitter_us;                  /* smoothed RTT and its mean deviation; 0 before the first */
    uint64_t stalls;                             /* turns that stalled */
    uint64_t late_frames;                        /* frames that came after they were due */
    uint64_t sent_bytes, sent_datagrams, received_bytes, received_datagrams; /* bodies */
    /* Of the frame run last, quarter frames: the lead that it would have needed, 0 where that is not known,
     * and the lead that it had. Where frames close by the clock it is the playout margin in place of the
     * lead. */
    uint8_t need;
    uint16_t had;
    uint64_t lead_sum, lead_count; /* frames run after interval 0, and the sum of their leads in frames */
};

/* How we stand with the relay after an absence: our seats' samples count; they do not, and we catch up; we
 * have caught up and said so. */
enum kl_standing { KL_STANDING_IN, KL_STANDING_OUT, KL_STANDING_BACK };

/* A frame that was heard of. */
struct kl_held {
    struct kl_frame frame;
    uint64_t arrival_us, due_us; /* due_us: when the caller first asked for it */
    uint32_t interval;           /* number of its interval */
    uint16_t lead;               /* frames; 0: made from no sample of a known number */
    uint8_t need;                /* lead that it would have needed, quarter frames; once run */
    int32_t late_us;             /* by the clock: it came so long after its line, or 0 */
    bool held_back;              /* it became due in a turn that this machine was late for */
    bool marked;                 /* the relay's mark on all frames up to it: */
    uint8_t mark[KL_MARK_BYTES];
};

struct kl_client {
    struct kl_params params;
    uint8_t seats; /* bit per seat of ours; 0: spectator */
    uint8_t seat_count;
    bool started;                   /* frames have come */
    uint32_t first, first_interval; /* the frame that it began at, and its interval; below nothing is held */
    bool waits;                     /* … and the state of before is not loaded yet: lock_return.h */
    double period_us;
    struct kl_clock clock;
    struct kl_playout playout;
    struct kl_client_stats stats;
    enum kl_standing standing;
    uint64_t back_us; /* KL_STANDING_BACK: since then */
    bool away, sparing, watching;
    bool by_clock; /* the newest frame closed by the clock */

    /* samples [sample_acked, stats.next_sample) are kept to be repeated */
    uint32_t sample_acked;
    uint32_t news_below;                                    /* samples from here on say nothing new */
    uint32_t sample_frame;                                  /* subframes off: keyframe of the last sample */
    struct kl_input sample[KL_WINDOW_FRAMES][KL_MAX_SEATS]; /* [i]: the i-th own seat */
    uint16_t sample_late;             /* how late the newest was taken, sixteenths of a frame … */
    uint16_t sample_turn_late;        /* … in a turn that came so late itself */
    uint8_t sample_batch;             /* samples taken in the turn of the newest */
    struct kl_usual turns;            /* between two turns, sixteenths of a frame … */
    uint64_t turn_us;                 /* … the last one … */
    uint16_t turn_late;               /* … was so much later than is usual here */
    uint64_t held_us, held_before_us; /* when sampling was last held back because frames were missing; and the
                                         turn before */
    uint32_t cursor;                  /* next sample of a burst under way; UINT32_MAX: none */
    uint8_t burst;                    /* datagrams sent in it */
    uint64_t burst_at_us;             /* when the last one began … */
    uint32_t burst_acked;             /* … and what had been acknowledged then */

    uint32_t room_next; /* the room has closed all frames below, by its last word */
    /* closed frames [next_run, next_closed) are kept to be taken; frames below next_due have been asked for
     */
    uint32_t next_due;
    struct kl_held *held; /* ring by frame number */
    uint32_t held_frames;
    struct kl_command_store commands;
    uint32_t needs_told; /* needs below this frame have been sent */

    uint64_t last_send_us;
    uint32_t unacknowledged; /* frames heard of since the last send */
    bool sample_owed;
};

/* For lock_return.c: keeps the next closed frame, and the commands before it; one that we have is passed
 * over. False where there is no place for it. */
bool kl_client_keep(struct kl_client *c, const struct kl_frame *f, const struct kl_commands *commands,
                    uint64_t now_us);

/* seats: the seats that the relay gave this client. held: a place for `frames` frames, borrowed until the
 * client is done with, at least KL_WINDOW_FRAMES; with more, a frontend may stand still that much longer and
 * still catch up. now_us starts its timers. */
void kl_client_init(struct kl_client *c, const struct kl_params *params, uint8_t seats, struct kl_held *held,
                    uint32_t frames, uint64_t now_us);

/* Feeds the body of an UPDATE datagram. Returns 0, or leaving c as it was KL_E_MALFORMED (what PROTOCOL.md
 * forbids; drop the datagram). Frames beyond what there is place for are passed over; they come again. */
int kl_client_receive(struct kl_client *c, const uint8_t *body, size_t len, uint64_t now_us);

/* The newest mark of the relay's on frames below `most` (lock_wire.h) that is still held: 0, or the frame
 * after the last that it is on. */
uint32_t kl_client_mark(const struct kl_client *c, uint32_t most, uint8_t mark[KL_MARK_BYTES]);

/* What to do in this turn; not more than max_runs frames are planned. Call it once per turn: it marks what is
 * due. A frame that is due by the room's schedule is sampled in time even where it cannot run yet (up to one
 * interval ahead), so that one client's stall does not become the others'.
 *
 * Frames become due a quarter of a frame before their time and never two in a turn unless the second is a
 * quarter late: where the caller's rate is the core's, the wobble of its timer then changes nothing, and a
 * drift costs one turn without a frame, or with two, each time it amounts to one. */
struct kl_plan kl_client_plan(struct kl_client *c, uint64_t now_us, uint32_t max_runs);

/* One sample of the own seats, in[i] for the i-th own seat in seat order (ignored for a spectator).
 * KL_E_WINDOW where no sample is wanted (too far ahead of what has been run, or its keyframe is not known).
 */
int kl_client_sample(struct kl_client *c, const struct kl_input *in, uint64_t now_us);

/* Hands out the next closed frame, each once. Returns false where none is closed. */
bool kl_client_take(struct kl_client *c, struct kl_frame *out);

/* The commands that come before a frame with KL_FRAME_COMMANDS, between taking it and taking the next; those
 * of earlier ones are gone then. */
const struct kl_commands *kl_client_commands(struct kl_client *c, uint32_t keyframe);

/* The frontend does not run (a menu, a dragged window), or runs again: the relay is told, and where the
 * room's policy allows it the others do not wait. */
void kl_client_set_away(struct kl_client *c, bool away);

/* A metered link: nothing goes out again after half a frame, either way, whatever the room has. */
void kl_client_spare(struct kl_client *c, bool sparing);

/* From outside the game: frames come in batches, and nobody waits for our word. We speak ten times a second.
 */
void kl_client_watch(struct kl_client *c, bool watching);

/* From the next frame to run on, the core plays at another rate. The relay is told by KL_COMMAND_RATE. */
void kl_client_rate(struct kl_client *c, uint32_t fps_uhz);

/* When kl_client_send() has something to say at the latest. */
uint64_t kl_client_send_at(const struct kl_client *c);

/* Writes the body of the CTRL datagram due now; returns its length, or 0 where nothing is due.
 * cap >= KL_DATAGRAM_MAX. */
size_t kl_client_send(struct kl_client *c, uint64_t now_us, uint8_t *buf, size_t cap);

#endif
