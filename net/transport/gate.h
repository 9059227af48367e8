/* gate.h - strangers who want a session with the relay: cookies, limits, handshakes, and the first datagram
 * that proves a session. net/PROTOCOL.md §9.
 *
 * Pure but for libsodium and the memory of its tables, which are of fixed size: time, address and bytes come
 * in; bytes and sessions go out. No clock, no socket, no ENet. Of the sessions it knows their slots,
 * addresses and INITs; the caller has the rest of them. */
#ifndef KL_GATE_H
#define KL_GATE_H

#include "net/platform/socket.h"
#include "net/session/handshake.h"
#include "net/transport/hub.h"
#include "net/transport/shards.h"

/* Handshakes that wait for the first datagram of their session, at the relay. net/PROTOCOL.md
 * §9.
 *
 * They have a table of their own, so they take no session's place. A handshake's cells follow from its INIT
 * and a secret, so a repeated INIT finds its own. If all of them are taken, one of them at random is lost,
 * first of those from addresses that ask often: whoever floods the table loses their own. Pure but for
 * libsodium: no clock, no socket. */

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

/* A session's low bits are its slot, so that finding it costs nothing; then bits of chance, which lead to its
 * shard: they are its number, modulo the number of shards; then the cell of the half-open handshake. */
#define KL_PEER_BITS  12
#define KL_SHARD_BITS 6

struct kl_gate_stats { /* as in struct kl_hub_stats */
    uint64_t malformed, replayed, cookies, handshakes, refused;
};

struct kl_gate {
    struct kl_hs_relay handshake;
    struct kl_hub_limits limits;
    bool (*make_room)(void *ctx); /* all slots are taken; true: not any more. NULL: they stay taken */
    void *ctx;
    struct kl_half_opens *half_open;
    struct kl_gate_stats stats;
    struct kl_shards *shards, alone; /* alone: if the caller has none */
    unsigned next;                   /* the slot to look at first for a new session */
    unsigned curves;                 /* handshakes computed at the time of the last one */
    uint64_t curves_us;              /* that time */
    uint64_t curves_ns;              /* the end of the accepted ones at their rate */
    struct kl_shard *own;            /* of shards, this process's */
    uint8_t (*init)[KL_INIT_BYTES];  /* by slot: of its session's handshake, for repetitions */
};

/* limits: 1..KL_HUB_PEERS_MAX peers. shards: outlive it; NULL: this process is alone. NULL: no memory. */
struct kl_gate *kl_gate_make(const struct kl_hub_limits *limits, const struct kl_keypair *own,
                             uint8_t ciphers, struct kl_shards *shards, uint64_t now_us);
void kl_gate_free(struct kl_gate *g);

/* A datagram of one of the handshake's kinds. Returns the length of the reply, never above len; 0: none. */
size_t kl_gate_ask(struct kl_gate *g, uint64_t now_us, const struct kl_address *from, const uint8_t *bytes,
                   size_t len, uint8_t reply[KL_STRANGER_MAX]);
/* Handshakes computed at that very time, of some 0.1 ms each. */
unsigned kl_gate_curves(const struct kl_gate *g, uint64_t now_us);

struct kl_gate_session {
    struct kl_session_keys keys; /* keys.session: its number */
    struct kl_address home;      /* the address that asked */
    struct kl_opener opener;     /* has opened the first datagram */
};
/* A sealed datagram of no session: perhaps the first one of a new session. Opens it in place. 0: the
 * session's slot is taken from now on. KL_E_STATE: no handshake waits for it, or there is no place;
 * KL_E_MALFORMED: it is forged. */
int kl_gate_enter(struct kl_gate *g, uint8_t *bytes, size_t len, struct kl_gate_session *out,
                  struct kl_opened *first);

static inline unsigned kl_gate_slot(uint32_t number) {
    return number & ((1U << KL_PEER_BITS) - 1);
}
/* The session of this slot is at another address; is over. */
void kl_gate_moved(struct kl_gate *g, unsigned slot, const struct kl_address *to);
void kl_gate_leave(struct kl_gate *g, unsigned slot);

/* Forgets handshakes whose time is up. */
void kl_gate_sweep(struct kl_gate *g, uint64_t now_us);

#endif
