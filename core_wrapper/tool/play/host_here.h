/* host_here.h - `keylock play --host-here`: the player's machine is the relay of the match.
 *
 * The relay (net/relay/loop/hosted.h) runs in this process for as long as RetroArch runs, which is a child.
 * If the player allows it, another child asks the router to forward the relay's port (cmd_router.c). Standard
 * error says whom the relay can reach, as far as that can be known. */
#ifndef KLT_HOST_HERE_H
#define KLT_HOST_HERE_H

#include "net/platform/process.h"
#include "net/session/url.h"
#include "net/relay/loop/hosted.h"

enum kl_map_port { KL_MAP_ASK, KL_MAP_ON, KL_MAP_OFF };

struct kl_host_here {
    struct kl_hosted *relay;
    struct kl_process router, game;
    int quit; /* a wake-up */
    uint16_t port;
    struct kl_url link; /* to hand out */
};

/* Starts the relay, and asks the router if `map` allows it; KL_MAP_ASK asks the player, if there is a
 * terminal. Then sets the environment of the game: the link into the room, and the address for the
 * invitation. Waits some seconds for the router. room: NULL: a new name that nobody guesses. An exit status
 * of tool.h; after any but KLT_OK, which was said, only kl_host_here_close() may follow. */
int kl_host_here_open(struct kl_host_here *h, const char *room, enum kl_map_port map);
/* Runs the game until it ends. SIGTERM ends the game. Returns its exit status. */
int kl_host_here_play(struct kl_host_here *h, const char *program, const char *const *arguments);
/* Ends the relay, which tells its clients, and removes the mapping. */
void kl_host_here_close(struct kl_host_here *h);

#endif
