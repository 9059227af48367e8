/* winsock.h - Windows's sockets: their start, and what they need besides the common calls. */
#ifndef KL_PLATFORM_WINDOWS_WINSOCK_H
#define KL_PLATFORM_WINDOWS_WINSOCK_H

#include <stdbool.h>

/* Call it before the first socket; later calls do nothing. Not from DllMain. */
void kl_winsock_start(void);
struct kl_address;
struct sockaddr;
/* False, with *out unchanged: it is neither IPv4 nor IPv6, or NULL. */
bool kl_address_from_system(const struct sockaddr *in, struct kl_address *out);
/* Sets errno from WSAGetLastError(). Returns -1. */
int kl_winsock_fail(void);

#endif
