/* lock_client.h - a client's side of the lock, and samples that come straight from other players. */
#ifndef KL_LOCK_CLIENT_H
#define KL_LOCK_CLIENT_H

#include "net/engine/clock.h"
#include "net/engine/command_store.h"
#include "net/engine/engine.h"
#include "net/engine/lock_wire.h"

/* --- samples straight from other players --- */

/* Samples that come straight from other players, beside the relay: hints (lock_wire.h) for the guesses of a
 * client that runs ahead (ahead.h), as the relay's are. The lock knows nothing of them, so a false one costs
 * a picture. Buttons only. net/ROOMS.md §7, Straight datagrams. Pure. */

#define KL_DIRECT_MAX   8  /* samples of a datagram: seven lost ones in a row cost nothing */
#define KL_DIRECT_KEPT  64 /* newest samples of a seat */
#define KL_DIRECT_BYTES (5 + 2 * KL_DIRECT_MAX * KL_MAX_SEATS)

/* The body of a datagram. */
struct kl_direct {
    bool guesses;  /* the sender runs ahead, and wants samples as well */
    uint8_t count; /* 0 to KL_DIRECT_MAX */
    uint32_t first;
    uint16_t joypad[KL_MAX_SEATS][KL_DIRECT_MAX]; /* [i]: of the sender's i-th seat */
};

/* seats: the sender's, a bit each. Returns the length, KL_DIRECT_BYTES at most. */
size_t kl_direct_write(const struct kl_direct *d, uint8_t seats, uint8_t out[KL_DIRECT_BYTES]);
/* 0 or KL_E_MALFORMED. */
int kl_direct_read(struct kl_direct *d, uint8_t seats, const uint8_t *body, size_t len);

/* A seat's samples, by number modulo KL_DIRECT_KEPT. */
struct kl_direct_kept {
    uint32_t end[KL_DIRECT_KEPT]; /* the sample's number + 1; 0: none */
    uint16_t joypad[KL_DIRECT_KEPT];
};
/* The first word on each sample counts. */
void kl_direct_keep(struct kl_direct_kept kept[KL_MAX_SEATS], uint8_t seats, const struct kl_direct *d);
/* False: the sample is not here. */
bool kl_direct_find(const struct kl_direct_kept *k, uint32_t sample, uint16_t *joypad);

/* --- the client's side of the lock --- */

/* One client's side of the lock: samples out, closed frames in. net/PROTOCOL.md §4.
 *
 * Pure: time comes in, datagram bodies go out. Not thread-safe: one caller at a time. The object is a plain
 * struct of fixed size that the caller allocates; nothing in it needs freeing.
 *
 * A turn of the caller (once per retro_run) is
 *     kl_client_plan()            plans the turn
 *     kl_client_sample()          once per sample that the plan asks for
 *     kl_client_take()            once per frame to run
 * Each datagram goes to kl_client_receive(). At kl_client_send_at() the caller calls kl_client_send() until
 * it returns 0. */

/* The work of one turn of the caller. */
struct kl_plan {
    uint32_t samples; /* number of kl_client_sample() calls, before the frames are run */
    uint32_t runs;    /* closed frames to take and run now; 0: show the last frame again */
    bool stalled;     /* a frame is due and not closed: the link made us wait in this turn */
    uint32_t backlog; /* closed frames not yet run, those of this turn included */
    uint32_t due; /* frames due by the schedule and not yet run, closed or not, those of this turn included */
};

struct kl_client_stats {
    uint32_t next_run, next_sample, next_closed; /* frames, samples, frames */
    uint16_t spacing;                            /* frames; of the newest closed frame's interval */
    uint8_t waiting_for;                         /* seats whose samples the relay lacks, by its last UPDATE */
    uint8_t away;               /* seats that are absent or away, by the relay's last UPDATE */
    bool paused, absent;        /* the room pauses; this client's seats are not waited for */
    uint32_t rtt_us, jitter_us; /* smoothed RTT and its mean deviation; 0 before the first measurement */
    uint32_t returns;     /* times that samples began anew: those before may be lost, and all keys go up */
    uint64_t stalls;      /* turns that stalled */
    uint64_t late_frames; /* frames that came after they were due */
    uint64_t sent_bytes, sent_datagrams, received_bytes, received_datagrams; /* bodies */
    /* Of the frame run last, in quarter frames: its need (0: unknown) and its lead. If frames close by the
     * clock, `had` is the playout margin. */
    uint8_t need;
    uint16_t had;
    uint64_t lead_sum, lead_count; /* sum of leads (frames) and number of frames run after interval 0 */
};

/* Our standing after an absence: our samples count; they do not, and we catch up; we have caught up and
 * reported it. */
enum kl_standing { KL_STANDING_IN, KL_STANDING_OUT, KL_STANDING_BACK };

