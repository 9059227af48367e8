#include "net/platform/output.h"

#include <fcntl.h>
#include <io.h>

#define PIECE 32768 /* of one call; a console takes no more than 64 KiB at once */

bool kl_output_write(int descriptor, const void *bytes, size_t len) {
    const char *at = bytes;
    while (len) {
        int n = _write(descriptor, at, len < PIECE ? (unsigned)len : PIECE);
        if (n <= 0) return false;
        at += n;
        len -= (size_t)n;
    }
    return true;
}

void kl_output_plain(void) {
    (void)_setmode(1, _O_BINARY);
    (void)_setmode(2, _O_BINARY);
}
