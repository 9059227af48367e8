/* command.h - the room's commands: gives them, does them, and runs a core's frames, each after its
 * commands. */
#ifndef KLW_COMMAND_H
#define KLW_COMMAND_H

#include "net/engine/command.h"
#include "net/session/command_words.h"

struct kl_core_run;
struct kl_match;

/* The room's commands: giving a command, and carrying it out at its keyframe. docs/design.md §4.
 *
 * Giving and doing are apart: the giver carries a command out when the room does, at the same frame as
 * everybody. Commands are given by control.h, api.c and the frontend's own calls (reset, disks). */

/* --- giving: command_give.c --- */

/* Gives the command of these words (command_words.h). answer gets one line in any case. Returns 0, or -1 if
 * it was not given: wrong words, no game yet, or impossible for this player or core. The effect of a given
 * command shows on every screen. */
int kl_command_do(struct kl_match *m, const char *words, char *answer, size_t cap);
/* kl_command_do() for keys and menus: shows the answer only if the command was not given. */
void kl_command_key(struct kl_match *m, const char *words);
/* Gives the command for disk `index` of the core, or KL_DISK_NONE. */
int kl_command_disk(struct kl_match *m, uint16_t index);
/* The middle part of kl_command_do(): fills in the data that the words leave open, from the room as this
 * machine knows it. Returns 0, or -1 with the reason in answer. */
int kl_command_fit(struct kl_match *m, struct kl_words *w, char *answer, size_t cap);
/* The caller's ways to try the last room once more, and to leave the room; false if there is nothing to try
 * or to leave. The word "again" does the first outside of a match. */
void kl_command_on(struct kl_match *m, bool (*again)(struct kl_match *), bool (*leave)(struct kl_match *));
/* True in a game: a line of chat may be typed. */
bool kl_command_may_chat(struct kl_match *m);
/* A game begins: forgets all commands given before. */
void kl_command_give_begin(struct kl_match *m);

/* --- doing: command.c --- */

/* Carries out a command of the room on the core of r, before its frame r->number. False, for KL_RUN_AHEAD
 * alone: the core cannot follow. */
bool kl_command_obey(struct kl_match *m, struct kl_core_run *r, const struct kl_command *c);

/* The seat that the pads of seat s play: s, until somebody swapped. */
unsigned kl_command_seat(struct kl_match *m, unsigned s);
/* Our pad, counted from 0, that plays this port of the core in a match; -1: none of ours does. */
int kl_command_pad(struct kl_match *m, unsigned port);
/* The seats whose pads play the seats `played`. Players are numbered as the game numbers them, the roster's
 * seats as they were given. */
uint8_t kl_command_pads(struct kl_match *m, uint8_t played);
/* The other way round. */
uint8_t kl_command_played(struct kl_match *m, uint8_t pads);
/* "ann (1)": a member of the roster, as shown to people. */
struct kl_name_shown kl_command_shown(struct kl_match *m, const struct kl_member *member);

/* Frame 0 is next: no swaps, an empty slot, the room's parameters as they were made. */
void kl_command_begin(struct kl_match *m);
/* The session is over. Harmless without a session. */
void kl_command_end(struct kl_match *m);

/* --- running a frame after its commands --- */

/* Runs a core's frames, each with the room's commands before it: the true core's (play.h), the same again
 * after a state was loaded (snapshot.h), the shown core's (run_ahead.h). None of these is called from
 * here. */

/* Runs frame f after its commands, which are in `set`; NULL: it has none. from_snapshot: only after the
 * commands behind SNAPSHOT, because the core is in that snapshot's state. hidden: the core may leave out its
 * picture. False, for KL_RUN_AHEAD alone: the core cannot follow a command, and the frame has not run. */
bool kl_core_run_frame(struct kl_match *m, struct kl_core_run *r, const struct kl_frame *f,
                       const struct kl_commands *set, bool from_snapshot, bool hidden);

/* Shows a picture, of whichever core is on the screen; m->play.showing grows by what that took. */
void kl_core_show(struct kl_match *m, const void *data, unsigned width, unsigned height, size_t pitch,
                  bool hidden);
/* The time that this thread has spent since then; {0}: since it began. */
struct kl_spent kl_core_spent(struct kl_spent since);

#endif
