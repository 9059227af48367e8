/* lock_relay.h - the relay's side of the lock: closes frames and sends them. net/PROTOCOL.md §5.
 *
 * Pure, not thread-safe, caller-allocated. The room knows clients by a small index that the caller gives out.
 * The relay, not the room, handles names, identity, chat and start data.
 *
 * A room takes memory by what is there. After kl_lock_init() the caller hands in a ring for the newest
 * frames, and, before a client is added, memory for its place and for each of its seats. It stays the
 * caller's, need not be cleared, and is handed in once. Older frames are read from the room's history.
 *
 * lock_relay_return.h: clients that return, and rooms that continue after a restart of the relay.
 *
 * The caller feeds kl_lock_receive() with the datagrams of a batch, then calls kl_lock_send() for each client
 * until it returns 0; it does so again at kl_lock_send_at(). */
#ifndef KL_LOCK_RELAY_H
#define KL_LOCK_RELAY_H

#include "net/engine/engine.h"
#include "net/engine/clock.h"
#include "net/engine/command_store.h"
#include "net/engine/frames.h"
#include "net/engine/input.h"
#include "net/engine/lock_wire.h"
#include "net/engine/spacing.h"

/* A client's session with the relay: up; over; a new one in which the client's samples have not resumed. */
enum kl_lock_link { KL_LINK_UP, KL_LINK_CUT, KL_LINK_BACK };

#define KL_SENT_KEPT 128 /* UPDATEs: a second at the usual rates, longer than an echo takes */
struct kl_lock_sent {
    uint32_t stamp;      /* of an UPDATE */
    uint32_t whole : 1;  /* all frames to `frame`, from the acknowledged ones, are in it; else .. */
    uint32_t frame : 31; /* .. it begins with that one; 0: nothing of this can be said */
};

/* Memory of a client's place. */
struct kl_lock_place {
    uint32_t shown_us[KL_WINDOW_FRAMES];
    struct kl_lock_sent sent[KL_SENT_KEPT];
    uint32_t in_time_us[KL_WINDOW_FRAMES];
    struct kl_command queue[KL_COMMANDS_MAX];
    uint8_t need[KL_SPACING_HISTORY];
};

