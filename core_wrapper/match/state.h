/* state.h - the states of a match on this machine (enum kl_match_state, match.h): one table of each event's
 * effect on each state (docs/design.md, States of a match). The choice, a quick match, netplay, the room and
 * the frontend's calls are where events come from. Nothing else assigns m->state, or the phase of the match's
 * emulator: it follows from the state.
 *
 * In a frontend the core runs as the player's own until a match begins. For a runner (`keylock run`) it
 * stands still on the way to a room: the same states with _STILL. */
#ifndef KLW_STATE_H
#define KLW_STATE_H

#include <stdbool.h>

#include "core_wrapper/match/match.h"

enum kl_match_event {
    KL_ON_CLOSED_CORE, /* there is no core any more */
    KL_ON_BARE,        /* a core, and no relay */
    KL_ON_LOCKABLE,    /* a core that may come into a room */
    KL_ON_FREE,        /* the core shall run as the player's own */
    KL_ON_STAND,       /* it shall stand still until a match */
    KL_ON_READ,        /* a checksum is to be read */
    KL_ON_LOOK,        /* a quick match is looked for */
    KL_ON_DIAL,        /* the link to a room is open */
    KL_ON_WELCOME,     /* the room has let us in */
    KL_ON_HANG_UP,     /* the link is closed, or the way to a room given up */
    KL_ON_SILENCE,     /* no relay has answered on the way that was just given up */
    KL_ON_LOADED,      /* the core, for the room */
    KL_ON_UNSEATED,    /* of a room that was ready somebody has left */
    KL_ON_PUT_BACK,    /* the room for which the core was loaded is none of ours any more */
    KL_ON_BEGIN,       /* the match begins */
    KL_ON_GONE,        /* the room is gone; a recording was taken over */
    KL_ON_REPLAY,      /* a recording is to be shown */
    KL_ON_SHOW,        /* it begins, or begins again */
    KL_ON_DIE,         /* it cannot go on */
    KL_ON_CLOSE,       /* the content is closed */
    KL_ON_EVENTS
};

/* Pure. The same state: the event has no effect in it. */
enum kl_match_state kl_match_next(enum kl_match_state s, enum kl_match_event e);
/* Pure: who has the core in that state, and whether it runs. */
enum kl_phase kl_match_phase(enum kl_match_state s);

/* Takes the match to the next state. A core that begins to run as the player's own gets the player's save
 * with its next frame; when a room is gone, the player's fast-forward is the player's again. */
void kl_match_on(struct kl_match *m, enum kl_match_event e);

/* A core that may come into a room. */
static inline bool kl_match_lockable(enum kl_match_state s) {
    return s >= KL_MATCH_IDLE;
}
static inline bool kl_match_reads(enum kl_match_state s) {
    return s == KL_MATCH_READING || s == KL_MATCH_READING_STILL;
}
static inline bool kl_match_looks(enum kl_match_state s) {
    return s == KL_MATCH_LOOKING || s == KL_MATCH_LOOKING_STILL;
}
/* In a room, or on the way to one. */
static inline bool kl_match_away(enum kl_match_state s) {
    return s > KL_MATCH_ALONE && s <= KL_MATCH_PLAYING && s != KL_MATCH_STILL;
}

#endif
