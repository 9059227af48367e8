/* replay_export.h - a recording's inputs as files of other programs. Each function returns 0, or -1 if `out`
 * cannot be written. `left` gets the parts that the file does not hold, as "; A; B", or "". */
#ifndef KLT_REPLAY_EXPORT_H
#define KLT_REPLAY_EXPORT_H

#include <stdio.h>

#include "core_wrapper/record/recording.h"
#include "core_wrapper/tool/desync/machine.h"

#define KLT_EXPORT_LEFT 400

/* Lines "FRAME PORT MASK", as `keylock run --input` plays them. */
int kl_export_inputs(struct kl_recording *r, FILE *out, char left[KLT_EXPORT_LEFT]);

/* FCEUX's .fm2, as text: the pads of the first two seats, and resets. */
int kl_export_fm2(struct kl_recording *r, FILE *out, char left[KLT_EXPORT_LEFT]);

/* RetroArch's .replay of version 1: no state, then for each frame all that the core asks for in any. `setup`
 * is of a run of that recording, which tells the core's questions. -1 with a line in err. */
int kl_export_replay(struct kl_recording *r, const struct kl_machine_setup *setup, FILE *out,
                     char left[KLT_EXPORT_LEFT], char *err, size_t err_len);

#endif
