/* journal_room.h - a room's part of the journal (net/relay/durable/journal.h). */
#ifndef KL_JOURNAL_ROOM_H
#define KL_JOURNAL_ROOM_H

#include "net/platform/file.h"
#include "net/record/klr.h"
#include "net/session/digest.h"

/* A place in the room's recording. */
struct kl_tail_base {
    struct kl_klr_place klr; /* its end then */
    struct kl_digest chain;  /* of the frames in it */
};

/* A room's part of the journal; all zero: it has no files. */
struct kl_journal_room {
    enum {
        KL_JOURNAL_NONE,
        KL_JOURNAL_UNREAD, /* a relay was started anew, and nobody has come back to the room yet */
        KL_JOURNAL_OPEN,
        KL_JOURNAL_OVER /* nothing more is written */
    } state;
    bool ended;    /* END stands in the recording */
    bool reported; /* a report of a player does */
    bool failing;  /* the last write failed; no other before: */
    uint64_t retry_us;
    uint64_t sealed_us;           /* of the newest seal; 0: none since the relay was started */
    struct kl_file file;          /* the recording */
    struct kl_tail_base base;     /* the place behind its last block */
    struct kl_tail *tail;         /* net/relay/durable/tail.h; the journal's own */
    struct kl_journal_said *said; /* net/relay/durable/journal_said.c's; NULL: no memory for it */
    uint32_t frames;              /* those below are written */
    uint32_t ticket;              /* number of the newest in it */
};

#endif
