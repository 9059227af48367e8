/* copies.h - copies of this process, which share its memory and a UDP address, and end with it. Not on
 * Windows. */
#ifndef KL_PLATFORM_COPIES_H
#define KL_PLATFORM_COPIES_H

#include "net/platform/process.h"
#include "net/platform/wait.h"

/* Whether the system can; an emulated one may not. */
bool kl_copies_possible(void);
/* Processors that this process may run on; 1 where there are no copies. */
unsigned kl_copies_processors(void);

/* Memory with zeros, which copies made from now on share with this process and each other. NULL: none. */
void *kl_copies_memory(size_t bytes);

/* The number by which a datagram finds one of several sockets. */
struct kl_copies_key {
    unsigned kind_at, kind_from; /* the byte at kind_at is below kind_from: */
    unsigned six_at;             /* six bits: the upper four of this byte, and above them two of the next */
    unsigned other_at;           /* otherwise: this byte. A datagram without it has 0 */
};
/* socket[0] is bound, and alone at its address. count - 1 more are opened there, and each datagram goes to
 * socket[key mod count], as long as all stay open: in any process. 0; or -1 with errno, and those that were
 * opened are the caller's. */
int kl_copies_sockets(int *socket, unsigned count, const struct kl_copies_key *key);

/* Starts a copy of this process, which calls work(ctx) and ends with its result; it gets SIGTERM if this
 * process ends. Only before there are threads. As after kl_process_run(). 0, or -1 with a line in err. */
int kl_copy_start(struct kl_process *p, int (*work)(void *ctx), void *ctx, char *err, size_t err_len);
/* This process's processor time so far, and the memory that it holds now. */
void kl_copy_cost(uint64_t *processor_us, uint64_t *resident_bytes);
/* Passes a request to end on. */
void kl_copy_quit(const struct kl_process *p, enum kl_quit quit);

#endif
