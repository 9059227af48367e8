/* ticket.h - a room's record, sealed by the relay for itself.
 *
 * XChaCha20-Poly1305 under a key from the relay's long-term secret; a random nonce each. The seal proves that
 * this relay wrote it, not that it is the newest: the content must tell older from newer. */
#ifndef KL_TICKET_H
#define KL_TICKET_H

#include <stddef.h>
#include <stdint.h>

#define KL_TICKET_MAX      18432 /* bytes, sealed */
#define KL_TICKET_OVERHEAD 40
#define KL_TICKET_BODY_MAX (KL_TICKET_MAX - KL_TICKET_OVERHEAD)

/* out: room for len + KL_TICKET_OVERHEAD, apart from body. Its length, or KL_E_SPACE above
 * KL_TICKET_BODY_MAX. */
int kl_ticket_seal(const uint8_t relay_secret[32], const void *body, size_t len, uint8_t *out);
/* out: room for len - KL_TICKET_OVERHEAD, apart from ticket. The body's length, or KL_E_MALFORMED: too long
 * or short, changed, or another relay's. */
int kl_ticket_open(const uint8_t relay_secret[32], const uint8_t *ticket, size_t len, void *out);

#endif
