/* library.h - shared libraries: loaded, asked for their symbols, unloaded. A core is one. The formats of
 * their files stay with core_wrapper/world_elf.c and ctors.c. */
#ifndef KL_PLATFORM_LIBRARY_H
#define KL_PLATFORM_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>

#define KL_LIBRARY_NAME 128 /* bytes of a library's name, with its NUL */

/* Loads a library with all that it needs, and keeps its symbols to itself. A path, or a name that the system
 * looks up. NULL with the system's reason in err, which names the library. A library that is loaded twice is
 * closed twice. */
void *kl_library_open(const char *path, char *err, size_t err_len);
void kl_library_close(void *library); /* NULL: nothing */
/* Is a library of this path loaded in this process? */
bool kl_library_loaded(const char *path);

/* The address of a symbol; NULL: there is none. */
void *kl_library_find(void *library, const char *symbol);

/* The file that a library was loaded from. False: unknown, or longer than cap. */
bool kl_library_file(void *library, char *out, size_t cap);
/* The file that holds this address: the program, or a library. The same. */
bool kl_library_file_of(const void *address, char *out, size_t cap);
/* The names of the libraries that this one asks for itself. Returns how many, at most max. */
unsigned kl_library_needs(void *library, char name[][KL_LIBRARY_NAME], unsigned max);
/* The system's own record of a loaded library (struct link_map); NULL: none. */
const void *kl_library_record(void *library);

#endif
