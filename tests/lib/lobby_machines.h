/* lobby_machines.h - three who play in the lobby, each a machine that may say other hashes than the rest,
 * load and give. */
#ifndef TEST_LOBBY_MACHINES_H
#define TEST_LOBBY_MACHINES_H

#include "tests/lib/lobby_states.h"

#define BYTES 5000 /* of a machine's state */

/* A machine is one number; its hashes and its state are made of it. */
extern uint64_t machine[PLAYERS], picture[PLAYERS]; /* picture 0: none is hashed */
extern bool no_ram;                                 /* its core shows none */
extern bool no_states;                              /* its core gives none, at snapshots */

/* Its behaviour. */
extern bool gives[PLAYERS], loads[PLAYERS];
extern bool at_once[PLAYERS];        /* goes wrong again when it is healed */
extern bool says[PLAYERS];           /* its hashes */
extern uint64_t late_by_us[PLAYERS]; /* the delay of its hashes */
extern bool false_state[PLAYERS];    /* its STATE has a false hash */
extern bool copies[PLAYERS];         /* its STATE is the host's */
extern bool mute[PLAYERS];           /* it says no STATE */
extern bool has_own[PLAYERS];        /* it can go back to own states */

/* Things heard and done. */
extern uint32_t keyframe;         /* of the newest SNAPSHOT */
extern struct kl_verdict verdict; /* the newest */
extern unsigned heard_early;      /* VERDICTs of a label of which a late one's hash was still to come */
extern unsigned offers[PLAYERS], rewinds[PLAYERS], loaded[PLAYERS];
extern uint32_t back_to[PLAYERS];    /* the keyframe of the newest REWIND */
extern uint64_t own[PLAYERS][10000]; /* the machine before each marked keyframe */
extern struct kl_msg late[PLAYERS];
extern uint64_t late_us[PLAYERS];
extern bool to_give[PLAYERS];
extern bool to_load[PLAYERS];

/* They play, and do what is owed. */
void go_on(uint64_t us);
/* Until this is true, at most 20 s. */
#define go_on_until(condition)                                                                               \
    for (uint64_t until_us = now_us + 20 * SECOND; !(condition) && now_us < until_us;)                       \
    go_on(20000)
/* A bounded room of three, in sync for 3 s. */
void begin_machines(void);
/* It says BYE, and the others play on. */
void machine_leaves(unsigned who);
/* All are, nobody heals, and so many clients have been healed. */
void expect_in_sync(unsigned healed);
void state_of_machine(unsigned who, uint8_t out[BYTES]);
void say_hash(unsigned who, uint32_t label);
void give_state(unsigned who);

#endif
