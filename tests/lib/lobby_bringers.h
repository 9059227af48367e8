/* lobby_bringers.h - players of lobby_players.h bring a room back to a relay that has forgotten it, well or
 * badly. */
#ifndef TEST_LOBBY_BRINGERS_H
#define TEST_LOBBY_BRINGERS_H

#include "tests/lib/lobby_players.h"

void bring(unsigned peer, struct kl_bring b);

void bring_end(unsigned who);

void bring_ticket(unsigned who);

void bring_start(unsigned who);

void bring_tag(unsigned who);

uint32_t marked(unsigned who);

void bring_mark(unsigned who);

/* A mark that the relay never made. */
void claim(unsigned who, uint32_t end);

void bring_frames(unsigned who, uint32_t from, uint32_t end);

void forged_frames(unsigned who, uint32_t from, uint32_t end);

void expect_want(unsigned who, uint8_t what, uint32_t from);

bool is_asked(unsigned who);

void return_able(unsigned who, unsigned peer);

void show(unsigned who, unsigned peer);

/* Ticket and a mark of his own making. */
void show_off(unsigned who, unsigned peer, uint32_t end);

void bring_all(unsigned who);

void seal_ticket(unsigned who);

#endif
