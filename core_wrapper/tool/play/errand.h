/* errand.h - one question to a relay, without a room: net/PROTOCOL.md §9. */
#ifndef KLT_ERRAND_H
#define KLT_ERRAND_H

#include "core_wrapper/words/config.h"
#include "net/engine/msg.h"
#include "net/session/seat.h"

struct kl_errand {
    const struct kl_config *where; /* the relay: host, port, and its fingerprint or "" */
    const struct kl_seat_key *key; /* signs */
    const struct kl_msg *say;      /* DELETE, CHALLENGE, RUN (net/client/participant.h) */
    const void *run;               /* with RUN: its recording */
    size_t run_len;
    uint8_t *token; /* with CHALLENGE: gets it, from malloc; else NULL */
    size_t token_len;
};

/* Its answer, enum kl_refuse; 0: there was none, or a token. why: a line for people. A relay that is not
 * named by a fingerprint must be the one that it was before. */
uint8_t kl_errand(struct kl_errand *e, char why[KL_TEXT_MAX]);

#endif
