/* The open files of a core. */
#include <stdio.h>

#include "core_wrapper/world/world_private.h"

/* Windows's fflush() drops what a stream has read beforehand, and leaves the file's place behind it. */
void kl_handle_flush(struct kl_world *w, const struct kl_handle *h) {
    int64_t at;
    if (!h->stream) return;
    bool known = w->real.fgetpos(h->stream, &at) == 0;
    w->real.fflush(h->stream);
    if (known) w->real.fsetpos(h->stream, &at);
}

int64_t kl_handle_tell(struct kl_world *w, const struct kl_handle *h) {
    int64_t at = -1;
    if (!h->stream) return w->real.lseeki64(h->fd, 0, SEEK_CUR);
    return w->real.fgetpos(h->stream, &at) == 0 ? at : -1;
}

/* Bytes that a stream has read beforehand go. */
void kl_handle_seek(struct kl_world *w, const struct kl_handle *h, int64_t at) {
    if (h->stream) {
        w->real.fflush(h->stream);
        w->real.fsetpos(h->stream, &at);
    } else {
        w->real.lseeki64(h->fd, at, SEEK_SET);
    }
}
