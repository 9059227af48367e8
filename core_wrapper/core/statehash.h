/* statehash.h - the two hashes of a frame: XXH3-64 of system RAM and of the serialized state. docs/design.md
 * §6. */
#ifndef KLW_STATEHASH_H
#define KLW_STATEHASH_H

#include "core_wrapper/core/core.h"

/* The pieces of memory that count as system RAM: from the core's memory map (SET_MEMORY_MAPS: descriptors
 * with flag RETRO_MEMDESC_SYSTEM_RAM, each byte of the host's memory once, in order of guest address), else
 * RETRO_MEMORY_SYSTEM_RAM. A piece whose pointer is NULL has a length and cannot be read: some cores map the
 * machine's RAM there if the system lets them (PCSX-ReARMed, as root). RAM of unequal layouts is not
 * compared. */
#define KL_RAM_PIECES 32
struct kl_ram {
    uint32_t layout; /* digest of the pieces' guest addresses and lengths, in their order, also of those that
                        cannot be read. 0: the core shows no RAM */
    unsigned count;  /* pieces that can be read */
    struct {
        void *ptr;
        size_t len;
    } piece[KL_RAM_PIECES];
};

/* Finds the core's RAM. map may be NULL. Reads the core's get_memory_data if the map holds no system RAM.
 * Cores may move their memory while they load or at a reset, so call it before each hash. */
void kl_ram_find(struct kl_ram *ram, const struct kl_core *c, const struct retro_memory_map *map);

/* XXH3-64 of all of it. False: there is none. */
bool kl_ram_hash(const struct kl_ram *ram, uint64_t *out);

struct kl_statehash {
    bool has_ram, has_state;
    uint64_t ram, state;
    size_t state_bytes; /* the core's serialize_size; 0: no state */
};

/* Grown as needed and kept by the caller between calls: start with zeros, free at the end. After
 * kl_statehash_take() data[0..size) is the state, or size is 0. */
struct kl_statehash_buffer {
    uint8_t *data;
    size_t cap, size;
};

/* Hashes ram and the core's state. It asks serialize_size every time, though that costs some cores (mgba) as
 * much as a serialize. States change their size (nestopia's shrinks after the first frame), and a hash from
 * an older size would differ from other machines' hashes. */
void kl_statehash_take(struct kl_statehash *out, const struct kl_core *c, const struct kl_ram *ram,
                       struct kl_statehash_buffer *buf);
void kl_statehash_buffer_free(struct kl_statehash_buffer *buf);

#endif
