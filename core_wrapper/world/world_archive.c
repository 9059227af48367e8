/* The archives that a core reads through C's streams: noted is which of their bytes it gets.
 *
 * Such a stream has no buffer, so that nobody reads further than the core has asked for, and its bytes come
 * from a mapping, so that a read costs no system call. */
#include "core_wrapper/world/world_private.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/platform/file.h"
#include "net/platform/thread.h"

#define SPANS_MAX 4096

struct spans {
    struct kl_archive_span at[SPANS_MAX]; /* sorted, apart from each other */
    unsigned count;
    bool all; /* too many: all of the file */
};

/* An archive that was opened. */
struct read_file {
    struct read_file *next;
    char *path;    /* real */
    unsigned open; /* streams that are open just now */
    struct spans spans;
};

/* An open stream. Before a reader of a zip has come to the directory, it looks for the end record, and may
 * read over the last members for that: those reads do not count once it reads from the directory's first
 * byte. */
struct stream {
    struct kl_world_archives *archives;
    struct read_file *file; /* NULL: nobody asks any more */
    const uint8_t *bytes;
    size_t len, at, directory;
    size_t read_to; /* the end of the last read */
    bool found;
    FILE *self, *plain; /* plain: for a core that asks for a descriptor */
    struct stream *next;
    struct spans before;
};

static void forget_spans(struct spans *s) {
    s->count = 0;
    s->all = false;
}

static void add_span(struct spans *s, uint64_t from, uint64_t to) {
    unsigned first = 0;
    while (first < s->count && s->at[first].to < from)
        first++;
    unsigned last = first; /* [first, last) touch the new one */
    for (; last < s->count && s->at[last].from <= to; last++) {
        if (s->at[last].from < from) from = s->at[last].from;
        if (s->at[last].to > to) to = s->at[last].to;
    }
    if (last == first && s->count == SPANS_MAX) {
        s->all = true;
        return;
    }
    memmove(s->at + first + 1, s->at + last, (s->count - last) * sizeof *s->at);
    s->count = s->count + 1 - (last - first);
    s->at[first] = (struct kl_archive_span){from, to};
}

static void note_read(struct stream *s, uint64_t from, uint64_t to) {
    kl_mutex_lock(&s->archives->lock);
    bool goes_on = from == s->read_to; /* then it does not know that the directory begins here */
    s->read_to = to;
    if (!s->found && s->directory && from == s->directory && !goes_on) {
        s->found = true;
        forget_spans(&s->before);
    }
    if (!s->directory || to > s->directory) to = s->directory ? s->directory : to;
    struct spans *to_list = s->found && s->file ? &s->file->spans : &s->before;
    if (from < to) add_span(to_list, from, to);
    kl_mutex_unlock(&s->archives->lock);
}

/* ---- the stream ---- */

/* C's stream asks for each byte alone: kl_world_archive_fread() is the quick way. */
static ssize_t take(void *cookie, char *out, size_t size) {
    struct stream *s = cookie;
    size_t n = s->at < s->len ? s->len - s->at : 0;
    if (n > size) n = size;
    if (n) memcpy(out, s->bytes + s->at, n);
    if (n) note_read(s, s->at, s->at + n);
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

/* All that was read while the stream was open counts from now on. */
static void commit(struct stream *s) {
    struct read_file *f = s->file;
    for (unsigned i = 0; f && i < s->before.count; i++)
        add_span(&f->spans, s->before.at[i].from, s->before.at[i].to);
    if (!f) return;
    f->spans.all |= s->before.all;
    f->open--;
}

static int end(void *cookie) {
    struct stream *s = cookie, **at = &s->archives->stream;
    kl_mutex_lock(&s->archives->lock);
    commit(s);
    while (*at != s)
        at = &(*at)->next;
    *at = s->next;
    kl_mutex_unlock(&s->archives->lock);
    if (s->plain) fclose(s->plain);
    kl_file_unmap(s->bytes, s->len);
    free(s);
    return 0;
}

static struct read_file *file_of(struct kl_world_archives *a, const char *real, bool make) {
    struct read_file *f = a->file;
    while (f && strcmp(f->path, real) != 0)
        f = f->next;
    if (f || !make) return f;
    f = calloc(1, sizeof *f);
    if (!f || !(f->path = strdup(real))) {
        free(f);
        return NULL;
    }
    f->next = a->file;
    return a->file = f;
}

static void list_stream(struct kl_world_archives *a, struct stream *s, const char *real) {
    s->archives = a;
    kl_mutex_lock(&a->lock);
    s->file = file_of(a, real, true);
    if (s->file) s->file->open++;
    s->next = a->stream;
    a->stream = s;
    kl_mutex_unlock(&a->lock);
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
    s->directory = kl_archive_directory(s->bytes, s->len);
    s->self = fopencookie(s, "rb", functions);
    if (!s->self) {
        kl_file_unmap(s->bytes, s->len);
        free(s);
        return NULL;
    }
    list_stream(&w->archives, s, real);
    setvbuf(s->self, NULL, _IONBF, 0);
    return s->self;
}

static struct stream *stream_of(const struct kl_world_archives *a, const FILE *f) {
    struct stream *s = a->stream;
    while (s && s->self != f)
        s = s->next;
    return s;
}

size_t kl_world_archive_fread(struct kl_world *w, void *out, size_t bytes, FILE *f) {
    struct kl_world_archives *a = &w->archives;
    kl_mutex_lock(&a->lock);
    struct stream *s = stream_of(a, f);
    kl_mutex_unlock(&a->lock);
    if (!s || ftell(f) != (long)s->at) return 0; /* a byte was put back */
    return (size_t)take(s, out, bytes);
}

bool kl_world_archive_has(struct kl_world *w, const FILE *f) {
    struct kl_world_archives *a = &w->archives;
    kl_mutex_lock(&a->lock);
    bool has = stream_of(a, f) != NULL;
    kl_mutex_unlock(&a->lock);
    return has;
}

FILE *kl_world_archive_plain(struct kl_world *w, FILE *f) {
    struct kl_world_archives *a = &w->archives;
    kl_mutex_lock(&a->lock);
    struct stream *s = stream_of(a, f);
    FILE *plain = s ? s->plain : f;
    if (s && s->file) {
        s->file->spans.all = true;
        if (!plain) plain = s->plain = fopen(s->file->path, "rb");
    }
    kl_mutex_unlock(&a->lock);
    return plain;
}

void kl_world_archive_unseen(struct kl_world *w, const char *real) {
    struct kl_world_archives *a = &w->archives;
    kl_mutex_lock(&a->lock);
    struct read_file *f = file_of(a, real, true);
    if (f) f->spans.all = true;
    kl_mutex_unlock(&a->lock);
}

void kl_world_archives_clear(struct kl_world *w) {
    struct kl_world_archives *a = &w->archives;
    kl_mutex_lock(&a->lock);
    for (struct stream *s = a->stream; s; s = s->next)
        s->file = NULL;
    while (a->file) {
        struct read_file *f = a->file;
        a->file = f->next;
        free(f->path);
        free(f);
    }
    kl_mutex_unlock(&a->lock);
}

const struct kl_archive_span *kl_world_archive_read(struct kl_world *w, const char *real, unsigned *count) {
    struct kl_world_archives *a = &w->archives;
    kl_mutex_lock(&a->lock);
    struct read_file *f = file_of(a, real, false);
    bool known = f && !f->open && !f->spans.all;
    *count = known ? f->spans.count : 0;
    kl_mutex_unlock(&a->lock);
    return known ? f->spans.at : NULL;
}
