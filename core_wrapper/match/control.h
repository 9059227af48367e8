/* control.h - the player's own ways to the room's commands (command.h): hot keys on the pad, core options in
 * the frontend's menu, and `keylock command` through a local socket.
 *
 * The socket is a datagram socket with an abstract name that contains this process's number. Such a name
 * needs no folder and leaves nothing behind, however the process ends. It also tells a second instance in
 * this process that a room is being played. An abstract name has no permissions, so the kernel names the
 * sender of every datagram (SCM_CREDENTIALS). Only the user of this process, or root, is obeyed. One
 * datagram is one line of words; the answer is "ok …" or "error …". */
#ifndef KLW_CONTROL_H
#define KLW_CONTROL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core_wrapper/words/config.h"
#include "core_wrapper/words/hotkeys.h"

/* Makes the socket. False if this process has one, so this is a second instance. *fd stays -1 if this system
 * has no such sockets. */
bool kl_control_claim(int *fd);

/* The room's game begins: later values of the frontend's menu that differ from the present ones count as
 * changes. */
void kl_control_begin(void);
/* The frontend's value of this option of the menu, the frontend's to keep; NULL: it has none. All questions
 * for such values go through here. A frontend forgets that an option was changed once a value is asked for;
 * this keeps it in mind. */
const char *kl_control_ask(const char *key);
/* Once a call of retro_run. */
void kl_control_turn(uint64_t now_us);
/* Forgets the menu. The socket is the caller's to close. */
void kl_control_end(void);

/* A key of the frontend's keyboard. True if it is for chat (chat.h), and not for the game. The key below Esc
 * opens a line, as RetroArch's own netplay chat does; `chat` is the same as a command. */
bool kl_control_typed(bool down, unsigned code, uint32_t character);
/* Opens a line of chat. Returns 0, or -1 with the reason in answer. */
int kl_control_chat(char *answer, size_t cap);
/* The open line of chat, as typed so far; NULL: none is open. */
const char *kl_control_chat_line(void);

/* The name of the hot key for these words, as kl_hotkeys_name(). */
void kl_control_key(const char *words, char out[KL_HOTKEYS_NAME]);
/* Returns the game's part of a polled pad, and carries out hot keys. */
uint16_t kl_control_pad(unsigned port, uint16_t pad);

/* Fills in the menu's policy, budget and spacing for a new room that has a clock, unless the player has set
 * them elsewhere. */
void kl_control_wish(struct kl_params *p, const struct kl_config *said);

#endif
