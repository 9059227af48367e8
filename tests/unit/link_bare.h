/* link_bare.h - a link without a socket or a thread, for tests of what its parts take and say. */
#ifndef TEST_LINK_BARE_H
#define TEST_LINK_BARE_H

#include "tests/unit/unit.h"

#include <stdlib.h>

#include <sodium.h>

#include "net/transport/link_state.h"

static struct kl_link *l;

static int make(void **state) {
    (void)state;
    l = calloc(1, sizeof *l);
    if (!l || sodium_init() < 0) return -1;
    strcpy(l->host, "relay");
    l->port = 1;
    l->kick_fd = -1;
    l->shared.joined = true;
    return 0;
}
static int drop(void **state) {
    (void)state;
    free(l);
    return 0;
}

#endif
