/* group.h - a relay of several processes on one port (README.md, Shards). This one is their parent:
 * it binds their sockets, keeps them open, starts a process anew that has ended, and ends with all of
 * them. In a fleet, one more process is its directory (net/relay/fleet/directory.h). */
#ifndef KL_GROUP_H
#define KL_GROUP_H

#include "net/relay/fleet/redis.h"
#include "net/relay/loop/server.h"

/* Starts `count` copies of this process, which call serve(config, quit) and end with its result, 0 if all was
 * well; each has a config of its own. redis: of the fleet; NULL: there is none. As kl_server_run(). Only
 * before there are threads. */
int kl_group_run(const struct kl_server_config *config, unsigned count, const struct kl_redis_place *redis,
                 int quit, int (*serve)(const struct kl_server_config *config, int quit), char *err,
                 size_t err_len);

#endif
