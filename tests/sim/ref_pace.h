/* ref_pace.h - clients that hold the room up, as net/PROTOCOL.md §5 "Absence" has it: a part of the reference
 * room. */
#ifndef SIM_REF_PACE_H
#define SIM_REF_PACE_H

#include "tests/sim/ref_relay.h"

/* Begins an event: charges what the room has waited to whom it waited for. */
void ref_pace_charge(struct ref_relay *r, uint64_t now_us);
/* Pads of those who ran over, each of whom pauses. */
uint8_t ref_pace_out(struct ref_relay *r, uint64_t now_us);
void ref_pace_forget(struct ref_client *c);
bool ref_pace_barred(const struct ref_relay *r, const struct ref_client *c, uint64_t now_us);

#endif
