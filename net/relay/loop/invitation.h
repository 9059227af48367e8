/* invitation.h - the relay says at its start how players get to it: the link to hand out, the port that must
 * be open, and whether its address is of a local network only. */
#ifndef KL_INVITATION_H
#define KL_INVITATION_H

#include <stdint.h>

enum kl_audience { KL_AUDIENCE_ALL, KL_AUDIENCE_NETWORK, KL_AUDIENCE_MACHINE };

/* Tells by the address alone, an IPv4 address or a name, which players it can serve: all, for a name and a
 * public address; its own network, for an address of a private network or a provider's NAT; this machine, for
 * a loopback address. */
enum kl_audience kl_invitation_audience(const char *host);

/* Logs it. host: the operator's word, or "": then the link names the address bound to, or this machine's if
 * the relay listens at each (0.0.0.0). */
void kl_invitation_log(const char *host, const char *bound, uint16_t port, const char *fingerprint);

#endif
