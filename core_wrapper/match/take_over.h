/* take_over.h - a room that begins with a frame of a recording. Its maker plays the recording (replay.h) up
 * to that frame; the state of this machine's own run goes into the start data, and no relay knows of it. All
 * others are asked before they load it, each for this one state: a state may crash a core, or worse
 * (docs/security.md). net/ROOMS.md, "Consent"; net/PROTOCOL.md §12. */
#ifndef KLW_TAKE_OVER_H
#define KLW_TAKE_OVER_H

#include "core_wrapper/start/start.h"

struct kl_match;

/* The recording stands before a frame: makes the start data of a room of this name, which is the player's
 * choice from now on (choice.h), without practice. False, with a line in err, if this core or its files
 * cannot be given. */
bool kl_take_over_make(struct kl_match *m, const char *room, unsigned seat, char *err, size_t err_len);

/* The start data made for the room that we are in: 0, as kl_load_start_data(); 1 if it is another room. */
int kl_take_over_start_data(struct kl_match *m, uint8_t **out, size_t *len, char *err, size_t err_len);

/* The start data has come: may it be loaded? Each turn until then. NO: the player has not answered in time,
 * or their settings say so. */
enum kl_take_over_answer { KL_TAKE_OVER_GO, KL_TAKE_OVER_WAIT, KL_TAKE_OVER_NO };
enum kl_take_over_answer kl_take_over_answer(struct kl_match *m, uint64_t now_us);
/* The player says yes. False: nothing is asked. */
bool kl_take_over_agree(struct kl_match *m);
/* This state may be loaded here. */
bool kl_take_over_agreed(struct kl_match *m, const struct kl_start_state *s);
/* The question's subject; "": nothing is asked. */
const char *kl_take_over_asks(const struct kl_match *m);

/* The match begins: all hear from which frame. Returns the seat that its maker plays, from 1; 0: any. */
unsigned kl_take_over_begin(struct kl_match *m);
/* Another way into a room. */
void kl_take_over_joins(struct kl_match *m);
void kl_take_over_free(struct kl_match *m);

#endif
