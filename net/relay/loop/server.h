/* server.h - the relay's event loop: joins the network (net/transport/hub.h) to the rooms (lobby.h). */
#ifndef KL_SERVER_H
#define KL_SERVER_H

#include <stddef.h>

#include "net/relay/program/relay_options.h"

/* Listens and serves until `quit` (of kl_wake_at_quit(), or any wake-up) can be read, or the console's quit.
 * Then it ends all rooms, tells all clients and returns 0. With a journal and KL_QUIT_SERVICE the rooms stay
 * in the journal instead, and the clients look for the next relay at once.
 * -1 if it could not listen: one line for people is in err. */
int kl_server_run(const struct kl_relay_options *options, int quit, char *err, size_t err_len);

#endif
