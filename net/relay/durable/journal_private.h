/* journal_private.h - the journal as its own parts see it: journal.c writes, journal_load.c loads,
 * journal_mark.c writes and reads the marks that make loading quick. */
#ifndef KL_JOURNAL_PRIVATE_H
#define KL_JOURNAL_PRIVATE_H

#include "net/relay/durable/journal.h"
#include "net/relay/durable/journal_file.h"

struct kl_journal {
    char dir[768];
    struct kl_file lock; /* DIR/.lock */
    uint64_t limit_bytes;
    struct kl_journal_stats stats;
};

#define KL_JOURNAL_SUFFIX ".journal"
#define KL_JOURNAL_NAME   (2 * KL_JOURNAL_ID + sizeof KL_JOURNAL_SUFFIX)

void kl_journal_name(char out[KL_JOURNAL_NAME], const uint8_t id[KL_JOURNAL_ID]);
void kl_journal_path(const struct kl_lobby_room *r, char out[KL_FILE_PATH]);

/* --- journal_mark.c: MARK (journal_file.h) --- */
#define KL_JOURNAL_MARK_BYTES (256 * 1024) /* the longest */

/* All frames are written, and so many are not covered by a mark that the next one is due. */
bool kl_journal_mark_due(const struct kl_lobby_room *r);
/* Its body in buf, KL_JOURNAL_MARK_BYTES, to be written now, and the frames marked then. 0: there is none. */
size_t kl_journal_mark_write(const struct kl_lobby_room *r, uint8_t *buf, struct kl_journal_marked *m);

/* A body whose mac is right. Moves m (frames, intervals, at) behind it; false: it does not begin there. */
bool kl_journal_mark_look(const uint8_t *body, size_t len, struct kl_journal_marked *m);
/* Its frames go into the room, which has those before. False: no more can be done with this room. */
bool kl_journal_mark_adopt(struct kl_lobby_room *r, const uint8_t *body, size_t len);

#endif
