/* ctors.h - a core's static constructors, run at a time of our choice. dlopen() would run them before the
 * world is turned. They would then read the host's clock, and find the host's bytes in memory that they do
 * not fill.
 *
 * ELF only: a copy of the file gets DT_INIT and DT_INIT_ARRAYSZ blanked. After dlopen() of the copy, this
 * module runs the constructors of both entries. */
#ifndef KLW_CTORS_H
#define KLW_CTORS_H

#include <stddef.h>
#include <stdint.h>

struct kl_ctors {
    uint64_t init;         /* address of DT_INIT's function within the object; 0: none */
    uint64_t array, count; /* DT_INIT_ARRAY */
};

/* Takes the constructors out of the len bytes of a core's file, from malloc. 0; -1 if it is no ELF object of
 * this machine's kind: then the bytes are as they were. */
int kl_ctors_take(void *file, size_t len, struct kl_ctors *out);

/* Runs them, once; handle of dlopen(). */
void kl_ctors_run(struct kl_ctors *c, void *handle);

#endif
