#include "core_wrapper/netplay/reach.h"

#include <stdlib.h>
#include <string.h>

#include "net/platform/clock.h"
#include "net/platform/socket.h"
#include "net/transport/ask.h"

#define CONNECTIONS 64 /* of this process, looked at */

/* --- addresses --- */

void kl_reach_add(struct kl_reach_list *list, const char *address) {
    struct kl_address host;
    char text[KL_ADDRESS_TEXT];
    if (list->count == KL_REACH_MAX || !kl_address_parse(address, &host)) return;
    kl_address_text(text, &host);
    for (unsigned i = 0; i < list->count; i++)
        if (!strcmp(list->address[i], text)) return;
    memcpy(list->address[list->count++], text, sizeof text);
}

void kl_reach_add_peers(struct kl_reach_list *list) {
    struct kl_address host[CONNECTIONS];
    char text[KL_ADDRESS_TEXT];
    unsigned count = kl_address_peers(host, CONNECTIONS);
    for (unsigned i = 0; i < count; i++)
        kl_reach_add(list, kl_address_text(text, &host[i]));
}

void kl_reach_own(char out[KL_ADDRESS_TEXT]) {
    struct kl_address host = kl_address_loopback(0);
    (void)kl_address_own(&host);
    kl_address_text(out, &host);
}

/* --- asking --- */

struct kl_reach {
    struct kl_reach_list list;
    uint16_t port;
    struct kl_asker asker;
    atomic_uint news; /* enum kl_reach_news */
    unsigned found;   /* with KL_REACH_FOUND */
};

/* All at once, and again: a datagram may be lost, and the host's relay may only just begin to listen. */
static void run(void *arg) {
    struct kl_reach *r = arg;
    uint64_t until_us = kl_now_us() + KL_REACH_US;
    int fd[KL_REACH_MAX], found = -1;
    /* Opens a socket for each address; -1 on failure. */
    char err[256];
    for (unsigned i = 0; i < r->list.count; i++)
        fd[i] = kl_ask_open(&r->asker, r->list.address[i], r->port, err, sizeof err);
    while (found < 0 && !r->asker.leaving && kl_now_us() < until_us)
        found = kl_ask_first(&r->asker, fd, r->list.count, 0);
    for (unsigned i = 0; i < r->list.count; i++)
        kl_socket_close(fd[i]);
    if (found >= 0) r->found = (unsigned)found;
    r->news = found >= 0 ? KL_REACH_FOUND : KL_REACH_NOWHERE;
}

struct kl_reach *kl_reach_open(const struct kl_reach_list *list, uint16_t port) {
    struct kl_reach *r = calloc(1, sizeof *r);
    if (!r) return NULL;
    r->list = *list;
    r->port = port;
    if (kl_asker_start(&r->asker, "keylock-reach", run, r) == 0) return r;
    free(r);
    return NULL;
}

enum kl_reach_news kl_reach_look(struct kl_reach *r, char address[KL_ADDRESS_TEXT]) {
    enum kl_reach_news news = r->news;
    if (news == KL_REACH_FOUND) memcpy(address, r->list.address[r->found], KL_ADDRESS_TEXT);
    return news;
}

void kl_reach_close(struct kl_reach *r) {
    if (!r) return;
    kl_asker_end(&r->asker);
    free(r);
}
