/* desync.h - desyncs: states that are kept to be compared, and desyncs that are planted for tests. */
#ifndef KLW_DESYNC_H
#define KLW_DESYNC_H

#include "core_wrapper/core/statefile.h"
#include "core_wrapper/core/statehash.h"

/* --- states kept --- */

/* Keeps the states of the last hashed frames. If hashes differ, both sides write them, and `keylock blame`
 * compares the files. */

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

/* --- planted desyncs --- */

/* A desync that is planted for tests: before a frame, on this machine only, all bits of one byte are turned
 * over, once: not again if the machine replays that frame. `keylock run --corrupt`, KEYLOCK_CORRUPT. */

struct kl_corrupt {
    bool set, has_offset, in_state;
    uint32_t frame;
    uint64_t offset; /* in system RAM, pieces in order; in_state, or without RAM: in the savestate */
};

/* "FRAME", "FRAME:OFFSET" or "FRAME:state:OFFSET", the offset also as 0x…. Without offset: the middle. 0, or
 * -1 with a line in err. */
int kl_corrupt_parse(struct kl_corrupt *c, const char *text, char *err, size_t err_len);

/* Plants the desync and fills in c->offset. line describes the change or the reason for none. Returns 0, or
 * -1. */
int kl_corrupt_do(struct kl_corrupt *c, const struct kl_core *core, const struct retro_memory_map *map,
                  char *line, size_t line_len);

#endif
