/* The virtual file system of libretro, versions 1 to 3, on the C library. Each call answers as RetroArch's
 * does (libretro-common/vfs/vfs_implementation.c), also where libretro.h says something else: cores are made
 * and tried with RetroArch. Files opened here are noted in the world's list of files. */
#include "core_wrapper/tool/headless/headless.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "net/platform/dir.h"
#include "net/platform/file.h"

struct retro_vfs_file_handle {
    FILE *file;
    char *path;
    bool mapped; /* RetroArch maps such a file into memory, and answers a seek in it otherwise */
};

struct retro_vfs_dir_handle {
    char *path;
    struct kl_dir_list list;
    unsigned next; /* ".", "..", then those of the list */
    const char *name;
};

static const char *v_path(struct retro_vfs_file_handle *s) {
    return s->path;
}

static const char *mode_text(unsigned mode) {
    switch (mode) {
    case RETRO_VFS_FILE_ACCESS_READ: return "r";
    case RETRO_VFS_FILE_ACCESS_WRITE: return "w";
    case RETRO_VFS_FILE_ACCESS_READ_WRITE: return "w+";
    case RETRO_VFS_FILE_ACCESS_WRITE | RETRO_VFS_FILE_ACCESS_UPDATE_EXISTING:
    case RETRO_VFS_FILE_ACCESS_READ_WRITE | RETRO_VFS_FILE_ACCESS_UPDATE_EXISTING: return "r+";
    default: return NULL;
    }
}

/* A folder opens for reading, as with RetroArch: some cores look in this way whether one is there. */
static struct retro_vfs_file_handle *v_open(const char *path, unsigned mode, unsigned hints) {
    const char *text = mode_text(mode);
    struct retro_vfs_file_handle *s = path && text ? calloc(1, sizeof(*s)) : NULL;
    if (s && (s->file = kl_file_stream(path, text)) && (s->path = strdup(path))) {
        s->mapped = mode == RETRO_VFS_FILE_ACCESS_READ && hints & RETRO_VFS_FILE_ACCESS_HINT_FREQUENT_ACCESS;
        if (kl_headless_current())
            kl_world_note_file(kl_headless_current()->world, path, text[0] != 'r' || text[1] == '+');
        return s;
    }
    if (s && s->file) fclose(s->file);
    free(s);
    return NULL;
}

static int v_close(struct retro_vfs_file_handle *s) {
    if (!s) return -1;
    fclose(s->file);
    free(s->path);
    free(s);
    return 0;
}

static int64_t v_tell(struct retro_vfs_file_handle *s) {
    return s ? ftello(s->file) : -1;
}

/* libretro.h says the new position. RetroArch, and the copies of its code inside cores, answer 0 for all
 * files but mapped ones; FBNeo's reader of zips takes any other answer for an error. */
static int64_t v_seek(struct retro_vfs_file_handle *s, int64_t offset, int position) {
    static const int whence[] = {SEEK_SET, SEEK_CUR, SEEK_END};
    if (!s || position < 0 || position > 2 || fseeko(s->file, offset, whence[position]) != 0) return -1;
    return s->mapped ? v_tell(s) : 0;
}

static int64_t v_size(struct retro_vfs_file_handle *s) {
    struct stat st;
    if (!s) return 0;
    if (fflush(s->file) != 0 || fstat(fileno(s->file), &st) != 0) return -1;
    return st.st_size;
}

static int64_t v_read(struct retro_vfs_file_handle *s, void *buf, uint64_t len) {
    if (!s || !buf) return -1;
    return (int64_t)fread(buf, 1, len, s->file);
}

static int64_t v_write(struct retro_vfs_file_handle *s, const void *buf, uint64_t len) {
    if (!s || !buf) return -1;
    return (int64_t)fwrite(buf, 1, len, s->file);
}

static int v_flush(struct retro_vfs_file_handle *s) {
    return s && fflush(s->file) == 0 ? 0 : -1;
}
static int v_remove(const char *path) {
    char ignored[300];
    return path && kl_file_remove(path, ignored, sizeof ignored) == 0 ? 0 : -1;
}
static int v_rename(const char *from, const char *to) {
    return from && to && kl_file_rename(from, to) ? 0 : -1;
}

static int64_t v_truncate(struct retro_vfs_file_handle *s, int64_t len) {
    return s && fflush(s->file) == 0 && ftruncate(fileno(s->file), len) == 0 ? 0 : -1;
}

static int v_stat(const char *path, int32_t *size) {
    enum kl_file_kind kind = path ? kl_file_kind(path) : KL_FILE_IS_NONE;
    struct stat st = {0};
    FILE *f = kind == KL_FILE_IS_PLAIN ? kl_file_stream(path, "r") : NULL;
    if (f) {
        (void)fstat(fileno(f), &st);
        fclose(f);
    }
    if (kind == KL_FILE_IS_NONE) return 0;
    if (size) *size = (int32_t)st.st_size;
    return RETRO_VFS_STAT_IS_VALID | (kind == KL_FILE_IS_DIR ? RETRO_VFS_STAT_IS_DIRECTORY : 0) |
           (kind == KL_FILE_IS_OTHER ? RETRO_VFS_STAT_IS_CHARACTER_SPECIAL : 0);
}

static int v_mkdir(const char *path) {
    char err[300];
    if (!path) return -1;
    if (kl_file_kind_here(path) != KL_FILE_IS_NONE) return -2;
    return kl_dir_make_new(path, err, sizeof err) == 0 ? 0 : -1;
}

static int v_closedir(struct retro_vfs_dir_handle *d) {
    if (!d) return -1;
    kl_dir_list_free(&d->list);
    free(d->path);
    free(d);
    return 0;
}

/* Hidden entries always show, "." and ".." with them. */
static struct retro_vfs_dir_handle *v_opendir(const char *path, bool hidden) {
    char err[300];
    struct retro_vfs_dir_handle *d = path ? calloc(1, sizeof(*d)) : NULL;
    (void)hidden;
    if (d && (d->path = strdup(path)) && kl_dir_list(&d->list, path, "", err, sizeof err) == 0) return d;
    v_closedir(d);
    return NULL;
}

static bool v_readdir(struct retro_vfs_dir_handle *d) {
    static const char *const first[] = {".", ".."};
    d->name = d->next < 2 ? first[d->next] : d->next - 2 < d->list.count ? d->list.name[d->next - 2] : NULL;
    d->next += d->name != NULL;
    return d->name != NULL;
}

static const char *v_dirent_name(struct retro_vfs_dir_handle *d) {
    return d->name;
}

static bool v_dirent_is_dir(struct retro_vfs_dir_handle *d) {
    char path[KL_FILE_PATH], err[300];
    return d->name && kl_file_join(path, sizeof path, d->path, d->name, err, sizeof err) == 0 &&
           kl_file_kind(path) == KL_FILE_IS_DIR;
}

bool kl_headless_vfs(struct retro_vfs_interface_info *info) {
    static struct retro_vfs_interface vfs = {v_path,    v_open,        v_close,         v_size,    v_tell,
                                             v_seek,    v_read,        v_write,         v_flush,   v_remove,
                                             v_rename,  v_truncate,    v_stat,          v_mkdir,   v_opendir,
                                             v_readdir, v_dirent_name, v_dirent_is_dir, v_closedir};
    if (!info || info->required_interface_version > 3) return false;
    info->required_interface_version = 3;
    info->iface = &vfs;
    return true;
}
