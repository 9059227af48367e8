/* lie.h - what a client that lies does to its datagrams. */
#ifndef SIM_LIE_H
#define SIM_LIE_H

#include <stddef.h>
#include <stdint.h>

/* LIE_FAR: datagrams are held back, with the echo of the time at which they were made, as on a long link;
 * LIE_NEAR: with the newest echo, as on a short one; LIE_NEEDS: not held back, each need is said to be the
 * greatest. */
enum lie { LIE_FAR, LIE_NEAR, LIE_NEEDS, LIE_KINDS };
const char *lie_name(enum lie lie);

/* Changes the body of a CTRL that is held back for so long. */
void lie_about(enum lie lie, uint32_t held_us, uint8_t *ctrl, size_t len);

#endif