/* A closed frame that has arrived. */
struct kl_held {
    struct kl_frame frame;
    uint64_t arrival_us, due_us; /* due_us: when the caller first asked for it */
    uint32_t interval;           /* number of its interval */
    uint16_t lead;               /* frames; 0: made from no sample with a known number */
    uint8_t need;                /* the lead that it needed, quarter frames; valid once run */
    int32_t late_us;             /* closed by the clock: arrival after its line, or 0 */
    bool held_back;              /* it became due in a turn that this machine began late */
};

struct kl_client {
    struct kl_params params;
    uint8_t seats; /* bit per seat of this client; 0: spectator */
    uint8_t seat_count;
    bool started;                   /* frames have come */
    uint32_t first, first_interval; /* the client's first frame, and its interval; nothing below is held */
    bool waits;                     /* the state at `first` is not loaded yet: kl_client_go() */
    double period_us;
    struct kl_clock clock;
    struct kl_playout playout;
    struct kl_client_stats stats;
    enum kl_standing standing;
    uint64_t back_us; /* start of KL_STANDING_BACK */
    bool away, sparing, watching;
    bool guesses;          /* the relay is asked for hints */
    struct kl_hints hints; /* the relay's newest; none of them is `held` */
    uint8_t direct;        /* seats of which samples have come straight */
    struct kl_direct_kept direct_kept[KL_MAX_SEATS];
    bool by_clock; /* the newest closed frame closed by the clock */

    /* samples [sample_acked, stats.next_sample) are kept for repetition */
    uint32_t sample_acked;
    uint32_t samples_from; /* since our return each one from here on was taken */
    uint32_t news_below;   /* samples from here on repeat the one before */
    uint32_t sample_frame; /* subframes off: keyframe of the last sample */
    struct kl_input sample[KL_WINDOW_FRAMES][KL_MAX_SEATS]; /* [i]: the i-th own seat */
    uint16_t sample_late;      /* lateness of the newest sample, sixteenths of a frame */
    uint16_t sample_turn_late; /* lateness of the turn that took it, same unit */
    uint8_t sample_batch;      /* samples taken in the turn of the newest */
    struct kl_usual turns;     /* time between two turns, sixteenths of a frame */
    uint64_t turn_us;          /* time of the last turn */
    uint16_t turn_late;        /* lateness of the last turn against the usual, same unit */
    uint64_t held_us,
        held_before_us;   /* last time at which missing frames held sampling back; the turn before that */
    uint32_t cursor;      /* next sample of a burst under way; UINT32_MAX: none */
    uint8_t burst;        /* datagrams sent in it */
    uint64_t burst_at_us; /* begin of the last burst */
    uint32_t burst_acked; /* sample_acked at that time */

    uint32_t room_next; /* the room has closed all frames below this number, by its last UPDATE */
    uint32_t own_lag; /* closed by the clock: from a sample's number to its frame's, sixteenths; 0: unknown */
    /* Closed frames [next_run, next_closed) are kept until taken. The caller has asked for frames below
     * next_due. */
    uint32_t next_due;
    struct kl_held *held; /* ring by frame number */
    uint32_t held_frames;
    struct kl_command_store commands;
    uint32_t needs_told; /* needs below this frame were sent */

    uint64_t last_send_us;
    uint32_t unacknowledged; /* frames that arrived since the last send */
    bool sample_owed;
    bool sample_waits; /* for its group to be whole */
};

/* For lock_return.c: keeps the next closed frame and the commands before it; ignores a frame that we have.
 * False if there is no place for it. */
bool kl_client_keep(struct kl_client *c, const struct kl_frame *f, const struct kl_commands *commands,
                    uint64_t now_us);

/* seats: the seats that the relay gave this client. held: a place for `frames` frames, at least
 * KL_WINDOW_FRAMES, borrowed until the client is done with. With a larger one, a frontend may stand still
 * longer and still catch up. now_us starts its timers. */
void kl_client_init(struct kl_client *c, const struct kl_params *params, uint8_t seats, struct kl_held *held,
                    uint32_t frames, uint64_t now_us);

/* Feeds the body of an UPDATE datagram. Returns 0; or KL_E_MALFORMED with c unchanged (PROTOCOL.md forbids
 * the body; drop the datagram). Frames without a place are ignored; they come again. */
int kl_client_receive(struct kl_client *c, const uint8_t *body, size_t len, uint64_t now_us);

/* Plans this turn, with at most max_runs frames. To be called once per turn: it marks frames as due. A frame
 * that is due by the room's schedule is sampled in time even if it cannot run yet (up to one interval ahead),
 * so that one client's stall does not become the others'.
 *
 * Frames become due a quarter of a frame before their time and never two in a turn unless the second is a
 * quarter late. If the caller's rate is the core's, the jitter of its timer then changes nothing, and a drift
 * costs one turn without a frame, or with two, each time that it adds up to a frame. */
