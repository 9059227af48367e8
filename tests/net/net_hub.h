/* net_hub.h - the relay's end of the network in this process, and sessions with it that are begun by hand. */
#ifndef NET_HUB_H
#define NET_HUB_H

#include "net/transport/hub_state.h"
#include "tests/net/net_intruder.h"

#define PEERS 16

extern struct kl_hub *hub;
extern unsigned opened, lost, messages, voices; /* calls of the hub */
extern char put_out[KL_TEXT_MAX];               /* the reason of the last one */

struct shaken {
    struct kl_hs_client handshake;
    struct kl_hs_outcome outcome;
    struct kl_sealer sealer;
    uint8_t init[KL_INIT_BYTES]; /* with its cookie */
    uint8_t answer[KL_INIT_BYTES];
    size_t answer_len;
};

void hub_serve(void);
/* Until what was thrown at it has been looked at. */
void hub_settle(void);
int hub_begin(void **state);
int hub_finish(void **state);
/* In, and known to the hub's caller: by this number. */
unsigned hub_enter(struct intruder *n);
unsigned hub_enet_peers(void);
unsigned hub_sessions(void);
/* The hub's words to this socket, if any; 0: nothing. */
size_t hub_heard(int fd, uint8_t *bytes, size_t cap);
void hub_shake(struct shaken *s, int fd);
void hub_say_sealed(struct shaken *s, int fd, uint8_t kind, const void *body, size_t len);
/* A datagram of so many CONNECTs; id(i) is the connect id of the i-th. */
size_t hub_connects(uint8_t *out, const uint32_t *id, unsigned count);

#endif
