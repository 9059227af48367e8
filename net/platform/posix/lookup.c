#include "net/platform/lookup.h"

#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "net/platform/clock.h"
#include "net/platform/posix/system_address.h"

#define LOOK_US 20000

/* glibc's resolver may wait for seconds and cannot be interrupted. So it runs in a thread of glibc's
 * (getaddrinfo_a), not in a thread of this library, which may be unloaded. */
struct question {
    struct gaicb request;
    struct addrinfo hints;
    char name[KL_LOOKUP_NAME_MAX];
};

/* Begins a look-up. NULL with a line in why on failure. */
static struct question *ask(const char *name, char *why, size_t why_len) {
    struct question *q = calloc(1, sizeof *q);
    snprintf(why, why_len, "no memory");
    if (!q) return NULL;
    snprintf(q->name, sizeof q->name, "%s", name);
    q->hints.ai_family = AF_UNSPEC;
    q->hints.ai_socktype = SOCK_DGRAM;
    q->request.ar_name = q->name;
    q->request.ar_request = &q->hints;
    int failed = getaddrinfo_a(GAI_NOWAIT, (struct gaicb *[]){&q->request}, 1, NULL);
    if (!failed) return q;
    snprintf(why, why_len, "%s", gai_strerror(failed));
    free(q);
    return NULL;
}

/* The result of a finished question. */
static enum kl_lookup take(struct question *q, struct kl_addresses *out, char *why, size_t why_len) {
    int error = gai_error(&q->request);
    struct kl_address a;
    if (error == 0) {
        for (const struct addrinfo *i = q->request.ar_result; i; i = i->ai_next)
            if (kl_address_from_system(i->ai_addr, &a)) kl_addresses_add(out, &a);
        freeaddrinfo(q->request.ar_result);
        kl_addresses_mix(out);
        if (out->count == 0) error = EAI_NONAME;
    }
    if (error != 0) snprintf(why, why_len, "%s", gai_strerror(error));
    free(q);
    return error == 0 ? KL_LOOKUP_FOUND : KL_LOOKUP_FAILED;
}

enum kl_lookup kl_lookup(const char *name, struct kl_addresses *out, bool (*still)(void *ctx), void *ctx,
                         char *why, size_t why_len) {
    uint64_t until_us = kl_now_us() + KL_LOOKUP_US;
    bool wanted = true;
    *out = (struct kl_addresses){0};
    out->count = kl_address_parse(name, &out->at[0]) ||
                 (kl_address_parse_place(name, &out->at[0]) && !out->at[0].port);
    if (out->count) return KL_LOOKUP_FOUND;
    struct question *q = ask(name, why, why_len);
    if (!q) return KL_LOOKUP_FAILED;
    while (gai_error(&q->request) == EAI_INPROGRESS) {
        wanted = !still || still(ctx);
        if (wanted && kl_now_us() < until_us) {
            kl_sleep_us(LOOK_US);
            continue;
        }
        /* glibc keeps a look-up that it cannot cancel: some hundred bytes, never freed on purpose. */
        if (gai_cancel(&q->request) != EAI_NOTCANCELED) free(q);
        snprintf(why, why_len, "the name server does not answer");
        return wanted ? KL_LOOKUP_FAILED : KL_LOOKUP_LEFT;
    }
    return take(q, out, why, why_len);
}
