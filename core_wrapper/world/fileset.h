/* fileset.h - the files of a session at one moment: those that the core has written or removed since the
 * start, and the places of its open files. To go back to a state is to go back to these as well.
 *
 * The bytes of a file that has not changed are shared by all that keep it. Not thread-safe. */
#ifndef KLW_WORLD_FILESET_H
#define KLW_WORLD_FILESET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KL_FILESET_FILES  256        /* at one moment */
#define KL_FILESET_PLACES 64         /* open files */
#define KL_FILESET_BYTES  (8u << 20) /* of all files together */
#define KL_FILESET_NAME   256        /* NUL included */

/* Bytes that several may keep. */
struct kl_blob {
    unsigned keepers;
    uint64_t hash; /* XXH3-64 */
    size_t len;
    uint8_t bytes[];
};

struct kl_fileset_file {
    char name[KL_FILESET_NAME]; /* such as "save/card.mcr" */
    bool local;                 /* given to no other machine */
    int64_t date_ns;
    struct kl_blob *blob; /* NULL: it was removed */
};

/* An open file. */
struct kl_fileset_place {
    uint32_t serial; /* of its opening, in one world */
    unsigned file;   /* of kl_fileset.file; KL_FILESET_FILES: none of these, which only this world finds */
    uint64_t offset;
};

struct kl_fileset {
    unsigned files, places;
    struct kl_fileset_place place[KL_FILESET_PLACES];
    struct kl_fileset_file file[]; /* by name */
};

/* Copies the bytes. One keeper; NULL: no memory. */
struct kl_blob *kl_blob_make(const void *bytes, size_t len);
struct kl_blob *kl_blob_keep(struct kl_blob *b);
void kl_blob_drop(struct kl_blob *b); /* NULL: harmless */

/* Room for so many files, with none in it; NULL: no memory. */
struct kl_fileset *kl_fileset_make(unsigned files);
void kl_fileset_free(struct kl_fileset *k); /* NULL: harmless */
/* The hash of all that is not local; 0: nothing. */
uint64_t kl_fileset_hash(const struct kl_fileset *k);
/* The first file, by name, that two machines do not have alike; NULL: none. k NULL: nothing was written. */
const char *kl_fileset_differs(const struct kl_fileset *a, const struct kl_fileset *b);

#endif