struct kl_lock_client {
    bool present;  /* in the room; `presence` is about its samples */
    uint8_t seats; /* bit per seat; 0: spectator */
    uint8_t seat_count;
    uint8_t presence;          /* enum kl_presence */
    bool away;                 /* the client reports that its frontend does not run */
    uint32_t next_sample;      /* samples below are in */
    uint32_t resumed_at;       /* number of the first sample after an absence */
    uint32_t used;             /* frames close by the clock: samples below are played */
    bool crowded;              /* samples from `used` on were folded into one: the next frame takes all */
    uint16_t left_spacing;     /* the spacing when it became absent; 0: it has not played yet */
    uint32_t frame_acked;      /* closed frames below are acknowledged */
    uint32_t shown;            /* it has all frames below: it says so, or echoes an UPDATE with them */
    uint32_t *shown_us;        /* by frame, of the newest KL_WINDOW_FRAMES: arrival of that, low 32 bits */
    struct kl_lock_sent *sent; /* KL_SENT_KEPT of them */
    uint8_t sent_next;
    uint32_t backlog;    /* frames acknowledged and not yet run, by its last word */
    bool sparing;        /* nothing is repeated half a frame later */
    bool guesses;        /* UPDATE has hints for it */
    uint32_t cost_us;    /* its cost to the others, minus the drained part (lock_relay_pace.c) */
    uint8_t late_itself; /* share of its samples of late that its machine took or sent a frame late, of 255 */
    bool holds_up;       /* that ran over, and has not drained since */
    uint8_t pauses;      /* recent pauses, each for holding the game up */
    uint64_t barred_until_us; /* end of the last of these pauses */
    uint32_t *in_time_us;     /* by sample, the same: its arrival had it been taken in time */
    struct kl_rtt rtt;
    uint32_t missing;    /* datagrams of its session that had not come at its last CTRL */
    uint64_t lost_us;    /* the last CTRL at which that had changed: some were lost, or overtaken */
    uint64_t untold_us;  /* it has had the UPDATE of this time and not told `next_sample`; 0: nothing shows */
    uint32_t needs_from; /* frames below closed before it was present */
    uint32_t trip_us; /* the shortest from an UPDATE to the CTRL that echoes it, with all that it was held; 0:
                         none was seen */
    bool heard;
    uint32_t stamp;       /* its newest time stamp */
    uint64_t heard_at_us; /* that time stamp was read .. */
    uint64_t last_send_us;
    uint32_t waited_us;       /* .. after so long on the relay's machine */
    uint8_t unheard;          /* UPDATEs that no CTRL has made up for */
    uint32_t debt;            /* bytes of frames sent again that its CTRLs have not made up for */
    uint32_t sent_end;        /* frames below have been sent in this session, or need not be */
    uint32_t again;           /* the next UPDATE goes on with this frame; 0: with the oldest that it lacks */
    uint32_t again_acked;     /* frame_acked when that last grew, or UPDATE began anew .. */
    uint64_t again_us;        /* .. at this time */
    uint32_t anew;            /* a stamp: UPDATE last began anew then */
    uint32_t gap_end;         /* frames below it were sent, and some of them it lost */
    bool owed;                /* an UPDATE is due at once */
    uint32_t cursor;          /* within a burst: next frame to send; UINT32_MAX: no burst under way */
    uint8_t burst;            /* datagrams sent in it */
    uint64_t burst_at_us;     /* begin of the last burst */
    uint32_t burst_acked;     /* frame_acked when the last burst began */
    uint8_t link;             /* enum kl_lock_link */
    bool joining;             /* it has new seats in the running game, which do not count yet */
    bool fetching;            /* its frames come from the history (lock_relay_return.h) */
    uint32_t history_next;    /* history below this frame has been sent */
    uint8_t queued;           /* commands waiting for a keyframe */
    struct kl_command *queue; /* KL_COMMANDS_MAX of them */
};

/* Interval i feeds interval i+1, so two are enough. */
struct kl_interval {
    uint32_t first, length;
    uint32_t sample_first; /* number of the first sample taken in it */
    uint32_t samples;      /* number of samples: length, or 1 with subframes off */
    uint8_t active;        /* seats that take part */
    uint8_t present;       /* seats whose samples of this interval count */
    bool hash, commands;
    bool by_clock;        /* its frames close by the clock, from the samples present */
    uint32_t samples_end; /* by_clock: samples from this number on are for the interval after */
};

#define KL_NEAR_FRAMES 64 /* of a room with a history: a client rarely lacks more */

/* All of a closed frame but its inputs. */
struct kl_near_frame {
    uint32_t end; /* the frame after it; 0: an empty place */
    struct kl_frame_head head;
    uint8_t all_up;              /* seats that let all keys go, and whose pads have no memory */
    uint8_t plays[KL_MAX_SEATS]; /* as in struct kl_lock_relay, when it closed */
};

/* Frames laid out to be written, one UPDATE at a time: one for all locks. A client that lacks frames of long
 * ago is sent them again and again; they are read from the history once. */
struct kl_laid_out {
    struct kl_frame_head head[KL_WINDOW_FRAMES];
    struct kl_frame_columns columns;         /* of these heads */
    struct kl_frame whole[KL_WINDOW_FRAMES]; /* frames [first, end) of this lock */
    const struct kl_lock_relay *of;          /* NULL: of none */
    uint32_t first, end;
    struct kl_commands sets[KL_COMMAND_SETS];
    /* the frames that were written last: several clients lack the same */
    struct {
        const struct kl_lock_relay *of; /* NULL: of none */
        uint32_t first, count;
        size_t len;
        uint8_t bytes[KL_DATAGRAM_MAX];
    } coded;
};

