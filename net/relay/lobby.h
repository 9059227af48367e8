/* lobby.h - the relay's rooms: who is in them, from HELLO to BYE. net/PROTOCOL.md §7.
 *
 * Knows no sockets: what comes in is handed to it, what goes out leaves through struct kl_lobby_net, so that
 * tests can stand in for the network. Peers are the network's small numbers. All times are kl_now_us().
 * Single-threaded. Memory is taken when a room is made and when start data comes, never for a frame. */
#ifndef KL_LOBBY_H
#define KL_LOBBY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kl_lobby_limits {
    unsigned peers; /* connections the network can hold */
    unsigned rooms; /* at once */
    unsigned seats; /* of one room, 1..KL_MAX_SEATS */
};

/* The way out. A peer that was hung up on may not be named again. */
struct kl_lobby_net {
    void *ctx;
    int (*send)(void *ctx, unsigned peer, const uint8_t *bytes, size_t len); /* reliable, in order */
    /* Bulk: reliable, in order among itself, never before what send() took first. Bytes that may be given to
     * it now (0 while messages are on their way): ask before each piece. */
    size_t (*bulk_room)(void *ctx, unsigned peer);
    int (*send_bulk)(void *ctx, unsigned peer, const uint8_t *bytes, size_t len);
    unsigned (*pending)(void *ctx, unsigned peer); /* messages, from the oldest unacknowledged on */
    void (*datagram)(void *ctx, unsigned peer, const uint8_t *body, size_t len);
    void (*hang_up)(void *ctx, unsigned peer); /* once everything sent has been delivered */
    uint32_t (*session)(void *ctx, unsigned peer);
};

struct kl_lobby;

/* NULL: out of memory. */
struct kl_lobby *kl_lobby_create(const struct kl_lobby_limits *limits, const struct kl_lobby_net *net);
void kl_lobby_destroy(struct kl_lobby *l);

/* What the network reports. bytes are borrowed. */
void kl_lobby_opened(struct kl_lobby *l, unsigned peer, const char *address, uint64_t now_us);
void kl_lobby_lost(struct kl_lobby *l, unsigned peer, uint64_t now_us);
void kl_lobby_message(struct kl_lobby *l, unsigned peer, const uint8_t *bytes, size_t len, uint64_t now_us);
void kl_lobby_datagram(struct kl_lobby *l, unsigned peer, const uint8_t *body, size_t len, uint64_t now_us);

/* Everything that is owed by now: call it after each batch of the above, and at kl_lobby_due_us(). */
void kl_lobby_run(struct kl_lobby *l, uint64_t now_us);
uint64_t kl_lobby_due_us(const struct kl_lobby *l);

/* Tells everybody that the relay goes, and ends all rooms. */
void kl_lobby_shut_down(struct kl_lobby *l, uint64_t now_us);

unsigned kl_lobby_rooms(const struct kl_lobby *l);   /* rooms there are */
unsigned kl_lobby_members(const struct kl_lobby *l); /* clients in them */

#endif
