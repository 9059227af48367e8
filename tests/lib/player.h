/* player.h - a virtual player: a player's program around the real client (net/client/participant.h), in
 * virtual time. It does what the wrapper and the network thread do, without threads, files and sockets: it
 * runs frames, gives and loads start data and snapshots, and says what the participant has to say. The
 * machine, the wire and the moments at which something is done are the caller's: of tests/lib/lobby_*.h with
 * a wire that is a function call, of tests/rooms with links, crashes and lies. */
#ifndef TEST_PLAYER_H
#define TEST_PLAYER_H

#include "net/client/participant.h"

#define PLAYER_HELD        8192  /* frames; all that a relay sends ahead */
#define PLAYER_STATE_BYTES 50000 /* of a machine's state, at most */

struct player;

/* The functions of all players of a program. */
struct player_world {
    /* The devices in this turn, whose first sample has this number. in: neutral at first. */
    void (*press)(struct player *p, uint32_t sample, struct kl_input in[KL_MAX_SEATS]);
    /* commands: of the frame, or NULL */
    void (*run)(struct player *p, const struct kl_frame *f, const struct kl_commands *commands);
    void (*send_init)(struct player *p, const uint8_t init[KL_INIT_BYTES]);
    void (*send)(struct player *p, const uint8_t *body, size_t len); /* a datagram of the session */
    void (*room)(struct player *p, struct kl_channels *c);
    void (*say)(struct player *p, const struct kl_msg *m);
};

struct player {
    struct kl_participant participant;
    struct kl_held held[PLAYER_HELD];
    uint64_t turn_us; /* its frontend's next turn */
    uint32_t most;    /* frames that its machine runs in a turn */

    /* snapshots */
    uint8_t state[PLAYER_STATE_BYTES], state_before[PLAYER_STATE_BYTES]; /* at the newest two SNAPSHOTs, */
    uint32_t state_keyframe, before_keyframe, state_bytes;               /* and their keyframes */
    struct kl_ask ask;                                                   /* the newest */
    struct kl_offer offer;                                               /* of `coming` */
    uint8_t *coming;         /* offer.packed bytes that are here, and not loaded yet; NULL: none */
    struct kl_rewind rewind; /* the newest */
};
extern const struct player_world *player_world; /* set once */

/* Begins with the room "room" of the relay "relay:1", content "x". config: its heap, places and relay are
 * filled in. */
void player_begin(struct player *p, struct kl_participant_config *config, uint64_t now_us);

/* Its frontend's turns until now. */
void player_turns(struct player *p, uint64_t now_us);

/* All that is due: INIT, datagrams, messages. */
void player_send(struct player *p, uint64_t now_us);

/* As the host: gives the start data if it is wanted. */
void player_give_start(struct player *p, const uint8_t *start, size_t len);
/* Has loaded these start data, if they are here to be loaded. Fails (must.h) if others have come. */
void player_load_start(struct player *p, const uint8_t *start, size_t len);

/* --- snapshots --- */

/* Keeps the state at the SNAPSHOT of this keyframe, before the commands behind it. The words about it, which
 * the caller says. state: NULL: the core gives none. */
struct kl_state_said player_state(struct player *p, uint32_t keyframe, const uint8_t *state, size_t len);
/* It has the state against which it was asked for the newest one. */
bool player_has_base(const struct player *p);
/* Gives its newest state, whole or as the difference to that one. spoils: another state than it said. */
void player_give_state(struct player *p, bool based, bool spoils);
/* True if a whole snapshot has come since: it is in `coming`. */
bool player_has_snapshot(struct player *p);
/* Unpacks `coming`: offer.bytes bytes of the heap. Fails (must.h) unless it is what was offered. */
uint8_t *player_unpack(const struct player *p);
void player_forget_snapshot(struct player *p);

#endif
