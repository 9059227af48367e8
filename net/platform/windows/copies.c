#include "net/platform/copies.h"

#include <errno.h>
#include <stdio.h>

bool kl_copies_possible(void) {
    return false;
}

unsigned kl_copies_processors(void) {
    return 1;
}

void *kl_copies_memory(size_t bytes) {
    (void)bytes;
    return NULL;
}

int kl_copies_sockets(int *socket, unsigned count, const struct kl_copies_key *key) {
    (void)socket, (void)count, (void)key;
    errno = ENOSYS;
    return -1;
}

int kl_copy_start(struct kl_process *p, int (*work)(void *ctx), void *ctx, char *err, size_t err_len) {
    (void)work, (void)ctx;
    *p = (struct kl_process){.channel = -1};
    snprintf(err, err_len, "this system does not copy processes");
    return -1;
}

void kl_copy_cost(uint64_t *processor_us, uint64_t *resident_bytes) {
    *processor_us = *resident_bytes = 0;
}

void kl_copy_quit(const struct kl_process *p, enum kl_quit quit) {
    (void)p, (void)quit;
}
