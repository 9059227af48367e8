/* journal_private.h - the journal as its own parts see it: journal.c writes, journal_load.c loads. */
#ifndef KL_JOURNAL_PRIVATE_H
#define KL_JOURNAL_PRIVATE_H

#include "journal.h"
#include "journal_file.h"

struct kl_journal {
    char dir[768];
    int dir_fd; /* locked */
    uint64_t limit_bytes;
    struct kl_journal_stats stats;
};

#define KL_JOURNAL_SUFFIX ".journal"
#define KL_JOURNAL_NAME   (2 * KL_JOURNAL_ID + sizeof KL_JOURNAL_SUFFIX)

void kl_journal_name(char out[KL_JOURNAL_NAME], const uint8_t id[KL_JOURNAL_ID]);

#endif
