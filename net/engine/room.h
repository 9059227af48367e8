/* room.h - the relay's side of the lock: closes frames and sends them. net/PROTOCOL.md §5.
 *
 * Pure, not thread-safe, of fixed size, caller-allocated. The room knows clients by a small index that the
 * caller gives out. The relay, not the room, handles names, identity, chat and start data.
 *
 * room_return.h: clients that return, and rooms that continue after a restart of the relay.
 *
 * The caller feeds kl_room_receive() with the datagrams of a batch, then calls kl_room_send() for each client
 * until it returns 0; it does so again at kl_room_send_at(). */
#ifndef KL_ROOM_H
#define KL_ROOM_H

#include "net/engine/clock.h"
#include "net/engine/command_store.h"
#include "net/engine/lock_wire.h"
#include "net/engine/spacing.h"

/* A client's session with the relay: up; over; a new one in which the client's samples have not resumed. */
enum kl_room_link { KL_LINK_UP, KL_LINK_CUT, KL_LINK_BACK };

#define KL_SENT_KEPT 128 /* UPDATEs: a second at the usual rates, longer than an echo takes */

struct kl_room_client {
    bool present;  /* in the room; `presence` is about its samples */
    uint8_t seats; /* bit per seat; 0: spectator */
    uint8_t seat_count;
    uint8_t presence;      /* enum kl_presence */
    bool away;             /* the client reports that its frontend does not run */
    uint32_t next_sample;  /* samples below are in */
    uint32_t resumed_at;   /* number of the first sample after an absence */
    uint32_t used;         /* frames close by the clock: samples below are played */
    bool crowded;          /* samples from `used` on were folded into one: the next frame takes all */
    uint16_t left_spacing; /* the spacing when it became absent; 0: it has not played yet */
    uint32_t frame_acked;  /* closed frames below are acknowledged */
    uint32_t shown;        /* it has all frames below: it says so, or echoes an UPDATE with them */
    uint32_t shown_us[KL_WINDOW_FRAMES]; /* by frame, of the newest ones: arrival of that, low 32 bits */
    struct {
        uint32_t stamp, end; /* of an UPDATE; all frames to `end`, from the acknowledged ones, are in it */
    } sent[KL_SENT_KEPT];    /* end 0: not all are */
    uint8_t sent_next;
    uint32_t backlog;         /* frames acknowledged and not yet run, by its last word */
    bool sparing;             /* nothing is repeated half a frame later */
    uint32_t cost_us;         /* what it cost the others, minus what has drained (room_pace.c) */
    uint8_t late_itself;      /* share of its samples of late that it took or sent a frame late, of 255 */
    bool holds_up;            /* that ran over, and has not drained since */
    uint8_t pauses;           /* recent pauses, each for holding the game up */
    uint64_t barred_until_us; /* end of the last of these pauses */
    uint64_t in_time_us[KL_WINDOW_FRAMES]; /* by sample: its arrival time had it been taken in time */
    struct kl_rtt rtt;
    uint32_t trip_us; /* the shortest from an UPDATE to the CTRL that echoes it, with all that it was held; 0:
                         none was seen */
    bool heard;
    uint32_t stamp;       /* its newest time stamp */
    uint64_t heard_at_us; /* arrival of that time stamp */
    uint64_t last_send_us;
    uint8_t unheard;       /* UPDATEs that no CTRL has made up for */
    bool owed;             /* an UPDATE is due at once */
    uint32_t cursor;       /* within a burst: next frame to send; UINT32_MAX: no burst under way */
    uint8_t burst;         /* datagrams sent in it */
    uint64_t burst_at_us;  /* begin of the last burst */
    uint32_t burst_acked;  /* frame_acked when the last burst began */
    uint8_t link;          /* enum kl_room_link */
    bool joining;          /* it has new seats in the running game, which do not count yet */
    bool fetching;         /* its frames come from the history (room_return.h) */
    uint32_t history_next; /* history below this frame has been sent */
    uint8_t queued;        /* commands waiting for a keyframe */
    struct kl_command queue[KL_COMMANDS_MAX];
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

/* The rules of a room that commands can change. */
struct kl_room_rules {
    struct kl_params params;
    uint8_t plays[KL_MAX_SEATS]; /* seat that the pads of seat s play: s, until a swap */
};

struct kl_room {
    struct kl_params params;
    bool started;
    bool pausing, paused;
    struct kl_room_client client[KL_MAX_CLIENTS];
    struct kl_room_client relay; /* only its command queue is used */
    uint8_t owner[KL_MAX_SEATS]; /* client index, or KL_NOBODY */
    uint8_t plays[KL_MAX_SEATS]; /* the seat that the pads of seat s play: s, until a swap */
    struct kl_input sample[KL_MAX_SEATS][KL_WINDOW_FRAMES]; /* ring by sample number */
    struct kl_interval before, now;                         /* the feeding interval, the closing one */
    struct kl_room_rules rules;                             /* before the commands of the closing one */
    uint32_t begin;                 /* the room never had the frames below (kl_room_begin_at()) */
    uint32_t next_close, next_hand; /* frames: to close, to hand out */
    uint64_t last_close_us;
    uint64_t hold_until_us; /* nothing closes before, while clients are missing; 0: no limit */
    uint32_t hash_next;     /* the next keyframe at or after this frame is marked; 0: none */
    struct kl_frame closed[KL_KEPT_FRAMES];
    struct kl_commands commands[KL_COMMAND_SETS];
    uint32_t commands_given, given_at; /* bytes of commands beyond KL_COMMAND_PACE, as of frame given_at */
    struct kl_schedule schedule;
    struct kl_spacing spacing;
    uint64_t charged_us; /* waiting time before is charged to clients */
    uint8_t waited_for;  /* seats that the present event may charge: not those that it made absent */
    uint64_t in_time_us; /* close time of the newest frame had all samples been taken in time */
    uint32_t mark_end;   /* `mark` is on the frames below; 0: there is none */
    uint8_t mark[KL_MARK_BYTES];
    uint8_t lead[KL_KEPT_FRAMES];   /* by frame: frames from its newest sample to it */
    uint8_t excuse[KL_KEPT_FRAMES]; /* by frame: close time less in_time_us, quarter frames. KL_NO_NEED:
                                       ignore this frame's needs */
};
#define KL_NOBODY  0xff
#define KL_NO_NEED 0xff

/* Commands that the room itself carries out at their keyframe before it passes them on. */
enum {
    KL_COMMAND_POLICY = 1, /* u8 policy, u16 wait budget ms, u8 fixed spacing, u8 lead max */
    KL_COMMAND_SWAP = 2,   /* u8 seat, u8 seat: their pads change places */
    KL_COMMAND_PAUSE = 3,  /* nothing closes from this keyframe on, until kl_room_resume() */
    KL_COMMAND_RATE =
        5, /* u32 fps_uhz, little-endian: the core's frame rate has changed; every client sends it */
    KL_COMMAND_FREE =
        16, /* kinds from here on do nothing in the engine; chat (command.h) gives way to others */
};

void kl_room_init(struct kl_room *r, const struct kl_params *params);
/* The same for a room of calloc(): memory that the game does not reach stays untouched. */
void kl_room_init_zeroed(struct kl_room *r, const struct kl_params *params);

/* Adds a client with the seats of its mask. KL_E_STATE if a seat is taken or the index is in use. In a room
 * that has started the client has no session yet (kl_room_return() begins one). Its seats are neutral,
 * inactive and never waited for until the client has caught up and resumed; they count from the next keyframe
 * on. */
int kl_room_add(struct kl_room *r, unsigned client, uint8_t seats, uint64_t now_us);

/* Gives a client other seats during the game (0: it watches from now on). Frames that it has or fetches stay.
 * Its old seats are as after kl_room_remove(), its new seats as after kl_room_add(). KL_E_STATE if the room
 * has not started, the client is unknown, or a seat belongs to another client. */
int kl_room_reseat(struct kl_room *r, unsigned client, uint8_t seats, uint64_t now_us);

/* The client has got seats in the running game, and they do not count yet. */
bool kl_room_joining(const struct kl_room *r, unsigned client);

/* True if this client holds the game up: the room's waits for it, or its slowing, add up to more than is
 * allowed. In a bounded room the client then becomes absent (docs/design.md §3, "When a frame closes"), for a
 * pause at least, each longer than the one before. It ends when the client has kept pace for some seconds.
 * The caller shows the change. */
bool kl_room_holds_up(const struct kl_room *r, unsigned client);
/* Most of its samples of late were taken or sent late by the client itself: its link is not the reason. */
bool kl_room_late_itself(const struct kl_room *r, unsigned client);
/* The client whose link sets the spacing, because it is longer by half a frame or more than any other's;
 * KL_MAX_CLIENTS: none. */
unsigned kl_room_farthest(struct kl_room *r);

/* What a client, or one that was removed since, cost the others: for the same person as another client. */
struct kl_account {
    uint32_t cost_us;
    uint8_t pauses;
    uint64_t barred_until_us;
};
struct kl_account kl_room_account(const struct kl_room *r, unsigned client);
void kl_room_set_account(struct kl_room *r, unsigned client, struct kl_account s);

/* Removes a client. From the next frame on its seats are neutral and not waited for; from the next interval
 * on they are inactive. */
void kl_room_remove(struct kl_room *r, unsigned client, uint64_t now_us);

/* Starts the lock: frame 0 is due soon after. KL_E_STATE if the room has started or has no seats. */
int kl_room_start(struct kl_room *r, uint64_t now_us);

/* Feeds the body of a CTRL datagram. Returns 0, or without any effect KL_E_STATE (no such client),
 * KL_E_MALFORMED or KL_E_WINDOW. */
int kl_room_receive(struct kl_room *r, unsigned client, const uint8_t *body, size_t len, uint64_t now_us);

/* Sets the relay's mark on all frames below `end`. Every UPDATE that ends there carries it; clients keep it.
 */
void kl_room_mark(struct kl_room *r, uint32_t end, const uint8_t mark[KL_MARK_BYTES]);

/* Closes frames by the clock and ends the wait for late clients. Call it at kl_room_tick_at(). */
void kl_room_tick(struct kl_room *r, uint64_t now_us);
uint64_t kl_room_tick_at(const struct kl_room *r); /* UINT64_MAX: no tick is due */

/* Queues a command of this client (or KL_RELAY_CLIENT) for the next keyframe with free space; clients take
 * turns. KL_E_FULL if KL_COMMANDS_MAX commands already wait; chat gets it at half of that number, or at half
 * of the bytes that may be given at once. KL_E_MALFORMED for data that the kind does not allow. */
int kl_room_command(struct kl_room *r, unsigned client, uint8_t kind, const uint8_t *data, size_t len);

/* Ends a pause: the next frame is due 50 ms from now. KL_E_STATE if there is no pause. */
int kl_room_resume(struct kl_room *r, uint64_t now_us);

/* The seats of kl_room_waiting_for() whose samples are missing. */
uint8_t kl_room_missing(const struct kl_room *r);

/* The seats that the pads of these seats play: the same, until a swap. */
uint8_t kl_room_played(const struct kl_room *r, uint8_t pads);
/* Seats of clients that are absent or away, numbered as before any swap. Without the seats of joining
 * clients. */
uint8_t kl_room_away(const struct kl_room *r);

/* Writes the body of the UPDATE datagram due to this client; 0 if nothing is due. Call until 0.
 * cap >= KL_DATAGRAM_MAX. */
size_t kl_room_send(struct kl_room *r, unsigned client, uint64_t now_us, uint8_t *buf, size_t cap);

/* The time of the next kl_room_send() at the latest. UINT64_MAX in an empty room. */
uint64_t kl_room_send_at(const struct kl_room *r);

/* Hands out closed frames, each once, in order; the caller keeps the history. False if there is none. A frame
 * not taken within KL_KEPT_FRAMES is skipped. */
bool kl_room_take(struct kl_room *r, struct kl_frame *out);

/* Mask of the seats whose samples the next frame needs, numbered as before any swap; 0: it does not wait. */
uint8_t kl_room_waiting_for(const struct kl_room *r);

/* The longest lead that the room allows now, in frames. A strict room waits for everybody, and a fixed
 * spacing is the host's own word: these have no limit but KL_SPACING_MAX. */
uint16_t kl_room_lead_max(const struct kl_room *r);
/* The lead that this client's link needs whatever else it does, in frames, by its shortest round trips; 0:
 * not known yet. */
uint16_t kl_room_lead_least(const struct kl_room *r, unsigned client);

/* True if this client lacks frames that the room no longer keeps and kl_room_fetch() was not called for it.
 */
bool kl_room_lost(const struct kl_room *r, unsigned client);

#endif
