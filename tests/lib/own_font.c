#include "tests/lib/own_font.h"

#include "net/platform/dir.h"
#include "net/platform/file.h"
#include "net/platform/process.h"

const char *own_file(const void *bytes, size_t len) {
    static char path[KL_FILE_PATH];
    char name[64], err[300];
    snprintf(name, sizeof name, "keylock-test-font-%ld", kl_process_self());
    if (kl_dir_known(KL_DIR_TEMPORARY, name, path, sizeof path, err, sizeof err) != 0 ||
        kl_file_write_whole(path, bytes, len, KL_FILE_QUICK, err, sizeof err) != 0)
        abort();
    return path;
}
