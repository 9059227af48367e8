#include "core_wrapper/tool/headless.h"

#include <ctype.h>
#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CONTENT_MAX ((long long)1 << 31)

/* ---- folders ---- */

static int need_scratch(struct kl_headless *h, char *err, size_t err_len) {
    const char *tmp = getenv("TMPDIR");
    if (h->scratch[0]) return 0;
    snprintf(h->scratch, sizeof(h->scratch), "%s/keylock-run-XXXXXX", tmp && *tmp ? tmp : "/tmp");
    if (mkdtemp(h->scratch)) return 0;
    snprintf(err, err_len, "cannot make a temporary folder (%s): %s", h->scratch, strerror(errno));
    h->scratch[0] = '\0';
    return -1;
}

/* A folder that was named must be there; one that was not is empty and ours. */
static int settle_dir(struct kl_headless *h, const char *named, const char *what, char *out, size_t cap,
                      char *err, size_t err_len) {
    struct stat st;
    if (named) {
        char whole[4096];
        if (stat(named, &st) == 0 && S_ISDIR(st.st_mode) && realpath(named, whole)) {
            snprintf(out, cap, "%s", whole);
            return 0;
        }
        snprintf(err, err_len, "--%s: expected a folder, %s is none", what, named);
        return -1;
    }
    if (need_scratch(h, err, err_len) != 0) return -1;
    snprintf(out, cap, "%s/%s", h->scratch, what);
    if (mkdir(out, 0700) == 0) return 0;
    snprintf(err, err_len, "cannot make the folder %s: %s", out, strerror(errno));
    return -1;
}

int kl_headless_make_dirs(struct kl_headless *h, char *err, size_t err_len) {
    if (settle_dir(h, h->setup.system_dir, "system", h->system_dir, sizeof(h->system_dir), err, err_len) != 0)
        return -1;
    return settle_dir(h, h->setup.save_dir, "save", h->save_dir, sizeof(h->save_dir), err, err_len);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw) {
    (void)st, (void)type, (void)ftw;
    return remove(path);
}

void kl_headless_remove_dirs(struct kl_headless *h) {
    if (h->scratch[0]) nftw(h->scratch, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    h->scratch[0] = '\0';
}

/* ---- content ---- */

static void *read_whole(const char *path, size_t *len, char *err, size_t err_len) {
    FILE *f = fopen(path, "rb");
    struct stat st;
    if (!f || fstat(fileno(f), &st) != 0 || !S_ISREG(st.st_mode) || st.st_size > CONTENT_MAX) {
        snprintf(err, err_len, "cannot read %s: %s", path,
                 !f ? strerror(errno) : "expected a regular file below 2 GiB");
        if (f) fclose(f);
        return NULL;
    }
    size_t size = (size_t)st.st_size;
    uint8_t *data = malloc(size + 1);
    if (data && fread(data, 1, size, f) == size) {
        *len = size;
        fclose(f);
        return data;
    }
    snprintf(err, err_len, "cannot read %s: %s", path, data ? "it is shorter than it says" : "out of memory");
    free(data);
    fclose(f);
    return NULL;
}

static void split_path(struct kl_headless *h, const char *path) {
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path, *dot = strrchr(base, '.');
    h->content_dir = strndup(path, slash > path ? (size_t)(slash - path) : 1);
    h->content_name = dot && dot > base ? strndup(base, (size_t)(dot - base)) : strdup(base);
    h->content_ext = strdup(dot && dot > base ? dot + 1 : "");
    for (char *p = h->content_ext; p && *p; p++)
        *p = (char)tolower((unsigned char)*p);
}

int kl_headless_read_content(struct kl_headless *h, char *err, size_t err_len) {
    const char *path = h->setup.content_path;
    char whole[4096];
    if (!path) {
        if (h->support_no_game) return 0;
        snprintf(err, err_len, "this core needs content: expected --content FILE");
        return -1;
    }
    if (!realpath(path, whole)) {
        snprintf(err, err_len, "cannot read the content %s: %s", path, strerror(errno));
        return -1;
    }
    split_path(h, whole);
    h->game.path = strdup(whole);
    if (!h->info.need_fullpath && !(h->content_data = read_whole(whole, &h->game.size, err, err_len)))
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

/* ---- save RAM: SAVEDIR/<content's name>.srm, as RetroArch keeps it ---- */

static bool sram_path(const struct kl_headless *h, char *out, size_t cap) {
    if (!h->setup.save_dir || !h->content_name) return false;
    int len = snprintf(out, cap, "%s/%s.srm", h->save_dir, h->content_name);
    return len > 0 && (size_t)len < cap;
}

int kl_headless_load_sram(struct kl_headless *h, char *err, size_t err_len) {
    char path[4352];
    void *ram = h->core.get_memory_data(RETRO_MEMORY_SAVE_RAM);
    size_t size = h->core.get_memory_size(RETRO_MEMORY_SAVE_RAM), len = 0;
    if (!sram_path(h, path, sizeof(path)) || !ram || !size || access(path, F_OK) != 0) return 0;
    void *data = read_whole(path, &len, err, err_len);
    if (!data) return -1;
    memcpy(ram, data, len < size ? len : size);
    free(data);
    return 0;
}

int kl_headless_store_sram(struct kl_headless *h, char *err, size_t err_len) {
    char path[4352];
    const void *ram = h->core.get_memory_data(RETRO_MEMORY_SAVE_RAM);
    size_t size = h->core.get_memory_size(RETRO_MEMORY_SAVE_RAM);
    if (h->setup.keep_saves || !sram_path(h, path, sizeof(path)) || !ram || !size) return 0;
    FILE *f = fopen(path, "wb");
    bool ok = f && fwrite(ram, 1, size, f) == size;
    if (f && fclose(f) != 0) ok = false;
    if (ok) return 0;
    snprintf(err, err_len, "cannot write the save RAM to %s: %s", path, strerror(errno));
    return -1;
}
