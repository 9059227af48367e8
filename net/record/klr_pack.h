/* klr_pack.h - a closed recording, packed: zstd frames of a minute of play each. net/RECORD.md §4.
 *
 * Each zstd frame stands behind a small one that zstd passes over. It has the lengths, and a check that is
 * chained to the one before, so a packed frame that was changed, lost, moved or swapped shows. The blocks'
 * own checks are over the unpacked bytes; they are left out, and computed anew. So packing proves nothing,
 * and changes nothing that is proven. Of the heap. */
#ifndef KL_KLR_PACK_H
#define KL_KLR_PACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KL_KLR_MINUTE_FRAMES 3600         /* at least, of one zstd frame but the last */
#define KL_KLR_BYTES_MAX     (256u << 20) /* of a recording that is read, unpacked */
#define KL_KLR_PACK_MAX      (64u << 20)  /* of one that is packed: 50 hours; a larger one stays as it is */

/* Packs a recording that has its END, in place: written beside it, forced to the disk and renamed over it. 0,
 * also if it was packed before. -1 with a line in err, and it is unchanged: no plain file, damaged, without
 * END, too large, or the disk is full. An hour takes some 0.2 s. */
int kl_klr_pack(const char *path, char *err, size_t err_len);

/* It begins as a packed recording. */
bool kl_klr_is_packed(const uint8_t *bytes, size_t len);

struct kl_klr_unpacked {
    uint8_t *bytes; /* of the whole zstd frames, from malloc: the caller frees it */
    size_t len;
    unsigned frames;    /* that are whole */
    uint64_t at;        /* byte of the packed file behind them */
    const char *damage; /* of the one there; "": the file ends */
};
/* name: of the file, for err. 0; -1 with a line in err: it is larger than KL_KLR_BYTES_MAX, or no memory. */
int kl_klr_unpack(struct kl_klr_unpacked *u, const uint8_t *packed, size_t len, const char *name, char *err,
                  size_t err_len);
/* The same, of `most` bytes at most. */
int kl_klr_unpack_most(struct kl_klr_unpacked *u, size_t most, const uint8_t *packed, size_t len,
                       const char *name, char *err, size_t err_len);

#endif
