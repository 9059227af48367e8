/* hashfile.h - files of hashes: one line "FRAME RAM STATE" a hashed frame, in order of frames; decimal frame,
 * then XXH3-64 of system RAM and of the serialized state after that frame as 16 hexadecimal digits, "-" for
 * none. */
#ifndef KLT_HASHFILE_H
#define KLT_HASHFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "core_wrapper/core/statehash.h"

struct kl_hashline {
    uint32_t frame;
    bool has_ram, has_state, has_picture; /* no file has pictures */
    uint64_t ram, state, picture;
};

struct kl_hashline kl_hashline_of(uint32_t frame, const struct kl_statehash *h);

/* "0123456789abcdef", or "-" for none. */
#define KLT_HASH_TEXT 17
void kl_hash_text(char out[KLT_HASH_TEXT], bool has, uint64_t hash);

/* Writes a line and hands it to the system, so that a full disk shows at once. 0, or -1 with errno. */
int kl_hashline_write(FILE *f, const struct kl_hashline *line);

struct kl_hashreader {
    FILE *file;
    const char *path;
    unsigned line; /* number of the line read last, from 1 */
    bool any;
    uint32_t frame; /* of the last line read, if any */
};
int kl_hashreader_open(struct kl_hashreader *r, const char *path, char *err, size_t err_len);
void kl_hashreader_close(struct kl_hashreader *r);
/* Returns 1: out is filled in; 0: end of file; -1: err names file and line, the expected and the actual
 * value. */
int kl_hashreader_next(struct kl_hashreader *r, struct kl_hashline *out, char *err, size_t err_len);

/* Two files compared over the frames they share. */
struct kl_hashdiff {
    uint32_t shared;           /* frames in both files with something to compare */
    uint32_t first, last;      /* of the shared frames */
    uint32_t hard, hard_first; /* RAM differs, or the state if neither has RAM */
    bool hard_in_state;        /* that first difference is one of state */
    uint32_t soft, soft_first; /* only states differ */
    struct kl_hashline a, b;   /* the two lines of hard_first, else of soft_first */
};
/* 0; -1 with a line in err. */
int kl_hashdiff(struct kl_hashdiff *d, const char *path_a, const char *path_b, char *err, size_t err_len);

#endif
