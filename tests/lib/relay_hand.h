/* relay_hand.h - a relay's lock whose clients are played by hand: CTRLs written to order, closed frames taken
 * out. */
#ifndef TEST_RELAY_HAND_H
#define TEST_RELAY_HAND_H

#include "net/engine/lock_relay.h"

extern struct kl_lock_relay r;
extern struct kl_input ring[KL_WINDOW_FRAMES][KL_MAX_SEATS]; /* [i][s]: sample i of a client's s-th seat */
extern struct kl_frame hand_last;                            /* taken last */

extern uint32_t interval; /* length of interval 0 */

extern uint16_t hand_late, hand_turn_late;
extern uint8_t hand_batch;      /* the batch in the next CTRLs */
extern uint32_t hand_missing;   /* datagrams that have not come */
extern uint32_t hand_waited_us; /* time of the next CTRLs in the relay's socket */
extern bool hand_has_echo;
extern uint32_t hand_echo; /* the echo in the next CTRLs, if hand_has_echo */

#define HAND_BUDGET_US 250000

/* Sub-frames and a clock, 20 ms a frame, the budget above. spacing: 0 follows the link. */
struct kl_params hand_params(uint8_t policy, uint8_t players, uint8_t spacing);
/* When frame f is due, after a start at 1,000 µs. */
uint64_t hand_line(uint32_t f);

void hand_begin(struct kl_params p);
/* Three players, of a seat each, and spectator 9 begin; the players press. */
void hand_begin_three(struct kl_params p);

enum { HAND_AWAY = 1, HAND_RESUME = 2, HAND_SPARING = 4 };

/* Samples [first, first + count) of this client, its word on itself, and everything closed acknowledged. */
int hand_ctrl(unsigned client, uint32_t first, uint32_t count, unsigned word, uint64_t now_us);

/* Sample n of these clients (a mask), each at its frame's time. */
void hand_all_say(unsigned clients, uint32_t n);
uint32_t hand_take_all(void);

#endif
