/* chat.h - a line of chat, typed on the frontend's keyboard.
 *
 * While the line is open, every key belongs to it: the game sees none. RetroArch gives keys to a core at any
 * time, but its own hot keys rest only with Game Focus on, so a player turns that on before typing.
 * Pure: key events come in. */
#ifndef KLW_CHAT_H
#define KLW_CHAT_H

#include <stdbool.h>
#include <stdint.h>

#include "net/engine/lock_wire.h"

#define KL_CHAT_BYTES (KL_COMMAND_BYTES + 1) /* of a line, NUL included */

struct kl_chat {
    bool open;
    char text[KL_CHAT_BYTES]; /* UTF-8 */
};

enum kl_chat_key {
    KL_CHAT_PASSED, /* the key is the game's */
    KL_CHAT_TAKEN,
    KL_CHAT_SAID, /* text is a whole line, and closed: to be sent */
};

void kl_chat_open(struct kl_chat *c);
void kl_chat_close(struct kl_chat *c);
/* A key of the frontend: code of enum retro_key, its character in UTF-32 or 0. */
enum kl_chat_key kl_chat_key(struct kl_chat *c, bool down, unsigned code, uint32_t character);

#endif
