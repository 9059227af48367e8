/* A session's files are kept, and gone back to. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core_wrapper/world/view.h"
#include "core_wrapper/world/world_private.h"
#include "net/platform/dir.h"
#include "net/platform/file.h"

/* --- open files --- */

void kl_view_opened(struct kl_world *w, const char *path, void *stream, int fd) {
    struct kl_view *v = &w->view;
    if (!v->on || (!stream && fd < 0)) return;
    kl_mutex_lock(&v->lock);
    struct kl_view_file *f = kl_view_at(v, path);
    if (v->handles < KL_VIEW_HANDLES)
        v->handle[v->handles++] = (struct kl_handle){stream, fd, ++v->serial, f};
    else if (f)
        f->covert = true;
    kl_mutex_unlock(&v->lock);
}

void kl_view_covert(struct kl_world *w, const char *path) {
    struct kl_view *v = &w->view;
    if (!v->on) return;
    kl_mutex_lock(&v->lock);
    struct kl_view_file *f = kl_view_at(v, path);
    if (f) f->covert = true;
    kl_mutex_unlock(&v->lock);
}

static bool is_of(const struct kl_handle *h, const void *stream, int fd) {
    return stream ? h->stream == stream : fd >= 0 && h->fd == fd;
}

void kl_view_closes(struct kl_world *w, const void *stream, int fd) {
    struct kl_view *v = &w->view;
    if (!v->handles) return;
    kl_mutex_lock(&v->lock);
    for (unsigned i = 0; i < v->handles;)
        if (is_of(&v->handle[i], stream, fd)) {
            struct kl_view_file *f = v->handle[i].file;
            memmove(&v->handle[i], &v->handle[i + 1], (v->handles - i - 1) * sizeof *v->handle);
            v->handles--;
            if (f && f->passing && !kl_view_is_open(v, f)) (void)kl_file_remove(f->path, NULL, 0);
        } else {
            i++;
        }
    kl_mutex_unlock(&v->lock);
}

bool kl_view_shared(struct kl_world *w, int fd, void *stream, int also) {
    struct kl_view *v = &w->view;
    bool known = false;
    kl_mutex_lock(&v->lock);
    for (unsigned i = 0; i < v->handles && !known; i++) {
        struct kl_handle *h = &v->handle[i];
        if (fd < 0 || h->fd != fd) continue;
        known = true;
        if (stream) h->stream = stream;
        if (also >= 0 && v->handles < KL_VIEW_HANDLES)
            v->handle[v->handles++] = (struct kl_handle){NULL, also, ++v->serial, h->file};
    }
    kl_mutex_unlock(&v->lock);
    return known;
}

void kl_view_mapped(struct kl_world *w, int fd) {
    struct kl_view *v = &w->view;
    kl_mutex_lock(&v->lock);
    for (unsigned i = 0; i < v->handles; i++)
        if (fd >= 0 && v->handle[i].fd == fd && v->handle[i].file) v->handle[i].file->mapped = true;
    kl_mutex_unlock(&v->lock);
}

static void settle(struct kl_world *w) {
    for (unsigned i = 0; i < w->view.handles; i++)
        if (w->view.handle[i].file) kl_handle_flush(w, &w->view.handle[i]);
}

void kl_world_files_settle(struct kl_world *w) {
    if (!w->view.handles) return;
    kl_mutex_lock(&w->view.lock);
    settle(w);
    kl_mutex_unlock(&w->view.lock);
}

/* --- keeping --- */

static int refuse(char *why, size_t cap, const char *name, const char *reason) {
    snprintf(why, cap, "%.200s %s", name, reason);
    return -1;
}

/* A stream whose buffer nobody can reach has the file open. */
static bool is_held(const struct kl_view *v, const struct kl_view_file *f) {
    unsigned known = 0;
    if (!f->covert) return false;
    for (unsigned i = 0; i < v->handles; i++)
        known += v->handle[i].file == f;
    return kl_file_holders(f->path) > known;
}

