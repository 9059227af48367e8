/* command.h - the kinds of commands that the engine itself does not act on. net/PROTOCOL.md §5, Commands.
 *
 * The engine's own (policy, swap, pause) are in lock_relay.h. Kinds 4 to 15 and 24 are the relay's and stand
 * at no keyframe; the others are the clients'. net/session/command_words.h writes and reads their data. */
#ifndef KL_COMMAND_H
#define KL_COMMAND_H

#include "net/engine/lock_relay.h"

enum {
    KL_COMMAND_HOST = 4,    /* u8 client: the room's host from now on */
    KL_COMMAND_LOCK = 6,    /* u8 1: nobody new comes in; 0: open again */
    KL_COMMAND_KICK = 7,    /* u8 client: is put out; or KL_WATCHER and a watcher's name */
    KL_COMMAND_BAN = 8,     /* the same: is put out, and stays out */
    KL_COMMAND_SAVED = 9,   /* u32 keyframe, u8 has, u64 hash: this client's slot after a SAVE */
    KL_COMMAND_DESYNC = 10, /* u8 enum kl_desync_policy */
    KL_COMMAND_REPORT = 11, /* text, UTF-8: something was wrong; for the relay's recording */
    KL_COMMAND_SEAT = 12,   /* u8 seats wanted; 0: the client watches; KL_SEAT_NEXT: it hands its seats on */
    KL_COMMAND_PLACES = 13, /* u8 seats that the game has, from now on */
    KL_COMMAND_DELAY = 14,  /* u16 seconds that watchers see the game later */
    KL_COMMAND_WATCHERS = 15, /* nothing: the relay answers with NOTICEs, the watchers' names */
    KL_COMMAND_RESET = 16,    /* nothing: retro_reset; a client's is a wish that others must share */
    KL_COMMAND_OPTION = 17,   /* KEY=VALUE: a core option, text */
    KL_COMMAND_DISK = 18,     /* u16 index: the disk goes out; a second later this one comes in */
    KL_COMMAND_CHAT = 19,     /* text, UTF-8 */
    KL_COMMAND_SAVE = 20,     /* nothing: every machine serializes into its copy of the room's slot */
    KL_COMMAND_LOAD = 21,     /* u32 keyframe: every machine unserializes its save of that keyframe */
    KL_COMMAND_SNAPSHOT =
        22,               /* nothing, the relay's only: every machine serializes, and reports size and hash */
    KL_COMMAND_MASK = 23, /* u8 number, u8 pieces, a piece of a mask of states: the host's finding */
    KL_COMMAND_VOICE = 24, /* u8 enum kl_voice_allowed: listeners to the players' voices; the relay's, too */
};
#define KL_SEAT_NEXT   255
#define KL_DISK_NONE   0xffff /* an index: the disk goes out, none comes in */
#define KL_SAVED_BYTES 13
#define KL_LOAD_BYTES  4
#define KL_MASK_PIECES 8                      /* of one mask at most */
#define KL_MASK_PIECE  (KL_COMMAND_BYTES - 2) /* bytes of one */

#endif
