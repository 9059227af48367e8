/* address.h - addresses of IPv6 and IPv4 in one form: reading, writing and comparing them. Pure.
 *
 * An IPv4 address is kept as IPv6 has it, ::ffff:192.0.2.1, so it is the same through either kind of socket.
 * Text is written as RFC 5952 has it: IPv4 as four numbers, IPv6 in brackets where a port may follow. */
#ifndef KL_PLATFORM_ADDRESS_H
#define KL_PLATFORM_ADDRESS_H

#include <stdbool.h>
#include <stdint.h>

#define KL_HOST_BYTES 16

struct kl_address {
    uint8_t host[KL_HOST_BYTES]; /* network byte order; IPv4: 10 zeros, 2 of 0xff, its 4 bytes */
    uint32_t zone;               /* of a link-local host, fe80::/10: the interface's number; else 0 */
    uint16_t port;               /* host byte order; 0: none */
};

#define KL_ADDRESS_TEXT 40 /* bytes of a host, NUL included */
#define KL_PLACE_TEXT   48 /* of "[host]:port" */
#define KL_NET_TEXT     24 /* of a network of 64 bits, "2001:db8:0:1::", or of an IPv4 address */

/* Reads an IPv4 address of four numbers, or an IPv6 address without brackets and zone; port and zone become
 * 0. False, with *out unchanged, for any other text, names included. */
bool kl_address_parse(const char *text, struct kl_address *out);
/* Reads "192.0.2.1:5" or "[2001:db8::1]:5", the port from 1 to 65535, or either without a port: 0. False,
 * with *out unchanged, for any other text. */
bool kl_address_parse_place(const char *text, struct kl_address *out);
/* Writes the host: "192.0.2.1", "2001:db8::1". Returns out. */
const char *kl_address_text(char out[KL_ADDRESS_TEXT], const struct kl_address *a);
/* Writes host and port: "192.0.2.1:5", "[2001:db8::1]:5". Returns out. */
const char *kl_address_place(char out[KL_PLACE_TEXT], const struct kl_address *a);

/* HOST:PORT of any host, a name or an address: with the brackets that an IPv6 address needs. The host is cut
 * behind 253 bytes. */
struct kl_host_port {
    char text[262];
} kl_host_port(const char *host, uint16_t port);

struct kl_address kl_address_v4(const uint8_t host[4], uint16_t port);
/* 127.0.0.1. */
struct kl_address kl_address_loopback(uint16_t port);

static inline bool kl_address_is_v4(const struct kl_address *a) {
    static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
    return __builtin_memcmp(a->host, mapped, sizeof mapped) == 0;
}
/* The same host and port. */
static inline bool kl_address_same(const struct kl_address *a, const struct kl_address *b) {
    return __builtin_memcmp(a->host, b->host, KL_HOST_BYTES) == 0 && a->port == b->port && a->zone == b->zone;
}

/* The addresses that one person is taken to have, as a number: of an IPv6 address its first 64 bits, for a
 * home has so many at least; of an IPv4 address all. Never 0. */
uint64_t kl_address_person(const struct kl_address *a);
/* The network around a person: 256 IPv4 addresses; 48 bits of IPv6. */
uint64_t kl_address_around(uint64_t person);
/* A person in words, which read as an address are the same person: "192.0.2.1", "2001:db8:0:1::". Returns
 * out. */
const char *kl_address_net(char out[KL_NET_TEXT], const struct kl_address *a);

/* The addresses of one host, in the order in which they are to be tried. */
#define KL_ADDRESSES_MAX 8
struct kl_addresses {
    unsigned count;
    struct kl_address at[KL_ADDRESSES_MAX];
};
/* Adds one, unless it is there or the list is full. */
void kl_addresses_add(struct kl_addresses *list, const struct kl_address *a);
/* The first stays the first; then IPv6 and IPv4 by turns, in their order (RFC 8305 §4). */
void kl_addresses_mix(struct kl_addresses *list);

/* Those whom an address can serve, by the address alone. */
enum kl_audience {
    KL_AUDIENCE_ALL,     /* a public address */
    KL_AUDIENCE_NETWORK, /* its own network: a private network's address, a link's, a provider's NAT's */
    KL_AUDIENCE_MACHINE, /* this machine: loopback */
    KL_AUDIENCE_NOBODY,  /* no host has it: 0.0.0.0/8, multicast, broadcast, and their like in IPv6 */
};
enum kl_audience kl_address_audience(const struct kl_address *a);
/* An address of a local network means nothing to a player, unless their relay is in one as well: it may be
 * another network's, or this very machine's. True if a client of this relay may send to this address. */
bool kl_address_concerns(const struct kl_address *relay, const struct kl_address *to);

#endif