/* The newest closed frames, in a ring by number. */
struct kl_near {
    uint32_t places;
    struct kl_near_frame *frame;
    struct kl_inputs input[KL_MAX_SEATS]; /* by seat: what its pads gave; no pad: it never had an owner */
    const struct kl_history *history;     /* has the older ones; NULL: there are none */
    struct kl_laid_out *laid_out;
};

/* Places for commands: a room whose clients are near gets by on the first ones. */
#define KL_SETS_LEAST 4
#define KL_SETS_MORE  (KL_COMMAND_SETS - KL_SETS_LEAST)

struct kl_lock_relay {
    struct kl_params params;
    bool started;
    bool pausing, paused;
    struct kl_lock_client client[KL_MAX_CLIENTS];
    uint16_t clients;            /* those that are present */
    uint8_t owned;               /* seats that have an owner */
    struct kl_lock_client relay; /* only its command queue is used */
    struct kl_command relay_queue[KL_COMMANDS_MAX];
    struct kl_lock_place *place[KL_MAX_CLIENTS]; /* NULL: none was handed in */
    uint8_t owner[KL_MAX_SEATS];                 /* client index, or KL_NOBODY */
    uint8_t plays[KL_MAX_SEATS];                 /* the seat that the pads of seat s play: s, until a swap */
    struct kl_inputs sample[KL_MAX_SEATS];       /* KL_WINDOW_FRAMES by sample number */
    struct kl_keys *keys[KL_MAX_SEATS]; /* events of samples that no frame has yet; NULL: no devices */
    uint8_t up;                         /* pads without such memory whose next frame lets all keys go */
    uint8_t wants;                      /* pads that gave what needs such memory */
    uint8_t keyboards;                  /* seats that have such memory */
    uint8_t keyed; /* seats that had keys in a frame, and have not let all of them go in one since */
    struct kl_interval before, now; /* the feeding interval, the closing one */
    uint32_t next_close, next_hand; /* frames: to close, to hand out */
    uint64_t last_close_us;
    uint64_t full_us; /* the ring was full at this event, and more frames may close as of it; 0: it was not */
    uint64_t hold_until_us; /* nothing closes before, while clients are missing; 0: no limit */
    uint8_t hold_for;       /* until then these pads are missing, too: silent ones may be at another relay */
    uint32_t hash_next;     /* the next keyframe at or after this frame is marked; 0: none */
    struct kl_near near;
    struct kl_packed_set commands[KL_SETS_LEAST]; /* see kl_lock_set() */
    struct kl_packed_set *more_commands;          /* KL_SETS_MORE; NULL: they were not handed in */
    bool wants_commands;                          /* it has no free place among the first ones */
    uint32_t commands_from;            /* all commands of keyframes from this one on are still there */
    uint32_t commands_given, given_at; /* bytes of commands beyond KL_COMMAND_PACE, as of frame given_at */
    struct kl_schedule schedule;
    struct kl_spacing spacing;
    uint64_t charged_us;          /* waiting time before is charged to clients */
    uint8_t waited_for;           /* seats that the present event may charge: not those that it made absent */
    uint64_t in_time_us;          /* close time of the newest frame had all samples been taken in time */
    uint8_t lead[KL_KEPT_FRAMES]; /* by frame: frames from its newest sample to it */
    uint8_t excuse[KL_KEPT_FRAMES]; /* by frame: close time less in_time_us, quarter frames. KL_NO_NEED:
                                       ignore this frame's needs */
};
#define KL_NOBODY  0xff
#define KL_NO_NEED 0xff

/* Commands that the room itself carries out at their keyframe before it passes them on. */
enum {
    KL_COMMAND_POLICY = 1, /* u8 policy, u16 wait budget ms, u8 fixed spacing, u8 lead max */
    KL_COMMAND_SWAP = 2,   /* u8 seat, u8 seat: their pads change places */
    KL_COMMAND_PAUSE = 3,  /* nothing closes from this keyframe on, until kl_lock_resume() */
    KL_COMMAND_RATE =
        5, /* u32 fps_uhz, little-endian: the core's frame rate has changed; every client sends it */
    KL_COMMAND_FREE =
        16, /* kinds from here on do nothing in the engine; chat (command.h) gives way to others */
};

