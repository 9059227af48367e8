/* command.h - the room's commands: giving one, and what each does at its keyframe. docs/design.md §4.
 *
 * Giving and doing are apart: whoever gives a command does it when the room does, at the same frame as
 * everybody. The ways to give one are control.h, api.c and the frontend's own calls (reset, disks). */
#ifndef KLW_COMMAND_H
#define KLW_COMMAND_H

#include "core_wrapper/command_words.h"
#include "core_wrapper/wrapper.h"

/* ---- giving: command_give.c ---- */

/* Gives the command that these words say (command_words.h); answer is one line either way. 0, or -1 where it
 * was not given: wrong words, no game yet, something that this player or core cannot. What is done in the end
 * everybody sees on the screen. */
int kl_command_do(const char *words, char *answer, size_t cap);
/* The same, for keys and menus: an answer is shown only where it was not given. */
void kl_command_key(const char *words);
/* Disk `index` of the core, or KL_DISK_NONE. */
int kl_command_disk(uint16_t index);
/* Its middle part: fills in what the words leave open, by the room as it is known here. 0, or -1 with why it
 * cannot be. */
int kl_command_fit(struct kl_words *w, char *answer, size_t cap);
/* Nothing has been given in this game yet. */
void kl_command_give_begin(void);

/* ---- doing: command.c ---- */

/* Before a frame runs, after the hash of the state before it: does what the room's commands say. Every frame:
 * some take more than one. from_snapshot: only those behind the SNAPSHOT, whose state the core is in. */
void kl_command_before(const struct kl_frame *f, bool from_snapshot);
/* Its two parts: one command, before this frame; what earlier ones have left to do. */
void kl_command_obey(const struct kl_command *c, uint32_t frame);
void kl_command_pending(uint32_t frame);

/* What the commands so far have made of the room, for a snapshot, and out of one. */
struct kl_snapshot_head;
void kl_command_keep(struct kl_snapshot_head *h);
void kl_command_restore(const struct kl_snapshot_head *h);
/* Before a frame that is run again: does what these commands say, without a word. from_snapshot: only those
 * behind the SNAPSHOT. */
void kl_command_again(const struct kl_frame *f, const struct kl_commands *set, bool from_snapshot);

/* The seat that the pads of seat s play: s, until somebody swapped. */
unsigned kl_command_seat(unsigned s);
/* The seats whose pads play these: players are numbered as the game has them, the roster's seats as they were
 * given. */
uint8_t kl_command_pads(uint8_t played);
/* NULL: no such client in the roster. Borrowed from it. */
const struct kl_member *kl_command_member(unsigned client);
/* "ann" for a client of the roster, "relay" for KL_RELAY_CLIENT. Borrowed until the next call. */
const char *kl_command_name(unsigned client);

/* Frame 0 is next: no swaps, an empty slot, the room's parameters as they were made. */
void kl_command_begin(void);
/* The session is over. Harmless where there was none. */
void kl_command_end(void);

#endif
