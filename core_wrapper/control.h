/* control.h - the player's own ways to the room's commands (command.h): hot keys on the pad, core options in
 * the frontend's menu, and `keylock command` through a local socket.
 *
 * The socket is a datagram socket of an abstract name with this process's number in it: it needs no folder,
 * leaves nothing behind however the process ends, and the same name tells a second instance in this process
 * that a room is being played. An abstract name has no permissions of its own, so the kernel is asked with
 * every datagram who sent it (SCM_CREDENTIALS), and only the user of this process, or root, is obeyed. One
 * datagram, one line of words; the answer is "ok …" or "error …". */
#ifndef KLW_CONTROL_H
#define KLW_CONTROL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core_wrapper/config.h"

#define KL_CONTROL_NAME "keylock-session-" /* and the number of the process */

/* Makes the socket. False where this process has one: a second instance. *fd stays -1 where there are no such
 * sockets here. */
bool kl_control_claim(int *fd);

/* The room's game begins: what the frontend's menu says now is where changes count from. */
void kl_control_begin(void);
/* Once a call of retro_run. */
void kl_control_turn(uint64_t now_us);
/* Forgets the menu. The socket is the caller's to close. */
void kl_control_end(void);

/* What of a polled pad is the game's; does what a hot key says. */
uint16_t kl_control_pad(unsigned port, uint16_t pad);

/* What the frontend's menu wishes for a new room that has a clock: policy, budget, spacing; where the player
 * has not said it elsewhere. */
void kl_control_wish(struct kl_params *p, const struct kl_config *said);

#endif
