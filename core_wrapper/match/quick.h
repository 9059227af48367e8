/* quick.h - looks for a match: among the rooms of a relay's list that were opened for a quick match of this
 * very game and have free seats, the one with the least delay. A room that allows a shorter lead than the own
 * link needs is passed over. Rooms that somebody named are no quick match.
 * A thread of its own asks the relay.
 *
 * If there is none, the player makes a room (its name begins with KL_QUICK_PREFIX) and goes on looking.
 * Otherwise two players with rooms made at the same moment would wait for each other for ever. Of two such
 * players, the one whose room has the greater name goes to the other room, so nobody goes round in
 * circles.
 *
 * A player who waits in a room looks in the same way for another open room of the game, to be told of it, and
 * goes on looking. */
#ifndef KLW_QUICK_H
#define KLW_QUICK_H

#include "net/engine/engine.h"
#include "net/engine/msg.h"
#include "net/transport/strangers.h"

#define KL_QUICK_PREFIX "quick-"

struct kl_quick;

enum kl_quick_news {
    KL_QUICK_LOOKING, /* nothing new */
    KL_QUICK_FOUND,   /* room: go there. It looks no more until kl_quick_look(), unless `beside` is set */
    KL_QUICK_NONE,    /* there is none, said after each time that the relay was asked */
    KL_QUICK_FAILED,  /* no relay, or no answer; it tries again. why says it */
};

struct kl_quick_want {
    char host[256];
    uint16_t port;
    uint8_t identity[16];     /* of the game */
    uint8_t seats;            /* wanted, 1 at least */
    char beside[KL_NAME_MAX]; /* "": looks for a quick match; else for any open room but this one, */
    bool named;               /* and but those of quick matches */
    double rtt_ms;            /* the own round trip to the relay; measured anew at each look */
};

/* Starts the thread, which asks at once. NULL without memory or thread. */
struct kl_quick *kl_quick_open(const struct kl_quick_want *want);
/* Asks again after a moment. mine: the room that we have made, "" for none; barred: one that we could not
 * enter. */
void kl_quick_look(struct kl_quick *q, const char *mine, const char *barred);
/* The room has another set: it is never found again. (The newest 16 are remembered.) */
void kl_quick_bar(struct kl_quick *q, const char *room);
/* The news since the call before. room or why, as it says; both hold 256 bytes. */
enum kl_quick_news kl_quick_news(struct kl_quick *q, char *room, char *why);
/* Ends the thread, without waiting for any answer; NULL is allowed. */
void kl_quick_close(struct kl_quick *q);

/* Pure: is this a room to go to for a quick match? mine, barred: as above. */
bool kl_quick_fits(const struct kl_room_line *l, const struct kl_quick_want *want, const char *mine,
                   const char *barred);
/* Pure: is this a room to tell of, beside the own one? */
bool kl_quick_is_beside(const struct kl_room_line *l, const struct kl_quick_want *want);
/* A name for a room of ours. */
void kl_quick_name(char out[KL_NAME_MAX]);

#endif
