/* memory.h - the memory that the frontend sees in a room: never the core's own.
 *
 * Save RAM and RTC: buffers that hold the player's data for as long as the content is loaded. The frontend
 * fills them from the player's files and writes them back. The session reads them once (the host's, at the
 * start). System RAM, video RAM and the memory map: copies, refreshed now and then. The writes of a cheat
 * into them are lost. The frontend keeps pointers into all of these buffers across the core's second load. */
#ifndef KLW_MEMORY_H
#define KLW_MEMORY_H

#include "core_wrapper/core/core.h"

#define KL_MEMORY_VIEWS   12
#define KL_MEMORY_REGIONS 64

struct kl_memory {
    struct {
        unsigned id;
        bool save;
        size_t size;
        uint8_t *bytes;
    } view[KL_MEMORY_VIEWS];
    unsigned views;

    /* the memory map */
    unsigned count;
    struct retro_memory_descriptor *inner; /* the core's declaration, with the core's pointers */
    struct retro_memory_descriptor *shown; /* the declaration that the frontend got */
    struct {
        const uint8_t *from; /* the core's */
        uint8_t *to;
        size_t first, end; /* bytes [first, end) are copied */
        bool constant;
    } region[KL_MEMORY_REGIONS];
    unsigned regions;
    bool attached; /* the inner pointers are those of a loaded library */
};

/* After the first load: makes the views. extra: more ids (of a subsystem), which count as save memory. */
void kl_memory_make(struct kl_memory *m, const struct kl_core *core, const unsigned *extra, unsigned extras);
void *kl_memory_data(const struct kl_memory *m, unsigned id);
size_t kl_memory_size(const struct kl_memory *m, unsigned id);

/* The core declares its memory map. True if the frontend must be told (the first map, or another layout):
 * kl_memory_shown() gives the map for it. */
bool kl_memory_map(struct kl_memory *m, const struct retro_memory_map *map);
struct retro_memory_map kl_memory_shown(const struct kl_memory *m);
/* The core's own map; num_descriptors 0 if it has declared none. */
struct retro_memory_map kl_memory_inner(const struct kl_memory *m);

/* Copies the save views to the core, or back, if the game is the player's own. */
void kl_memory_give_saves(const struct kl_memory *m, const struct kl_core *core);
void kl_memory_take_saves(struct kl_memory *m, const struct kl_core *core);

/* Copies the core's present memory into the frontend's views. */
void kl_memory_refresh(struct kl_memory *m, const struct kl_core *core);
/* The library is unloaded: forgets its pointers. */
void kl_memory_detach(struct kl_memory *m);
/* Frees all, if no frontend has seen the map. */
void kl_memory_drop(struct kl_memory *m);
/* Frees all but the map's copies, because frontends may still point into these at a later load. */
void kl_memory_free(struct kl_memory *m);

#endif
