/* checks.h - the files of this match that the room compares: those of the start, for HELLO and READY; the
 * disk that is to go in; others that the core opens in play. Their checksums come from a thread (sums.h).
 * net/ROOMS.md §7, Files in play. */
#ifndef KLW_CHECKS_H
#define KLW_CHECKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KL_LATE_BYTES (UINT64_C(8) << 30) /* of one file opened in play; a larger one is not compared */

struct kl_match;

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
