/* spool.h - a text file that is written behind its writer's back: a thread writes, so that no call of the
 * frontend waits for a disk. */
#ifndef KLW_SPOOL_H
#define KLW_SPOOL_H

#include <stdbool.h>
#include <stddef.h>

#include "net/platform/thread.h"

#define KL_SPOOL_BYTES (16u << 20) /* that wait for the disk; more have failed */

struct kl_spool {
    char *path; /* NULL: closed, every call but kl_spool_open() does nothing */
    struct kl_mutex mutex;
    struct kl_cond news;
    struct kl_thread thread;
    void (*then)(const char *path); /* the thread calls it once all is written and closed; NULL: none */
    /* under the mutex */
    char *waiting, *under_way; /* the second is the thread's while it writes */
    size_t len, cap, cap_under_way;
    bool opened, ends, failed;
    int error; /* errno of the opening; 0: it is open */
};

/* The thread makes the file anew. s: closed; its bytes do not matter. 0, or -1 with errno: no thread. */
int kl_spool_open(struct kl_spool *s, const char *path);
/* Waits until the file is open. 0, or -1 with errno. */
int kl_spool_opened(struct kl_spool *s);
void kl_spool_put(struct kl_spool *s, const char *bytes, size_t len);
/* At most 1023 bytes. */
void kl_spool_print(struct kl_spool *s, const char *format, ...) __attribute__((format(__printf__, 2, 3)));
/* No more will come; the thread writes the rest. Waits for nothing. */
void kl_spool_finish(struct kl_spool *s);
/* The file cannot be written, or the disk is too slow: bytes are missing. */
bool kl_spool_failed(struct kl_spool *s);
/* Waits until all is written, and closes the file. 0, or -1: bytes are missing. Again: does nothing. */
int kl_spool_close(struct kl_spool *s);

#endif
