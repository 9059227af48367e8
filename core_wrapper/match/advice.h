/* advice.h - the first line of a refusal: the player's next step, without hashes. The whole reason stays in
 * the log. Pure. */
#ifndef KLW_ADVICE_H
#define KLW_ADVICE_H

#include <stddef.h>

#define KL_ADVICE_MAX 200 /* bytes of a line, NUL included */

/* refused: enum kl_refuse, or 0 if the relay did not refuse. reason: one line, as the relay or the client
 * wrote it. room: its name. */
void kl_advice(unsigned refused, const char *reason, const char *room, char out[KL_ADVICE_MAX]);

#endif
