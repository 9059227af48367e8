/* winsock.h - Windows's sockets: their start, and what they need besides the common calls. */
#ifndef KL_PLATFORM_WINDOWS_WINSOCK_H
#define KL_PLATFORM_WINDOWS_WINSOCK_H

/* Call it before the first socket; later calls do nothing. Not from DllMain. */
void kl_winsock_start(void);
/* A SOCKET that no child program inherits and no call waits for, as a number; -1 with errno. type:
 * SOCK_DGRAM, SOCK_STREAM. */
int kl_winsock_open(int type);
/* Sets errno from WSAGetLastError(). Returns -1. */
int kl_winsock_fail(void);

#endif
