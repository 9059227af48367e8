/* server.h - the relay's event loop: joins the network (net/transport/hub.h) to the rooms (lobby.h). */
#ifndef KL_SERVER_H
#define KL_SERVER_H

#include <stddef.h>

#include "net/relay/relay_options.h"

/* Listens and serves until `signals` (a signalfd, or any descriptor) can be read, or the console's quit; then
 * tells all clients and returns 0.
 * -1 where it could not listen: one line for people is in err. */
int kl_server_run(const struct kl_relay_options *options, int signals, char *err, size_t err_len);

#endif
