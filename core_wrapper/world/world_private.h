/* world_private.h - shared by the files of the world: its state, and the replacements by import. See world.h.
 *
 * The functions that stand in for a core's imports, and the walk through its imports, are in elf/ on Linux
 * and in pe/ on Windows, with the same file names. */
#ifndef KLW_WORLD_PRIVATE_H
#define KLW_WORLD_PRIVATE_H

#include <stdatomic.h>
#include <stdio.h>

#ifdef _WIN32
#include "core_wrapper/world/pe/reals.h"
#else
#include "core_wrapper/world/elf/reals.h"
#endif
#include "core_wrapper/world/world.h"
#include "net/platform/file.h"
#include "net/platform/thread.h"

#define KL_NS_PER_S 1000000000LL

#define KL_WORLD_FILES                                                                                       \
    512 /* names kept; a core that opens more has long told apart one machine from another */

struct kl_world_clock {
    int64_t epoch_ns;
    int64_t base_ns; /* time since frame 0 at base_frame, the frame of the last change of rate */
    uint32_t base_frame, frame, fps_uhz;
    _Atomic int64_t since_ns; /* since frame 0, at the frame that runs */
    _Atomic uint32_t reads;   /* in this frame */
    _Atomic uint32_t runs;    /* of frames; one may be run again */
    char text[64];            /* ctime's */
    long timezone;
    int daylight;
    char *tzname[2];
};

struct kl_world_files {
    struct kl_mutex lock;
    char *name[KL_WORLD_FILES];
    bool wrote[KL_WORLD_FILES];
    unsigned count;
    kl_world_redirect redirect; /* NULL: none */
    void *redirect_ctx;
};

/* world_archive.c */
struct kl_world_archives {
    struct kl_mutex lock;
    struct kl_read_file *file;
    struct kl_stream *stream;
};

struct kl_world {
    bool taken;
    struct kl_world_clock clock;
    _Atomic uint64_t chance;
    struct kl_world_files files;
    struct kl_world_archives archives;
    struct kl_world_reals real;
    struct kl_mutex asking;
    struct kl_world_report *report; /* borrowed from the caller of kl_world_turn(); NULL: none */
};
extern struct kl_world kl_world_at[KL_WORLDS];

/* The library that an import is from. On Linux, where names alone count, all are of the first kind. */
enum kl_from { KL_FROM_RUNTIME, KL_FROM_SYSTEM, KL_FROM_OTHER };

struct kl_hook {
    const char *name;    /* of the import, as the object has it */
    void *fn[KL_WORLDS]; /* the replacement, of each world */
    size_t real;         /* offset in struct kl_world of the pointer that gets the original; 0: none does */
    enum kl_from from;
};

/* Makes R f##0 to f##3 with these parameters: f for each world, which it takes first. */
#define KL_TURNED(R, f, PARAMS, ...)                                                                         \
    static R f##0 PARAMS {                                                                                   \
        return f(&kl_world_at[0], ##__VA_ARGS__);                                                            \
    }                                                                                                        \
    static R f##1 PARAMS {                                                                                   \
        return f(&kl_world_at[1], ##__VA_ARGS__);                                                            \
    }                                                                                                        \
    static R f##2 PARAMS {                                                                                   \
        return f(&kl_world_at[2], ##__VA_ARGS__);                                                            \
    }                                                                                                        \
    static R f##3 PARAMS {                                                                                   \
        return f(&kl_world_at[3], ##__VA_ARGS__);                                                            \
    }
