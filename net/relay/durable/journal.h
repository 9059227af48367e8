/* journal.h - the relay's journal, by which rooms survive a restart: two files a room, in a folder of its
 * own.
 *
 *     ROOMID.klr   the match as it was played (net/RECORD.md): whole intervals, some 17 s at once
 *     ROOMID.tail  the part of the room that no recording has, and the frames since (tail.h)
 *
 * Its promise: frames stand in the tail before any client gets them. So a relay that is killed, even by
 * kill -9, loses no frame that a client has run. Nothing is forced to the disk: the promise does not cover
 * power loss or a crash of the system.
 *
 * A room's files begin with its first frames, after the game has begun. As the room ends, its recording is
 * made whole, with END. Then both files are removed; or the recording moves to those that the relay's host
 * keeps (kept.h), if the room's door says so. Frames reach the recording first, and then a new slot of the
 * tail begins behind them: whenever the relay dies, each frame stands in one of the two, or in both, and
 * counts once. A full disk never stops a room: the tail has its place already. If the recording cannot grow,
 * this is logged once and counted, and tried again each second; the tail goes on while it has place, and
 * later frames come from the room's history. If the history has lost them, or the recording would grow above
 * the limit, the room's journal ends: after a restart the room is made again up to there, and clients with
 * more go back to a state of their own, or begin anew. If all rooms together would have more than their
 * limit, the files of the room with the most are removed: it ends with the relay.
 *
 * Not in it: session keys, counters, tokens (their hashes are), passwords (their verifier is, sealed). */
#ifndef KL_JOURNAL_H
#define KL_JOURNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "net/engine/msg.h"
#include "net/relay/durable/kept.h"
#include "net/relay/room/journal_room.h"

struct kl_journal;
struct kl_lobby;
struct kl_lobby_room;

struct kl_journal_stats {
    uint64_t bytes;    /* written since the start */
    uint64_t failures; /* writes that failed */
    uint64_t over;     /* journals that ended before their rooms */
};

struct kl_journal_limits {
    uint64_t room_bytes; /* of one recording */
    uint64_t all_bytes;  /* of all rooms' files together */
};

/* Makes the folder (mode 0700) if it is missing, and holds it: -1, with one line in err, if another relay
 * holds it, or it cannot be used. */
int kl_journal_open(struct kl_journal **out, const char *dir, struct kl_journal_limits limits, char *err,
                    size_t err_len);
/* The same for one of several processes, whose parent holds the folder. */
int kl_journal_open_held(struct kl_journal **out, const char *dir, struct kl_journal_limits limits, char *err,
                         size_t err_len);
/* Recordings of rooms whose door says `recorded` are kept in this folder from now on. -1, with one line in
 * err, if it cannot be used, or is not on the journal's file system. */
int kl_journal_keep_in(struct kl_journal *j, const char *dir, struct kl_kept_limits limits, char *err,
                       size_t err_len);
void kl_journal_close(struct kl_journal *j); /* NULL: nothing */
/* kl_kept_wish() and kl_kept_next() of these recordings; false also if none are kept, or j is NULL. */
bool kl_journal_wish(struct kl_journal *j, const struct kl_kept_wish *w);
bool kl_journal_next_wish(struct kl_journal *j, struct kl_kept_wish *out);
struct kl_journal_stats kl_journal_stats(const struct kl_journal *j);

/* Only inside net/relay, with l->journal; all do nothing if that is NULL. */

/* Makes the rooms of all files again by their tickets alone (lobby_ticket.h), so that their names, doors and
 * seats are taken; they wait for their members, and are closed when the seats' time is over. Files that are
 * none of this relay's, or cannot be read, are named in the log and left alone. With the relay's secret set,
 * before the first client. */
void kl_journal_load(struct kl_lobby *l, uint64_t now_us);

/* Nobody can play in the room before it is read. */
bool kl_journal_is_unread(const struct kl_lobby_room *r);
/* The next part of reading an unread room, some milliseconds of work: its start data and its files' checks
 * first, then 10,000 frames a call. One room is read at a time, so the part may be another room's. r may be
 * gone then: look for its name. That room is unread still, or read; or none can be made, which the log says,
 * and its files are left alone. A recording's first wrong block is named in the log, and cut off with all
 * behind it. */
void kl_journal_read(struct kl_lobby_room *r, uint64_t now_us);

/* The hashes of a verdict, and clients that took a state, are noted: they reach the recording with the next
 * frames, and are lost with a relay that is killed before. */
void kl_journal_verdict(struct kl_lobby_room *r, const struct kl_verdict *v);
void kl_journal_loaded(struct kl_lobby_room *r, unsigned member, const struct kl_healed *h);
/* And a member's signature under its own hashes, if it is its seat key's: a few for each part. */
void kl_journal_signed(struct kl_lobby_room *r, unsigned member, const struct kl_sign *s);
/* A member's words on something that was wrong just now. False: the match has no
 * recording that stays. */
bool kl_journal_report(struct kl_lobby_room *r, unsigned member, const char *text);

/* Asks the verifier beside the relay about the hashes of this label (kl_kept_ask()). 0; 1: not yet, since the
 * recording does not go so far; -1: this match has no recording that stays, or one that is too long, or too
 * many questions are open. */
int kl_journal_ask(struct kl_lobby_room *r, uint32_t label, uint64_t now_us);
/* kl_kept_answer() and kl_kept_ask_no_more(). */
enum kl_kept_ask kl_journal_answer(const struct kl_lobby_room *r, uint32_t label, struct kl_klr_hash *found,
                                   char why[KL_TIE_WHY]);
void kl_journal_ask_no_more(const struct kl_lobby_room *r);

/* Writes the frames that the room has closed, and a new ticket. Each time before frames go out. */
void kl_journal_write(struct kl_lobby_room *r, uint64_t now_us);
/* The room has ended: its recording gets the last frames, and END with the reason, unless it broke off
 * before. Then its files go, or the recording is kept. */
void kl_journal_end(struct kl_lobby_room *r, const char *reason, uint64_t now_us);
/* Its files are left as they are. */
void kl_journal_leave(struct kl_lobby_room *r);
/* Its files go, without END: another relay of the fleet has the match by now. */
void kl_journal_forget(struct kl_lobby_room *r);
/* kl_fleet_mark() of its files; 0: it has none. */
uint64_t kl_journal_mark(const struct kl_lobby_room *r);
/* Makes the room of these files as kl_journal_load() does. */
void kl_journal_take(struct kl_lobby *l, const uint8_t id[16], uint64_t now_us);

#endif
