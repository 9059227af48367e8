/* corrupt.h - a desync that is planted for tests: before a frame, on this machine only, all bits of one byte
 * are turned over, once: not again if the machine replays that frame. `keylock run --corrupt`,
 * KEYLOCK_CORRUPT. */
#ifndef KLW_CORRUPT_H
#define KLW_CORRUPT_H

#include "core_wrapper/core/statehash.h"

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
