/* room_name.h - the room of a player who named none: it depends on the game, so friends with the same core
 * and game meet there, and players of another game do not. */
#ifndef KLW_ROOM_NAME_H
#define KLW_ROOM_NAME_H

#include "net/engine/msg.h"

/* Names tried: the first, then beside a room that is full or closed the second one of that game, and so on.
 */
#define KL_ROOM_NAMES 9

/* Pure: "nestopia-k3m7qd", for nth > 0 "nestopia-k3m7qd-2" and so on. The code is of the core's name without
 * its version, and of the content: players of two versions of a core meet there and are told that their cores
 * differ. An arcade set counts by its name, not by its members, for the same reason. password: rooms with one
 * are other rooms. core: the library's name. */
void kl_room_name(char out[KL_NAME_MAX], const char *core, const struct kl_facts *facts, bool password,
                  unsigned nth);

#endif
