/* journal_room.h - a room's part of the journal (net/relay/durable/journal.h). */
#ifndef KL_JOURNAL_ROOM_H
#define KL_JOURNAL_ROOM_H

#include <stdbool.h>
#include <stdint.h>

#include "net/platform/file.h"
#include "net/session/digest.h"

/* Frames that a MARK (journal_file.h) covers, of all those in a file; all zero: none. */
struct kl_journal_marked {
    struct kl_digest chain; /* their whole intervals, and their end */
    uint64_t at;            /* frames from there on stand in records from this byte on; 0: the first */
    uint32_t next_frames;   /* the first frame of those from next_at on */
    uint64_t next_at;       /* a byte of the file */
};

/* A room's part of the journal; all zero: it has no file. */
struct kl_journal_room {
    enum { KL_JOURNAL_NONE, KL_JOURNAL_OPEN, KL_JOURNAL_OVER } state; /* over: nothing more is written */
    bool failing; /* the last write failed; no other before: */
    uint64_t retry_us;
    struct kl_file file;
    uint64_t bytes;  /* whole records end there */
    uint32_t frames; /* those below are written */
    uint32_t ticket; /* number of the newest in it */
    struct kl_journal_marked marked;
    uint8_t key[32];
};

#endif
