/* ref_fold.h - the samples of a frame that closes by the clock: net/PROTOCOL.md §5 "Closing by the clock". */
#ifndef SIM_REF_FOLD_H
#define SIM_REF_FOLD_H

#include "tests/sim/ref_relay.h"

/* Fills the frame's inputs and the ranges of samples that made them; moves each client's `unused`. */
void ref_fold(struct ref_relay *r, struct kl_frame *out, uint32_t range[KL_MAX_SEATS][2]);

#endif
