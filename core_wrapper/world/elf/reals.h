/* reals.h - the originals that the replacements of a core's imports call; of ELF. */
#ifndef KLW_WORLD_ELF_REALS_H
#define KLW_WORLD_ELF_REALS_H

#include <stddef.h>

/* The loader's addresses for this world's core. */
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

#endif
