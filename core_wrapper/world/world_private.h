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
#include "core_wrapper/world/view_state.h"
#include "core_wrapper/world/world.h"
#include "net/platform/file.h"
#include "net/platform/thread.h"

#define KL_NS_PER_S 1000000000LL

/* The host's facts, equal in all rooms. No process has this number: Linux's stay below 2^22, and Windows' are
 * multiples of 4, small ones. */
#define KL_HOST_PID        4200003
#define KL_HOST_PROCESSORS 4
#define KL_HOST_MEMORY     (4ull << 30)
#define KL_HOST_NAME       "keylock"

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
};

/* world_archive.c */
struct kl_world_archives {
    struct kl_mutex lock;
    struct kl_read_file *file;
    struct kl_stream *stream;
};

/* world_threads.c: the core's own threads */
#define KL_WORLD_THREADS 64
struct kl_world_threads {
    struct kl_mutex lock;
    struct kl_world_thread {
        int number;        /* of the system */
        uint64_t since_ns; /* time that it had had of processors as the wait began */
    } at[KL_WORLD_THREADS];
    atomic_uint count, starting;
    bool restless; /* one has worked on long after a frame: they are not waited for any more */
};

struct kl_world {
    bool taken;
    struct kl_world_clock clock;
    _Atomic uint64_t chance;
    enum kl_rand_use rand_use;
    struct kl_world_files files;
    struct kl_view view;
    struct kl_world_archives archives;
    struct kl_world_reals real;
    struct kl_world_host host;
    struct kl_world_threads threads;
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
extern const struct kl_hook kl_world_name_hooks[];
extern const struct kl_hook kl_world_stream_hooks[];
extern const struct kl_hook kl_world_folder_hooks[];
extern const struct kl_hook kl_world_host_hooks[];
extern const struct kl_hook kl_world_locale_hooks[];
extern const struct kl_hook kl_world_thread_hooks[];
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

/* world_state.c: chance */
void kl_world_random_start(struct kl_world *w, uint64_t seed);
#define KL_CHANCE_STEP 0x9e3779b97f4a7c15u
uint64_t kl_world_mix(uint64_t z);
uint64_t kl_world_draw(struct kl_world *w); /* the next number */
void kl_world_draw_bytes(struct kl_world *w, void *buf, size_t n);
/* rand() of a system with this RAND_MAX, 2^31-1 or 2^15-1, for a number drawn. */
int kl_world_rand_of(uint64_t drawn, enum kl_rand_use use, int rand_max);

/* view.c */
/* The path to be used for this one: `path`, or out. Keeps errno. */
const char *kl_world_really(struct kl_world *w, const char *path, enum kl_use use, char out[KL_FILE_PATH]);
/* The session's file at this path is one of the player's, with its bytes: what the core reads of it must be
 * equal in a room. */
bool kl_view_copied(struct kl_world *w, const char *path);
/* The folder of the session's own files beside this one of the player's; false: there is none. */
bool kl_view_beside(struct kl_world *w, const char *path, char out[KL_FILE_PATH]);
/* The core sees this entry of a player's folder: it is not hidden, and the core has not removed it. */
bool kl_view_shows(struct kl_world *w, const char *folder, const char *name);
/* A file's date and number as the core sees them; no other file has this number. False: it is none of the
 * session's, nor one that the session could cover. path: also the session's own path of it. */
bool kl_view_facts(struct kl_world *w, const char *path, int64_t *date_ns, uint64_t *number);
/* path: as kl_world_really() gives it, as in all that follows. */
void kl_view_date(struct kl_world *w, const char *path, int64_t date_ns);
/* It goes when it is closed. */
void kl_view_passing(struct kl_world *w, const char *path);
/* The core has given the session's file `from` the name `to`. */
void kl_view_moved(struct kl_world *w, const char *from, const char *to);
/* With the view's lock held: the file of this name, which the session has from now on; the file at this
 * path. NULL: none. */
struct kl_view_file *kl_view_named(struct kl_view *v, const char *name);
struct kl_view_file *kl_view_at(struct kl_view *v, const char *path);
bool kl_view_is_open(const struct kl_view *v, const struct kl_view_file *f);
/* Forgets files that were made and removed again. */
void kl_view_forget_gone(struct kl_view *v);

/* view_files.c */
/* The core has opened a file by a stream, a descriptor, or both; stream NULL and fd -1: it has not. */
void kl_view_opened(struct kl_world *w, const char *path, void *stream, int fd);
/* A stream of another library has opened it. */
void kl_view_covert(struct kl_world *w, const char *path);
/* The core is about to close it. */
void kl_view_closes(struct kl_world *w, const void *stream, int fd);
/* The descriptor has got a stream (or NULL), or another descriptor `also` (or -1). False: it is not known. */
bool kl_view_shared(struct kl_world *w, int fd, void *stream, int also);
/* The core has mapped it to write it. */
void kl_view_mapped(struct kl_world *w, int fd);

/* world_stream.c of elf/ and pe/: a core's open file. tell: -1: it has no place. */
void kl_handle_flush(struct kl_world *w, const struct kl_handle *h);
int64_t kl_handle_tell(struct kl_world *w, const struct kl_handle *h);
void kl_handle_seek(struct kl_world *w, const struct kl_handle *h, int64_t at);

/* world_folder.c */
/* kl_world_note_file(); seen: of an archive, what is read of it is noted. Keeps errno. */
void kl_world_note_opened(struct kl_world *w, const char *path, bool write, bool seen);
/* Lists a path that is below one of the system's folders of facts. */
void kl_world_note_host(struct kl_world *w, const char *path);

/* world_state.c: the host's facts */
void kl_world_host_begin(struct kl_world *w); /* another core will have this world */
void kl_world_host_end(struct kl_world *w);
/* The file that is opened for a path that names a device of chance, or the process by its number. False:
 * `path` is neither. */
bool kl_world_host_path(struct kl_world *w, const char *path, char out[KL_FILE_PATH]);
/* The number of every room in it replaced by the real one. False: it is not there. */
bool kl_world_own_name(const struct kl_world *w, const char *path, unsigned long real,
                       char out[KL_FILE_PATH]);
/* The value of a variable of the environment in every room. NULL: it is the player's own, which is listed if
 * it is there. */
const char *kl_world_variable(struct kl_world *w, const char *name, bool there);

/* world_files.c of elf/: makes a new file at this real path: its descriptor, or -1 with errno. */
int kl_world_make_new(const char *really, int flags);

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

/* The same: calls kl_world_scan() for each piece of code of the object. */
void kl_world_code(struct kl_world *w, void *handle);
/* world_code.c: lists the instructions in this code that ask the processor for its counter or for chance. */
void kl_world_scan(struct kl_world *w, const void *code, size_t len);

/* world.c: the core asks for the address of a function while it runs. Returns what it gets in place of `now`,
 * and lists the name in the report; NULL: it gets `now`. */
void *kl_world_asked(struct kl_world *w, enum kl_from from, const char *name, void *now);
/* world_state.c: adds a word to a list, once; reason: NULL: none. */
void kl_world_list(char *list, size_t cap, const char *word, const char *reason);
/* Lists a fact of the host that the core has got past the functions that are replaced. */
void kl_world_leaves(struct kl_world *w, const char *what, const char *reason);
#define KL_LOADED_REASON "what it loads keeps the host's clock"
#define KL_PLAYER_REASON "the player's own"

#endif
