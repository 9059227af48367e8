/* router.h - asks the player's router to forward a UDP port to this machine: by NAT-PMP (libnatpmp), else by
 * UPnP (libminiupnpc). Only router.c knows these libraries.
 *
 * A router's answers come from the network, from any machine that pretends to be one. Only checked values
 * leave this module: an address is four bytes, a port is a number, text is this program's own. Yet an answer
 * may keep a library busy for ever, fill its memory or crash it, so only a process of its own calls this
 * module (cmd_router.c). */
#ifndef KLT_ROUTER_H
#define KLT_ROUTER_H

#include <stdint.h>

#define KL_ROUTER_LEASE_S 1200u /* of a mapping; it is renewed at half of it */

enum kl_router_result {
    KL_ROUTER_NONE,    /* no router answers */
    KL_ROUTER_MAPPED,  /* the router says that it forwards the port */
    KL_ROUTER_REFUSED, /* the router refuses; `code` is its reason's number */
    KL_ROUTER_ODD,     /* the answer is no answer to the question */
};
enum kl_router_way { KL_ROUTER_NATPMP, KL_ROUTER_UPNP };

struct kl_router_news {
    uint8_t result; /* enum kl_router_result */
    uint8_t way;    /* enum kl_router_way; not for KL_ROUTER_NONE */
    /* KL_ROUTER_MAPPED: */
    uint16_t port;    /* the router's own */
    uint32_t host;    /* the router's outside address, in network byte order; 0: the router names none */
    uint32_t lease_s; /* 0: for ever */
    int32_t code;     /* KL_ROUTER_REFUSED */
};

/* The known facts about the router, and the mapping that it has made for us. */
struct kl_router;
/* NULL without memory. */
struct kl_router *kl_router_open(uint16_t port, uint32_t lease_s);
/* Maps the port, or renews the mapping. Without a router it takes about 2 s; with one, as long as its answers
 * take. */
void kl_router_map(struct kl_router *r, struct kl_router_news *out);
/* Removes the mapping, if there is one. NULL is allowed. */
void kl_router_close(struct kl_router *r);

/* The reason for a refusal, in the words of NAT-PMP or UPnP. */
const char *kl_router_reason(enum kl_router_way way, int code);

#endif
