/* arena.h - the heap of a core that goes back by its pages: world_arena.c. */
#ifndef KLW_ARENA_H
#define KLW_ARENA_H

#include "core_wrapper/world/world_private.h"

/* Points the core's imports of the heap at the arena, and the C++ library's imports of free() and realloc()
 * at functions that know it. One core in a process. Returns the arena, or NULL with a line in why. */
uint8_t *kl_arena_open(struct kl_world *w, void *handle, size_t *bytes, char *why, size_t why_len);
/* The core has been unloaded. */
void kl_arena_close(void);

/* From now on memory of others that the core frees stays: the core may go back, and free it again. */
void kl_arena_play(void);
/* Its bytes that have ever been in use, in whole pages. */
const uint8_t *kl_arena_used(size_t *bytes);
/* The kind of mapping that the core has made and that is none of the arena's; "": none. */
const char *kl_arena_strange(void);

#endif
