/* path.h - the addresses of a session at the relay: which is proved, and which are only claimed.
 * net/PROTOCOL.md §9, Addresses. Pure: time, address, counter in; answers out. No socket, no ENet.
 *
 * The proved address is always sent to. A newest datagram from elsewhere claims that the client has moved. It
 * may also be a copy that overtook the original. Then the original comes from the proved address, as a
 * repetition, and takes the claim back. If the client has moved as well, its original makes a second claim,
 * so there is place for two. A claim is proved by the random bytes of its challenge, which go only there. */
#ifndef KL_PATH_H
#define KL_PATH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "net/platform/socket.h"

#define KL_CHALLENGE    8      /* bytes */
#define KL_CHALLENGE_US 100000 /* between repetitions */
#define KL_PATH_CLAIMS  2

struct kl_path_claim {
    struct kl_address at; /* port 0: never used */
    bool open;            /* the proved address has said nothing since */
    uint64_t credit;      /* bytes that may go there */
    uint64_t heard_us, challenge_us;
    uint8_t challenge[KL_CHALLENGE];
};
struct kl_path {
    struct kl_address proved;
    uint32_t since; /* counter of the datagram that made the first open claim */
    struct kl_path_claim claim[KL_PATH_CLAIMS];
};

void kl_path_init(struct kl_path *p, const struct kl_address *proved);

/* Some claim is open. */
bool kl_path_moving(const struct kl_path *p);

/* An authentic datagram. newest: its counter is the highest so far; repeated: it was there before. */
void kl_path_heard(struct kl_path *p, uint64_t now_us, const struct kl_address *from, uint32_t counter,
                   bool newest, bool repeated, size_t len);

/* True if so many bytes may go to this claim's address; they are then taken from its credit. */
bool kl_path_spend(struct kl_path_claim *c, size_t len);

/* The next claim to which a challenge is due; NULL: none. The caller sends it if kl_path_spend() allows. */
struct kl_path_claim *kl_path_due(struct kl_path *p, uint64_t now_us);

/* An answer to a challenge, in a datagram that kl_path_heard() was told of. True: its address is now the
 * proved one. */
bool kl_path_answer(struct kl_path *p, const struct kl_address *from, uint32_t counter,
                    const uint8_t challenge[KL_CHALLENGE]);

#endif
