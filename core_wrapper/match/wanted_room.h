/* wanted_room.h - the room that a player wants: as the frontend's menu has set it, or that of the game, if
 * none was named. */
#ifndef KLW_WANTED_ROOM_H
#define KLW_WANTED_ROOM_H

#include "core_wrapper/abi/keylock_api.h"
#include "core_wrapper/words/config.h"
#include "net/engine/msg.h"

/* --- as a menu wants it --- */

/* The room of the next game, as a frontend's own menu has set it through keylock_api.h. It counts before the
 * environment and keylock.cfg, until that game is over. */

#define KL_WISHES 32

struct kl_wish {
    char *key[KL_WISHES], *value[KL_WISHES];
    size_t count;
    bool fresh; /* it has changed since kl_wish_apply(), or was forgotten */
};

#define KLW_WISH_TEXT 4200 /* bytes of a line that quotes a value */

/* Keeps copies. Returns 0, or -1 with a line in err and the earlier wish. */
int kl_wish_set(struct kl_wish *w, const struct keylock_setting *want, size_t count, char *err,
                size_t err_len);
/* Puts the wish into a configuration that was just read; the wish is then not new any more. Returns 0, or -1
 * with a line in err. */
int kl_wish_apply(struct kl_wish *w, struct kl_config *c, char *err, size_t err_len);
void kl_wish_forget(struct kl_wish *w);

/* Checks a key of keylock.cfg. err names the key, not a variable: "relay: expected …". */
int kl_wish_check(struct kl_config *c, const char *key, const char *value, char *err, size_t err_len);

/* --- of the game --- */

/* The room of a player who named none: it depends on the game, so friends with the same core and game meet
 * there, and players of another game do not. */

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
