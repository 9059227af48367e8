#include "net/platform/buffer.h"
#include "net/platform/file.h"
#include "net/platform/dir.h"
#include "core_wrapper/tool/headless/headless.h"
#include "core_wrapper/world/view.h"

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
    return settle_dir(h, h->setup.save_dir, "save", h->save_dir, sizeof(h->save_dir), err, err_len);
}

int kl_headless_view_files(struct kl_headless *h, char *err, size_t err_len) {
    const char *content = h->setup.content_path ? h->setup.content_path : "";
    const char *slash = strrchr(content, '/');
    char own[sizeof h->scratch + 8], folder[4096];
    if (need_scratch(h, err, err_len) != 0) return -1;
    snprintf(own, sizeof own, "%s/view", h->scratch);
    snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - content) : 1, slash ? content : ".");
    const struct kl_view_folders f = {
        .save = h->save_dir, .own = own, .system = h->system_dir, .content = *content ? folder : ""};
    kl_world_view(h->world, &f);
    return 0;
}

void kl_headless_remove_dirs(struct kl_headless *h) {
    kl_dir_remove_tree(h->scratch);
    h->scratch[0] = '\0';
}

/* --- content --- */

static void split_path(struct kl_headless *h, const char *path) {
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path, *dot = strrchr(base, '.');
    h->content_dir = kl_buffer_copy(path, slash > path ? (size_t)(slash - path) : 1);
    h->content_name = dot && dot > base ? kl_buffer_copy(base, (size_t)(dot - base)) : strdup(base);
    h->content_ext = strdup(dot && dot > base ? dot + 1 : "");
    for (char *p = h->content_ext; p && *p; p++)
        *p = (char)tolower((unsigned char)*p);
}

static bool in_list(const char *ext, const char *list) {
    size_t len = strlen(ext);
    for (const char *at = list; *at; at += strcspn(at, "|"), at += *at == '|')
        if (strcspn(at, "|") == len && strncasecmp(at, ext, len) == 0) return true;
    return false;
}

/* The core's general word, unless it has one of its own for content of this ending. */
static bool by_path_alone(const struct kl_headless *h) {
    for (unsigned i = 0; i < h->override_count; i++)
        if (in_list(h->content_ext, h->override[i].extensions)) return h->override[i].need_fullpath;
    return h->info.need_fullpath;
}

int kl_headless_read_content(struct kl_headless *h, char *err, size_t err_len) {
    const char *path = h->setup.content_path;
    char whole[4096];
    if (!path) {
        if (h->support_no_game) return 0;
        snprintf(err, err_len, "this core needs content: expected --content FILE");
        return -1;
    }
    if (!kl_file_real(path, whole, sizeof(whole))) {
        snprintf(err, err_len, "cannot read the content %s: %s", path, strerror(errno));
        return -1;
    }
    split_path(h, whole);
    h->game.path = strdup(whole);
    if (!by_path_alone(h) &&
        kl_file_read(whole, CONTENT_MAX, 0, &h->content_data, &h->game.size, err, err_len) != 0)
        return -1;
    h->game.data = h->content_data;
    h->game_ext = (struct retro_game_info_ext){.full_path = h->game.path,
                                               .dir = h->content_dir,
                                               .name = h->content_name,
                                               .ext = h->content_ext,
                                               .data = h->content_data,
                                               .size = h->game.size,
                                               .persistent_data = h->content_data != NULL};
    return 0;
}

void kl_headless_free_content(struct kl_headless *h) {
    free((char *)h->game.path);
    free(h->content_data);
    free(h->content_dir);
    free(h->content_name);
    free(h->content_ext);
    memset(&h->game, 0, sizeof(h->game));
    memset(&h->game_ext, 0, sizeof(h->game_ext));
    h->content_data = h->content_dir = h->content_name = h->content_ext = NULL;
}

/* --- save RAM: SAVEDIR/<content's name>.srm, as RetroArch keeps it --- */

static bool sram_path(const struct kl_headless *h, char *out, size_t cap) {
    if (!h->setup.save_dir || !h->content_name) return false;
    int len = snprintf(out, cap, "%s/%s.srm", h->save_dir, h->content_name);
    return len > 0 && (size_t)len < cap;
}

int kl_headless_load_sram(struct kl_headless *h, char *err, size_t err_len) {
    char path[4352];
    void *ram = h->core.get_memory_data(RETRO_MEMORY_SAVE_RAM);
    size_t size = h->core.get_memory_size(RETRO_MEMORY_SAVE_RAM), len = 0;
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
    const void *ram = h->core.get_memory_data(RETRO_MEMORY_SAVE_RAM);
    size_t size = h->core.get_memory_size(RETRO_MEMORY_SAVE_RAM);
    if (h->setup.keep_saves || !sram_path(h, path, sizeof(path)) || !ram || !size) return 0;
    return kl_file_write_whole(path, ram, size, 0, err, err_len);
}
