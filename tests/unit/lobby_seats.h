/* lobby_seats.h - clients of lobby_net.h that lose their links and come back by the tokens that they got.
 * Include once. */
#ifndef TEST_LOBBY_SEATS_H
#define TEST_LOBBY_SEATS_H

#include "tests/unit/lobby_net.h"

static uint8_t token[PEERS][KL_TOKEN_BYTES]; /* that each peer's player last got */

static inline void keep_token(unsigned whose, unsigned peer) {
    const struct kl_msg *m = heard(peer, KL_MSG_WELCOME);
    assert_non_null(m);
    memcpy(token[whose], m->welcome.token, KL_TOKEN_BYTES);
}

static inline void start_game(unsigned players) {
    start_game_of(players);
    for (unsigned i = 0; i < players; i++)
        keep_token(i, i);
}

static inline void come_back_with(unsigned whose, unsigned peer, bool fresh, const char *content) {
    connect_peer(peer);
    struct kl_msg m = a_return(whose, peer, "room", token[whose]);
    m.back.fresh = fresh;
    if (fresh) kl_facts_add(&m.back.facts, "content", content);
    say(peer, &m);
}

static inline void come_back(unsigned whose, unsigned peer, bool fresh) {
    come_back_with(whose, peer, fresh, "x");
    keep_token(whose, peer);
}

#endif
