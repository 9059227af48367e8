/* reals.h - the originals that the replacements of a core's imports call; of PE. All are of the C runtime
 * that the core itself imports from: it has its own heap, streams and errno. */
#ifndef KLW_WORLD_PE_REALS_H
#define KLW_WORLD_PE_REALS_H

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
    X(int, at_stat64i32, "_wstat64i32", (const wchar_t *, void *))

/* world_clock.c: before the first import is turned. */
void kl_world_clock_init(void);

struct kl_world_reals {
    void *runtime; /* HMODULE; NULL: the core imports none */
#define KL_RUNTIME_MEMBER(result, member, exported, params) result(*member) params;
    KL_RUNTIME(KL_RUNTIME_MEMBER)
#undef KL_RUNTIME_MEMBER
};

#endif
