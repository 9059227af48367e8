#include "core_wrapper/start/patch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "core_wrapper/world/archive.h"
#include "net/platform/file.h"

/* The file on the disk: "games/a.zip" of "games/a.zip#b.nes". */
static void path_of_file(const char *path, char out[KL_FILE_PATH]) {
    snprintf(out, KL_FILE_PATH, "%s", path);
    for (char *at = strchr(out, '#'); at; at = strchr(at + 1, '#')) {
        *at = 0;
        if (kl_archive_is(out)) return;
        *at = '#';
    }
}

/* The patch beside the file for a content of that name; the first that RetroArch looks for. */
static bool find_beside(const char *file, const char *name, char out[KL_FILE_PATH]) {
    static const char *const kinds[] = {"ips", "bps", "ups", "xdelta"};
    const char *slash = strrchr(file, '/'), *dot = strrchr(name, '.');
    int folder = slash ? (int)(slash - file) + 1 : 0, stem = dot ? (int)(dot - name) : (int)strlen(name);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        snprintf(out, KL_FILE_PATH, "%.*s%.*s.%s", folder, file, stem, name, kinds[i]);
        if (kl_file_readable(out)) return true;
    }
    return false;
}

static bool is_member(const struct retro_game_info *item, const void *bytes, size_t len) {
    struct kl_archive_member *list = NULL;
    uint32_t crc = (uint32_t)crc32_z(0, item->data, item->size);
    int count = kl_archive_list(bytes, len, NULL, 0, &list);
    bool found = false;
    for (int i = 0; i < count && !found; i++)
        found = list[i].crc == crc;
    free(list);
    return found;
}

/* The bytes are not the file's. beside: a patch lies there, which answers for a file that cannot be read. */
static bool is_changed(const struct retro_game_info *item, const char *file, bool beside) {
    const void *bytes;
    size_t len;
    bool archive = kl_archive_is(file);
    if ((archive && !beside) || kl_file_map(file, &bytes, &len) != 0) return beside;
    bool same = archive ? is_member(item, bytes, len) : len == item->size && !memcmp(bytes, item->data, len);
    kl_file_unmap(bytes, len);
    return !same;
}

static void copy_name(char out[KL_PATCH_NAME], const char *name) {
    size_t len = strlen(name), from = len < KL_PATCH_NAME ? 0 : len - (KL_PATCH_NAME - 1);
    snprintf(out, KL_PATCH_NAME, "%s", name + from);
    for (char *c = out; *c; c++)
        if (*c < ' ' || *c > '~' || strchr("(),;", *c)) *c = '_';
}

void kl_patch_find(const struct retro_game_info *item, char name[KL_PATCH_NAME]) {
    char file[KL_FILE_PATH], patch[KL_FILE_PATH];
    *name = 0;
    if (!item->data || !item->path) return;
    path_of_file(item->path, file);
    const char *inside = strlen(file) < strlen(item->path) ? kl_file_base(item->path + strlen(file) + 1) : "";
    bool beside =
        (*inside && find_beside(file, inside, patch)) || find_beside(file, kl_file_base(file), patch);
    if (is_changed(item, file, beside)) copy_name(name, beside ? kl_file_base(patch) : KL_PATCH_ELSEWHERE);
}
