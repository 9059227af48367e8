/* The open files of a core. */
#include <stdio.h>
#include <unistd.h>

#include "core_wrapper/world/world_private.h"

void kl_handle_flush(struct kl_world *w, const struct kl_handle *h) {
    (void)w;
    if (h->stream) fflush(h->stream);
}

int64_t kl_handle_tell(struct kl_world *w, const struct kl_handle *h) {
    (void)w;
    return h->stream ? ftello(h->stream) : lseek(h->fd, 0, SEEK_CUR);
}

/* Bytes that a stream has read beforehand go. */
void kl_handle_seek(struct kl_world *w, const struct kl_handle *h, int64_t at) {
    (void)w;
    if (h->stream) {
        fflush(h->stream);
        (void)fseeko(h->stream, at, SEEK_SET);
    } else {
        (void)lseek(h->fd, at, SEEK_SET);
    }
}
