/* library.h - shared libraries such as cores: loading, symbols, unloading. core_wrapper/world and
 * core_wrapper/core/ctors.h read their file formats. */
#ifndef KL_PLATFORM_LIBRARY_H
#define KL_PLATFORM_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>

#define KL_LIBRARY_NAME 128 /* bytes of a library's name, with its NUL */

/* The end of a library's file name. */
#ifdef _WIN32
#define KL_LIBRARY_ENDING ".dll"
#else
#define KL_LIBRARY_ENDING ".so"
#endif

/* Loads a library and its dependencies; its symbols stay private. path: a path, or a name that the system
 * looks up. NULL with the system's reason in err, which names the library. Close a library as often as it was
 * opened. */
void *kl_library_open(const char *path, char *err, size_t err_len);
void kl_library_close(void *library); /* NULL is allowed */
/* Makes this process's next kl_library_open() of this path give other addresses than in other processes.
 * Windows has one place for a library in all of them; no effect elsewhere, or if there is no such library. */
void kl_library_move(const char *path);
/* True if a library of this path is loaded in this process. */
bool kl_library_loaded(const char *path);

/* Libraries that are loaded from now on find the symbols of this one, which is loaded. False: it is not. No
 * effect on Windows. */
bool kl_library_share(const char *path);

/* The address of a symbol; NULL: no such symbol. */
void *kl_library_find(void *library, const char *symbol);

/* Loads a library for this process's lifetime, with all these symbols. False with a line in err. */
struct kl_library_symbol {
    const char *name;
    void **to;
};
bool kl_library_load(const char *path, const struct kl_library_symbol *want, size_t count, char *err,
                     size_t err_len);

/* The file that a library was loaded from. False: unknown, or longer than cap. */
bool kl_library_file(void *library, char *out, size_t cap);
/* The file that holds this address: the program, or a library. False: unknown, or longer than cap. */
bool kl_library_file_of(const void *address, char *out, size_t cap);
/* The names of this library's direct dependencies. Returns their number, at most max. */
unsigned kl_library_needs(void *library, char name[][KL_LIBRARY_NAME], unsigned max);
/* Writable memory of a loaded library: whole pages of its segments, and this thread's thread-local block,
 * which need not be whole pages. Not on Windows yet. */
struct kl_library_part {
    unsigned char *from;
    size_t bytes;
    bool thread_local_block;
};
/* Their number, which may be more than max. */
unsigned kl_library_parts(void *library, struct kl_library_part *part, unsigned max);
/* The system's own record of a loaded library; NULL: none. Linux: its struct link_map. Windows: its first
 * byte in memory, the IMAGE_DOS_HEADER of the file's format. */
const void *kl_library_record(void *library);

#endif
