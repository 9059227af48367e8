/* replica.h - a copy of rooms' files in the fleet's Redis, so that another relay can go on with a room whose
 * relay is gone. README.md. In Redis:
 *
 *     keylock:record:ROOM   a hash: `id` of the room (32 digits), `owner`, the relay that writes it,
 *                           `key`, of its fleet, `number`, which grows with each owner and each copy begun,
 *                           and `copy`, the number of the copy that is whole
 *     keylock:klr:ID:N      the recording (net/RECORD.md) of copy N, so far
 *     keylock:tail:ID:N     the newest slot of its tail (net/relay/durable/tail.h), so far
 *
 * Each write is a script that looks at owner and number first: a relay that was given up for dead writes
 * nothing any more, and is told. The bytes are those of the journal's files, sealed (copy_seal.h). */
#ifndef KL_REPLICA_H
#define KL_REPLICA_H

#include "net/relay/fleet/redis.h"
#include "net/relay/room/fleet.h"

struct kl_replica;

#define KL_REPLICA_KEPT_S 86400 /* after the last new slot: longer than any seat is kept */

/* journal: the folder of the rooms' files, which somebody else holds; relay: this relay's name; key: of the
 * fleet's copies, borrowed. NULL with a line in err. For the process's lifetime. */
struct kl_replica *kl_replica_open(struct kl_fleet *fleet, const char *relay, const char *journal,
                                   const uint8_t key[32], char *err, size_t err_len);
/* Another connection: all copies begin anew. False with err: it is broken. */
bool kl_replica_begin(struct kl_replica *c, struct kl_redis *redis, char *err, size_t err_len);
/* Copies the next bytes of rooms that have changed, some at a time. more: there are more. False with err: the
 * connection is broken. */
bool kl_replica_turn(struct kl_replica *c, bool *more, char *err, size_t err_len);
/* Writes the files of a room that was taken: an answer of ID, recording, slot and the copy's
 * number. False with err. */
bool kl_replica_take(struct kl_replica *c, const struct kl_redis_answer *answer, uint8_t id[KL_ROOM_ID_BYTES],
                     char *err, size_t err_len);
/* This relay's journal has the files of that room. */
bool kl_replica_has(const struct kl_replica *c, const uint8_t id[KL_ROOM_ID_BYTES]);

/* The scripts of replica.c. Only inside net/relay/fleet. */

enum { KL_REPLICA_BEGIN, KL_REPLICA_WRITE, KL_REPLICA_END, KL_REPLICA_GIVE, KL_REPLICA_SCRIPTS };
extern const char *const kl_replica_script[KL_REPLICA_SCRIPTS];

#endif
