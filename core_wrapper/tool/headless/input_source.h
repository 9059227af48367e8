/* input_source.h - scripted pads: nothing, plausible play from a seed, or a file.
 *
 * A source is a function of (frame, port), so a run can be repeated and rewound; wall time has no say. */
#ifndef KLT_INPUT_SOURCE_H
#define KLT_INPUT_SOURCE_H

#include <stddef.h>
#include <stdint.h>

#define KLT_INPUT_PORTS 16
#define KLT_INPUT_SPELL 128
#define KLT_INPUT_KEYS  12 /* of the keyboard that any:SEED plays */

struct kl_input_source;

/* spec is one of
 *   none
 *   random:SEED  directions held for 5 to 30 frames, buttons mashed, Start now and then; SEED is a decimal
 *                number
 *   any:SEED     the same, and a keyboard, mice, sticks and touches, which rest in the second half of each
 *                KLT_INPUT_SPELL frames, so that every key comes up again
 *   FILE         lines "FRAME PORT MASK": from that frame on, port PORT holds the buttons of hexadecimal MASK
 *                (bit RETRO_DEVICE_ID_JOYPAD_*: 1 B, 2 Y, 4 Select, 8 Start, 10 Up, 20 Down, 40 Left,
 *                80 Right, 100 A, 200 X, 400 L, 800 R, 1000 L2, 2000 R2, 4000 L3, 8000 R3). Frames must not
 *                go back within a port; # starts a comment
 * Returns 0, or -1 with a line in err. */
int kl_input_source_open(struct kl_input_source **out, const char *spec, char *err, size_t err_len);
void kl_input_source_close(struct kl_input_source *s);

/* The pad of a port at a frame. NULL: nothing pressed. */
uint16_t kl_input_source_joypad(struct kl_input_source *s, uint32_t frame, unsigned port);
/* The RETROK_* code of the i-th key, i < KLT_INPUT_KEYS. */
unsigned kl_input_source_code(unsigned i);
/* Bit per key that is down at a frame: one keyboard. 0 for all sources but any:SEED. */
uint16_t kl_input_source_keys(const struct kl_input_source *s, uint32_t frame);
/* Another device of a port at a frame, as retro_input_state_t answers. 0 for all sources but any:SEED. */
int16_t kl_input_source_other(const struct kl_input_source *s, uint32_t frame, unsigned port, unsigned device,
                              unsigned index, unsigned id);

#endif
