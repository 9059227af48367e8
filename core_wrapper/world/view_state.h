/* view_state.h - the memory of the session's view (view.h). */
#ifndef KLW_WORLD_VIEW_STATE_H
#define KLW_WORLD_VIEW_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core_wrapper/world/fileset.h"
#include "net/platform/file.h"
#include "net/platform/thread.h"

#define KL_VIEW_FILES   2048 /* that a core writes or removes in a session; it can make no more */
#define KL_VIEW_ROOTS   7
#define KL_VIEW_HANDLES 64 /* open files of which the place is known */

/* A file of the player's may be out of sight. */
enum kl_sight {
    KL_SIGHT_PLAIN,
    KL_SIGHT_GIVEN,  /* a file of the session is seen in its place */
    KL_SIGHT_HIDDEN, /* there is none, until the core makes one */
};
/* path: absolute. out: for KL_SIGHT_GIVEN, gets the path of the file to be seen. ctx: the caller's. */
typedef enum kl_sight (*kl_sight_of)(void *ctx, const char *path, char *out, size_t cap);

/* The core's next step with a path. */
enum kl_use {
    KL_USE_LOOK,   /* reads it, or asks about it */
    KL_USE_CHANGE, /* writes it, and its bytes stay: r+, a */
    KL_USE_EMPTY,  /* writes it, and its bytes go: w */
    KL_USE_NEW,    /* makes it, which fails if it is there: x, mkdir */
    KL_USE_REMOVE,
};

struct kl_view_root {
    const char *name;        /* "": the name goes on without it */
    char path[KL_FILE_PATH]; /* without a slash at its end */
    char real[KL_FILE_PATH]; /* the same without links */
};

/* A file that the core has written or removed. */
struct kl_view_file {
    char *name, *path;
    bool copied;           /* the player's bytes were taken over, so they are compared in the room */
    bool local;            /* its name may differ on other machines: it is no part of a snapshot */
    bool large;            /* its first bytes are not kept: once it is written, nobody can go back */
    bool covert;           /* a stream was opened on it whose buffer nobody can reach */
    bool mapped;           /* its bytes may change without a write */
    bool passing;          /* it has no name that the core knows, and goes when it is closed */
    int64_t date_ns;       /* of the virtual clock, since 1970 */
    struct kl_blob *first; /* its bytes when the session began; NULL: there was none, or it is large */
    struct kl_blob *now;   /* as last read; NULL: there is none */
    uint64_t number;       /* kl_file_mark() of the time when it was last read; 0: never */
};

/* An open file of the core. */
struct kl_handle {
    void *stream; /* FILE; NULL: a descriptor alone */
    int fd;       /* -1: unknown */
    uint32_t serial;
    struct kl_view_file *file; /* NULL: of the player's, which is only read */
};

struct kl_view {
    struct kl_mutex lock;
    bool on;
    struct kl_view_root root[KL_VIEW_ROOTS];
    unsigned roots;
    char own[KL_FILE_PATH];
    kl_sight_of sight;
    void *ctx;
    struct kl_view_file *file[KL_VIEW_FILES];
    unsigned count;
    size_t first_bytes; /* of all kl_view_file.first */
    struct kl_handle handle[KL_VIEW_HANDLES];
    unsigned handles;
    uint32_t serial;
};

#endif
