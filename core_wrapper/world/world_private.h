/* world_private.h - shared by the files of the world: the replacements of each file, by import. See
 * world.h. */
#ifndef KLW_WORLD_PRIVATE_H
#define KLW_WORLD_PRIVATE_H

#include <stdio.h>

#include "core_wrapper/world/world.h"

struct kl_hook {
    const char *name; /* of the import, as the dynamic symbol table has it */
    void *fn;         /* the replacement */
    void **real;      /* gets the original for fn; or NULL */
};

/* Tables that end with a NULL name. */
extern const struct kl_hook kl_world_clock_hooks[];
extern const struct kl_hook kl_world_random_hooks[];
extern const struct kl_hook kl_world_file_hooks[];
extern const struct kl_hook kl_world_heap_hooks[];

/* world_clock.c */
void kl_world_clock_start(uint64_t epoch_s, uint32_t fps_uhz);
void kl_world_clock_rate(uint32_t fps_uhz);
void kl_world_clock_frame(uint32_t f);
/* world_random.c */
void kl_world_random_start(uint64_t seed);

/* world_archive.c */
/* Opens a .zip or .7z for reading and notes all reads. NULL: it is none, or cannot be opened. */
FILE *kl_world_archive_open(const char *path);
/* Reads from such a stream in place of fread(), in one piece; fread() is to read the rest, if any. */
size_t kl_world_archive_fread(void *out, size_t bytes, FILE *f);
/* True for a stream of kl_world_archive_open() that is open. */
bool kl_world_archive_has(const FILE *f);
/* A stream of the same file that has a descriptor, whose reads nobody sees; f itself if it is none of ours.
 * NULL: it cannot be opened. */
FILE *kl_world_archive_plain(FILE *f);
/* The archive at this real path is read in a way that is not seen. */
void kl_world_archive_unseen(const char *real);
void kl_world_archives_clear(void);

/* world_elf.c: walks the imports (undefined symbols that relocations of the object refer to). Calls
 * replace() once for each such relocation with the present address; replace() returns the new address, or
 * NULL to leave it. Returns 0, or -1 with a line in err; changes made until then stay. */
typedef void *(*kl_elf_replace)(void *user, const char *name, void *now);
int kl_elf_imports(void *handle, kl_elf_replace replace, void *user, char *err, size_t err_len);

#endif
