/* A hash file as `keylock diff` reads it. */
#include "tests/fuzz/fuzz.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core_wrapper/tool/common/hashfile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char path[64], err[300] = "";
    int fd = memfd_create("hashes", 0);
    MUST(fd >= 0 && write(fd, data, size) == (ssize_t)size);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    struct kl_hashdiff d;
    if (kl_hashdiff(&d, path, path, err, sizeof err) == 0)
        MUST(d.hard == 0 && d.soft == 0); /* a file is equal to itself */
    else
        MUST(err[0] != 0 && memchr(err, 0, sizeof err));
    close(fd);
    return 0;
}