void kl_lock_init(struct kl_lock_relay *r, const struct kl_params *params);

/* Hands in the ring for the newest frames: `places` of them. history: the caller appends each frame that
 * kl_lock_take() hands out, before it calls anything else; NULL: there is none. Then KL_KEPT_FRAMES places
 * and memory for all seats are needed. */
void kl_lock_give_ring(struct kl_lock_relay *r, struct kl_near_frame *frames, uint32_t places,
                       const struct kl_history *history, struct kl_laid_out *laid_out);
/* Hands in memory for what a seat's pads give: KL_WINDOW_FRAMES of them and one for each place of the
 * ring. */
void kl_lock_give_seat(struct kl_lock_relay *r, unsigned seat, struct kl_pad *pads);
/* The same for its other devices, once kl_lock_receive() wants it; and for its keys. In a room without a
 * history, at once. */
void kl_lock_give_devices(struct kl_lock_relay *r, unsigned seat, struct kl_devices *devices,
                          struct kl_keys *keys);
void kl_lock_give_place(struct kl_lock_relay *r, unsigned client, struct kl_lock_place *place);
/* Hands in KL_SETS_MORE places for commands; wanted with wants_commands. Without them commands wait until all
 * clients have some of the earlier ones. */
void kl_lock_give_sets(struct kl_lock_relay *r, struct kl_packed_set *more);

/* Adds a client with the seats of its mask. KL_E_STATE if a seat is taken or the index is in use; KL_E_SPACE
 * if memory was not handed in. In a room that has started the client has no session yet (kl_lock_return()
 * begins one). Its seats are neutral, inactive and never waited for until the client has caught up and
 * resumed; they count from the next keyframe on. */
int kl_lock_add(struct kl_lock_relay *r, unsigned client, uint8_t seats, uint64_t now_us);

/* Gives a client other seats during the game (0: it watches from now on). Frames that it has or fetches stay.
 * Its old seats are as after kl_lock_remove(), its new seats as after kl_lock_add(). KL_E_STATE if the room
 * has not started, the client is unknown, or a seat belongs to another client; KL_E_SPACE as there. */
int kl_lock_reseat(struct kl_lock_relay *r, unsigned client, uint8_t seats, uint64_t now_us);

/* The client has got seats in the running game, and they do not count yet. */
bool kl_lock_joining(const struct kl_lock_relay *r, unsigned client);

/* It is absent from now on; a frontend that runs comes back by itself. */
void kl_lock_leave_out(struct kl_lock_relay *r, unsigned client);
/* True if this client holds the game up: the room's waits for it, or its slowing, add up to more than is
 * allowed. In a bounded room the client then becomes absent (docs/design.md §3, "When a frame closes"), for a
 * pause at least, each longer than the one before. It ends when the client has kept pace for some seconds.
 * The caller shows the change. */
bool kl_lock_holds_up(const struct kl_lock_relay *r, unsigned client);
/* Most of its samples of late were taken or sent late by the client itself: its link is not the reason. */
bool kl_lock_late_itself(const struct kl_lock_relay *r, unsigned client);
/* The client whose link sets the spacing, because it is longer by half a frame or more than any other's;
 * KL_MAX_CLIENTS: none. */
unsigned kl_lock_farthest(struct kl_lock_relay *r);

/* The cost of a client, or of one that was removed since, to the others: for the same person as another
 * client. */
struct kl_account {
    uint32_t cost_us;
    uint8_t pauses;
    uint64_t barred_until_us;
};
struct kl_account kl_lock_account(const struct kl_lock_relay *r, unsigned client);
void kl_lock_set_account(struct kl_lock_relay *r, unsigned client, struct kl_account s);

/* Removes a client. From the next frame on its seats are neutral and not waited for; from the next interval
 * on they are inactive. */
void kl_lock_remove(struct kl_lock_relay *r, unsigned client, uint64_t now_us);

