#include "net/platform/slab.h"

#include <stdlib.h>
#include <string.h>
#include <windows.h>

#include "net/platform/windows/disk.h"

static HANDLE of(const struct kl_file *f) {
    return (HANDLE)(intptr_t)f->handle;
}

/* Its bytes: mapped, or a copy. */
static int give_bytes(struct kl_slab *s, char *why, size_t why_len) {
    HANDLE map = CreateFileMappingW(of(&s->file), NULL, PAGE_READWRITE, 0, 0, NULL);
    uint64_t cap = 0, len;
    s->bytes = map ? MapViewOfFile(map, FILE_MAP_READ | FILE_MAP_WRITE, 0, 0, s->len) : NULL;
    s->mapped = s->bytes != NULL;
    if (map) CloseHandle(map);
    return s->mapped ? 0 : kl_file_read_open(&s->file, &s->bytes, &cap, &len, why, why_len);
}

int kl_slab_take(struct kl_slab *s, const struct kl_file *file, size_t len, char *why, size_t why_len) {
    *s = (struct kl_slab){.len = len, .file = *file};
    if (kl_file_cut(file, len, why, why_len) == 0 && give_bytes(s, why, why_len) == 0) return 0;
    free(s->bytes);
    *s = (struct kl_slab){.file.handle = -1};
    return -1;
}

bool kl_slab_put(struct kl_slab *s, size_t at, const void *from, size_t len) {
    if (len) memcpy(s->bytes + at, from, len);
    return s->mapped || kl_disk_write(of(&s->file), from, len, at);
}

void kl_slab_close(struct kl_slab *s) {
    if (!s->bytes) return;
    if (s->mapped)
        UnmapViewOfFile(s->bytes);
    else
        free(s->bytes);
    kl_file_close(&s->file);
    *s = (struct kl_slab){.file.handle = -1};
}
