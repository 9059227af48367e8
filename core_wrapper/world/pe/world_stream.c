#include <windows.h>
#include <stdio.h>
#include <stdlib.h>

#include "core_wrapper/world/world_archive.h"
#include "core_wrapper/world/world_private.h"

/* The streams by which a core reads archives: the runtime's own, whose places before and after each call are
 * noted. Reads by other calls show as a place that is not where the last call left it, and then all counts as
 * read. */

struct stream {
    struct kl_stream noted;
    int64_t at; /* its place after the last call that was seen */
};

static int64_t place(struct kl_world *w, void *f) {
    int64_t at;
    return w->real.fgetpos(f, &at) == 0 ? at : -1;
}

bool kl_world_archive_watch(struct kl_world *w, void *f, const char *name) {
    const void *bytes;
    size_t len;
    char real[KL_FILE_PATH];
    bool is = w->real.fgetpos && kl_archive_is(name) && kl_file_real(name, real, sizeof real);
    struct stream *s = is ? calloc(1, sizeof *s) : NULL;
    if (!s || kl_file_map(real, &bytes, &len) != 0) {
        free(s);
        return false;
    }
    s->noted.directory = kl_archive_directory(bytes, len);
    s->noted.self = f;
    kl_file_unmap(bytes, len);
    kl_stream_begin(w, &s->noted, real);
    return true;
}

/* NULL: nobody watches it. */
static struct stream *before(struct kl_world *w, void *f) {
    struct stream *s = (struct stream *)kl_stream_of(w, f);
    if (s && place(w, f) != s->at) kl_stream_unseen(&s->noted, NULL);
    return s;
}
static void after_read(struct kl_world *w, struct stream *s, void *f) {
    int64_t now = s ? place(w, f) : 0;
    if (s && now > s->at) kl_stream_note(&s->noted, (uint64_t)s->at, (uint64_t)now);
    if (s) s->at = now;
}
static void after_move(struct kl_world *w, struct stream *s, void *f) {
    if (s) s->at = place(w, f);
}

void kl_world_archive_leave(struct kl_world *w, void *f) {
    struct stream *s = before(w, f);
    if (s) kl_stream_end(&s->noted);
    free(s);
}

static int v_fclose(struct kl_world *w, void *f) {
    kl_world_archive_leave(w, f);
    kl_view_closes(w, f, -1);
    return w->real.fclose(f);
}
KL_TURNED(int, v_fclose, (void *f), f)

static size_t v_fread(struct kl_world *w, void *out, size_t size, size_t count, void *f) {
    struct stream *s = before(w, f);
    size_t n = w->real.fread(out, size, count, f);
    after_read(w, s, f);
    return n;
}
KL_TURNED(size_t, v_fread, (void *out, size_t size, size_t count, void *f), out, size, count, f)
static int v_fgetc(struct kl_world *w, void *f) {
    struct stream *s = before(w, f);
    int c = w->real.fgetc(f);
    after_read(w, s, f);
    return c;
}
KL_TURNED(int, v_fgetc, (void *f), f)
static char *v_fgets(struct kl_world *w, char *out, int cap, void *f) {
    struct stream *s = before(w, f);
    char *line = w->real.fgets(out, cap, f);
    after_read(w, s, f);
    return line;
}
KL_TURNED(char *, v_fgets, (char *out, int cap, void *f), out, cap, f)

static int v_ungetc(struct kl_world *w, int c, void *f) {
    struct stream *s = before(w, f);
    int r = w->real.ungetc(c, f);
    after_move(w, s, f);
    return r;
}
KL_TURNED(int, v_ungetc, (int c, void *f), c, f)
static int v_fseek(struct kl_world *w, void *f, long offset, int whence) {
    struct stream *s = before(w, f);
    int r = w->real.fseek(f, offset, whence);
    after_move(w, s, f);
    return r;
}
KL_TURNED(int, v_fseek, (void *f, long offset, int whence), f, offset, whence)
static int v_fseeki64(struct kl_world *w, void *f, int64_t offset, int whence) {
    struct stream *s = before(w, f);
    int r = w->real.fseeki64(f, offset, whence);
    after_move(w, s, f);
    return r;
}
KL_TURNED(int, v_fseeki64, (void *f, int64_t offset, int whence), f, offset, whence)
static int v_fsetpos(struct kl_world *w, void *f, const int64_t *at) {
    struct stream *s = before(w, f);
    int r = w->real.fsetpos(f, at);
    after_move(w, s, f);
    return r;
}
KL_TURNED(int, v_fsetpos, (void *f, const int64_t *at), f, at)
static void v_rewind(struct kl_world *w, void *f) {
    struct stream *s = before(w, f);
    w->real.rewind(f);
    after_move(w, s, f);
}
KL_TURNED(void, v_rewind, (void *f), f)

/* Nobody sees what is read by a descriptor. */
static int v_fileno(struct kl_world *w, void *f) {
    struct kl_stream *s = kl_stream_of(w, f);
    if (s) kl_stream_unseen(s, NULL);
    return w->real.fileno(f);
}
KL_TURNED(int, v_fileno, (void *f), f)

const struct kl_hook kl_world_stream_hooks[] = {
    KL_HOOK("fclose", v_fclose),
    KL_HOOK("fread", v_fread),
    KL_HOOK("fgetc", v_fgetc),
    KL_HOOK("getc", v_fgetc),
    KL_HOOK("fgets", v_fgets),
    KL_HOOK("ungetc", v_ungetc),
    KL_HOOK("fseek", v_fseek),
    KL_HOOK("_fseeki64", v_fseeki64),
    KL_HOOK("fsetpos", v_fsetpos),
    KL_HOOK("rewind", v_rewind),
    KL_HOOK("fileno", v_fileno),
    KL_HOOK("_fileno", v_fileno),
    KL_HOOK_END,
};

/* --- open files --- */

/* The open files of a core. */

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