/* Starts the lock: frame 0 is due soon after. KL_E_STATE if the room has started or has no seats. */
int kl_lock_start(struct kl_lock_relay *r, uint64_t now_us);

/* Feeds the body of a CTRL datagram. missing: datagrams that the client has sent before it, in this session,
 * and that have not come. waited_us: since it came to the relay's machine, which is no part of a round trip.
 * Returns 0, or without any effect KL_E_STATE (no such client), KL_E_MALFORMED, KL_E_WINDOW, or KL_E_SPACE:
 * r->wants are seats without memory for devices that it uses. */
int kl_lock_receive(struct kl_lock_relay *r, unsigned client, const uint8_t *body, size_t len,
                    uint32_t missing, uint32_t waited_us, uint64_t now_us);

/* Closes frames by the clock and ends the wait for late clients. Call it at kl_lock_tick_at(). */
void kl_lock_tick(struct kl_lock_relay *r, uint64_t now_us);
uint64_t kl_lock_tick_at(const struct kl_lock_relay *r); /* UINT64_MAX: no tick is due */

/* Queues a command of this client (or KL_RELAY_CLIENT) for the next keyframe with free space; clients take
 * turns. KL_E_FULL if KL_COMMANDS_MAX commands already wait; chat gets it at half of that number, or at half
 * of the bytes that may be given at once. KL_E_MALFORMED for data that the kind does not allow. */
int kl_lock_command(struct kl_lock_relay *r, unsigned client, uint8_t kind, const uint8_t *data, size_t len);

/* Ends a pause: the next frame is due 50 ms from now. KL_E_STATE if there is no pause. */
int kl_lock_resume(struct kl_lock_relay *r, uint64_t now_us);

/* The seats of kl_lock_waiting_for() whose samples are missing. */
uint8_t kl_lock_missing(const struct kl_lock_relay *r);

/* The seats that the pads of these seats play: the same, until a swap. */
uint8_t kl_lock_played(const struct kl_lock_relay *r, uint8_t pads);
/* Seats of clients that are absent or away, numbered as before any swap. Without the seats of joining
 * clients. */
uint8_t kl_lock_away(const struct kl_lock_relay *r);

/* Writes the body of the UPDATE datagram due to this client; 0 if nothing is due. Call until 0.
 * cap >= KL_DATAGRAM_MAX. */
size_t kl_lock_send(struct kl_lock_relay *r, unsigned client, uint64_t now_us, uint8_t *buf, size_t cap);

/* The time of the next kl_lock_send() at the latest. UINT64_MAX in an empty room. */
uint64_t kl_lock_send_at(const struct kl_lock_relay *r);

/* Hands out closed frames, each once, in order; the caller keeps the history. False if there is none. If an
 * event closes more frames than the ring has places, the others close, as of that event, once those are
 * taken. In a room without a history, a frame not taken within the ring's places is skipped. */
bool kl_lock_take(struct kl_lock_relay *r, struct kl_frame *out);
/* A closed frame; false if the room does not keep it (any more). */
bool kl_lock_frame(const struct kl_lock_relay *r, uint32_t number, struct kl_frame *out);

/* Mask of the seats whose samples the next frame needs, numbered as before any swap; 0: it does not wait. */
uint8_t kl_lock_waiting_for(const struct kl_lock_relay *r);

/* The longest lead that the room allows now, in frames. A strict room waits for everybody, and a fixed
 * spacing is the host's own word: these have no limit but KL_SPACING_MAX. */
uint16_t kl_lock_lead_max(const struct kl_lock_relay *r);
/* The lead that this client's link needs whatever else it does, in frames, by its shortest round trips; 0:
 * not known yet. */
uint16_t kl_lock_lead_least(const struct kl_lock_relay *r, unsigned client);

/* True if this client lacks frames that the room no longer keeps and kl_lock_fetch() was not called for it.
 */
bool kl_lock_lost(const struct kl_lock_relay *r, unsigned client);

#endif
