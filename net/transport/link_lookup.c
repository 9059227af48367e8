#include "net/transport/link_lookup.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/platform/clock.h"

#define LOOKUP_US (10 * 1000000)
#define LOOK_MS   20

/* glibc's resolver may wait for seconds and cannot be interrupted, so it works in a thread of libc's own
 * (getaddrinfo_a), never of ours: this library may be unloaded while it still waits. */
struct lookup {
    struct gaicb request;
    struct addrinfo hints;
    char host[KL_LINK_HOST_MAX];
};

static uint32_t address_of(const struct addrinfo *found) {
    struct sockaddr_in in;
    memcpy(&in, found->ai_addr, sizeof in);
    return in.sin_addr.s_addr;
}

/* An address in figures needs nobody's help. */
static bool is_numeric(const char *host, uint32_t *address) {
    struct in_addr in;
    if (inet_pton(AF_INET, host, &in) != 1) return false;
    *address = in.s_addr;
    return true;
}

static bool wanted(struct kl_link *l) {
    kl_mutex_lock(&l->mutex);
    bool leaving = l->stay.leaving;
    kl_mutex_unlock(&l->mutex);
    return !leaving;
}

/* The result of a request that has come to its end. */
static enum kl_lookup result_of(struct lookup *k, uint32_t *address, char *why, size_t why_len) {
    int error = gai_error(&k->request);
    if (error == 0) {
        *address = address_of(k->request.ar_result);
        freeaddrinfo(k->request.ar_result);
    } else {
        snprintf(why, why_len, "%s", gai_strerror(error));
    }
    free(k);
    return error == 0 ? KL_LOOKUP_FOUND : KL_LOOKUP_FAILED;
}

/* A request that libc will not give up stays with libc: some hundred bytes, on purpose never freed. */
static enum kl_lookup abandon(struct kl_link *l, struct lookup *k, char *why, size_t why_len) {
    if (gai_cancel(&k->request) != EAI_NOTCANCELED) free(k);
    snprintf(why, why_len, "the name server does not answer");
    return wanted(l) ? KL_LOOKUP_FAILED : KL_LOOKUP_LEFT;
}

enum kl_lookup kl_link_lookup(struct kl_link *l, uint32_t *address, char *why, size_t why_len) {
    if (is_numeric(l->host, address)) return KL_LOOKUP_FOUND;
    struct lookup *k = calloc(1, sizeof *k);
    struct gaicb *list[1] = {k ? &k->request : NULL};
    if (!k) {
        snprintf(why, why_len, "no memory");
        return KL_LOOKUP_FAILED;
    }
    snprintf(k->host, sizeof k->host, "%s", l->host);
    k->hints.ai_family = AF_INET;
    k->hints.ai_socktype = SOCK_DGRAM;
    k->request.ar_name = k->host;
    k->request.ar_request = &k->hints;
    int failed = getaddrinfo_a(GAI_NOWAIT, list, 1, NULL);
    if (failed) {
        snprintf(why, why_len, "%s", gai_strerror(failed));
        free(k);
        return KL_LOOKUP_FAILED;
    }
    uint64_t until_us = kl_now_us() + LOOKUP_US;
    struct pollfd kicked = {.fd = l->kick_fd, .events = POLLIN};
    while (gai_error(&k->request) == EAI_INPROGRESS) {
        if (!wanted(l) || kl_now_us() >= until_us) return abandon(l, k, why, why_len);
        (void)poll(&kicked, 1, LOOK_MS);
    }
    return result_of(k, address, why, why_len);
}
