#include "net/platform/input.h"

#include <errno.h>
#include <unistd.h>

int kl_input_open(void) {
    return STDIN_FILENO;
}

int kl_input_read(int input, void *bytes, size_t cap) {
    ssize_t n = read(input, bytes, cap);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return 0;
    return n > 0 ? (int)n : -1;
}
