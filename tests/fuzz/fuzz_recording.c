/* A recording as `keylock bisect` reads it. */
#include "tests/fuzz/fuzz.h"

#include <stdio.h>
#include <string.h>

#include "core_wrapper/record/recording.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char err[300] = "";
    struct kl_recording r;
    if (size == 0) return 0;
    FILE *f = fmemopen((void *)data, size, "r");
    MUST(f);
    int result = kl_recording_parse(&r, f, "fuzz", err, sizeof err);
    fclose(f);
    if (result < 0) MUST(err[0] && memchr(err, 0, sizeof err));
    for (unsigned i = 1; i < r.inputs; i++)
        MUST(r.input[i - 1].frame <= r.input[i].frame && r.input[i].seat < KL_MAX_SEATS);
    for (unsigned i = 1; i < r.hashes; i++)
        MUST(r.hash[i - 1].frame < r.hash[i].frame);
    kl_recording_at(&r, r.frames);
    kl_recording_at(&r, 0);
    kl_recording_free(&r);
    return 0;
}
