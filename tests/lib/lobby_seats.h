/* lobby_seats.h - clients of lobby_net.h that lose their links and come back by the tokens that they got. */
#ifndef TEST_LOBBY_SEATS_H
#define TEST_LOBBY_SEATS_H

#include "tests/lib/lobby_net.h"

extern uint8_t token[PEERS][KL_TOKEN_BYTES]; /* that each peer's player last got */

void keep_token(unsigned whose, unsigned peer);

void start_game(unsigned players);

void seat_come_back_with(unsigned whose, unsigned peer, bool fresh, const char *content);

void seat_come_back(unsigned whose, unsigned peer, bool fresh);

#endif
