/* half_open.h - handshakes that wait for the first datagram of their session, at the relay. net/PROTOCOL.md
 * §9.
 *
 * They have a table of their own, so they take no session's place. A handshake's cells follow from its INIT
 * and a secret, so a repeated INIT finds its own. If all of them are taken, one of them at random is lost,
 * first of those from addresses that ask often: whoever floods the table loses their own. Pure but for
 * libsodium: no clock, no socket. */
#ifndef KL_HALF_OPEN_H
#define KL_HALF_OPEN_H

#include "net/platform/socket.h"
#include "net/session/handshake.h"

#define KL_HALF_OPEN_BITS 14 /* of a number: the uppermost are its cell */
#define KL_HALF_OPEN_MAX  (1U << KL_HALF_OPEN_BITS)
#define KL_HALF_OPEN_US   (3 * 1000000ULL)

struct kl_half_open {
    uint32_t number; /* of the session to be; 0: free */
    struct kl_address from;
    bool seldom; /* its address asks seldom */
    uint64_t until_us;
    struct kl_session_keys keys;
    uint8_t init[KL_INIT_BYTES], answer[KL_INIT_BYTES];
    size_t answer_len;
};
struct kl_half_opens {
    unsigned cells, count;
    uint8_t secret[crypto_shorthash_KEYBYTES];
    struct kl_half_open cell[];
};

/* cells: 1..KL_HALF_OPEN_MAX. NULL: no memory. */
struct kl_half_opens *kl_half_open_make(unsigned cells);
void kl_half_open_free(struct kl_half_opens *t);

/* The one that this INIT has made, or NULL. */
struct kl_half_open *kl_half_open_of(struct kl_half_opens *t, const uint8_t init[KL_INIT_BYTES]);
/* The one of this number, or NULL. */
struct kl_half_open *kl_half_open_find(struct kl_half_opens *t, uint32_t number);
/* A new one with a number whose low bits, all but KL_HALF_OPEN_BITS, are `low`, which is not 0; the caller
 * fills in keys and answer. Never NULL. */
struct kl_half_open *kl_half_open_add(struct kl_half_opens *t, const uint8_t init[KL_INIT_BYTES],
                                      const struct kl_address *from, bool seldom, uint32_t low,
                                      uint64_t now_us);
void kl_half_open_forget(struct kl_half_opens *t, struct kl_half_open *h);
/* Forgets those whose time is up. */
void kl_half_open_sweep(struct kl_half_opens *t, uint64_t now_us);

#endif
