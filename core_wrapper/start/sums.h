/* sums.h - checksums of files, computed by a thread: a disk of 700 MB takes seconds, and the frontend must
 * not stand still for them. Each file is read once as long as it stays the same (path, size, time of
 * change).
 *
 * A struct of zeros is ready for use. Only one thread may call these functions. */
#ifndef KLW_SUMS_H
#define KLW_SUMS_H

#include "net/platform/file.h"
#include "net/platform/thread.h"

#define KL_SUMS 512 /* files of one session */

enum kl_sum_state {
    KL_SUM_BUSY, /* it is being read, or waits for its turn */
    KL_SUM_KNOWN,
    KL_SUM_MISSING, /* no plain file, or it cannot be read */
    KL_SUM_FULL,    /* more than KL_SUMS files were asked for, or there is no thread */
};

struct kl_sum {
    uint64_t bytes, hash; /* XXH3 of the bytes; of an archive, of its members without order and packing */
    uint32_t members;     /* of an archive that can be read here; else 0 */
};

/* By the thread and its owner; under the mutex but for `path`. */
struct kl_sum_entry {
    char *path;
    uint64_t bytes, changed;
    enum kl_sum_state state;
    struct kl_sum sum;
};

struct kl_sums {
    struct kl_mutex mutex;
    struct kl_cond news;
    struct kl_thread thread;
    bool runs, ends;
    unsigned count;
    struct kl_sum_entry *entry; /* KL_SUMS of them, once there is a thread */
    uint64_t done, asked;       /* bytes read, bytes to read, since the thread last had nothing to do */
};

/* The state of this file's checksum; the first call, and one after the file has changed, has it computed.
 * out: written with KL_SUM_KNOWN. Takes microseconds. */
enum kl_sum_state kl_sums_get(struct kl_sums *s, const char *path, struct kl_sum *out);
/* As kl_sums_get(), once it is not busy any more; with KL_SUM_FULL the caller's own thread reads the file. */
enum kl_sum_state kl_sums_wait(struct kl_sums *s, const char *path, struct kl_sum *out);
/* Waits until all files asked for are read, until_us (kl_now_us()) at the latest. True: they are. */
bool kl_sums_idle(struct kl_sums *s, uint64_t until_us);
/* Bytes read, and their sum with those that are still to be read. */
void kl_sums_progress(struct kl_sums *s, uint64_t *done, uint64_t *all);
/* Ends the thread in the middle of a file, and forgets all. Harmless twice. */
void kl_sums_close(struct kl_sums *s);

#endif
