#include "net/platform/file.h"
#include "net/platform/dir.h"
#include "core_wrapper/tool/headless/headless.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define SRAM_MAX    ((size_t)64 << 20)
#define CONTENT_MAX ((size_t)1 << 31)

/* --- folders --- */

static int need_scratch(struct kl_headless *h, char *err, size_t err_len) {
    if (h->scratch[0]) return 0;
    return kl_dir_make_temporary(h->scratch, sizeof(h->scratch), "keylock-run", err, err_len);
}

/* A folder that was named must be there; one that was not is empty and ours. */
static int settle_dir(struct kl_headless *h, const char *named, const char *what, char *out, size_t cap,
                      char *err, size_t err_len) {
    if (named) {
        if (kl_dir_exists(named) && kl_file_real(named, out, cap)) return 0;
        snprintf(err, err_len, "--%s: expected a folder, %s is none", what, named);
        return -1;
    }
    if (need_scratch(h, err, err_len) != 0) return -1;
    snprintf(out, cap, "%s/%s", h->scratch, what);
    return kl_dir_make_new(out, err, err_len);
}

int kl_headless_make_dirs(struct kl_headless *h, char *err, size_t err_len) {
    if (settle_dir(h, h->setup.system_dir, "system", h->system_dir, sizeof(h->system_dir), err, err_len) != 0)
        return -1;
    return settle_dir(h, h->setup.save_dir, "save", h->emu.save_dir, sizeof(h->emu.save_dir), err, err_len);
}

void kl_headless_remove_dirs(struct kl_headless *h) {
    kl_dir_remove_tree(h->scratch);
    h->scratch[0] = '\0';
}

/* --- content --- */

static bool in_list(const char *ext, const char *list) {
    size_t len = strlen(ext);
    for (const char *at = list; *at; at += strcspn(at, "|"), at += *at == '|')
        if (strcspn(at, "|") == len && strncasecmp(at, ext, len) == 0) return true;
    return false;
}

/* The core's general word, unless it has one of its own for content of this ending. */
static bool by_path_alone(const struct kl_headless *h, const char *ext) {
    const struct retro_system_content_info_override *o = h->emu.told.overrides.copy;
    for (; o && o->extensions; o++)
        if (in_list(ext, o->extensions)) return o->need_fullpath;
    return h->info.need_fullpath;
}

int kl_headless_name_content(struct kl_headless *h, char *err, size_t err_len) {
    const char *path = h->setup.content_path;
    char whole[4096];
    const struct retro_game_info info = {.path = whole};
    if (path && !kl_file_real(path, whole, sizeof(whole))) {
        snprintf(err, err_len, "cannot read the content %s: %s", path, strerror(errno));
        return -1;
    }
    if (kl_content_keep(&h->emu.content, false, 0, path ? &info : NULL, 1) == 0) return 0;
    snprintf(err, err_len, "out of memory");
    return -1;
}

int kl_headless_read_content(struct kl_headless *h, char *err, size_t err_len) {
    struct retro_game_info *game = &h->emu.content.item[0];
    char dir[4096], name[4096], ext[64] = "";
    if (!game->path) {
        if (h->emu.supports & KL_SUPPORT_NO_GAME) return 0;
        snprintf(err, err_len, "this core needs content: expected --content FILE");
        return -1;
    }
    const char *slash = strrchr(game->path, '/'), *base = slash ? slash + 1 : game->path,
               *dot = strrchr(base, '.');
    bool has_ext = dot && dot > base;
    snprintf(dir, sizeof(dir), "%.*s", slash > game->path ? (int)(slash - game->path) : 1, game->path);
    snprintf(name, sizeof(name), "%.*s", has_ext ? (int)(dot - base) : (int)strlen(base), base);
    snprintf(ext, sizeof(ext), "%s", has_ext ? dot + 1 : "");
    for (char *p = ext; *p; p++)
        *p = (char)tolower((unsigned char)*p);
    void *data = NULL;
    if (!by_path_alone(h, ext) &&
        kl_file_read(game->path, CONTENT_MAX, 0, &data, &game->size, err, err_len) != 0)
        return -1;
    game->data = data;
    const struct retro_game_info_ext info = {
        .full_path = game->path, .dir = dir, .name = name, .ext = ext, .data = data, .size = game->size};
    if (kl_content_keep_ext(&h->emu.content, &info) == 0) return 0;
    snprintf(err, err_len, "out of memory");
    return -1;
}

/* --- save RAM: SAVEDIR/<content's name>.srm, as RetroArch keeps it --- */

static bool sram_path(const struct kl_headless *h, char *out, size_t cap) {
    if (!h->setup.save_dir || !h->emu.content.has_ext) return false;
    int len = snprintf(out, cap, "%s/%s.srm", h->emu.save_dir, h->emu.content.ext[0].name);
    return len > 0 && (size_t)len < cap;
}

int kl_headless_load_sram(struct kl_headless *h, char *err, size_t err_len) {
    char path[4352];
    void *ram = h->emu.core.get_memory_data(RETRO_MEMORY_SAVE_RAM);
    size_t size = h->emu.core.get_memory_size(RETRO_MEMORY_SAVE_RAM), len = 0;
    if (!sram_path(h, path, sizeof(path)) || !ram || !size) return 0;
    void *data;
    int result = kl_file_read(path, SRAM_MAX, 0, &data, &len, err, err_len);
    if (result != 0) return result == KL_FILE_ABSENT ? 0 : -1;
    memcpy(ram, data, len < size ? len : size);
    free(data);
    return 0;
}

int kl_headless_store_sram(struct kl_headless *h, char *err, size_t err_len) {
    char path[4352];
    const void *ram = h->emu.core.get_memory_data(RETRO_MEMORY_SAVE_RAM);
    size_t size = h->emu.core.get_memory_size(RETRO_MEMORY_SAVE_RAM);
    if (h->setup.keep_saves || !sram_path(h, path, sizeof(path)) || !ram || !size) return 0;
    return kl_file_write_whole(path, ram, size, 0, err, err_len);
}
