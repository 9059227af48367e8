/* slab.h - a private file of a fixed size that is written in place. Its place on the disk is taken at the
 * beginning, so a full disk is met there alone. If the system can map it, a write is a copy in memory: it
 * survives the process (kill -9) and costs no system call. Nothing is forced to the disk. */
#ifndef KL_PLATFORM_SLAB_H
#define KL_PLATFORM_SLAB_H

#include "net/platform/file.h"

struct kl_slab {
    uint8_t *bytes; /* the content, to be read; NULL: closed */
    size_t len;
    bool mapped; /* else each write is one to the file, which may fail */
    struct kl_file file;
};

/* Takes over an open file (kl_file_open) and makes it `len` bytes long; its bytes below stay, new ones are 0.
 * 0; or -1 with why, and the file is still the caller's. */
int kl_slab_take(struct kl_slab *s, const struct kl_file *file, size_t len, char *why, size_t why_len);
/* Writes within the content. False: it could not be written. */
bool kl_slab_put(struct kl_slab *s, size_t at, const void *from, size_t len);
void kl_slab_close(struct kl_slab *s); /* a closed one: nothing */

#endif
