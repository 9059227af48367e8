/* direct.h - samples that come straight from other players, beside the relay: hints (lock_wire.h) for the
 * guesses of a client that runs ahead (ahead.h), as the relay's are. The lock knows nothing of them, so a
 * false one costs a picture. Buttons only. net/ROOMS.md §7, Straight datagrams. Pure. */
#ifndef KL_DIRECT_H
#define KL_DIRECT_H

#include "net/engine/engine.h"

#define KL_DIRECT_MAX   8  /* samples of a datagram: seven lost ones in a row cost nothing */
#define KL_DIRECT_KEPT  64 /* newest samples of a seat */
#define KL_DIRECT_BYTES (5 + 2 * KL_DIRECT_MAX * KL_MAX_SEATS)

/* The body of a datagram. */
struct kl_direct {
    bool guesses;  /* the sender runs ahead, and wants samples as well */
    uint8_t count; /* 0 to KL_DIRECT_MAX */
    uint32_t first;
    uint16_t joypad[KL_MAX_SEATS][KL_DIRECT_MAX]; /* [i]: of the sender's i-th seat */
};

/* seats: the sender's, a bit each. Returns the length, KL_DIRECT_BYTES at most. */
size_t kl_direct_write(const struct kl_direct *d, uint8_t seats, uint8_t out[KL_DIRECT_BYTES]);
/* 0 or KL_E_MALFORMED. */
int kl_direct_read(struct kl_direct *d, uint8_t seats, const uint8_t *body, size_t len);

/* A seat's samples, by number modulo KL_DIRECT_KEPT. */
struct kl_direct_kept {
    uint32_t end[KL_DIRECT_KEPT]; /* the sample's number + 1; 0: none */
    uint16_t joypad[KL_DIRECT_KEPT];
};
/* The first word on each sample counts. */
void kl_direct_keep(struct kl_direct_kept kept[KL_MAX_SEATS], uint8_t seats, const struct kl_direct *d);
/* False: the sample is not here. */
bool kl_direct_find(const struct kl_direct_kept *k, uint32_t sample, uint16_t *joypad);

#endif
