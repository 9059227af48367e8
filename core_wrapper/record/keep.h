/* keep.h - keeps the states of the last hashed frames. If hashes differ, both sides write them, and `keylock
 * blame` compares the files. */
#ifndef KLW_KEEP_H
#define KLW_KEEP_H

#include "core_wrapper/core/statefile.h"

#define KL_KEEP_SLOTS 32          /* if each frame is hashed, verdicts come several hashes later */
#define KL_KEEP_BYTES (64u << 20) /* of all slots; two are kept however large they are */

struct kl_kept {
    uint8_t *bytes;
    size_t len, cap;
    uint32_t frame;
    uint64_t chance;
};
struct kl_keep {
    char dir[4096];                     /* "": nothing is kept */
    struct kl_kept slot[KL_KEEP_SLOTS]; /* slot[0] the newest; those behind count only lend their memory */
    unsigned count;
};

/* Keeps a copy of the state after `frame`. */
void kl_keep_add(struct kl_keep *k, uint32_t frame, uint64_t chance, const void *bytes, size_t len);
/* Writes all kept states into k->dir, made if it is missing, and forgets them. Fills in frame and chance of
 * origin. Returns their number, or -1 with a line in err. */
int kl_keep_write(struct kl_keep *k, const struct kl_origin *origin, char *err, size_t err_len);
void kl_keep_free(struct kl_keep *k);

#endif