struct kl_plan kl_client_plan(struct kl_client *c, uint64_t now_us, uint32_t max_runs);

/* One sample of the own seats, in[i] for the i-th own seat in seat order (ignored for a spectator).
 * KL_E_WINDOW if no sample is wanted (too far ahead of the frame run last, or its keyframe is unknown). */
int kl_client_sample(struct kl_client *c, const struct kl_input *in, uint64_t now_us);

/* Hands out the next closed frame, each once. Returns false if none is closed. */
bool kl_client_take(struct kl_client *c, struct kl_frame *out);

/* The commands before a frame with KL_FRAME_COMMANDS; valid between taking it and taking the next frame.
 * Commands of earlier frames are dropped. */
const struct kl_commands *kl_client_commands(struct kl_client *c, uint32_t keyframe);

/* The frontend does not run (a menu, a dragged window), or runs again: the relay is told, and the others do
 * not wait if the room's policy allows it. */
void kl_client_set_away(struct kl_client *c, bool away);

/* A metered link: nothing is repeated half a frame later, in either direction, even if the room does that. */
void kl_client_spare(struct kl_client *c, bool sparing);
/* It runs ahead, and wants hints (lock_wire.h). */
void kl_client_guess(struct kl_client *c, bool guesses);

/* Straight from the player of these seats. Samples of own seats are ignored. */
void kl_client_direct(struct kl_client *c, uint8_t seats, const struct kl_direct *d);
/* Its newest samples, for other players; count 0: it has none that would count. */
void kl_client_direct_out(const struct kl_client *c, struct kl_direct *d);

/* For a watcher, outside the game: frames come in batches, and no client waits for us. CTRL goes out ten
 * times a second. */
void kl_client_watch(struct kl_client *c, bool watching);

/* Sets the core's frame rate from the next frame to run on. The caller reports it to the relay by
 * KL_COMMAND_RATE. */
void kl_client_rate(struct kl_client *c, uint32_t fps_uhz);

/* The time of the next kl_client_send() at the latest. */
uint64_t kl_client_send_at(const struct kl_client *c);

/* Writes the body of the CTRL datagram due now; returns its length, or 0 if nothing is due. cap >=
 * KL_DATAGRAM_MAX. */
size_t kl_client_send(struct kl_client *c, uint64_t now_us, uint8_t *buf, size_t cap);

/* --- the return of a client: lock_return.c --- */

/* The return of a client: by a new session after a lost link, or as a new process. net/PROTOCOL.md §5 and §7.
 *
 * Lost link: kl_client_return() when the new session stands, then RETURN with have = kl_client_have(); the
 * client goes on after the frames that it has run. New process: kl_client_init(), kl_client_return(), RETURN
 * with have 0; then everything comes by HISTORY and kl_client_plan() runs it as fast as its caller lets it.
 * By a snapshot: kl_client_begin_at(), the state is loaded, kl_client_go(); HISTORY brings the frames from
 * there on. */

/* A new session begins: nothing of the old one counts any more. Samples that were not acknowledged are
 * dropped, our seats are out until we have caught up, the relay's clock is learnt anew (the old round trips
 * stay as a guess). */
void kl_client_return(struct kl_client *c, uint64_t now_us);
/* Drops the frames that have come but were not run; to be called before kl_client_return() if the session was
 * lost. A relay that was started anew may not know them, and may close others in their place. */
void kl_client_drop(struct kl_client *c);

/* Begins anew at this keyframe, of that interval, from a state that is to be loaded: held frames are dropped,
 * frames from the keyframe on are kept, and none is run before kl_client_go(). To be called after
 * kl_client_return(). */
void kl_client_begin_at(struct kl_client *c, uint32_t keyframe, uint32_t interval, uint64_t now_us);
/* The same after a relay has lost the frames from there on: it has not closed what the relay before said that
 * it had. */
void kl_client_lose(struct kl_client *c, uint32_t keyframe, uint32_t interval, uint64_t now_us);
/* The state is loaded. Without effect if none was awaited. */
void kl_client_go(struct kl_client *c);

/* The relay has given this client other seats during the game (0: it watches). They count once the client has
 * caught up and reported so, as after an absence. */
void kl_client_reseat(struct kl_client *c, uint8_t seats);

/* The next closed frame that this client needs. */
static inline uint32_t kl_client_have(const struct kl_client *c) {
    return c->stats.next_closed;
}

/* Feeds the body of a HISTORY message (a piece, frames.h). Returns the number of its wanted frames that found
 * no place: 0, done with it; else feed the same again after the next turn. KL_E_MALFORMED; KL_E_WINDOW if it
 * begins past our next frame (c is unchanged then). */
int kl_client_history(struct kl_client *c, const uint8_t *piece, size_t len, uint64_t now_us);

/* The room's next frame, by its last word, less our next frame: for a progress bar. */
uint32_t kl_client_behind(const struct kl_client *c);

#endif
