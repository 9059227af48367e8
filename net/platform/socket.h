/* socket.h - IPv4 addresses and UDP sockets. Only IPv4, because ENet 1.3 has no IPv6.
 *
 * A socket is a number, -1 if there is none; its owner closes it. No call waits; wait.h does. */
#ifndef KL_PLATFORM_SOCKET_H
#define KL_PLATFORM_SOCKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kl_address {
    uint32_t host; /* network byte order, as in an ENetAddress */
    uint16_t port; /* host byte order */
};

#define KL_ADDRESS_TEXT 16 /* "255.255.255.255" and NUL */
/* Writes the host as four numbers. Returns out. */
const char *kl_address_text(char out[KL_ADDRESS_TEXT], uint32_t host);
/* Reads four numbers. False for any other text, names included. */
bool kl_address_parse(const char *text, uint32_t *host);
/* This machine's loopback address. */
struct kl_address kl_address_loopback(uint16_t port);
/* This machine's first address for other machines. False: there is none. */
bool kl_address_own(uint32_t *host);
/* The peers of this process's TCP connections, at most max; one may appear twice. Returns their number. */
unsigned kl_address_peers(uint32_t *host, unsigned max);

/* -1 with errno set: no descriptor or no memory. */
int kl_socket_open(void);
/* Makes a UDP socket that another library opened behave as one of kl_socket_open(). */
void kl_socket_adopt(int s);
/* -1 is allowed. */
void kl_socket_close(int s);
/* Binds the socket to an address of this machine; port 0: any free port. *at becomes the address taken. 0, or
 * -1 with errno: EADDRINUSE, EACCES, EADDRNOTAVAIL, or another. */
int kl_socket_bind(int s, struct kl_address *at);
/* From now on the socket sends to this address and receives only from it. 0, or -1 with errno. */
int kl_socket_connect(int s, const struct kl_address *to);
/* Asks for buffers of these sizes; the system may give less. 0: unchanged. */
void kl_socket_enlarge(int s, int receive_bytes, int send_bytes);

/* Sends one datagram. to: NULL on a connected socket. False if the datagram was not accepted: full buffer, or
 * (connected) the peer refused an earlier one. */
bool kl_socket_send(int s, const struct kl_address *to, const void *bytes, size_t len);
/* Receives one datagram, if one waits. from: NULL, or gets the sender. Returns the length, or a number above
 * cap if the datagram was cut off; below 0: none waits, or (connected) the peer refused an earlier one. */
int kl_socket_receive(int s, void *bytes, size_t cap, struct kl_address *from);
/* As kl_socket_receive(), but the datagram stays for the next call, and the length is at most cap. */
int kl_socket_peek(int s, void *bytes, size_t cap);

/* Datagrams with their other ends, in as few system calls as the system allows. */
#define KL_SOCKET_BATCH 64
#define KL_SOCKET_BYTES 2048 /* of one */
struct kl_socket_batch {
    unsigned count;
    struct kl_address at[KL_SOCKET_BATCH];
    size_t len[KL_SOCKET_BATCH]; /* received: above KL_SOCKET_BYTES if it was cut off */
    uint8_t bytes[KL_SOCKET_BATCH][KL_SOCKET_BYTES];
};
/* Receives what waits, a batch at most. False: nothing waits. */
bool kl_socket_receive_batch(int s, struct kl_socket_batch *b);
/* Sends the batch, and empties it. A datagram that is not accepted is left out. */
void kl_socket_send_batch(int s, struct kl_socket_batch *b);

#endif
