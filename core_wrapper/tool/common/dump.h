/* dump.h - copies of a core's memory at one moment, and the differences between two series of them. */
#ifndef KLT_DUMP_H
#define KLT_DUMP_H

#include "core_wrapper/tool/common/regions.h"

/* The memories of a moment. The last one is the savestate, named KLT_DUMP_STATE, of 0 bytes if there is
 * none. */
#define KLT_DUMP_STATE "savestate"
struct kl_dump {
    unsigned count;
    struct kl_region at[KLT_REGIONS + 1]; /* ptr: the bytes, in dump->bytes */
    uint8_t *bytes;                       /* heap, all of them */
};
void kl_dump_free(struct kl_dump *d);

/* The differences of one memory, over all compared moments. */
struct kl_differ {
    struct kl_region region; /* ptr unused */
    uint64_t len_a, len_b;   /* of the moment compared last */
    uint32_t sizes;          /* moments in which the sizes differed */
    uint32_t moments;        /* in which any byte differed */
    uint32_t first, last;    /* the frames of the first and last such moment */
    uint32_t *times;         /* per byte: moments in which it differed */
    uint8_t *a, *b;          /* per byte: its values when it first differed */
    uint64_t bytes;          /* that differed at least once */
    uint8_t *hidden;         /* per byte: told already, as one of a memory beside; NULL: none */
    bool held;               /* A's savestate holds this memory */
    uint64_t held_at;        /* its offset in the savestate */
};
struct kl_comparison {
    unsigned count;
    struct kl_differ at[KLT_REGIONS + 1];
    uint32_t moments, differing; /* compared; in which anything differed */
    uint32_t first;              /* frame of the first that differed */
};

/* Compares two dumps of the same core at the same frame and adds the differences. Returns 0, or -1 with a
 * line in err: different memories, or out of memory. */
int kl_comparison_add(struct kl_comparison *c, const struct kl_dump *a, const struct kl_dump *b,
                      uint32_t frame, char *err, size_t err_len);
void kl_comparison_free(struct kl_comparison *c);

/* Neighbouring bytes that differed, as one range. */
struct kl_range {
    uint64_t from, to;    /* offsets, both within */
    uint32_t least, most; /* moments in which its bytes differed */
};
/* The first range at or behind offset `from`, without hidden bytes. False: there is none. */
bool kl_differ_next(const struct kl_differ *d, uint64_t from, struct kl_range *out);
unsigned kl_differ_ranges(const struct kl_differ *d);
/* Hides the savestate's bytes that belong to a memory compared beside it. Returns the number of hidden bytes
 * that differ. Call it after the last kl_comparison_add(). */
uint64_t kl_comparison_hide(struct kl_comparison *c);

#endif
