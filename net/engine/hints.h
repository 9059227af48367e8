/* hints.h - the others' presses in samples that no closed frame has yet, as far as the relay has them. On
 * unequal links a frame waits for the slowest player, and the samples of the others are there long before.
 * UPDATE brings them to a client that runs ahead (ahead.h), for its guesses alone: the lock knows nothing of
 * them, so a false hint costs a picture. Buttons only. net/PROTOCOL.md §5. Pure. */
#ifndef KL_HINTS_H
#define KL_HINTS_H

#include "net/engine/engine.h"
#include "net/engine/wire.h"

#define KL_HINTS_MAX 32 /* samples of a port */

struct kl_hints {
    uint8_t ports;               /* those with hints, a bit each; 0: there are none */
    uint8_t held;                /* of these: all samples are as the port was in the newest closed frame */
    uint32_t first;              /* number of the first sample, of all ports */
    uint8_t count[KL_MAX_SEATS]; /* 1 to KL_HINTS_MAX */
    uint16_t joypad[KL_MAX_SEATS][KL_HINTS_MAX];
};

/* next: the frame that closes next; h->first is below it, by KL_HINTS_BELOW at most. Some port has hints. */
#define KL_HINTS_BELOW 255
void kl_hints_write(struct kl_writer *w, const struct kl_hints *h, uint32_t next);
/* r->failed if they are malformed. */
void kl_hints_read(struct kl_reader *r, struct kl_hints *h, uint32_t next);

#endif
