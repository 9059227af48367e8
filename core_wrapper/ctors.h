/* ctors.h - a core's static constructors, run when we say. They run inside dlopen() else, before the world
 * can be turned: what they read of the clock, or find in memory that they do not fill, would be the host's.
 *
 * ELF only: a copy of the file gets DT_INIT and DT_INIT_ARRAYSZ blanked, and after dlopen() of the copy what
 * they said is done by hand. */
#ifndef KLW_CTORS_H
#define KLW_CTORS_H

#include <stddef.h>
#include <stdint.h>

struct kl_ctors {
    uint64_t init;         /* address of DT_INIT's function within the object; 0: none */
    uint64_t array, count; /* DT_INIT_ARRAY */
};

/* Takes the constructors out of the file (a private copy, open for reading and writing). 0, or -1 where it is
 * no ELF object of this machine's kind: then the file is as it was. */
int kl_ctors_take(int fd, struct kl_ctors *out);

/* Runs them, once; handle of dlopen(). */
void kl_ctors_run(struct kl_ctors *c, void *handle);

#endif
