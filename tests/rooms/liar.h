/* liar.h - a player whose client lies in the room's protocol, and the room it lies in, as numbers that a
 * search can draw and change (tests/lib/numbers.h). Lies about frames and time are those of tests/sim/lie.h.
 * A liar's machine runs right, and its host-only orders are refused: a host may put out anybody. */
#ifndef ROOMS_LIAR_H
#define ROOMS_LIAR_H

#include "tests/rooms/rooms.h"

enum liar_number {
    /* the room */
    LIAR_PLAYERS, /* honest and liars */
    LIAR_LIARS,
    LIAR_APART, /* 1: each liar has an address of its own; else all have the same */
    LIAR_NEAR,  /* 1: that address is an honest player's, too */
    LIAR_HOST,  /* 1: a liar is the host */
    LIAR_TRUST, /* 1: the honest load others' states */
    LIAR_RTT_MS,
    LIAR_UNREADY, /* 1: before the game they never say that they have loaded */
    LIAR_PASS,    /* 1: they take turns in the queue for a seat: one steps back, none takes the seat */
    LIAR_DEEDS,   /* from here on: what they say and do */

    /* of every hundred so many, and the same ones for all liars */
    LIAR_HASH = LIAR_DEEDS, /* hashes are false, and equal */
    LIAR_OWN,               /* of these, each liar's own instead */
    LIAR_STATE,             /* STATEs are of a forged state, which is also given */
    LIAR_MUTE,              /* STATEs are not said */
    LIAR_UNFIT,             /* snapshots given are not what was said */
    LIAR_KEEPS,             /* snapshots asked for are not given */
    LIAR_CLAIM,             /* HEALED is said, and nothing was loaded */
    LIAR_DENY,              /* HEALED says that nothing could be loaded */

    LIAR_TOGETHER, /* 1: the honest are at one address */
    LIAR_STANDS,   /* 1: nobody ends its pauses */
    LIAR_ASLEEP,   /* 1: it never agrees to play on */
    LIAR_DUMB,     /* 1: it says nothing of a disk */
    LIAR_LABEL,    /* added to the frames of hashes */

    /* once in so many milliseconds */
    LIAR_PAUSE,
    LIAR_CHAT,
    LIAR_SEAT,
    LIAR_RULE, /* orders that only the host may give */
    LIAR_RESET,
    LIAR_OPTION, /* another value each time */
    LIAR_RATE,
    LIAR_SAVE,
    LIAR_HEALED, /* unasked */
    LIAR_WORD,   /* STATE, unasked */
    LIAR_READY,  /* again */
    LIAR_GIVE,   /* unasked */
    LIAR_DISK,   /* a disk that nobody has */
    LIAR_FILE,   /* another checksum of a file that all have opened */
    LIAR_DESYNC, /* the host's */
    LIAR_CUT,    /* it comes back in a new session */
    LIAR_FRESH,  /* the same, with nothing */
    LIAR_LEAVE,  /* it leaves, and comes in again */

    LIAR_KEY, /* 1: it comes in again with the key that it had */
    LIAR_ON,  /* it lies for so many milliseconds */
    LIAR_OFF, /* then it tells the truth for so many; unless both are above 0, it lies always */
    LIAR_NUMBERS
};

/* "name=value,…"; what is not named stays. False: it cannot be read, or the liars' votes are more than the
 * others': whoever has most votes says what is right (docs/security.md). */
bool liar_read(int32_t is[LIAR_NUMBERS], const char *spec);
void liar_write(const int32_t is[LIAR_NUMBERS], char *out, size_t cap);
void liar_draw(int32_t is[LIAR_NUMBERS], struct rng *r);
void liar_change(int32_t is[LIAR_NUMBERS], struct rng *r);

/* From now on these clients lie. */
void liar_begin(const int32_t is[LIAR_NUMBERS]);
/* Whether a client lies in this way about the frame. False for the honest. */
bool liar_does(const struct client *c, enum liar_number n, uint32_t frame);
/* 0 for the honest. */
int32_t liar_is(const struct client *c, enum liar_number n);
void liar_step(struct client *c);
/* It has loaded before the game, and does not say so, in a room with these liars. */
bool liar_keeps_quiet(const struct client *c, const int32_t is[LIAR_NUMBERS]);
/* Their addresses. */
unsigned liar_addresses(const int32_t is[LIAR_NUMBERS]);

#endif
