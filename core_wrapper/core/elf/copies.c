#include "core_wrapper/core/copies.h"

#include "net/platform/dir.h"

int kl_copies_folder(char *out, size_t cap, char *err, size_t err_len) {
    return kl_dir_make_temporary(out, cap, "keylock-core", err, err_len);
}
