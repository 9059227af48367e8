/* journal_private.h - the journal as its own parts see it: journal.c writes, journal_load.c loads. */
#ifndef KL_JOURNAL_PRIVATE_H
#define KL_JOURNAL_PRIVATE_H

#include "net/relay/durable/journal.h"

struct kl_journal {
    char dir[768];
    struct kl_file lock; /* DIR/.lock */
    uint64_t limit_bytes;
    struct kl_journal_stats stats;
};

#define KL_JOURNAL_ID        16
#define KL_JOURNAL_RECORDING "klr" /* the endings of a room's two files */
#define KL_JOURNAL_TAIL      "tail"

/* DIR/ROOMID.ENDING */
void kl_journal_path(const struct kl_journal *j, const uint8_t id[KL_JOURNAL_ID], const char *ending,
                     char out[KL_FILE_PATH]);
/* Removes both files; false if one stays. */
bool kl_journal_remove(const struct kl_journal *j, const uint8_t id[KL_JOURNAL_ID], char *err,
                       size_t err_len);

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

#endif
