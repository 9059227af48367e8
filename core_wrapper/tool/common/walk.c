#include "core_wrapper/tool/common/walk.h"

#include <stdlib.h>
#include <string.h>

#include "net/platform/dir.h"
#include "net/platform/file.h"

#define FILES 50000

bool kl_walk_file(struct kl_walk *w, const char *path) {
    return w->files++ < FILES && w->look(w->ctx, path);
}

static bool is_new(struct kl_walk *w, const char *real) {
    for (unsigned i = 0; i < w->folders; i++)
        if (!strcmp(w->folder[i], real)) return false;
    if (w->folders == KLT_WALK_FOLDERS || !(w->folder[w->folders] = strdup(real))) return false;
    w->folders++;
    return true;
}

bool kl_walk_folder(struct kl_walk *w, const char *folder, unsigned deep) {
    char real[KL_FILE_PATH], path[KL_FILE_PATH], ignored[KL_FILE_PATH + 64];
    struct kl_dir_list list;
    bool found = false;
    if (!*folder || !kl_file_real(folder, real, sizeof real) || !is_new(w, real)) return false;
    if (kl_dir_list(&list, real, "", ignored, sizeof ignored) != 0) return false;
    for (unsigned i = 0; i < list.count && !found && w->files < FILES; i++) {
        if (list.name[i][0] == '.' ||
            kl_file_join(path, sizeof path, real, list.name[i], ignored, sizeof ignored) != 0)
            continue;
        if (kl_file_kind_here(path) == KL_FILE_IS_DIR)
            found = deep && kl_walk_folder(w, path, deep - 1);
        else
            found = kl_walk_file(w, path);
    }
    kl_dir_list_free(&list);
    return found;
}

void kl_walk_free(struct kl_walk *w) {
    for (unsigned i = 0; i < w->folders; i++)
        free(w->folder[i]);
    w->folders = 0;
}
