/* ctors.h - a core's static constructors, run at a time of our choice. dlopen() would run them before the
 * world is turned. They would then read the host's clock, and find the host's bytes in memory that they do
 * not fill.
 *
 * A copy of the file is changed. ELF: DT_INIT and DT_INIT_ARRAYSZ are blanked; once the copy is loaded, this
 * module runs the constructors of both entries. PE: the entry point does nothing; once the copy is loaded,
 * this module puts the true one back and calls it. */
#ifndef KLW_CTORS_H
#define KLW_CTORS_H

#include <stddef.h>
#include <stdint.h>

struct kl_ctors {
    uint64_t init; /* address within the object of DT_INIT's function, or of the entry point; 0: none */
    uint64_t array, count; /* ELF: DT_INIT_ARRAY. PE: array has the entry point's first eight bytes */
};

/* Takes the constructors out of the len bytes of a core's file, from malloc. 0; -1 if it is no object of
 * this machine's kind: then the bytes are as they were. */
int kl_ctors_take(void *file, size_t len, struct kl_ctors *out);

/* Runs them, once; handle of kl_library_open(). */
void kl_ctors_run(struct kl_ctors *c, void *handle);

#endif
