/* A savestate's container, ours or RetroArch's. */
#include "tests/fuzz/fuzz.h"

#include <string.h>

#include "core_wrapper/core/statefile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char err[300] = "";
    struct kl_statefile s;
    if (kl_statefile_parse(&s, data, size, "fuzz", err, sizeof err) == 0)
        MUST(s.bytes && s.len <= size);
    else
        MUST(!s.bytes && err[0] && memchr(err, 0, sizeof err));
    kl_statefile_free(&s);
    return 0;
}
