/* ref_relay.h - the relay's decisions as net/PROTOCOL.md §5 and docs/design.md §3 and §4 have them: who is
 * absent, what each frame holds, when it must close, which commands stand where.
 *
 * A second implementation beside net/engine/lock_relay*.c, told the same events at the same moments. It uses
 * the engine's structs and none of its decisions, but for three that it is shown: the length of an interval
 * (any is allowed), the schedule line (clock.h, tested by itself) and the round trips that the size of a
 * group follows. */
#ifndef SIM_REF_RELAY_H
#define SIM_REF_RELAY_H

#include "tests/sim/reference.h"
#include "net/engine/lock_relay.h"

#define REF_NEVER UINT32_MAX

enum ref_presence { REF_PRESENT, REF_ABSENT, REF_RETURNING }; /* in kl_presence's order */

/* Of a client's session: it is over; there is a new one, and it has not yet resumed in it. */
enum ref_link { REF_UP, REF_CUT, REF_BACK };

struct ref_client {
    enum ref_link link;
    bool fetching; /* shown: it gets its frames by history */
    bool joining;  /* came into the game, and has not played yet */
    bool in_room, away, heard;
    uint8_t pads;
    enum ref_presence presence;
    uint32_t stamp; /* newest heard */
    uint64_t heard_us;
    uint32_t acked;
    uint32_t next_sample;  /* samples below have come, or never will */
    uint32_t resumed;      /* samples below, of before an absence, are not wanted any more */
    uint32_t counted_from; /* number of the first interval whose samples count; REF_NEVER: none yet */
    uint32_t unused;       /* closing by the clock: samples below are played */
    bool moved;            /* not all samples below are played: the policy has changed */
    unsigned queued;
    struct kl_command queue[KL_COMMANDS_MAX];
    uint64_t absences;
    uint32_t cost_us; /* its delay of the room, less the drained part (ref_pace.h) */
    unsigned pauses;
    uint64_t barred_us; /* it stays out until then */
};

struct ref_span { /* an interval */
    struct ref_interval at;
    uint32_t number;
    uint8_t active; /* pads with an owner when it was laid out */
    bool by_clock, hash, swapped;
    uint32_t samples_end; /* by_clock: samples from here on are for the interval after */
};

/* The state in which an interval was laid out; a relay that comes back must find it out again. */
#define REF_SPANS 1024
struct ref_past {
    struct ref_span span;
    struct kl_params params;
    uint8_t plays[KL_MAX_SEATS];
    bool pausing;
};

struct ref_relay {
    struct ref_past past[REF_SPANS]; /* ring by number of interval */
    uint64_t hold_until_us;
    struct kl_params params;
    struct ref_seat *pad; /* each pad's samples, by number */
    bool started, pausing, paused;
    struct ref_client client[KL_MAX_CLIENTS];
    struct ref_client relay; /* only its queue */
    uint8_t plays[KL_MAX_SEATS];
    struct ref_span before, now;
    uint32_t next; /* to close */
    uint64_t last_close_us, charged_us;
    uint8_t waited_for; /* pads, when the event began */
    double wait_us;     /* charged for the wait of then */
    struct kl_schedule schedule;
    uint32_t slowest_rtt_us;
    struct kl_input shown[KL_MAX_SEATS]; /* by the newest frame, by seat */
    uint8_t made;                        /* pads of whose samples the newest frame is made */
    uint8_t keyed;                       /* seats that had keys in a frame, and "all up" in none since */
    uint8_t keyed_at[REF_RING];          /* by frame: after it */
    struct kl_commands commands[KL_WINDOW_FRAMES]; /* given, by keyframe; ring */
    uint32_t held[KL_WINDOW_FRAMES];               /* keyframes of sets given, newest at sets */
    unsigned sets;
    uint64_t policy_changes, commands_given, presses_lost;
    char error[160]; /* the broken rule; empty: none */
};

void ref_room_init(struct ref_relay *r, const struct kl_params *params, struct ref_seat *pad);
void ref_room_add(struct ref_relay *r, unsigned client, uint8_t pads);
void ref_room_start(struct ref_relay *r, uint64_t now_us);

/* The schedule as it was before the event, to be set before each of these. */
void ref_room_ctrl(struct ref_relay *r, unsigned client, struct kl_ctrl *m, uint64_t now_us);
void ref_make_absent(struct ref_client *c);
void ref_room_tick(struct ref_relay *r, uint64_t now_us);
void ref_room_remove(struct ref_relay *r, unsigned client);
/* So many commands of a client may wait, and one of this kind is refused. (Chat is refused, too, once half of
 * the bytes that may be given at once are used up: no simulated room comes near that.) */
unsigned ref_room_places(uint8_t kind);
void ref_room_order(struct ref_relay *r, unsigned client, const struct kl_command *c);
void ref_room_resume(struct ref_relay *r, uint64_t now_us);

/* A client's session ends; it has a new one, and the frames below `have`. */
void ref_room_cut(struct ref_relay *r, unsigned client);
void ref_room_return(struct ref_relay *r, unsigned client, uint32_t have);
/* The relay died and goes on at frame `at`: everybody is out. shown: what frame at-1 showed. */
void ref_room_rewind(struct ref_relay *r, uint32_t at, const struct kl_frame *shown, uint64_t hold_us,
                     uint64_t now_us);
/* Pads that nothing closes without, whatever samples there are. */
uint8_t ref_room_held_for(const struct ref_relay *r, uint64_t now_us);
/* The event is over, and has moved the schedule by so much. */
void ref_room_slipped(struct ref_relay *r, double us);

/* True where the interval under way is closed and the next has not been laid out, nor does the room pause. */
bool ref_room_wants_interval(struct ref_relay *r);
/* Lays it out. given: the commands that the relay put before its keyframe, or NULL. */
void ref_room_lay_out(struct ref_relay *r, uint32_t length, const struct kl_commands *given);

/* The next frame, and for each pad the samples [lo, hi) that made it (0, 0: none). */
void ref_room_close(struct ref_relay *r, struct kl_frame *out, uint32_t range[KL_MAX_SEATS][2],
                    uint64_t now_us);

bool ref_room_can_close(const struct ref_relay *r, uint64_t now_us);
uint8_t ref_room_missing(const struct ref_relay *r); /* pads that the next frame waits for */
bool ref_room_holds_still(const struct ref_relay *r, uint64_t now_us); /* paused, all absent, or held */
uint64_t ref_room_due(const struct ref_relay *r, uint64_t now_us);     /* when time alone changes something */
uint8_t ref_room_pads(const struct ref_relay *r);                      /* with an owner */

#endif
