#include "core_wrapper/core/copies.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/platform/dir.h"
#include "net/platform/file.h"
#include "net/platform/process.h"

#define BEGINS "keylock-core-"

/* keylock-core-PID-XXXXXX; the system keeps the copies that are loaded. */
static void remove_left(void) {
    char dir[KL_FILE_PATH], path[KL_FILE_PATH];
    struct kl_dir_list list;
    if (kl_dir_known(KL_DIR_TEMPORARY, NULL, dir, sizeof dir, NULL, 0) != 0) return;
    if (kl_dir_list(&list, dir, "", NULL, 0) != 0) return;
    for (unsigned i = 0; i < list.count; i++) {
        const char *name = list.name[i];
        char *end;
        if (strncmp(name, BEGINS, strlen(BEGINS)) != 0) continue;
        long id = strtol(name + strlen(BEGINS), &end, 10);
        if (id <= 0 || *end != '-' || kl_process_alive(id)) continue;
        if (kl_file_join(path, sizeof path, dir, name, NULL, 0) == 0) kl_dir_remove_tree(path);
    }
    kl_dir_list_free(&list);
}

int kl_copies_folder(char *out, size_t cap, char *err, size_t err_len) {
    char prefix[48];
    remove_left();
    snprintf(prefix, sizeof prefix, BEGINS "%ld", kl_process_self());
    return kl_dir_make_temporary(out, cap, prefix, err, err_len);
}
