/* net_journal.h - for tests of the relay: the journal of a long game, as a relay that was killed in it would
 * have left it, made in a second instead of an hour. */
#ifndef NET_JOURNAL_H
#define NET_JOURNAL_H

#include "net/session/digest.h"
#include "net/session/seat.h"
#include "tests/net/net_player.h"

struct long_game {
    struct kl_hello hello; /* of the room's players, but for their names */
    uint32_t frames, spacing;
    unsigned writes; /* frames that one record holds, as many as close at once */
    struct kl_seat_key seat[2];
    struct kl_digest digest; /* of all whole intervals */
    uint8_t open[KL_DIGEST]; /* of the frames after them */
    uint64_t bytes;          /* of the file */
};

/* Plays it by two players at random and leaves its journal in `folder`, for a relay whose key is in `state`.
 * False, with a line on stderr, where that fails. */
bool journal_make(struct long_game *g, const char *state, const char *folder);

#endif
