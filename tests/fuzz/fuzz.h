/* fuzz.h - a fuzz target: one function, which must return whatever the bytes are. Build with
 * clang -fsanitize=fuzzer,address,undefined, or with replay_main.c and any compiler. */
#ifndef FUZZ_FUZZ_H
#define FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/lib/must.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* mkdtemp() in memory, where there is such a place: a target writes thousands of files a second. */
static inline char *fuzz_folder(char out[40]) {
    snprintf(out, 40, "%s/keylock-fuzz-XXXXXX", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    return mkdtemp(out);
}

/* The base that slices of a snapshot are given against: another, shorter than one slice. Theirs is two slices
 * long. */
#define FUZZ_BASE  20000
#define FUZZ_BASED (128 * 1024 + 5000)
static inline void fuzz_base(uint8_t out[FUZZ_BASE]) {
    for (unsigned i = 0; i < FUZZ_BASE; i++)
        out[i] = (uint8_t)(i * i / 77);
}

/* Records of a corpus file: u8 extra, u16 length (little-endian), bytes. The last may be cut short. */
struct record {
    uint8_t extra;
    const uint8_t *bytes;
    size_t len;
};
static inline int next_record(const uint8_t **data, size_t *size, struct record *r) {
    if (*size < 3) return 0;
    r->extra = (*data)[0];
    r->len = (*data)[1] | (size_t)(*data)[2] << 8;
    if (r->len > *size - 3) r->len = *size - 3;
    r->bytes = *data + 3;
    *data += 3 + r->len;
    *size -= 3 + r->len;
    return 1;
}

#endif
