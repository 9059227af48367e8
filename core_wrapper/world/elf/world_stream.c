#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core_wrapper/world/world_archive.h"
#include "core_wrapper/world/world_private.h"

/* The streams by which a core reads archives. Such a stream has no buffer, so that nobody reads further than
 * the core has asked for, and its bytes come from a mapping, so that a read costs no system call. */

struct stream {
    struct kl_stream noted;
    const uint8_t *bytes;
    size_t len, at;
    FILE *plain; /* for a core that asks for a descriptor */
};

/* C's stream asks for each byte alone: fread()'s replacement is the quick way. */
static ssize_t take(void *cookie, char *out, size_t size) {
    struct stream *s = cookie;
    size_t n = s->at < s->len ? s->len - s->at : 0;
    if (n > size) n = size;
    if (n) memcpy(out, s->bytes + s->at, n);
    if (n) kl_stream_note(&s->noted, s->at, s->at + n);
    s->at += n;
    return (ssize_t)n;
}

static int seek(void *cookie, off64_t *offset, int whence) {
    struct stream *s = cookie;
    off64_t base = whence == SEEK_SET ? 0 : whence == SEEK_CUR ? (off64_t)s->at : (off64_t)s->len;
    if (*offset < -base || *offset > INT64_MAX - base) {
        errno = EINVAL;
        return -1;
    }
    *offset += base;
    s->at = (size_t)*offset;
    return 0;
}

static int end(void *cookie) {
    struct stream *s = cookie;
    kl_stream_end(&s->noted);
    if (s->plain) fclose(s->plain);
    kl_file_unmap(s->bytes, s->len);
    free(s);
    return 0;
}

FILE *kl_world_archive_open(struct kl_world *w, const char *path) {
    static const cookie_io_functions_t functions = {.read = take, .seek = seek, .close = end};
    const void *bytes;
    char real[KL_FILE_PATH];
    bool is = path && kl_archive_is(path) && kl_file_real(path, real, sizeof real);
    struct stream *s = is ? calloc(1, sizeof *s) : NULL;
    if (!s || kl_file_map(real, &bytes, &s->len) != 0) {
        free(s);
        return NULL;
    }
    s->bytes = bytes;
    s->noted.directory = kl_archive_directory(s->bytes, s->len);
    FILE *self = fopencookie(s, "rb", functions);
    if (!self) {
        kl_file_unmap(s->bytes, s->len);
        free(s);
        return NULL;
    }
    s->noted.self = self;
    kl_stream_begin(w, &s->noted, real);
    setvbuf(self, NULL, _IONBF, 0);
    return self;
}

static struct stream *stream_of(struct kl_world *w, const FILE *f) {
    return (struct stream *)kl_stream_of(w, f);
}

/* In one piece; fread() is to read the rest, if any. */
static size_t read_piece(struct kl_world *w, void *out, size_t bytes, FILE *f) {
    struct stream *s = stream_of(w, f);
    if (!s || ftell(f) != (long)s->at) return 0; /* a byte was put back */
    return (size_t)take(s, out, bytes);
}

static size_t v_fread(struct kl_world *w, void *out, size_t size, size_t count, FILE *f) {
    size_t bytes = size && count <= SIZE_MAX / size ? size * count : 0;
    size_t got = bytes ? read_piece(w, out, bytes, f) : 0;
    if (!got) return fread(out, size, count, f);
    if (got < bytes) got += fread((char *)out + got, 1, bytes - got, f); /* marks the end */
    return got / size;
}
KL_TURNED(size_t, v_fread, (void *out, size_t size, size_t count, FILE *f), out, size, count, f)

/* A stream without buffer stays one. */
static int v_setvbuf(struct kl_world *w, FILE *f, char *buffer, int mode, size_t size) {
    return stream_of(w, f) ? 0 : setvbuf(f, buffer, mode, size);
}
KL_TURNED(int, v_setvbuf, (FILE * f, char *buffer, int mode, size_t size), f, buffer, mode, size)
static void v_setbuf(struct kl_world *w, FILE *f, char *buffer) {
    if (!stream_of(w, f)) setbuf(f, buffer);
}
KL_TURNED(void, v_setbuf, (FILE * f, char *buffer), f, buffer)

/* A descriptor is of another stream of the same file, whose reads nobody sees. */
static int v_fileno(struct kl_world *w, FILE *f) {
    char path[KL_FILE_PATH];
    struct stream *s = stream_of(w, f);
    if (!s) return fileno(f);
    if (kl_stream_unseen(&s->noted, path) && !s->plain) s->plain = fopen(path, "rb");
    return s->plain ? fileno(s->plain) : -1;
}
KL_TURNED(int, v_fileno, (FILE * f), f)

const struct kl_hook kl_world_stream_hooks[] = {
    KL_HOOK("fread", v_fread),
    KL_HOOK("setvbuf", v_setvbuf),
    KL_HOOK("setbuf", v_setbuf),
    KL_HOOK("fileno", v_fileno),
    KL_HOOK_END,
};

/* --- open files --- */

/* The open files of a core. */

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
