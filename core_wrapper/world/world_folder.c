#include "core_wrapper/world/world_folder.h"

#include <stdlib.h>
#include <string.h>

#include "core_wrapper/world/world_private.h"

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