_Static_assert(KL_WORLDS == 4, "KL_TURNED and the macros below list the worlds");
#define KL_REAL(member)  offsetof(struct kl_world, real.member)
#define KL_HOOK(name, f) KL_HOOK_REAL(name, f, 0)
#define KL_HOOK_REAL(name, f, offset)                                                                        \
    { name, {(void *)f##0, (void *)f##1, (void *)f##2, (void *)f##3}, offset, KL_FROM_RUNTIME }
#define KL_SYSTEM_HOOK(name, f)                                                                              \
    { name, {(void *)f##0, (void *)f##1, (void *)f##2, (void *)f##3}, 0, KL_FROM_SYSTEM }
#define KL_HOOK_DATA(name, member)                                                                           \
    {                                                                                                        \
        name,                                                                                                \
            {&kl_world_at[0].member, &kl_world_at[1].member, &kl_world_at[2].member,                         \
             &kl_world_at[3].member},                                                                        \
            0, KL_FROM_RUNTIME                                                                               \
    }
/* Equal in all worlds. */
#define KL_HOOK_SAME(name, f)                                                                                \
    { name, {(void *)f, (void *)f, (void *)f, (void *)f}, 0, KL_FROM_RUNTIME }
#define KL_SYSTEM_HOOK_SAME(name, f)                                                                         \
    { name, {(void *)f, (void *)f, (void *)f, (void *)f}, 0, KL_FROM_SYSTEM }
#define KL_HOOK_END                                                                                          \
    { NULL, {NULL}, 0, KL_FROM_RUNTIME }

/* Tables that end with a NULL name. */
extern const struct kl_hook kl_world_clock_hooks[];
extern const struct kl_hook kl_world_random_hooks[];
extern const struct kl_hook kl_world_file_hooks[];
extern const struct kl_hook kl_world_stream_hooks[];
extern const struct kl_hook kl_world_heap_hooks[];
extern const struct kl_hook kl_world_import_hooks[];

/* Imports of time, chance or waiting that are known and not turned, up to a NULL name. A name that ends in *
 * is a prefix. */
struct kl_not_turned {
    const char *name, *reason;
};
extern const struct kl_not_turned kl_world_not_turned[];

/* world_clock.c */
void kl_world_clock_start(struct kl_world_clock *c, uint64_t epoch_s, uint32_t fps_uhz);
int64_t kl_world_since_ns(const struct kl_world *w); /* frame 0 to the frame that runs */
int64_t kl_world_wall_ns(struct kl_world *w);        /* since 1970: kl_world_read_ns() and the epoch */
/* The calendar, in UTC, computed here so that no zone file or locale has a say. tm: the members of C's
 * standard; a zone is not set. kl_world_make() is mktime(). */
struct tm;
void kl_world_split(int64_t t, struct tm *tm);
int64_t kl_world_make(struct tm *tm);

/* world_random.c */
void kl_world_random_start(struct kl_world *w, uint64_t seed);
uint64_t kl_world_mix(uint64_t z);
uint64_t kl_world_draw(struct kl_world *w); /* the next number */
void kl_world_draw_bytes(struct kl_world *w, void *buf, size_t n);

/* world_files.c */
/* The path that is opened for this one: `path`, or out. */
const char *kl_world_really(const struct kl_world *w, const char *path, char out[KL_FILE_PATH]);
/* kl_world_note_file(); seen: of an archive, what is read of it is noted. Keeps errno. */
void kl_world_note_opened(struct kl_world *w, const char *path, bool write, bool seen);

/* world_archive.c */
/* The archive at this real path is read in a way that is not seen. */
void kl_world_archive_unseen(struct kl_world *w, const char *real);
void kl_world_archives_clear(struct kl_world *w);

/* world_imports.c of elf/ and pe/: walks the imports of the object `handle`. Calls replace() once for each
 * with its present address; replace() returns the new address, or NULL to leave it. Returns 0, or -1 with a
 * line in err; changes made until then stay. */
typedef void *(*kl_replace)(void *user, enum kl_from from, const char *name, void *now);
int kl_world_imports(struct kl_world *w, void *handle, kl_replace replace, void *user, char *err,
                     size_t err_len);

/* world.c: the core asks for the address of a function while it runs. Returns what it gets in place of `now`,
 * and lists the name in the report; NULL: it gets `now`. */
void *kl_world_asked(struct kl_world *w, enum kl_from from, const char *name, void *now);
/* The same of a library that is no part of the system: what it imports stays the host's. */
#define KL_LOADED_REASON "what it loads keeps the host's clock"
void kl_world_loads(struct kl_world *w, const char *library);

#endif
