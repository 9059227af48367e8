#include "core_wrapper/reach.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net/platform/clock.h"
#include "net/platform/thread.h"
#include "net/transport/ask.h"

#define DESCRIPTORS 1024

/* ---- addresses ---- */

void kl_reach_add(struct kl_reach_list *list, const char *address) {
    struct in_addr a;
    if (list->count == KL_REACH_MAX || inet_pton(AF_INET, address, &a) != 1) return;
    for (unsigned i = 0; i < list->count; i++)
        if (!strcmp(list->address[i], address)) return;
    snprintf(list->address[list->count++], KL_REACH_TEXT, "%s", address);
}

/* "" where it has no IPv4 address. */
static void write_address(const struct sockaddr_storage *s, char out[INET6_ADDRSTRLEN]) {
    const struct sockaddr_in *v4 = (const struct sockaddr_in *)s;
    const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)s;
    out[0] = 0;
    if (s->ss_family == AF_INET)
        inet_ntop(AF_INET, &v4->sin_addr, out, INET6_ADDRSTRLEN);
    else if (s->ss_family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr))
        inet_ntop(AF_INET, v6->sin6_addr.s6_addr + 12, out, INET6_ADDRSTRLEN);
}

void kl_reach_add_peers(struct kl_reach_list *list) {
    for (int fd = 0; fd < DESCRIPTORS; fd++) {
        struct sockaddr_storage peer;
        socklen_t len = sizeof peer, type_len = sizeof(int);
        int type = 0;
        char address[INET6_ADDRSTRLEN];
        if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &type_len) != 0 || type != SOCK_STREAM) continue;
        if (getpeername(fd, (struct sockaddr *)&peer, &len) != 0) continue;
        write_address(&peer, address);
        kl_reach_add(list, address);
    }
}

void kl_reach_own(char out[KL_REACH_TEXT]) {
    struct ifaddrs *all = NULL;
    char address[INET6_ADDRSTRLEN];
    snprintf(out, KL_REACH_TEXT, "127.0.0.1");
    if (getifaddrs(&all) != 0) return;
    for (const struct ifaddrs *i = all; i; i = i->ifa_next) {
        if (!i->ifa_addr || i->ifa_addr->sa_family != AF_INET || i->ifa_flags & IFF_LOOPBACK ||
            !(i->ifa_flags & IFF_UP))
            continue;
        inet_ntop(AF_INET, &((struct sockaddr_in *)(void *)i->ifa_addr)->sin_addr, address, sizeof address);
        snprintf(out, KL_REACH_TEXT, "%.15s", address);
        break;
    }
    freeifaddrs(all);
}

/* ---- asking ---- */

struct kl_reach {
    struct kl_reach_list list;
    uint16_t port;
    struct kl_thread thread;
    atomic_bool leaving;
    atomic_uint news; /* enum kl_reach_news */
    unsigned found;   /* with KL_REACH_FOUND */
};

/* A socket each; -1 where there is none. */
static void open_sockets(const struct kl_reach *r, int fd[KL_REACH_MAX]) {
    char err[256];
    for (unsigned i = 0; i < r->list.count; i++)
        fd[i] = kl_ask_open(r->list.address[i], r->port, err, sizeof err);
}

static void close_sockets(const struct kl_reach *r, const int fd[KL_REACH_MAX]) {
    for (unsigned i = 0; i < r->list.count; i++)
        if (fd[i] >= 0) close(fd[i]);
}

/* All at once, and again: a datagram may be lost, and the host's relay may only just begin to listen. */
static void run(void *arg) {
    struct kl_reach *r = arg;
    uint64_t until_us = kl_now_us() + KL_REACH_US;
    int fd[KL_REACH_MAX], found = -1;
    open_sockets(r, fd);
    while (found < 0 && !r->leaving && kl_now_us() < until_us)
        found = kl_ask_first(fd, r->list.count);
    close_sockets(r, fd);
    if (found >= 0) r->found = (unsigned)found;
    r->news = found >= 0 ? KL_REACH_FOUND : KL_REACH_NOWHERE;
}

struct kl_reach *kl_reach_open(const struct kl_reach_list *list, uint16_t port) {
    struct kl_reach *r = calloc(1, sizeof *r);
    if (!r) return NULL;
    r->list = *list;
    r->port = port;
    if (kl_thread_start(&r->thread, "keylock-reach", run, r) == 0) return r;
    free(r);
    return NULL;
}

enum kl_reach_news kl_reach_look(struct kl_reach *r, char address[KL_REACH_TEXT]) {
    enum kl_reach_news news = r->news;
    if (news == KL_REACH_FOUND) memcpy(address, r->list.address[r->found], KL_REACH_TEXT);
    return news;
}

void kl_reach_close(struct kl_reach *r) {
    if (!r) return;
    r->leaving = true;
    kl_thread_join(&r->thread);
    free(r);
}
