#include "core_wrapper/core/content.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/platform/file.h"

static char *dup_or_null(const char *s) {
    return s ? strdup(s) : NULL;
}

static void *copy_bytes(const void *data, size_t size) {
    if (!data) return NULL;
    void *p = malloc(size + 1);
    if (p && size) memcpy(p, data, size);
    return p;
}

static void find_stem(struct kl_content *c) {
    const char *path = c->count ? c->item[0].path : NULL;
    if (!path) return;
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
    const char *inner = strrchr(base, '#'); /* archive.zip#member */
    if (inner && inner[1]) base = inner + 1;
    snprintf(c->stem, sizeof c->stem, "%s", base);
    char *dot = strrchr(c->stem, '.');
    if (dot && dot != c->stem) *dot = 0;
}

int kl_content_keep(struct kl_content *c, bool special, unsigned type, const struct retro_game_info *info,
                    size_t count) {
    memset(c, 0, sizeof *c);
    if (count > KL_CONTENT_ITEMS) return -1;
    c->special = special;
    c->type = type;
    c->none = !info;
    for (size_t i = 0; info && i < count; i++) {
        struct retro_game_info *to = &c->item[c->count++];
        char *path = dup_or_null(info[i].path);
        if (path) kl_file_use_slashes(path);
        to->path = path;
        to->meta = dup_or_null(info[i].meta);
        to->data = copy_bytes(info[i].data, info[i].size);
        to->size = info[i].size;
        if ((info[i].path && !to->path) || (info[i].data && !to->data)) {
            kl_content_free(c);
            return -1;
        }
    }
    find_stem(c);
    return 0;
}

int kl_content_keep_ext(struct kl_content *c, const struct retro_game_info_ext *ext) {
    if (c->has_ext) return 0;
    for (unsigned i = 0; i < c->count; i++) {
        struct retro_game_info_ext *to = &c->ext[i];
        *to = ext[i];
        to->full_path = dup_or_null(ext[i].full_path);
        to->archive_path = dup_or_null(ext[i].archive_path);
        to->archive_file = dup_or_null(ext[i].archive_file);
        to->dir = dup_or_null(ext[i].dir);
        to->name = dup_or_null(ext[i].name);
        to->ext = dup_or_null(ext[i].ext);
        to->meta = dup_or_null(ext[i].meta);
        bool same = c->item[i].data && ext[i].size == c->item[i].size;
        to->data = same ? c->item[i].data : copy_bytes(ext[i].data, ext[i].size);
        to->persistent_data = to->data != NULL; /* ours stays until the content is unloaded */
        if (ext[i].data && !to->data) return -1;
    }
    c->has_ext = true;
    return 0;
}

void kl_content_free(struct kl_content *c) {
    for (unsigned i = 0; i < c->count; i++) {
        if (c->has_ext) {
            struct retro_game_info_ext *e = &c->ext[i];
            free((char *)e->full_path);
            free((char *)e->archive_path);
            free((char *)e->archive_file);
            free((char *)e->dir);
            free((char *)e->name);
            free((char *)e->ext);
            free((char *)e->meta);
            if (e->data != c->item[i].data) free((void *)e->data);
        }
        free((char *)c->item[i].path);
        free((char *)c->item[i].meta);
        free((void *)c->item[i].data);
    }
    memset(c, 0, sizeof *c);
}
