/* world_private.h - shared by the files of the world: its state, and the replacements of each file, by
 * import. See world.h. */
#ifndef KLW_WORLD_PRIVATE_H
#define KLW_WORLD_PRIVATE_H

#include <stdatomic.h>
#include <stdio.h>

#include "core_wrapper/world/world.h"
#include "net/platform/thread.h"

#define KL_WORLD_FILES                                                                                       \
    512 /* names kept; a core that opens more has long told apart one machine from another */

/* The originals that replacements call: the loader's addresses for this world's core. */
struct kl_world_reals {
    void *(*new_plain)(size_t), *(*new_array)(size_t);
    void *(*new_nothrow)(size_t, const void *), *(*new_array_nothrow)(size_t, const void *);
    void *(*new_aligned)(size_t, size_t), *(*new_array_aligned)(size_t, size_t);
    int (*stat)(const char *, void *), (*stat64)(const char *, void *);
    int (*xstat)(int, const char *, void *), (*xstat64)(int, const char *, void *);
    void *(*gzopen)(const char *, const char *);
    void *(*filebuf_open)(void *, const char *, int);
    void *(*filebuf_open_string)(void *, const char *const *, int);
#define KL_STREAM_REALS(kind)                                                                                \
    void (*kind)(void *, const char *, int);                                                                 \
    void (*kind##_string)(void *, const char *const *, int)
    KL_STREAM_REALS(ifstream);
    KL_STREAM_REALS(ofstream);
    KL_STREAM_REALS(fstream);
    KL_STREAM_REALS(ifstream_open);
    KL_STREAM_REALS(ofstream_open);
    KL_STREAM_REALS(fstream_open);
};

struct kl_world_clock {
    int64_t epoch_ns;
    int64_t base_ns; /* time since frame 0 at base_frame, the frame of the last change of rate */
    uint32_t base_frame, frame, fps_uhz;
    _Atomic int64_t since_ns; /* since frame 0, at the frame that runs */
    _Atomic uint32_t reads;   /* in this frame */
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
    struct read_file *file;
    struct stream *stream;
};

struct kl_world {
    bool taken;
    struct kl_world_clock clock;
    _Atomic uint64_t chance;
    struct kl_world_files files;
    struct kl_world_archives archives;
    struct kl_world_reals real;
};
extern struct kl_world kl_world_at[KL_WORLDS];

struct kl_hook {
    const char *name;    /* of the import, as the dynamic symbol table has it */
    void *fn[KL_WORLDS]; /* the replacement, of each world */
    size_t real;         /* offset in struct kl_world of the pointer that gets the original; 0: none does */
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
    { name, {(void *)f##0, (void *)f##1, (void *)f##2, (void *)f##3}, offset }
#define KL_HOOK_DATA(name, member)                                                                           \
    {                                                                                                        \
        name,                                                                                                \
            {&kl_world_at[0].member, &kl_world_at[1].member, &kl_world_at[2].member,                         \
             &kl_world_at[3].member},                                                                        \
            0                                                                                                \
    }
/* Equal in all worlds. */
#define KL_HOOK_SAME(name, f)                                                                                \
    { name, {(void *)f, (void *)f, (void *)f, (void *)f}, 0 }
#define KL_HOOK_END                                                                                          \
    { NULL, {NULL}, 0 }

/* Tables that end with a NULL name. */
extern const struct kl_hook kl_world_clock_hooks[];
extern const struct kl_hook kl_world_random_hooks[];
extern const struct kl_hook kl_world_file_hooks[];
extern const struct kl_hook kl_world_heap_hooks[];

/* world_clock.c */
void kl_world_clock_start(struct kl_world_clock *c, uint64_t epoch_s, uint32_t fps_uhz);
/* world_random.c */
void kl_world_random_start(struct kl_world *w, uint64_t seed);

/* world_archive.c */
/* Opens a .zip or .7z for reading and notes all reads. NULL: it is none, or cannot be opened. */
FILE *kl_world_archive_open(struct kl_world *w, const char *path);
/* Reads from such a stream in place of fread(), in one piece; fread() is to read the rest, if any. */
size_t kl_world_archive_fread(struct kl_world *w, void *out, size_t bytes, FILE *f);
/* True for a stream of kl_world_archive_open() that is open. */
bool kl_world_archive_has(struct kl_world *w, const FILE *f);
/* A stream of the same file that has a descriptor, whose reads nobody sees; f itself if it is none of ours.
 * NULL: it cannot be opened. */
FILE *kl_world_archive_plain(struct kl_world *w, FILE *f);
/* The archive at this real path is read in a way that is not seen. */
void kl_world_archive_unseen(struct kl_world *w, const char *real);
void kl_world_archives_clear(struct kl_world *w);

/* world_elf.c: walks the imports (undefined symbols that relocations of the object refer to). Calls
 * replace() once for each such relocation with the present address; replace() returns the new address, or
 * NULL to leave it. Returns 0, or -1 with a line in err; changes made until then stay. */
typedef void *(*kl_elf_replace)(void *user, const char *name, void *now);
int kl_elf_imports(void *handle, kl_elf_replace replace, void *user, char *err, size_t err_len);

#endif
