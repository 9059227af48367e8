/* system_address.h - the system's addresses as ours. */
#ifndef KL_PLATFORM_POSIX_SYSTEM_ADDRESS_H
#define KL_PLATFORM_POSIX_SYSTEM_ADDRESS_H

#include <sys/socket.h>

#include "net/platform/address.h"

/* False, with *out unchanged: it is neither IPv4 nor IPv6, or NULL. */
bool kl_address_from_system(const struct sockaddr *in, struct kl_address *out);

#endif