/* Brings f->now up to date. Marked first, so that a write of another thread shows next time. */
static int look(struct kl_view *v, struct kl_view_file *f, char *why, size_t cap) {
    void *bytes;
    size_t len;
    if (strlen(f->name) >= KL_FILESET_NAME) return refuse(why, cap, f->name, "has too long a name");
    if (is_held(v, f)) return refuse(why, cap, f->name, "is held open by a stream of C++ or zlib");
    bool same = f->number && !f->mapped && !kl_file_touched(f->path, f->number);
    if (same) return 0;
    f->number = kl_file_mark(f->path);
    if (f->large) return refuse(why, cap, f->name, "is written, and large");
    if (!f->number) {
        kl_blob_drop(f->now);
        f->now = NULL;
        return 0;
    }
    if (kl_file_read(f->path, KL_FILESET_BYTES, 0, &bytes, &len, NULL, 0) != 0)
        return refuse(why, cap, f->name, "is large, or cannot be read");
    bool equal = f->now && f->now->len == len && !memcmp(f->now->bytes, bytes, len);
    if (!equal) {
        kl_blob_drop(f->now);
        bool first = f->first && f->first->len == len && !memcmp(f->first->bytes, bytes, len);
        f->now = first ? kl_blob_keep(f->first) : kl_blob_make(bytes, len);
    }
    free(bytes);
    return f->now ? 0 : refuse(why, cap, f->name, "finds no memory");
}

static bool is_news(const struct kl_view_file *f) {
    return f->now != f->first && !f->large;
}

static int by_name(const void *a, const void *b) {
    return strcmp(((const struct kl_fileset_file *)a)->name, ((const struct kl_fileset_file *)b)->name);
}

static unsigned index_of(const struct kl_fileset *k, const struct kl_view_file *f) {
    for (unsigned i = 0; f && i < k->files; i++)
        if (!strcmp(k->file[i].name, f->name)) return i;
    return KL_FILESET_FILES;
}

static void keep_places(struct kl_world *w, struct kl_fileset *k) {
    const struct kl_view *v = &w->view;
    for (unsigned i = 0; i < v->handles && k->places < KL_FILESET_PLACES; i++) {
        int64_t at = kl_handle_tell(w, &v->handle[i]);
        if (at < 0) continue;
        k->place[k->places++] =
            (struct kl_fileset_place){v->handle[i].serial, index_of(k, v->handle[i].file), (uint64_t)at};
    }
}

static int keep(struct kl_world *w, struct kl_fileset **out, char *why, size_t cap) {
    struct kl_view *v = &w->view;
    unsigned files = 0;
    size_t bytes = 0;
    settle(w);
    kl_view_forget_gone(v);
    for (unsigned i = 0; i < v->count; i++) {
        if (look(v, v->file[i], why, cap) != 0) return -1;
        files += is_news(v->file[i]);
        bytes += is_news(v->file[i]) && v->file[i]->now ? v->file[i]->now->len : 0;
    }
    if (files > KL_FILESET_FILES || bytes > KL_FILESET_BYTES) {
        snprintf(why, cap, "%u files of %zu bytes are too much", files, bytes);
        return -1;
    }
    struct kl_fileset *k = *out = kl_fileset_make(files);
    if (!k) return refuse(why, cap, "the core's files", "find no memory");
    for (unsigned i = 0; i < v->count; i++) {
        struct kl_view_file *f = v->file[i];
        if (!is_news(f)) continue;
        struct kl_fileset_file *to = &k->file[k->files++];
        strcpy(to->name, f->name);
        to->local = f->local || f->mapped; /* a newcomer's core may have no such map */
        to->date_ns = f->date_ns;
        to->blob = f->now ? kl_blob_keep(f->now) : NULL;
    }
    qsort(k->file, k->files, sizeof *k->file, by_name);
    keep_places(w, k);
    if (k->files || k->places) return 0;
    kl_fileset_free(k);
    *out = NULL;
    return 0;
}

