/* filelist.h - the files that a file of a set names: the disks of a list, the tracks of a disk.
 * docs/design.md §5 "Identity".
 *
 * A core may open them long after the start, so a room compares them at the start. The list is somebody
 * else's file and not trusted: lengths, numbers and depth are bounded. A name may lead out of the list's
 * folder, since a core follows it there as well; only plain files are ever read. */
#ifndef KLW_FILELIST_H
#define KLW_FILELIST_H

#include <stdbool.h>
#include <stddef.h>

#define KL_FILELIST_FILES 256         /* that one set names, in all */
#define KL_FILELIST_DEPTH 3           /* a list of disks, a disk, its parent */
#define KL_FILELIST_BYTES (64u << 10) /* of a list; a longer one is taken for no list */

struct kl_filelist {
    unsigned count;
    char *path[KL_FILELIST_FILES]; /* as the core would open them, also of files that are missing; heap */
};

/* Adds every file that the file at `path` names, and those that these name: .m3u, .cue, .gdi, .toc; beside
 * a .ccd its .img and .sub, beside an .mds its .mdf; the parent of a .chd, if a .chd beside it is that.
 * Each once, in the set's order, without `path` itself. Other files name none. */
void kl_filelist_add(struct kl_filelist *l, const char *path);
void kl_filelist_free(struct kl_filelist *l);

/* The path of disk `index`, from 0, of the list of disks (.m3u) at `path`. False: it is no such list, or has
 * fewer disks. */
bool kl_filelist_disk(const char *path, unsigned index, char *out, size_t cap);

/* The names in a list's text. kind: the ending of its file, "m3u". give() gets each name and its number;
 * false from it ends the list. For tests; text need not end with NUL. */
typedef bool (*kl_filelist_give)(void *ctx, unsigned index, const char *name);
void kl_filelist_parse(const char *kind, const char *text, size_t len, kl_filelist_give give, void *ctx);

#endif
