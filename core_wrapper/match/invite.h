/* invite.h - core and game of this room, as an invitation names them. net/PROTOCOL.md §9. */
#ifndef KLW_INVITE_H
#define KLW_INVITE_H

#include "core_wrapper/core/content.h"
#include "net/session/url.h"

#define KL_INVITE_BYTES (64u << 20) /* of a game with a checksum: of a larger one the name must do */

/* Pure but for the game's file, which is read whole. Fills in core, game, crc and size of url; they stay
 * empty if no link can name the core, or if the game is more than one file. A set (a zip that the core opens
 * itself) has a name and no checksum, because friends may have it packed in another way. */
void kl_invite_game(struct kl_url *url, const char *core_path, const struct kl_content *content);

#endif
