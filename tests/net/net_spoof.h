/* net_spoof.h - for tests of the relay: somebody who sees all UDP on the loopback and sends from whatever
 * address he likes. Needs the right to open raw sockets. */
#ifndef NET_SPOOF_H
#define NET_SPOOF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct spoof {
    int out, in;
};
struct spoof_packet {
    uint32_t from, to; /* IPv4, host byte order */
    uint16_t from_port, to_port;
    size_t len;
    uint8_t bytes[65000];
};

/* False where this is not allowed here. */
bool spoof_open(struct spoof *s);
void spoof_close(struct spoof *s);
void spoof_send(struct spoof *s, const struct spoof_packet *p);
/* It with one bit turned, cut short, and far too long, as `any` (below: a number below that) decides. */
void spoof_altered(struct spoof *s, const struct spoof_packet *p, uint32_t (*any)(uint32_t below));
/* Its first fragment only: the rest never comes. */
void spoof_fragment(struct spoof *s, const struct spoof_packet *p);
/* The next UDP datagram that passed; false where there is none now. */
bool spoof_see(struct spoof *s, struct spoof_packet *p);

#endif
