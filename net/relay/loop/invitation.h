/* invitation.h - the relay says at its start how players get to it: the link to hand out, the port that must
 * be open, and whether its address is of a local network only. */
#ifndef KL_INVITATION_H
#define KL_INVITATION_H

#include <stdbool.h>
#include <stdint.h>

#include "net/platform/address.h"

/* kl_address_audience() of an address in numbers; of a name all, of "localhost" this machine. */
enum kl_audience kl_invitation_audience(const char *host);

/* The address of this machine for a link: its first IPv4 address; the public IPv6 one if that is not
 * public and there is one; loopback if there is none at all. v4_only: IPv4 alone. */
void kl_invitation_own(char out[KL_ADDRESS_TEXT], bool v4_only);

/* Logs it. host: the operator's word, or "": then the link names the address bound to, or this machine's
 * if the relay listens at each (:: or 0.0.0.0). */
void kl_invitation_log(const char *host, const char *bound, uint16_t port, const char *fingerprint);

#endif
