#include <errno.h>
#include <unistd.h>

#include "net/platform/standard.h"

int kl_input_open(void) {
    return STDIN_FILENO;
}

int kl_input_read(int input, void *bytes, size_t cap) {
    ssize_t n = read(input, bytes, cap);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return 0;
    return n > 0 ? (int)n : -1;
}

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
