/* reals.h - the originals that the replacements of a core's imports call; of PE. All are of the C runtime
 * that the core itself imports from: it has its own heap, streams and errno. */
#ifndef KLW_WORLD_PE_REALS_H
#define KLW_WORLD_PE_REALS_H

#include <locale.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* X(result, name in struct kl_world_reals, exported name, parameters); the last ones are not in every
 * runtime. */
#define KL_RUNTIME(X)                                                                                        \
    X(int *, errno_at, "_errno", (void))                                                                     \
    X(void *, malloc, "malloc", (size_t))                                                                    \
    X(void *, calloc, "calloc", (size_t, size_t))                                                            \
    X(void *, realloc, "realloc", (void *, size_t))                                                          \
    X(size_t, msize, "_msize", (void *))                                                                     \
    X(void *, wfsopen, "_wfsopen", (const wchar_t *, const wchar_t *, int))                                  \
    X(void *, wfreopen, "_wfreopen", (const wchar_t *, const wchar_t *, void *))                             \
    X(int, wsopen, "_wsopen", (const wchar_t *, int, int, ...))                                              \
    X(int, fclose, "fclose", (void *))                                                                       \
    X(int, fgetpos, "fgetpos", (void *, int64_t *))                                                          \
    X(int, fsetpos, "fsetpos", (void *, const int64_t *))                                                    \
    X(int, fseek, "fseek", (void *, long, int))                                                              \
    X(int, fseeki64, "_fseeki64", (void *, int64_t, int))                                                    \
    X(void, rewind, "rewind", (void *))                                                                      \
    X(size_t, fread, "fread", (void *, size_t, size_t, void *))                                              \
    X(int, fgetc, "fgetc", (void *))                                                                         \
    X(char *, fgets, "fgets", (char *, int, void *))                                                         \
    X(int, ungetc, "ungetc", (int, void *))                                                                  \
    X(int, fileno, "_fileno", (void *))                                                                      \
    X(int, fflush, "fflush", (void *))                                                                       \
    X(int64_t, lseeki64, "_lseeki64", (int, int64_t, int))                                                   \
    X(int, close, "_close", (int))                                                                           \
    X(int, dup, "_dup", (int))                                                                               \
    X(int, dup2, "_dup2", (int, int))                                                                        \
    X(void *, fdopen, "_fdopen", (int, const char *))                                                        \
    X(int, wrename, "_wrename", (const wchar_t *, const wchar_t *))                                          \
    X(int, wremove, "_wremove", (const wchar_t *))                                                           \
    X(int, wmkdir, "_wmkdir", (const wchar_t *))                                                             \
    X(int, wrmdir, "_wrmdir", (const wchar_t *))                                                             \
    X(int, waccess, "_waccess", (const wchar_t *, int))                                                      \
    X(char *, getenv, "getenv", (const char *))                                                              \
    X(wchar_t *, wgetenv, "_wgetenv", (const wchar_t *))                                                     \
    X(void *, aligned_malloc, "_aligned_malloc", (size_t, size_t))                                           \
    X(void *, aligned_realloc, "_aligned_realloc", (void *, size_t, size_t))                                 \
    X(size_t, aligned_msize, "_aligned_msize", (void *, size_t, size_t))                                     \
    X(int, at_stat, "_wstat", (const wchar_t *, void *))                                                     \
    X(int, at_stati64, "_wstati64", (const wchar_t *, void *))                                               \
    X(int, at_stat32, "_wstat32", (const wchar_t *, void *))                                                 \
    X(int, at_stat32i64, "_wstat32i64", (const wchar_t *, void *))                                           \
    X(int, at_stat64, "_wstat64", (const wchar_t *, void *))                                                 \
    X(int, at_stat64i32, "_wstat64i32", (const wchar_t *, void *))                                           \
    X(struct lconv *, localeconv, "localeconv", (void))                                                      \
    X(int, findclose, "_findclose", (intptr_t))

/* world_clock.c: before the first import is turned. */
void kl_world_clock_init(void);

struct kl_world_reals {
    void *runtime; /* HMODULE; NULL: the core imports none */
#define KL_RUNTIME_MEMBER(result, member, exported, params) result(*member) params;
    KL_RUNTIME(KL_RUNTIME_MEMBER)
#undef KL_RUNTIME_MEMBER
/* As the core imports them: the runtimes have them by several names. */
#define KL_FINDS(kind)                                                                                       \
    intptr_t (*findfirst##kind)(const char *, void *), (*wfindfirst##kind)(const wchar_t *, void *);         \
    int (*findnext##kind)(intptr_t, void *), (*wfindnext##kind)(intptr_t, void *)
    KL_FINDS(32);
    KL_FINDS(64);
    KL_FINDS(32i64);
    KL_FINDS(64i32);
};

struct kl_world_host {
    struct lconv c;
};

/* A path that the core hands over. */
struct kl_pe_path {
    char name[4096];     /* in UTF-8, with slashes; "": not one that is noted */
    wchar_t wide[4096];  /* room for a narrow path, or for the one that is opened instead */
    char used[4096];     /* `open` as `name` is */
    const wchar_t *open; /* to be used in its place; NULL: the path is longer than its room */
    bool there;
};
struct kl_world;
/* world_files.c: how the session's view has this path. The runtimes read narrow paths by the system's code
 * page. use: enum kl_use. */
struct kl_pe_path *kl_pe_take(struct kl_world *w, struct kl_pe_path *p, const wchar_t *path, unsigned use);
struct kl_pe_path *kl_pe_take_narrow(struct kl_world *w, struct kl_pe_path *p, const char *path,
                                     unsigned use);

#endif
