/* lock_wire.h - the bodies of the two datagrams: CTRL (client to relay) and UPDATE (relay to client).
 * net/PROTOCOL.md §4 and §5. Opening checks every byte before anything is handed out. */
#ifndef KL_LOCK_WIRE_H
#define KL_LOCK_WIRE_H

#include "net/engine/engine.h"
#include "net/engine/input.h"
#include "net/engine/wire.h"

struct kl_frames_from;

/* The others' presses in samples that no closed frame has yet, as far as the relay has them. On
 * unequal links a frame waits for the slowest player, and the samples of the others are there long before.
 * UPDATE brings them to a client that runs ahead (ahead.h), for its guesses alone: the lock knows nothing of
 * them, so a false hint costs a picture. Buttons only. net/PROTOCOL.md §5. Pure. */

#define KL_HINTS_MAX 32 /* samples of a port */

struct kl_hints {
    uint8_t ports;               /* those with hints, a bit each; 0: there are none */
    uint8_t held;                /* of these: all samples are as the port was in the newest closed frame */
    uint32_t first;              /* number of the first sample, of all ports */
    uint8_t count[KL_MAX_SEATS]; /* 1 to KL_HINTS_MAX */
    uint16_t joypad[KL_MAX_SEATS][KL_HINTS_MAX];
};

/* The first hint is below the frame that closes next, by so many at most. */
#define KL_HINTS_BELOW 255

/* A command takes effect before the same frame on every client (docs/design.md §4). */
#define KL_COMMAND_BYTES 96 /* of one command's data */
#define KL_COMMANDS_MAX  8  /* at one keyframe */
#define KL_COMMANDS_ROOM                                                                                     \
    400 /* bytes of all of one keyframe's data: a frame must fit beside them in a datagram */
#define KL_RELAY_CLIENT 0xff
struct kl_command {
    uint8_t client; /* its giver; KL_RELAY_CLIENT: the relay */
    uint8_t kind;
    uint8_t len;
    uint8_t data[KL_COMMAND_BYTES];
};
struct kl_commands {
    uint32_t keyframe;
    uint8_t count; /* 0: an empty place */
    struct kl_command at[KL_COMMANDS_MAX];
};
#define KL_COMMAND_SETS 16 /* keyframes with commands that are kept at once */

enum { KL_FRAME_KEY = 1, KL_FRAME_HASH = 2, KL_FRAME_COMMANDS = 4, KL_FRAME_BY_CLOCK = 8 };

/* A closed frame: final, the same on every client. */
struct kl_frame {
    uint32_t number;
    uint32_t keyframe; /* first frame of its interval */
    uint16_t spacing;  /* length of its interval, frames */
    uint8_t flags; /* KL_FRAME_KEY: it is the keyframe; KL_FRAME_HASH: hash the state before it runs, labelled
                      number-1 (only on keyframes, never on frame 0); KL_FRAME_COMMANDS: commands come before
                      it (only on keyframes); KL_FRAME_BY_CLOCK: closed by the clock, not by its samples */
    uint8_t active;                   /* bit per seat that takes part in this interval */
    struct kl_input in[KL_MAX_SEATS]; /* by seat; neutral if not active */
};

/* Coded inputs of up to KL_MAX_SEATS seats, read side by side. */
struct kl_streams {
    unsigned count;
    struct kl_reader reader[KL_MAX_SEATS];
    struct kl_input_decoder decoder[KL_MAX_SEATS];
    uint8_t devices; /* bit per stream: some input has more than a pad gives */
};

/* A run of closed frames that is being read (frames.h). */
struct kl_frames {
    uint32_t first, count;
    uint8_t seats;
    uint32_t at, keyframe;
    struct kl_reader intervals;
    uint8_t length, active, head; /* head: flags of the interval */
    struct kl_commands commands;  /* of the keyframe handed out last, if it has some */
    struct kl_streams streams;
};

/* How the relay sees the client that an UPDATE goes to. */
enum kl_presence { KL_PRESENT = 0, KL_ABSENT = 1, KL_RETURNING = 2 };

struct kl_update {
    uint32_t stamp;
    bool has_echo;
    uint32_t echo, hold_us;
    uint32_t next_sample; /* the relay has every sample below */
    uint8_t presence;     /* of the receiver, enum kl_presence */
    bool paused;          /* nothing closes until the room goes on */
    uint8_t waiting_for;  /* seats whose samples are missing */
    uint8_t away;         /* seats that are absent, returning, or away */
    bool has_schedule;
    int64_t due_us;          /* frame `first` is due at stamp + due_us */
    uint32_t first, count;   /* closed frames that follow; with count 0, first is the next one to close */
    struct kl_hints hints;   /* for guesses; only if the frames end with the newest */
    struct kl_frames frames; /* reading */
};

/* Writes the fields above `reading` and frames [first, first + count) (frames.h; NULL with count 0). Returns
 * the length, or 0 if it does not fit. */
size_t kl_update_write(const struct kl_update *u, const struct kl_frames_from *from, uint8_t *buf,
                       size_t cap);
/* 0 or KL_E_MALFORMED. body is borrowed while frames are read. */
int kl_update_open(struct kl_update *u, const uint8_t *body, size_t len);
bool kl_update_frame(struct kl_update *u, struct kl_frame *out); /* false at the end */

#define KL_NEEDS_MAX 32

struct kl_ctrl {
    uint32_t stamp;
    bool has_echo;
    uint32_t echo, hold_us;
    uint32_t frame_acked; /* the client has every closed frame below */
    uint32_t backlog;     /* the client has not run the last `backlog` frames of those */
    bool away;            /* its frontend does not run */
    bool resume;          /* samples were left out; they go on at sample_first */
    bool sparing;         /* nothing is to be sent again at half steps, whatever the room has */
    bool guesses;         /* it runs ahead, and wants hints */
    uint16_t sample_late; /* how late after its time the newest sample was taken, sixteenths of a frame */
    uint16_t turn_late;   /* lateness of the turn that took it, against this machine's usual; same unit */
    uint8_t sample_batch; /* samples taken in that turn, the newest included; 0: unknown */
    uint8_t need_count;   /* 0..KL_NEEDS_MAX: of the newest frames that it has run */
    uint8_t need[KL_NEEDS_MAX];
    uint32_t sample_first, sample_count;
    uint32_t sample_next;      /* reading: the first sample that kl_ctrl_sample() gives */
    struct kl_streams streams; /* reading */
};

/* The frame of the first need. */
static inline uint32_t kl_ctrl_need_first(const struct kl_ctrl *c) {
    return c->frame_acked - c->backlog - c->need_count;
}

/* Samples [sample_first, sample_first + sample_count) from the ring, `seat_count` seats each. */
size_t kl_ctrl_write(const struct kl_ctrl *c, const struct kl_input (*ring)[KL_MAX_SEATS],
                     unsigned seat_count, uint8_t *buf, size_t cap);
/* known: samples below it are checked, and not read. 0 or KL_E_MALFORMED. */
int kl_ctrl_open(struct kl_ctrl *c, unsigned seat_count, uint32_t known, const uint8_t *body, size_t len);
/* The next sample of every seat, sample_next first. The caller stops after sample_count. */
void kl_ctrl_sample(struct kl_ctrl *c, struct kl_input out[KL_MAX_SEATS]);

#endif
