/* journal_private.h - the journal as its own parts see it: journal.c writes, journal_load.c loads. */
#ifndef KL_JOURNAL_PRIVATE_H
#define KL_JOURNAL_PRIVATE_H

#include "net/relay/durable/journal.h"
#include "net/relay/durable/store.h"

struct kl_journal {
    struct kl_store *store;
    struct kl_journal_limits limits;
    struct kl_journal_stats stats;
};

/* --- journal_said.c: HASH and EVENT, until the recording grows --- */
struct kl_journal_said *kl_journal_said_new(void); /* freed by free(); NULL: no memory */
/* Members whose seats have changed since the last call. */
void kl_journal_seats(struct kl_lobby_room *r);
/* They become blocks at `end`, which moves; their bytes, until the next call. */
const uint8_t *kl_journal_said_take(struct kl_journal_said *s, struct kl_klr_place *end, size_t *len);

/* Whole intervals go into the recording, and then a new slot of the tail begins behind them. */
void kl_journal_roll(struct kl_lobby_room *r, uint64_t now_us);
/* Nothing more is written: the files stay as they are until the room ends. */
void kl_journal_give_up(struct kl_lobby_room *r, const char *why);

/* The room goes while it is read; harmless if it is not being read. journal_load.c. */
void kl_journal_stop_reading(const struct kl_lobby_room *r);

#endif
