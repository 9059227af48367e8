/* replay.h - a recording is played in place of a room: its frames come from the file, and the core begins as
 * in a room, with the file's start data. KEYLOCK_REPLAY=FILE, as `keylock replay` sets it.
 *
 * The frontend's own pause, fast-forward and steps work. The first pad goes to no game: it pauses, steps, and
 * seeks on a bar. States to seek by are this machine's own (replay_states.h): a recording that begins with a
 * state of another machine is refused. */
#ifndef KLW_REPLAY_H
#define KLW_REPLAY_H

#include "core_wrapper/draw/canvas.h"
#include "core_wrapper/match/replay_states.h"
#include "core_wrapper/record/recording.h"
#include "net/platform/file.h"

struct kl_match;

struct kl_replay {
    struct kl_recording *rec; /* NULL: nothing is replayed */
    bool token;               /* it is that of a challenge, which is played (challenge.h) */
    struct kl_file lock;      /* of the challenge's run, if */
    bool locked;              /* it is held */
    struct kl_replay_states states;
    bool begun;           /* the core stands at frame 0, or later */
    bool loaded;          /* the state of the next frame was taken as it was hashed */
    bool from_state;      /* the core has been in a loaded state since its beginning */
    bool no_states;       /* those of this core are not all of it: from the beginning to each frame */
    bool again;           /* it parted because of that: to the same frame from the beginning */
    bool paused, seeking; /* seeking: frames before `target` run unseen */
    unsigned steps;       /* frames that run all the same while it is paused */
    uint32_t target;
    uint64_t sought_us;         /* since when */
    uint16_t pad;               /* the first pad's buttons of the last turn */
    bool moves;                 /* left or right is held: */
    uint32_t wish;              /* the frame to seek once it is let go */
    uint64_t held_us, moved_us; /* since when; the last move */
    uint64_t bar_until_us;      /* the bar shows */
    unsigned seat;              /* the seat that the player may take over, plus one; 0: none */
    const char *room;           /* the room that begins there; NULL: the player goes on alone */
    bool taken;                 /* has done so */
    bool told_end, told_parted;
    /* Draws over the picture, at the top; NULL: nothing. */
    void (*above)(struct kl_match *m, const struct kl_canvas *c);
};

/* The content is loaded. False: it cannot be replayed, and the frontend knows why. */
bool kl_replay_open(struct kl_match *m);
/* A recording is open. */
bool kl_replay_on(const struct kl_match *m);
/* The core stands at the match's beginning, as in a room. False: it cannot, and the player knows why. */
bool kl_replay_begin(struct kl_match *m);
/* In place of the room's turn. Once a room was to begin there, nothing is open any more, and the
 * configuration is that room's. */
void kl_replay_turn(struct kl_match *m, uint64_t now_us);
void kl_replay_close(struct kl_match *m);

#endif
