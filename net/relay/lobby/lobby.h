/* lobby.h - the relay's rooms and their members, from HELLO to BYE. net/PROTOCOL.md §7.
 *
 * Without sockets: the caller hands in all that arrives, and struct kl_lobby_net sends, so that tests can
 * stand in for the network. Peers are the network's small numbers. All times are kl_now_us().
 * Single-threaded. Memory is taken when a room is made, when start data comes, for a client at a door with a
 * password, and for history, 64 KiB at a time; never for a frame. */
#ifndef KL_LOBBY_H
#define KL_LOBBY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "net/engine/msg.h"
#include "net/relay/durable/journal.h"
#include "net/relay/room/lobby_net.h"
#include "net/session/keys.h"
#include "net/relay/room/fleet.h"
#include "net/transport/shards.h"

struct kl_lobby;

/* NULL: out of memory. */
struct kl_lobby *kl_lobby_create(const struct kl_lobby_limits *limits, const struct kl_lobby_net *net);
void kl_lobby_destroy(struct kl_lobby *l);
/* The relay's long-term secret: the keys of tickets and journals come from it (seal.h, tail.h).
 * Before the first client; without it they come from a random secret of this process. */
void kl_lobby_set_secret(struct kl_lobby *l, const uint8_t secret[32]);
/* This process is one of several: their table, which outlives the lobby. Before kl_lobby_set_journal(). */
void kl_lobby_set_shards(struct kl_lobby *l, struct kl_shards *shards);
/* The relays that it knows; with shards. */
void kl_lobby_set_fleet(struct kl_lobby *l, struct kl_fleet *fleet);
/* From time to time: the memory of its rooms, for the others. */
void kl_lobby_shards_publish(struct kl_lobby *l);
/* The id of the room at this place. */
void kl_lobby_shards_id(const struct kl_lobby *l, unsigned place, uint8_t id[KL_ROOM_ID_BYTES]);
/* The key of seals (proof.h); without it there are none. Before the first client. */
void kl_lobby_set_signer(struct kl_lobby *l, const struct kl_relay_key *key);

/* From now on rooms are written to the journal, and its rooms are made again (journal.h). To be called after
 * kl_lobby_set_secret(), before the first client; the journal must outlive the lobby. */
void kl_lobby_set_journal(struct kl_lobby *l, struct kl_journal *journal, uint64_t now_us);

/* The network's events. bytes are borrowed. waited_us: since the datagram came to this machine. */
void kl_lobby_opened(struct kl_lobby *l, unsigned peer, const char *address, uint64_t now_us);
void kl_lobby_moved(struct kl_lobby *l, unsigned peer, const char *address); /* its new address is proved */
void kl_lobby_lost(struct kl_lobby *l, unsigned peer, uint64_t now_us);
void kl_lobby_message(struct kl_lobby *l, unsigned peer, const uint8_t *bytes, size_t len, uint64_t now_us);
void kl_lobby_datagram(struct kl_lobby *l, unsigned peer, const uint8_t *body, size_t len, uint32_t missing,
                       uint32_t waited_us, uint64_t now_us);
void kl_lobby_voice(struct kl_lobby *l, unsigned peer, const uint8_t *body, size_t len, uint32_t waited_us,
                    uint64_t now_us);

/* For a peer that exceeds the network's limits: tells it why, hangs up, and takes it out of its room. */
void kl_lobby_put_out_peer(struct kl_lobby *l, unsigned peer, const char *why, uint64_t now_us);

/* Does all that is due: call it after each batch of the above, and at kl_lobby_due_us(). */
void kl_lobby_run(struct kl_lobby *l, uint64_t now_us);
uint64_t kl_lobby_due_us(const struct kl_lobby *l);

/* Tells all clients that the relay ends, and ends all rooms. */
void kl_lobby_shut_down(struct kl_lobby *l, uint64_t now_us);

unsigned kl_lobby_rooms(const struct kl_lobby *l);   /* rooms there are */
unsigned kl_lobby_members(const struct kl_lobby *l); /* of all rooms, those away included */

struct kl_lobby_stats {
    uint64_t put_out, wrong_passwords, wrong_returns;    /* since the start */
    uint64_t start_bytes, history_bytes, snapshot_bytes; /* held */
    struct kl_voice_count voice;
    struct kl_journal_stats journal;
};
struct kl_lobby_stats kl_lobby_stats(const struct kl_lobby *l);

/* The public facts of a room. */
struct kl_lobby_listing {
    char name[KL_NAME_MAX];
    char content[KL_FACT_VAL_MAX], core[KL_FACT_VAL_MAX]; /* the facts with their parts for people; or "" */
    uint8_t players, filled;                              /* seats that the game needs; seats taken */
    uint8_t open;                                         /* free seats */
    uint16_t watchers;                                    /* from outside the game */
    uint8_t waiting;                                      /* in the queue for a seat */
    uint8_t lead_max;                                     /* frames: the longest lead that it allows */
    uint8_t doors;                                        /* KL_DOOR_* */
    uint16_t rtt_ms; /* the longest round trip of a player here; KL_RTT_UNKNOWN */
    bool playing, recorded, economy;
    uint8_t identity[16]; /* kl_identity() of its facts */
};
/* Up to cap listed rooms from place *from on; *from moves past the last one. Their number; 0: no more. */
unsigned kl_lobby_list(const struct kl_lobby *l, unsigned *from, struct kl_lobby_listing *out, unsigned cap);
/* The room at this place, an unlisted one, too. False: there is none. */
bool kl_lobby_listing_at(const struct kl_lobby *l, unsigned place, struct kl_lobby_listing *out);

#endif
