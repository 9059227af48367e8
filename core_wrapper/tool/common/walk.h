/* walk.h - looks at the files below folders, until one is the right one. Bounded: 50,000 files, 512 folders.
 * Links to folders below are not followed, and hidden names are passed over. */
#ifndef KLT_WALK_H
#define KLT_WALK_H

#include <stdbool.h>

#define KLT_WALK_FOLDERS 512

/* The caller sets look and ctx; the rest is zero. */
struct kl_walk {
    bool (*look)(void *ctx, const char *path); /* true: this one ends the walk */
    void *ctx;
    unsigned files, folders;
    char *folder[KLT_WALK_FOLDERS]; /* real paths, looked through already */
};

#define KLT_WALK_DEEP 6 /* folders below each other, as a rule */

/* True if look() said so. deep: so many folders below each other, 0: this one alone. One that was looked
 * through already is passed over. */
bool kl_walk_folder(struct kl_walk *w, const char *folder, unsigned deep);
bool kl_walk_file(struct kl_walk *w, const char *path);
void kl_walk_free(struct kl_walk *w);

#endif
