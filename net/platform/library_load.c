#include <stdio.h>

#include "net/platform/library.h"

bool kl_library_load(const char *path, const struct kl_library_symbol *want, size_t count, char *err,
                     size_t err_len) {
    void *library = kl_library_open(path, err, err_len);
    for (size_t i = 0; library && i < count; i++) {
        if ((*want[i].to = kl_library_find(library, want[i].name))) continue;
        snprintf(err, err_len, "%s lacks %s", path, want[i].name);
        return false;
    }
    return library != NULL;
}
