#include "net/platform/output.h"

#include <errno.h>
#include <unistd.h>

bool kl_output_write(int descriptor, const void *bytes, size_t len) {
    const char *at = bytes;
    while (len) {
        ssize_t n = write(descriptor, at, len);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        at += n;
        len -= (size_t)n;
    }
    return true;
}

void kl_output_plain(void) {}