int kl_world_files_keep(struct kl_world *w, struct kl_fileset **out, char *why, size_t cap) {
    struct kl_view *v = &w->view;
    *out = NULL;
    if (!v->on || (!v->count && !v->handles)) return 0;
    int saved = errno;
    kl_mutex_lock(&v->lock);
    int r = keep(w, out, why, cap);
    kl_mutex_unlock(&v->lock);
    errno = saved;
    return r;
}

/* --- going back --- */

static bool put(struct kl_view_file *f, struct kl_blob *blob, int64_t date_ns) {
    char folder[KL_FILE_PATH];
    bool same = f->now == blob && f->number && !f->mapped && !kl_file_touched(f->path, f->number);
    f->date_ns = date_ns;
    if (same || (!blob && kl_file_kind_here(f->path) != KL_FILE_IS_PLAIN)) return true;
    const char *slash = strrchr(f->path, '/');
    snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - f->path) : 0, f->path);
    if (blob && !kl_dir_exists(folder)) (void)kl_dir_make(folder, true, NULL, 0);
    bool good =
        blob ? kl_file_put(f->path, blob->bytes, blob->len) == 0 : kl_file_remove(f->path, NULL, 0) == 0;
    kl_blob_drop(f->now);
    f->now = good && blob ? kl_blob_keep(blob) : NULL;
    f->number = good && blob ? kl_file_mark(f->path) : 0;
    return good;
}

static const struct kl_fileset_file *kept_of(const struct kl_fileset *k, const char *name) {
    for (unsigned i = 0; k && i < k->files; i++)
        if (!strcmp(k->file[i].name, name)) return &k->file[i];
    return NULL;
}

static bool put_back(struct kl_view_file *f, const struct kl_fileset *k) {
    const struct kl_fileset_file *from = kept_of(k, f->name);
    if (from) return put(f, from->blob, from->date_ns);
    if (f->large) return f->number && !kl_file_touched(f->path, f->number);
    return put(f, f->first, 0);
}

/* Of another machine's files the handles are known by their order alone. */
static const struct kl_handle *handle_of(const struct kl_view *v, const struct kl_fileset *k, unsigned place,
                                         bool ours) {
    const struct kl_fileset_place *p = &k->place[place];
    unsigned before = 0;
    for (unsigned i = 0; ours && i < v->handles; i++)
        if (v->handle[i].serial == p->serial) return &v->handle[i];
    if (ours || p->file >= k->files) return NULL;
    for (unsigned i = 0; i < place; i++)
        before += k->place[i].file == p->file;
    for (unsigned i = 0; i < v->handles; i++) {
        const struct kl_view_file *f = v->handle[i].file;
        if (f && !strcmp(f->name, k->file[p->file].name) && before-- == 0) return &v->handle[i];
    }
    return NULL;
}

static bool back(struct kl_world *w, const struct kl_fileset *k, bool ours) {
    struct kl_view *v = &w->view;
    bool good = true;
    settle(w); /* the bytes in a buffer are of a time that is given up */
    for (unsigned i = 0; k && i < k->files; i++)
        good = (k->file[i].local && !ours) || kl_view_named(v, k->file[i].name) ? good : false;
    for (unsigned i = 0; i < v->count; i++)
        good = put_back(v->file[i], k) && good;
    for (unsigned i = 0; k && i < k->places; i++) {
        const struct kl_handle *h = handle_of(v, k, i, ours);
        if (h) kl_handle_seek(w, h, (int64_t)k->place[i].offset);
        if (!h && !ours && k->place[i].file < k->files) good = false; /* this core has not opened it */
    }
    return good;
}

bool kl_world_files_back(struct kl_world *w, const struct kl_fileset *k, bool ours) {
    struct kl_view *v = &w->view;
    if (!v->on || (!v->count && !k)) return true;
    int saved = errno;
    kl_mutex_lock(&v->lock);
    bool good = back(w, k, ours);
    kl_mutex_unlock(&v->lock);
    errno = saved;
    return good;
}
