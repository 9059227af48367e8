/* directory.h - the process that keeps a relay's entry in the fleet's Redis, and reads those of the others.
 * README.md. In Redis:
 *
 *     keylock:relays       the set of all relays' names, "HOST:PORT"
 *     keylock:relay:NAME   a text, `key=FINGERPRINT at=ADDRESS,… rooms=N most=N clients=N turn=N version=V`;
 *                          it goes KL_DIRECTORY_LEASE_MS after its last renewal
 *     keylock:rooms:NAME   a hash with that relay's rooms, by their names; it goes with the text. A value is
 *                          empty (the name is claimed), or a byte, 1: unlisted, 2: listed, and the line of
 *                          LIST (net/PROTOCOL.md §10)
 *
 *     keylock:begun        a hash: `run`, the Redis process by its own id, and `since` when it has these keys
 *     keylock:asks:NAME    a set of that relay's rooms to which somebody has come back elsewhere
 *
 * Scripts, which Redis runs one at a time, renew an entry and claim a name. So two relays never have one
 * name, unless Redis was away or has lost it: both rooms play on then, and the log says so. */
#ifndef KL_DIRECTORY_H
#define KL_DIRECTORY_H

#include "net/relay/fleet/redis.h"
#include "net/relay/room/fleet.h"
#include "net/session/keys.h"

#define KL_DIRECTORY_RENEW_MS 1000
#define KL_DIRECTORY_LEASE_MS 3000

struct kl_directory_config {
    struct kl_redis_place redis;
    const char *host; /* by which players reach this relay */
    uint16_t port;
    char fingerprint[KL_FINGERPRINT_CHARS + 1];
    uint8_t copies[32]; /* kl_copy_fleet_key() */
    const char
        *journal; /* the folder of the rooms' files; "off": there is none, and no room outlives its relay */
};

/* Serves the fleet's memory until `quit` can be read. Redis may be away for any time. Returns 0. */
int kl_directory_run(struct kl_fleet *fleet, const struct kl_directory_config *config, int quit);

#endif
