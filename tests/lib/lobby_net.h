/* lobby_net.h - the relay's lobby without a network, in virtual time: what it says to a peer is kept, and a
 * peer's words are handed to it. For unit tests and fuzz targets. */
#ifndef TEST_LOBBY_NET_H
#define TEST_LOBBY_NET_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/engine/msg.h"
#include "net/relay/lobby/lobby.h"
#include "net/relay/log/relay_log.h"
#include "net/session/seat.h"
#include "tests/lib/must.h"
#include "tests/lib/wire_bytes.h"

#define PEERS     40  /* of limits_for_tests */
#define PEERS_MAX 800 /* of any limits */
#define NOTICES   64
#define SECOND    UINT64_C(1000000)

extern struct kl_lobby *lobby;
extern uint64_t now_us;
extern const char *address_of_peers; /* of those that connect from now on */
extern struct kl_lobby_limits limits_for_tests;

/* The messages to each peer. */
struct inbox {
    struct kl_msg *newest[KL_MSG_LAST + 1]; /* by kind; its kind is 0 if none has come */
    struct kl_text *notice;                 /* [noticed % NOTICES] comes next */
    unsigned count, noticed;                /* messages, and NOTICEs */
    bool hung_up;
    unsigned datagrams, pending;
    struct kl_traffic traffic;
    bool gone; /* without a word: it acknowledges nothing */
    bool slow; /* its link takes no bulk but `takes` pieces more */
    unsigned takes;
    uint8_t binding[32];
};
extern struct inbox inbox[PEERS_MAX];

/* A test may listen in; open_lobby() sets these to NULL. */
extern void (*on_message)(unsigned peer, const struct kl_msg *m);
extern void (*on_update)(unsigned peer, const uint8_t *body, size_t len);
extern void (*on_voice)(unsigned peer, const uint8_t *body, size_t len);
extern size_t (*on_bulk_room)(unsigned peer); /* NULL: as the inbox says */

/* Peers connect from 192.0.2.last from now on. */
void live_at(unsigned last);

/* A lobby that is no newborn, at 160 s. Nobody is connected. */
void open_lobby(const struct kl_lobby_limits *limits);
void open_newborn(const struct kl_lobby_limits *limits, uint64_t time_us);
int set_up(void **state); /* open_lobby(&limits_for_tests), for cmocka */
int tear_down(void **state);
/* Another lobby in its place: with these limits, or with those for tests. */
void reopen(const struct kl_lobby_limits *limits);
void begin_again(void);

/* One turn of the relay; turns every 100 ms. */
void run(void);
void pass(uint64_t us);

/* --- the network's side --- */

void connect_peer(unsigned peer);
void lose(unsigned peer);
/* A message from this peer: without a turn of the relay's, or with one. */
void speak(unsigned peer, const struct kl_msg *m);
void say(unsigned peer, const struct kl_msg *m);
/* A new session whose first message is m. */
void enter(unsigned peer, const struct kl_msg *m);
/* A datagram of input from this peer. */
void say_datagram(unsigned peer, const uint8_t *body, size_t len);
/* The body of a VOICE from this peer. */
void say_voice(unsigned peer, const uint8_t *body, size_t len);

/* The newest message of this kind to this peer, or NULL. */
const struct kl_msg *heard(unsigned peer, uint8_t kind);
/* As if none of this kind had come yet. */
void forget(unsigned peer, uint8_t kind);
/* Whether a NOTICE with this text has come, among the last NOTICES. */
bool told(unsigned peer, const char *text);
/* The newest NOTICE has this text in it. */
void expect_notice(unsigned peer, const char *text);
void expect_refusal(unsigned peer, uint8_t code, const char *text);
const struct kl_member *member_of(unsigned peer, unsigned client); /* NULL: none is in the newest ROSTER */
uint8_t state_of(unsigned peer, unsigned client);

/* The room "room"; NULL: there is none. */
struct kl_lobby_room *the_room(void);

/* --- a player's words --- */

extern uint32_t strangers; /* by peer: they load no bytes of others */

/* Each peer has a seat key of its own. */
const struct kl_seat_key *seat_key(unsigned peer);
struct kl_msg a_hello(unsigned peer, const char *room, unsigned seats, unsigned players, const char *content);
void hello(unsigned peer, const char *room, unsigned seats, unsigned players, const char *content);
void give(unsigned peer, const char *bytes);
void ready(unsigned peer, const char *files);
void bye(unsigned peer);
void order(unsigned peer, uint8_t kind, uint8_t data);
/* The owner of `whose`'s seat, with the token that it last got there, by a new session `peer`. */
struct kl_msg a_return(unsigned whose, unsigned peer, const char *room, const uint8_t *token);
/* Clients 0 .. players-1, loaded and playing. */
void start_game_of(unsigned players);

/* --- kept seats --- */

extern uint8_t kept_token[PEERS][KL_TOKEN_BYTES]; /* that each peer's player last got */
void keep_token(unsigned whose, unsigned peer);
/* start_game_of(), and their tokens are kept. */
void start_kept_game(unsigned players);
void seat_come_back_with(unsigned whose, unsigned peer, bool fresh, const char *content);
/* With content "x"; its new token is kept. */
void seat_come_back(unsigned whose, unsigned peer, bool fresh);

#endif
