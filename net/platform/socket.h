/* socket.h - sockets for datagrams, and the addresses of a name. */
#ifndef KL_PLATFORM_SOCKET_H
#define KL_PLATFORM_SOCKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "net/platform/address.h"

/* --- sockets --- */

/* UDP sockets for IPv6 and IPv4, and this machine's addresses.
 *
 * A socket is a number, -1 if there is none; its owner closes it. No call waits; wait.h does. Each socket
 * speaks both kinds; where the system has no IPv6 it speaks IPv4 alone, and nothing else changes. */

/* This machine's first IPv4 address for other machines. False: there is none. */
bool kl_address_own(struct kl_address *out);
/* The address of this machine from which datagrams to that host would leave; none is sent. False: no way
 * leads there. */
bool kl_address_towards(const struct kl_address *to, struct kl_address *out);
/* The peers of this process's TCP connections, at most max, without ports; one may appear twice. Returns
 * their number. */
unsigned kl_address_peers(struct kl_address *out, unsigned max);

/* False: this system has no IPv6, as the last socket opened has shown. */
bool kl_socket_has_ipv6(void);
/* -1 with errno set: no descriptor or no memory. */
int kl_socket_open(void);
/* Makes a UDP socket that another library opened, for IPv4, behave as one of kl_socket_open(). */
void kl_socket_adopt(int s);
/* -1 is allowed. */
void kl_socket_close(int s);
/* Binds the socket to an address of this machine: "::" for all of both kinds, 0.0.0.0 for all of IPv4;
 * port 0: any free port. *at becomes the address taken. 0, or -1 with errno: EADDRINUSE, EACCES,
 * EADDRNOTAVAIL, or another. */
int kl_socket_bind(int s, struct kl_address *at);
/* The address that the socket is bound to. False: none. */
bool kl_socket_name(int s, struct kl_address *at);
/* A TCP socket that takes connections at this address of this machine, as kl_socket_bind(). -1 with errno.
 * Windows: not yet. */
int kl_socket_listen(struct kl_address *at);
/* From now on the socket sends to this address and receives only from it. 0, or -1 with errno. */
int kl_socket_connect(int s, const struct kl_address *to);
/* Asks for buffers of these sizes; the system may give less. 0: unchanged. */
void kl_socket_enlarge(int s, int receive_bytes, int send_bytes);
/* The part of so many bytes that this system gives to a program without rights, the lesser of both buffers.
 * 0: no socket. */
int kl_socket_allowed(int bytes);

/* Sends one datagram. to: NULL on a connected socket. False if the datagram was not accepted: full buffer, no
 * way to that address, or (connected) the peer refused an earlier one. */
bool kl_socket_send(int s, const struct kl_address *to, const void *bytes, size_t len);
/* Receives one datagram, if one waits. from: NULL, or gets the sender. Returns the length, or a number above
 * cap if the datagram was cut off; below 0: none waits, or (connected) the peer refused an earlier one. */
int kl_socket_receive(int s, void *bytes, size_t cap, struct kl_address *from);
/* As kl_socket_receive(), but the datagram stays for the next call, and the length is at most cap. */
int kl_socket_peek(int s, void *bytes, size_t cap);

/* Datagrams with their other ends, in as few system calls as the system allows. */
#define KL_SOCKET_BATCH 64
#define KL_SOCKET_BYTES 2048 /* of one datagram */
struct kl_socket_batch {
    unsigned count;
    struct kl_address at[KL_SOCKET_BATCH];
    size_t len[KL_SOCKET_BATCH];          /* received: above KL_SOCKET_BYTES if it was cut off */
    uint64_t arrived_us[KL_SOCKET_BATCH]; /* received: when this machine had it, kl_now_us() */
    uint8_t bytes[KL_SOCKET_BATCH][KL_SOCKET_BYTES];
};
/* From now on batches say when their datagrams came to this machine. False, as on Windows: the system does
 * not tell, so they say when they were read. */
bool kl_socket_time_arrivals(int s);
/* Receives what waits, a batch at most. False: nothing waits. */
bool kl_socket_receive_batch(int s, struct kl_socket_batch *b);
/* Sends the batch, and empties it. False: the system did not accept all datagrams; those are left out. */
bool kl_socket_send_batch(int s, struct kl_socket_batch *b);

/* --- names --- */

/* A name's addresses. */

#define KL_LOOKUP_NAME_MAX 256            /* bytes, NUL included */
#define KL_LOOKUP_US       (10 * 1000000) /* time limit for the name server */

enum kl_lookup { KL_LOOKUP_FOUND, KL_LOOKUP_FAILED, KL_LOOKUP_LEFT };

/* Waits for the answer, KL_LOOKUP_US at most; an address in numbers, in brackets or not, is converted at
 * once. still: called every 20 ms with ctx; once it returns false, the call ends (KL_LOOKUP_LEFT). NULL:
 * always true. A name server that hangs delays the caller no longer than that. This code's library may be
 * unloaded at once: the C library keeps the question in its own thread and memory. out: KL_LOOKUP_FOUND,
 * one at least, without ports, IPv6 and IPv4 by turns in the order in which the system would try them.
 * why: with KL_LOOKUP_FAILED one line for people. */
enum kl_lookup kl_lookup(const char *name, struct kl_addresses *out, bool (*still)(void *ctx), void *ctx,
                         char *why, size_t why_len);

#endif
