/* world_folder.h - the folders that a core lists: their entries in one order on every machine.
 *
 * A file system gives entries in its own order: by the hash of a name, or by age. A core that takes "the
 * first file" would differ between two machines. So the entries of a folder are read whole when the core asks
 * for the first of them, sorted, and given from there. */
#ifndef KLW_WORLD_FOLDER_H
#define KLW_WORLD_FOLDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One that a core has open. All worlds share the list, because a library that lists folders for several cores
 * has no world. */
struct kl_world;
struct kl_folder {
    struct kl_folder *next;
    const void *self; /* the core's handle */
    void **entry;     /* of the heap, each of the heap; owned */
    size_t count, cap, at;
    bool read;              /* the entries are those of the folder */
    struct kl_world *world; /* with path: a player's folder, of which a session sees other entries (view.h) */
    char *path;             /* as the core named it; owned */
};

/* "." first, then "..", then by bytes: negative, 0 or positive. */
int kl_folder_order(const char *a, const char *b);
/* A number for a file that depends on its name alone, never 0: numbers of a disk differ by machine. */
uint64_t kl_folder_number(const char *name);

/* Takes a copy of these bytes; they are not sorted in. False: no memory. */
bool kl_folder_put(struct kl_folder *f, const void *entry, size_t bytes);

/* The folder of this handle; NULL: it is not in the list. */
struct kl_folder *kl_folder_of(const void *self);
/* Puts an empty one into the list; NULL: no memory. */
struct kl_folder *kl_folder_begin(const void *self);
/* Forgets its entries. */
void kl_folder_clear(struct kl_folder *f);
/* Takes it out of the list and frees it; NULL: harmless. */
void kl_folder_end(struct kl_folder *f);

#endif
