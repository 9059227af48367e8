/* regions.h - the memories that a core shows, each byte of the host's memory once: the descriptors of its
 * memory map (SET_MEMORY_MAPS) with their guest addresses, then other memory from retro_get_memory_data. */
#ifndef KLT_REGIONS_H
#define KLT_REGIONS_H

#include "core_wrapper/core/core.h"

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

#endif
