/* The archives that a core reads through C's streams: noted is which of their bytes it gets. The streams
 * themselves are in elf/. */
#include "core_wrapper/world/world_archive.h"

#include <stdlib.h>
#include <string.h>

/* An archive that was opened. */
struct kl_read_file {
    struct kl_read_file *next;
    char *path;    /* real */
    unsigned open; /* streams that are open just now */
    struct kl_spans spans;
};

static void add_span(struct kl_spans *s, uint64_t from, uint64_t to) {
    unsigned first = 0;
    while (first < s->count && s->at[first].to < from)
        first++;
    unsigned last = first; /* [first, last) touch the new one */
    for (; last < s->count && s->at[last].from <= to; last++) {
        if (s->at[last].from < from) from = s->at[last].from;
        if (s->at[last].to > to) to = s->at[last].to;
    }
    if (last == first && s->count == KL_SPANS_MAX) {
        s->all = true;
        return;
    }
    memmove(s->at + first + 1, s->at + last, (s->count - last) * sizeof *s->at);
    s->count = s->count + 1 - (last - first);
    s->at[first] = (struct kl_archive_span){from, to};
}

void kl_stream_note(struct kl_stream *s, uint64_t from, uint64_t to) {
    kl_mutex_lock(&s->archives->lock);
    bool goes_on = from == s->read_to; /* then it does not know that the directory begins here */
    s->read_to = to;
    if (!s->found && s->directory && from == s->directory && !goes_on) {
        s->found = true;
        s->before.count = 0;
        s->before.all = false;
    }
    if (!s->directory || to > s->directory) to = s->directory ? s->directory : to;
    struct kl_spans *to_list = s->found && s->file ? &s->file->spans : &s->before;
    if (from < to) add_span(to_list, from, to);
    kl_mutex_unlock(&s->archives->lock);
}

/* All that was read while the stream was open counts from now on. */
static void commit(struct kl_stream *s) {
    struct kl_read_file *f = s->file;
    for (unsigned i = 0; f && i < s->before.count; i++)
        add_span(&f->spans, s->before.at[i].from, s->before.at[i].to);
    if (!f) return;
    f->spans.all |= s->before.all;
    f->open--;
}

static struct kl_read_file *file_of(struct kl_world_archives *a, const char *real, bool make) {
    struct kl_read_file *f = a->file;
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

void kl_stream_begin(struct kl_world *w, struct kl_stream *s, const char *real) {
    struct kl_world_archives *a = s->archives = &w->archives;
    kl_mutex_lock(&a->lock);
    s->file = file_of(a, real, true);
    if (s->file) s->file->open++;
    s->next = a->stream;
    a->stream = s;
    kl_mutex_unlock(&a->lock);
}

void kl_stream_end(struct kl_stream *s) {
    struct kl_stream **at = &s->archives->stream;
    kl_mutex_lock(&s->archives->lock);
    commit(s);
    while (*at != s)
        at = &(*at)->next;
    *at = s->next;
    kl_mutex_unlock(&s->archives->lock);
}

struct kl_stream *kl_stream_of(struct kl_world *w, const void *self) {
    kl_mutex_lock(&w->archives.lock);
    struct kl_stream *s = w->archives.stream;
    while (s && s->self != self)
        s = s->next;
    kl_mutex_unlock(&w->archives.lock);
    return s;
}

bool kl_stream_unseen(struct kl_stream *s, char path[KL_FILE_PATH]) {
    kl_mutex_lock(&s->archives->lock);
    bool known = s->file != NULL;
    if (known) s->file->spans.all = true;
    if (known && path) strcpy(path, s->file->path);
    kl_mutex_unlock(&s->archives->lock);
    return known;
}

void kl_world_archive_unseen(struct kl_world *w, const char *real) {
    struct kl_world_archives *a = &w->archives;
    kl_mutex_lock(&a->lock);
    struct kl_read_file *f = file_of(a, real, true);
    if (f) f->spans.all = true;
    kl_mutex_unlock(&a->lock);
}

void kl_world_archives_clear(struct kl_world *w) {
    struct kl_world_archives *a = &w->archives;
    kl_mutex_lock(&a->lock);
    for (struct kl_stream *s = a->stream; s; s = s->next)
        s->file = NULL;
    while (a->file) {
        struct kl_read_file *f = a->file;
        a->file = f->next;
        free(f->path);
        free(f);
    }
    kl_mutex_unlock(&a->lock);
}

const struct kl_archive_span *kl_world_archive_read(struct kl_world *w, const char *real, unsigned *count) {
    struct kl_world_archives *a = &w->archives;
    kl_mutex_lock(&a->lock);
    struct kl_read_file *f = file_of(a, real, false);
    bool known = f && !f->open && !f->spans.all;
    *count = known ? f->spans.count : 0;
    kl_mutex_unlock(&a->lock);
    return known ? f->spans.at : NULL;
}
