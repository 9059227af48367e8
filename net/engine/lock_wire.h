/* lock_wire.h - the bodies of the two datagrams: CTRL (client to relay) and UPDATE (relay to client).
 * net/PROTOCOL.md §4 and §5. Opening checks every byte before anything is handed out. */
#ifndef KL_LOCK_WIRE_H
#define KL_LOCK_WIRE_H

#include "engine.h"
#include "input.h"

enum { KL_FRAME_KEY = 1, KL_FRAME_HASH = 2 };

/* A closed frame: final, the same on every client. */
struct kl_frame {
    uint32_t number;
    uint32_t keyframe; /* first frame of its interval */
    uint16_t spacing;  /* length of its interval, frames */
    uint8_t flags;     /* KL_FRAME_KEY: it is the keyframe; KL_FRAME_HASH: hash the state before it runs, labelled
                          number-1 (only on keyframes, never on frame 0) */
    uint8_t active;    /* bit per seat that takes part in this interval */
    struct kl_input in[KL_MAX_SEATS]; /* by seat; neutral where not active */
};

/* Coded inputs of up to KL_MAX_SEATS seats, read side by side. */
struct kl_streams {
    unsigned count;
    struct kl_reader reader[KL_MAX_SEATS];
    struct kl_input_decoder decoder[KL_MAX_SEATS];
};

struct kl_update {
    uint32_t stamp;
    bool has_echo;
    uint32_t echo, hold_us;
    uint32_t next_sample; /* the relay has every sample below */
    uint8_t waiting_for;
    bool has_schedule;
    int64_t due_us;       /* frame `first` is due at stamp + due_us */
    uint32_t first, count; /* closed frames that follow; first is the next one to close where count is 0 */
    /* reading: where kl_update_frame() stands */
    uint8_t seats;
    uint32_t at, keyframe;
    struct kl_reader intervals;
    uint8_t length, active;
    bool hash;
    struct kl_streams streams;
};

/* Writes the fields above `reading` and frames [first, first + count) from the ring (by number modulo
 * KL_WINDOW_FRAMES). Returns the length, or 0 where it does not fit. */
size_t kl_update_write(const struct kl_update *u, const struct kl_frame *ring, uint8_t *buf, size_t cap);
/* 0 or KL_E_MALFORMED. body is borrowed while frames are read. */
int kl_update_open(struct kl_update *u, const uint8_t *body, size_t len);
bool kl_update_frame(struct kl_update *u, struct kl_frame *out); /* false at the end */

#define KL_NEEDS_MAX 32

struct kl_ctrl {
    uint32_t stamp;
    bool has_echo;
    uint32_t echo, hold_us;
    uint32_t frame_acked;  /* the client has every closed frame below … */
    uint32_t backlog;      /* … and has not run the last `backlog` of them */
    uint8_t sample_late;   /* how late after its time the newest sample was taken, quarter frames */
    uint32_t need_first;
    uint8_t need_count;    /* 0..KL_NEEDS_MAX */
    uint8_t need[KL_NEEDS_MAX];
    uint32_t sample_first, sample_count;
    struct kl_streams streams; /* reading */
};

/* Samples [sample_first, sample_first + sample_count) from the ring, `seat_count` seats each. */
size_t kl_ctrl_write(const struct kl_ctrl *c, const struct kl_input (*ring)[KL_MAX_SEATS], unsigned seat_count,
                     uint8_t *buf, size_t cap);
int kl_ctrl_open(struct kl_ctrl *c, unsigned seat_count, const uint8_t *body, size_t len);
/* The next sample of every seat. The caller stops after sample_count. */
void kl_ctrl_sample(struct kl_ctrl *c, struct kl_input out[KL_MAX_SEATS]);

#endif
