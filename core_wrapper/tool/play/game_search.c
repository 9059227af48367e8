#include "core_wrapper/tool/play/invited.h"

#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <zlib.h>

#include "core_wrapper/tool/common/tool.h"
#include "net/platform/dir.h"
#include "net/platform/file.h"

#define LIST_MAX (64u << 20) /* bytes of a playlist */

struct search {
    const struct kl_game_wanted *game;
    char *out;
    struct kl_walk walk;
};

static const char *base_of(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* --- zip: only the list of members is read --- */

static uint32_t le(const uint8_t *p, unsigned bytes) {
    uint32_t v = 0;
    while (bytes--)
        v = v << 8 | p[bytes];
    return v;
}

/* The record behind the list: 22 bytes and a comment. */
static const uint8_t *zip_end(const uint8_t *z, size_t len) {
    for (size_t back = 22; back <= len && back < 22 + 65536; back++)
        if (le(z + len - back, 4) == 0x06054b50) return z + len - back;
    return NULL;
}

static bool find_member(struct search *s, const char *path, const uint8_t *z, size_t len) {
    const uint8_t *end = zip_end(z, len);
    uint64_t at = end ? le(end + 16, 4) : len;
    while (at + 46 <= len && le(z + at, 4) == 0x02014b50) {
        const uint8_t *m = z + at;
        uint64_t name = le(m + 28, 2), rest = name + le(m + 30, 2) + le(m + 32, 2);
        bool same = le(m + 16, 4) == s->game->crc && le(m + 24, 4) == s->game->size;
        if (same && at + 46 + name <= len && name < 1024 && !memchr(m + 46, 0, name)) {
            int n = snprintf(s->out, KLT_PATH, "%s#%.*s", path, (int)name, (const char *)m + 46);
            return n > 0 && n < KLT_PATH;
        }
        at += 46 + rest;
    }
    return false;
}

/* --- a file --- */

static bool look_in_file(void *ctx, const char *path) {
    struct search *s = ctx;
    const struct kl_game_wanted *g = s->game;
    const void *bytes;
    size_t len;
    bool found = false;
    if (strlen(path) >= KLT_PATH) return false;
    if (!g->size)
        found = !strcmp(base_of(path), g->name) && kl_file_kind(path) == KL_FILE_IS_PLAIN;
    else if (kl_file_kind(path) == KL_FILE_IS_PLAIN && kl_file_map(path, &bytes, &len) == 0) {
        size_t n = strlen(path), m = strlen(".zip");
        if (n >= m && !strcasecmp(path + n - m, ".zip") && find_member(s, path, bytes, len)) {
            kl_file_unmap(bytes, len);
            return true;
        }
        found = len == g->size && (uint32_t)crc32_z(0, bytes, len) == g->crc;
        kl_file_unmap(bytes, len);
    }
    if (found) snprintf(s->out, KLT_PATH, "%s", path);
    return found;
}

/* --- playlists --- */

/* Of "/games/a.zip#a.nes" the file. */
static void file_of(const char *path, char out[KLT_PATH]) {
    snprintf(out, KLT_PATH, "%s", path);
    kl_file_use_slashes(out);
    char *member = strrchr(out, '#');
    if (member && kl_file_kind(out) == KL_FILE_IS_NONE) *member = 0;
}

/* deep: the folder of each game as well. */
static bool look_at_items(struct search *s, json_object *items, bool deep) {
    size_t count = json_object_is_type(items, json_type_array) ? json_object_array_length(items) : 0;
    for (size_t i = 0; i < count; i++) {
        char file[KLT_PATH];
        json_object *item = json_object_array_get_idx(items, i);
        json_object *value = NULL;
        const char *path =
            json_object_object_get_ex(item, "path", &value) ? json_object_get_string(value) : NULL;
        if (!path || !kl_file_is_absolute(path)) continue;
        file_of(path, file);
        if (!deep && kl_walk_file(&s->walk, file)) return true;
        *strrchr(file, '/') = 0;
        if (deep && kl_walk_folder(&s->walk, file, 0)) return true;
    }
    return false;
}

static bool look_at_playlist(struct search *s, const char *path, bool deep) {
    void *text;
    size_t len;
    char ignored[KLT_PATH + 64];
    json_object *list, *items = NULL;
    if (kl_file_read(path, LIST_MAX, 0, &text, &len, ignored, sizeof ignored) != 0) return false;
    list = json_tokener_parse(text);
    bool found = list && json_object_object_get_ex(list, "items", &items) && look_at_items(s, items, deep);
    json_object_put(list);
    free(text);
    return found;
}

static bool look_at_playlists(struct search *s, const char *folder, bool deep) {
    char path[KLT_PATH], ignored[KLT_PATH + 64];
    struct kl_dir_list list;
    bool found = false;
    if (kl_dir_list(&list, folder, ".lpl", ignored, sizeof ignored) != 0) return false;
    for (unsigned i = 0; i < list.count && !found; i++)
        found = kl_file_join(path, sizeof path, folder, list.name[i], ignored, sizeof ignored) == 0 &&
                look_at_playlist(s, path, deep);
    kl_dir_list_free(&list);
    return found;
}

/* --- all of it: the quick places first --- */

static bool look_at_place(struct search *s, const struct kl_place *p, bool deep) {
    char builtin[KLT_PATH];
    snprintf(builtin, sizeof builtin, "%.4000s/builtin", p->playlists);
    return look_at_playlists(s, p->playlists, deep) || look_at_playlists(s, p->base, deep) ||
           look_at_playlists(s, builtin, deep);
}

bool kl_game_search(const struct kl_game_wanted *g, const struct kl_place *place, int places, const char *own,
                    char out[KLT_PATH]) {
    static struct search s;
    bool found = false;
    s = (struct search){.game = g, .out = out, .walk = {.look = look_in_file, .ctx = &s}};
    for (int i = 0; i < places && !found; i++)
        found = look_at_place(&s, &place[i], false);
    for (int i = 0; i < places && !found; i++)
        found = kl_walk_folder(&s.walk, place[i].content, KLT_WALK_DEEP) ||
                kl_walk_folder(&s.walk, place[i].downloads, KLT_WALK_DEEP) ||
                look_at_place(&s, &place[i], true);
    if (!found && own) found = kl_walk_folder(&s.walk, own, KLT_WALK_DEEP);
    kl_walk_free(&s.walk);
    return found;
}
