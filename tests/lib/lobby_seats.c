#include "tests/lib/lobby_seats.h"

#include "tests/unit/unit.h"

uint8_t token[PEERS][KL_TOKEN_BYTES];

void keep_token(unsigned whose, unsigned peer) {
    const struct kl_msg *m = heard(peer, KL_MSG_WELCOME);
    assert_non_null(m);
    memcpy(token[whose], m->welcome.token, KL_TOKEN_BYTES);
}

void start_game(unsigned players) {
    start_game_of(players);
    for (unsigned i = 0; i < players; i++)
        keep_token(i, i);
}

void seat_come_back_with(unsigned whose, unsigned peer, bool fresh, const char *content) {
    connect_peer(peer);
    struct kl_msg m = a_return(whose, peer, "room", token[whose]);
    m.back.fresh = fresh;
    if (fresh) kl_facts_add(&m.back.facts, "content", content);
    say(peer, &m);
}

void seat_come_back(unsigned whose, unsigned peer, bool fresh) {
    seat_come_back_with(whose, peer, fresh, "x");
    keep_token(whose, peer);
}
