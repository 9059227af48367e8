/* join.h - this process's way into its room: its description of itself, the trusted relay, and the seat of
 * an earlier process that was killed. net/PROTOCOL.md §9. */
#ifndef KLW_JOIN_H
#define KLW_JOIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core_wrapper/core/content.h"
#include "net/session/url.h"
#include "net/transport/link.h"

struct kl_match;

/* Opens the link: to the seat that a killed process left, else as somebody new. False after
 * kl_frontend_fail(). */
bool kl_join_open(struct kl_match *m);
/* The room of a player who named none: the nth one of this game (wanted_room.h). */
void kl_join_room(struct kl_match *m, char out[KL_NAME_MAX], unsigned nth);
/* The identity of the game, as the relay's list of rooms has it. */
void kl_join_identity(struct kl_match *m, uint8_t out[16]);
/* The link has ended. True if the reason was that the relay no longer knows the seat of the earlier process,
 * or that of a game that has not begun: a link for a new player is then open, or will be after more calls. */
bool kl_join_anew(struct kl_match *m);
/* Writes the room's link to standard error, once it is known whom we reached and it was asked for. Says once
 * that others see this address. */
void kl_join_invite(struct kl_match *m);
/* True if the rooms that we go to are those whose players may have other versions of the core. */
bool kl_join_any_version(struct kl_match *m);
/* Writes the same link, with core and game if it has a fingerprint. False if this machine is not host of a
 * room that a link can name. */
bool kl_join_write_link(struct kl_match *m, char *out, size_t cap, const char *fingerprint);
/* The same for the host's screen, while the room waits: short, so that it can be read out and typed, and
 * so without the relay's fingerprint. "" else. */
void kl_join_link(struct kl_match *m, char *out, size_t cap);
/* Leaves the room; the core is not touched. Waits at most linger_ms for the goodbye. Harmless without a
 * room. */
void kl_join_leave(struct kl_match *m, unsigned linger_ms);

/* Core and game of this room, as an invitation names them. net/PROTOCOL.md §9. */

#define KL_INVITE_BYTES (64u << 20) /* of a game with a checksum: of a larger one the name must do */

/* The files of this match that the room compares: those of the start, for HELLO and READY; the
 * disk that is to go in; others that the core opens in play. Their checksums come from a thread (sums.h).
 * net/ROOMS.md §7, Files in play. */

#define KL_LATE_BYTES (UINT64_C(8) << 30) /* of one file opened in play; a larger one is not compared */

/* Begins to read what HELLO needs. True: it is read; a small game's files are within the call. */
bool kl_checks_known(struct kl_match *m);
/* A way into a room begins: nothing is owed. */
void kl_checks_joins(struct kl_match *m);
/* The core has been loaded for the room. READY goes out now, or in a later turn. */
void kl_checks_loaded(struct kl_match *m);
/* With each call of the frontend, in a room. */
void kl_checks_turn(struct kl_match *m, uint64_t now_us);
/* In a new session: the relay may not have heard the last words. */
void kl_checks_connected(struct kl_match *m);
/* For the screen: the disk that is looked at, from 1; 0: the game's files. False: nothing is.
 * percent: 0..100. */
bool kl_checks_checking(struct kl_match *m, unsigned *disk, unsigned *percent);
/* Ends the thread and forgets all. */
void kl_checks_close(struct kl_match *m);

#endif
