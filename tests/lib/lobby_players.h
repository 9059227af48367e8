/* lobby_players.h - three clients who play for real in a room of the lobby: the engine is the real one on
 * both sides, the network is a function call. Every frame that a player runs is compared. */
#ifndef TEST_LOBBY_PLAYERS_H
#define TEST_LOBBY_PLAYERS_H

#include "net/engine/frames.h"
#include "net/engine/lock_client.h"
#include "net/relay/durable/lobby_ticket.h"
#include "net/relay/lobby/lobby_parts.h"
#include "net/session/digest.h"
#include "net/session/seal.h"
#include "tests/lib/canon.h"
#include "tests/lib/lobby_net.h"

#define PLAYERS 3
#define FRAMES  CANON_FRAMES
#define HELD    2048
#define PIECES  300
#define STEP_US 4000

extern const uint8_t secret[32]; /* the relay's */

extern uint8_t fixed_spacing; /* of rooms that are begun from now on; 0: follows the link */

struct player {
    unsigned peer;
    bool linked, plays;
    struct kl_client lock;
    struct kl_held held[HELD];
    uint64_t turn_us;
    uint32_t pieces, pieces_done; /* of HISTORY */
    struct kl_past piece[PIECES];
    uint8_t token[KL_TOKEN_BYTES];
    uint8_t room_id[KL_ROOM_ID_BYTES];
    bool mashes;   /* every device in motion */
    uint32_t most; /* frames that its machine runs in a turn; 0: 400 */
};
extern struct player player[PLAYERS];

struct player *at_peer(unsigned peer);

void listen_message(unsigned peer, const struct kl_msg *m);

void listen_update(unsigned peer, const uint8_t *body, size_t len);

extern void (*on_frame)(struct player *p, const struct kl_frame *f); /* before it is run */

/* A turn of its frontend; all that it does until now. */

void turn(struct player *p);

void step_player(struct player *p);

void play(uint64_t us);

/* Plays from the newest WELCOME on. */
void begin_client(struct player *p);

/* Three play, from frame 0. */
void start_room(enum kl_policy policy);

void cut(unsigned who);

/* A new session for this player; what it says of itself can be changed before it is sent. */
struct kl_msg prepare_return(unsigned who, unsigned peer);

void come_back(unsigned who, unsigned peer);

void come_back_with_nothing(unsigned who, unsigned peer);

/* A newcomer in the place of a player who has gone. The seats it gets. */
uint8_t join_late(unsigned who, unsigned peer, unsigned seats);

/* All three have every device in motion from now on. */
void mash(void);

/* Its machine stops without a word. */
void vanish(unsigned who);

/* Says BYE, and the others play on for 3 s. */
void leave(unsigned who);

/* Whether the client of this seat has pressed anything in the last second of the game. */
bool presses_lately(unsigned seat);

void expect_all_at_the_end(void);

/* The digest of the intervals that are whole below this frame, as they were played. */
struct kl_digest digest_of(const uint8_t *room_id, uint32_t have);

/* The room's newest ticket. */
void open_ticket(struct kl_lobby_ticket *t);

/* --- the relay dies --- */

extern struct kl_lobby_ticket ticket;
extern char why[200];

/* As after kill -9: a new process, that has the relay's secret and nothing else. */
void new_relay(void);

struct kl_lobby_room *make_again(void);

/* Frames of the beginning, as some client has them. */
void adopt(struct kl_lobby_room *r, uint32_t end);

void play_so_long_and_die(enum kl_policy policy, unsigned seconds, bool mashing);

void play_and_die(enum kl_policy policy);

#endif
