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
#include <stdint.h>

#include "core_wrapper/screen/chat.h"
#include "core_wrapper/words/hotkeys.h"

struct kl_match;

/* Makes the socket. False if this process has one, so this is a second instance. It stays -1 if this system
 * has no such sockets. kl_control_release() closes it. */
bool kl_control_claim(struct kl_match *m);
void kl_control_release(struct kl_match *m);

/* The room's game begins: later values of the frontend's menu that differ from the present ones count as
 * changes. */
void kl_control_begin(struct kl_match *m);
/* The frontend's value of this option of the menu, the frontend's to keep; NULL: it has none. All questions
 * for such values go through here. A frontend forgets that an option was changed once a value is asked for;
 * this keeps it in mind. */
const char *kl_control_ask(struct kl_match *m, const char *key);
/* Once a call of retro_run. */
void kl_control_turn(struct kl_match *m, uint64_t now_us);
/* Forgets the menu. The socket is the caller's to close. */
void kl_control_end(struct kl_match *m);

/* A key of the frontend's keyboard. True if it is for chat (chat.h), and not for the game. The key below Esc
 * opens a line, as RetroArch's own netplay chat does; `chat` is the same as a command. */
bool kl_control_typed(struct kl_match *m, bool down, unsigned code, uint32_t character);
/* The open line of chat, as typed so far; NULL: none is open. */
const char *kl_control_chat_line(struct kl_match *m);

/* The hot key for these words; NULL: there is none. Borrowed until the next call. */
const struct kl_hotkey *kl_control_key(struct kl_match *m, const char *words);
/* True while a hot key for talking is held, on the pad or on the keyboard. */
bool kl_control_talks(struct kl_match *m);
/* The key of the keyboard for talking, RETROK_*; 0: none. */
unsigned kl_control_talk_key(struct kl_match *m);
/* All hot keys for talking, for people; "": none. */
void kl_control_talk_name(struct kl_match *m, char out[KL_HOTKEYS_NAME]);
/* Seconds for which the hot key for leaving must still be held, rounded up; 0: it is not being held. */
unsigned kl_control_leave_s(struct kl_match *m);
/* Returns the game's part of a polled pad, and carries out hot keys. */
uint16_t kl_control_pad(struct kl_match *m, unsigned port, uint16_t pad);

/* Fills in the menu's policy, budget and spacing for a new room that has a clock, unless the player has set
 * them elsewhere. */
void kl_control_wish(struct kl_match *m, struct kl_params *p);

#endif
