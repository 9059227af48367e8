/* sums.h - checksums of files, and the files that a file of a set names. */
#ifndef KLW_SUMS_H
#define KLW_SUMS_H

#include <stdbool.h>
#include <stddef.h>

#include "net/platform/file.h"
#include "net/platform/thread.h"

/* --- checksums --- */

/* Checksums of files, computed by a thread: a disk of 700 MB takes seconds, and the frontend must not stand
 * still for them. Each file is read once as long as it stays the same (path, size, time of change).
 *
 * A struct of zeros is ready for use. Only one thread may call these functions. */

#define KL_SUMS 512 /* files of one session */

enum kl_sum_state {
    KL_SUM_BUSY, /* it is being read, or waits for its turn */
    KL_SUM_KNOWN,
    KL_SUM_MISSING, /* no plain file, or it cannot be read */
    KL_SUM_FULL,    /* more than KL_SUMS files were asked for, or there is no thread */
};

struct kl_sum {
    uint64_t bytes, hash; /* XXH3 of the bytes; of an archive, of its members without order and packing */
    uint32_t members;     /* of an archive that can be read here; else 0 */
};

/* By the thread and its owner; under the mutex but for `path`. */
struct kl_sum_entry {
    char *path;
    uint64_t bytes, changed;
    enum kl_sum_state state;
    struct kl_sum sum;
};

struct kl_sums {
    struct kl_mutex mutex;
    struct kl_cond news;
    struct kl_thread thread;
    bool runs, ends;
    unsigned count;
    struct kl_sum_entry *entry; /* KL_SUMS of them, once there is a thread */
    uint64_t done, asked;       /* bytes read, bytes to read, since the thread last had nothing to do */
};

/* The state of this file's checksum; the first call, and one after the file has changed, has it computed.
 * out: written with KL_SUM_KNOWN. Takes microseconds. */
enum kl_sum_state kl_sums_get(struct kl_sums *s, const char *path, struct kl_sum *out);
/* As kl_sums_get(), once it is not busy any more; with KL_SUM_FULL the caller's own thread reads the file. */
enum kl_sum_state kl_sums_wait(struct kl_sums *s, const char *path, struct kl_sum *out);
/* Waits until all files asked for are read, until_us (kl_now_us()) at the latest. True: they are. */
bool kl_sums_idle(struct kl_sums *s, uint64_t until_us);
/* Bytes read, and their sum with those that are still to be read. */
void kl_sums_progress(struct kl_sums *s, uint64_t *done, uint64_t *all);
/* Ends the thread in the middle of a file, and forgets all. Harmless twice. */
void kl_sums_close(struct kl_sums *s);

/* --- files that a file names --- */

/* The files that a file of a set names: the disks of a list, the tracks of a disk. docs/design.md §5
 * "Identity".
 *
 * A core may open them long after the start, so a room compares them at the start. The list is somebody
 * else's file and not trusted: lengths, numbers and depth are bounded. A name may lead out of the list's
 * folder, since a core follows it there as well; only plain files are ever read. */

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
