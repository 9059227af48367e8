/* socket.h - IPv4 addresses and UDP sockets. IPv4, because ENet 1.3 knows no other.
 *
 * A socket is a number, -1 where there is none; its owner closes it. No call here waits: see wait.h. */
#ifndef KL_PLATFORM_SOCKET_H
#define KL_PLATFORM_SOCKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kl_address {
    uint32_t host; /* its bytes in the order of the wire, as in an ENetAddress */
    uint16_t port; /* a plain number */
};

#define KL_ADDRESS_TEXT 16 /* "255.255.255.255" and NUL */
/* Writes the host as four numbers. Returns out. */
const char *kl_address_text(char out[KL_ADDRESS_TEXT], uint32_t host);
/* Reads four numbers. False for anything else, names included. */
bool kl_address_parse(const char *text, uint32_t *host);
/* This machine as it calls itself. */
struct kl_address kl_address_loopback(uint16_t port);
/* The first address that other machines may know this one by. False: it has none. */
bool kl_address_own(uint32_t *host);
/* The other ends of the TCP connections of this process, at most max, some perhaps twice. Returns their
 * number. */
unsigned kl_address_peers(uint32_t *host, unsigned max);

/* -1 with errno set: no descriptor or no memory. */
int kl_socket_open(void);
/* -1 is allowed. */
void kl_socket_close(int s);
/* Takes that address of this machine; port 0 is any free one. *at becomes what it has. 0, or -1 with errno:
 * EADDRINUSE, EACCES, EADDRNOTAVAIL, or another. */
int kl_socket_bind(int s, struct kl_address *at);
/* Sends to this one and receives from this one alone from now on. 0, or -1 with errno. */
int kl_socket_connect(int s, const struct kl_address *to);
/* Buffers of that many bytes, as far as the system gives; 0: leave it. */
void kl_socket_enlarge(int s, int receive_bytes, int send_bytes);

/* One datagram. to: NULL for the connected one. False where it was not taken: full buffer, or (connected) the
 * other side refused one before. */
bool kl_socket_send(int s, const struct kl_address *to, const void *bytes, size_t len);
/* One datagram, if one waits. from: NULL, or its sender. Gives its length, which is more than cap where it
 * was cut off; below 0: none waits, or (connected) the other side refused what was sent. */
int kl_socket_receive(int s, void *bytes, size_t cap, struct kl_address *from);
/* The same, but it stays for the next call, and the length is at most cap. */
int kl_socket_peek(int s, void *bytes, size_t cap);

#endif
