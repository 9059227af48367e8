/* reals.h - the originals that the replacements of a core's imports call; of ELF. */
#ifndef KLW_WORLD_ELF_REALS_H
#define KLW_WORLD_ELF_REALS_H

#include <fcntl.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* The loader's addresses for this world's core. */
struct kl_world_reals {
    void *(*new_plain)(size_t), *(*new_array)(size_t);
    void *(*new_nothrow)(size_t, const void *), *(*new_array_nothrow)(size_t, const void *);
    void *(*new_aligned)(size_t, size_t), *(*new_array_aligned)(size_t, size_t);
    int (*pthread_create)(void *, const void *, void *(*)(void *), void *);
    void (*cxx_thread)(void *, void *, void (*)(void));
    void *(*mmap)(void *, size_t, int, int, int, off_t);
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
    void (*iterator)(void *, const void *, int, void *), (*iterator_11)(void *, const void *, int, void *);
    void (*tree_iterator)(void *, const void *, int, void *);
    void (*tree_iterator_11)(void *, const void *, int, void *);
    int (*shm_open)(const char *, int, unsigned), (*shm_unlink)(const char *);
    void *(*sem_open)(const char *, int, unsigned, unsigned);
    int (*sem_unlink)(const char *);
    void (*locale)(void *, const char *), (*locale_with)(void *, const void *, const char *, int);
};

#define KL_HOST_THREADS 256 /* that a signal can be sent to */
#define KL_HOST_CHANCES 8

struct kl_world_host {
    unsigned life; /* counts the cores of this process: a thread's number is of one of them */
    _Atomic unsigned threads, chances;
    int tid[KL_HOST_THREADS];            /* of the threads that have asked for their number; 0: none */
    _Atomic int chance[KL_HOST_CHANCES]; /* descriptors of files of chance; 0: none */
    uint64_t at_random[2];
};

struct kl_world;

/* world_files.c: openat()'s path may be relative to a folder that only its descriptor names. NULL: its name
 * is unknown. */
const char *kl_world_whole(int dir, const char *path, char out[4096]);
/* world_folder.c: makes a temporary file: its descriptor, or -1 with errno. name: gets its path. */
int kl_world_temporary(struct kl_world *w, char name[4096]);
/* openat() as the core has it. */
int kl_world_open(struct kl_world *w, int dir, const char *path, int flags, unsigned mode);

#endif
