/* dump.h - copies of a core's memory at one moment, and the differences between two series of them. */
#ifndef KLT_DUMP_H
#define KLT_DUMP_H

#include "core_wrapper/core/core.h"

/* The memories that a core shows, each byte of the host's memory once: the descriptors of its
 * memory map (SET_MEMORY_MAPS) with their guest addresses, then other memory from retro_get_memory_data. */

#define KLT_REGIONS     64
#define KLT_REGION_NAME 40

struct kl_region {
    char name[KLT_REGION_NAME]; /* "system RAM", "video RAM", "save RAM", "clock", "memory"; the map's address
                                   space in () if it has a name */
    bool mapped;                /* start is a guest address; else offsets count from 0 */
    uint64_t start, disconnect; /* retro_memory_descriptor's */
    uint64_t len;
    uint8_t *ptr;
};

/* Fills in at most KLT_REGIONS; read-only memory is left out. map may be empty. Pointers are the core's: they
 * hold until it runs again. Returns how many. */
unsigned kl_regions_find(struct kl_region out[KLT_REGIONS], const struct kl_core *core,
                         const struct retro_memory_map *map);

/* The address of byte `offset` of a region, as the emulated machine counts. */
uint64_t kl_region_address(const struct kl_region *r, uint64_t offset);

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
