/* journal_private.h - the journal as its own parts see it: journal.c writes, journal_load.c loads. */
#ifndef KL_JOURNAL_PRIVATE_H
#define KL_JOURNAL_PRIVATE_H

#include "net/record/klr_body.h"
#include "net/record/pieces.h"
#include "net/relay/durable/journal.h"
#include "net/relay/durable/store.h"

#define KL_JOURNAL_FRAMES 1024 /* whole intervals of so many frames go into the recording */

struct kl_journal {
    struct kl_store *store;
    struct kl_kept_recordings *kept; /* NULL: no recording is kept */
    struct kl_journal_limits limits;
    struct kl_journal_stats stats;
};

/* --- journal_said.c: HASH and EVENT, until the recording grows --- */
struct kl_journal_said *kl_journal_said_new(void); /* freed by free(); NULL: no memory */
/* Members whose seats have changed since the last call. */
void kl_journal_seats(struct kl_lobby_room *r);
/* They become blocks at `end`, which moves; their bytes, until the next call. */
const uint8_t *kl_journal_said_take(struct kl_journal_said *s, struct kl_klr_place *end, size_t *len);

/* The newest hashes that all machines agreed on, of the room's compared parts. has 0: there are none. */
struct kl_klr_hash kl_journal_said_agreed(const struct kl_journal_said *s);

/* --- journal_seal.c: what the relay signs --- */
/* Whether a seal of the frames below `end` is due: one a minute. */
bool kl_journal_seals(const struct kl_lobby_room *r, uint32_t end, uint64_t now_us);
/* Of the recording up to `frames`. */
void kl_journal_seal(const struct kl_lobby_room *r, const struct kl_digest *frames, struct kl_proof *out);

/* Whole intervals go into the recording, and then a new slot of the tail begins behind them. */
void kl_journal_roll(struct kl_lobby_room *r, uint64_t now_us);
/* Moves a closed recording to those that are kept. False: it cannot be moved, and stays, which the log says.
 */
bool kl_journal_keep(const struct kl_journal *j, const uint8_t id[KL_STORE_ID], uint64_t epoch_s, bool ended,
                     bool reported);
/* Nothing more is written: the files stay as they are until the room ends. */
void kl_journal_give_up(struct kl_lobby_room *r, const char *why);

/* Gathered frames as the recording's last PIECES, whatever its limits are. all: also those of an interval
 * under way. False with why. */
bool kl_journal_add_last(struct kl_lobby_room *r, struct kl_pieces *p, bool all, char *why, size_t why_len);

/* --- journal_load.c --- */
/* The room goes while it is read; harmless if it is not being read. */
void kl_journal_stop_reading(const struct kl_lobby_room *r);
/* An unread room's recording is open from now on, and has the frames of the room's tail; p carries them.
 * False: it is damaged, which the log says, or has its END; or with why: it cannot be written. */
bool kl_journal_take_over(struct kl_lobby_room *r, struct kl_pieces *p, char *why, size_t why_len);

#endif
