/* hosted.h - a relay for one match, in a thread of the program that hosts it. For players without another
 * relay. The wrapper sees no other header of the relay. */
#ifndef KL_HOSTED_H
#define KL_HOSTED_H

#include <stdbool.h>
#include <stdint.h>

#include "net/platform/address.h"
#include "net/session/keys.h"

struct kl_hosted;

/* Beside KL_DEFAULT_PORT: a RetroArch that hosts listens there by UDP itself, for its list of the LAN. */
#define KL_HOSTED_PORT 55436

enum kl_hosted_state { KL_HOSTED_STARTING, KL_HOSTED_LISTENS, KL_HOSTED_FAILED };

/* Starts it at KL_HOSTED_PORT, or at the next free port if that is taken, with the key in folder `state`
 * (made if it is missing; "": the folder of keylock-relay). NULL without memory or thread. */
struct kl_hosted *kl_hosted_open(const char *state);
/* port and fingerprint once it listens; a line in err if it failed. */
enum kl_hosted_state kl_hosted_look(struct kl_hosted *h, uint16_t *port,
                                    char fingerprint[KL_FINGERPRINT_CHARS + 1], char *err, size_t err_len);
/* Tells its clients that the relay ends, and waits a second at most for them. NULL is allowed. */
void kl_hosted_close(struct kl_hosted *h);

/* The relay says at its start how players get to it: the link to hand out, the port that must
 * be open, and whether its address is of a local network only. */

/* kl_address_audience() of an address in numbers; of a name all, of "localhost" this machine. */
enum kl_audience kl_invitation_audience(const char *host);

/* The address of this machine for a link: its first IPv4 address; the public IPv6 one if that is not
 * public and there is one; loopback if there is none at all. v4_only: IPv4 alone. */
void kl_invitation_own(char out[KL_ADDRESS_TEXT], bool v4_only);

/* Logs it. host: the operator's word, or "": then the link names the address bound to, or this machine's
 * if the relay listens at each (:: or 0.0.0.0). */
void kl_invitation_log(const char *host, const char *bound, uint16_t port, const char *fingerprint);

#endif
