#include "core_wrapper/world/world_folder.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core_wrapper/world/world_private.h"
#include "net/platform/file.h"
#include "net/platform/thread.h"

/* --- folders --- */

static struct {
    struct kl_mutex lock;
    struct kl_folder *first;
} open_folders;

static int dots(const char *name) {
    return strcmp(name, ".") == 0 ? 0 : strcmp(name, "..") == 0 ? 1 : 2;
}

int kl_folder_order(const char *a, const char *b) {
    int first = dots(a) - dots(b);
    return first ? first : strcmp(a, b);
}

uint64_t kl_folder_number(const char *name) {
    uint64_t h = 0;
    for (; *name; name++)
        h = kl_world_mix(h ^ (uint8_t)*name);
    return h >> 1 | 1; /* fits in a signed number, too */
}

bool kl_folder_put(struct kl_folder *f, const void *entry, size_t bytes) {
    if (f->count == f->cap) {
        size_t cap = f->cap ? 2 * f->cap : 64;
        void **more = realloc(f->entry, cap * sizeof *more);
        if (!more) return false;
        f->entry = more;
        f->cap = cap;
    }
    f->entry[f->count] = malloc(bytes);
    if (!f->entry[f->count]) return false;
    memcpy(f->entry[f->count++], entry, bytes);
    return true;
}

struct kl_folder *kl_folder_of(const void *self) {
    kl_mutex_lock(&open_folders.lock);
    struct kl_folder *f = open_folders.first;
    while (f && f->self != self)
        f = f->next;
    kl_mutex_unlock(&open_folders.lock);
    return f;
}

struct kl_folder *kl_folder_begin(const void *self) {
    struct kl_folder *f = calloc(1, sizeof *f);
    if (!f) return NULL;
    f->self = self;
    kl_mutex_lock(&open_folders.lock);
    f->next = open_folders.first;
    open_folders.first = f;
    kl_mutex_unlock(&open_folders.lock);
    return f;
}

void kl_folder_clear(struct kl_folder *f) {
    while (f->count)
        free(f->entry[--f->count]);
    f->at = 0;
    f->read = false;
}

void kl_folder_end(struct kl_folder *f) {
    if (!f) return;
    kl_mutex_lock(&open_folders.lock);
    struct kl_folder **at = &open_folders.first;
    while (*at && *at != f)
        at = &(*at)->next;
    if (*at) *at = f->next;
    kl_mutex_unlock(&open_folders.lock);
    kl_folder_clear(f);
    free(f->entry);
    free(f->path);
    free(f);
}

/* --- files that a core opens --- */

/* The list of the files that a core opens, for the identity of a room. The replacements that fill it are in
 * elf/. */

void kl_world_files_clear(struct kl_world *w) {
    struct kl_world_files *files = &w->files;
    kl_mutex_lock(&files->lock);
    for (unsigned i = 0; i < files->count; i++)
        free(files->name[i]);
    files->count = 0;
    kl_mutex_unlock(&files->lock);
    kl_world_archives_clear(w);
}

unsigned kl_world_files(struct kl_world *w) {
    kl_mutex_lock(&w->files.lock);
    unsigned n = w->files.count;
    kl_mutex_unlock(&w->files.lock);
    return n;
}

const char *kl_world_file(struct kl_world *w, unsigned i, bool *wrote) {
    struct kl_world_files *files = &w->files;
    kl_mutex_lock(&files->lock);
    const char *name = i < files->count ? files->name[i] : NULL;
    if (wrote) *wrote = name && files->wrote[i];
    kl_mutex_unlock(&files->lock);
    return name;
}

static void note_name(struct kl_world_files *files, const char *name, bool write) {
    kl_mutex_lock(&files->lock);
    unsigned i = 0;
    while (i < files->count && strcmp(files->name[i], name) != 0)
        i++;
    if (i == files->count && i < KL_WORLD_FILES && (files->name[i] = strdup(name))) {
        files->wrote[i] = false;
        files->count++;
    }
    if (i < files->count && write) files->wrote[i] = true;
    kl_mutex_unlock(&files->lock);
}

/* For a missing file, the folder is made absolute, if that exists. */
static bool absolute(const char *path, char out[KL_FILE_PATH]) {
    char dir[KL_FILE_PATH];
    if (kl_file_real(path, out, KL_FILE_PATH)) return true;
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
    int len = slash ? snprintf(dir, sizeof(dir), "%.*s/", (int)(slash - path), path)
                    : snprintf(dir, sizeof(dir), ".");
    if (len <= 0 || (size_t)len >= sizeof(dir) || !*base || !kl_file_real(dir, out, KL_FILE_PATH))
        return false;
    size_t used = strlen(out), left = KL_FILE_PATH - used;
    return (size_t)snprintf(out + used, left, "%s%s", used > 1 ? "/" : "", base) < left;
}

void kl_world_note_host(struct kl_world *w, const char *path) {
    static const char *const folders[] = {"/proc/", "/sys/", "/etc/"};
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        if (strncmp(path, folders[i], strlen(folders[i])) == 0) kl_world_leaves(w, path, "the host's");
}

void kl_world_note_opened(struct kl_world *w, const char *path, bool write, bool seen) {
    char whole[KL_FILE_PATH];
    int saved = errno; /* the core may ask why its file did not open */
    if (path && absolute(path, whole)) {
        note_name(&w->files, whole, write && !kl_view_copied(w, path));
        kl_world_note_host(w, path);
        if (!seen && kl_archive_is(whole)) kl_world_archive_unseen(w, whole);
    }
    errno = saved;
}

void kl_world_note_file(struct kl_world *w, const char *path, bool write) {
    kl_world_note_opened(w, path, write, false);
}
