#include "net/platform/socket.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net/platform/clock.h"

/* --- sockets --- */

#define DESCRIPTORS  1024    /* limit of the search for connections */
#define LAIN_MOST_US 5000000 /* a datagram in a socket: more is a clock that was set */

static atomic_bool lacks_ipv6; /* sockets are of IPv4 */

union system_address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

/* For a socket of IPv6, or of IPv4: an IPv6 address stays one there, and is refused. Returns the length. */
static inline socklen_t to_system(union system_address *out, const struct kl_address *a, bool v6) {
    static const uint8_t any[KL_HOST_BYTES];
    if (v6 || !(kl_address_is_v4(a) || memcmp(a->host, any, sizeof any) == 0)) {
        out->v6 = (struct sockaddr_in6){
            .sin6_family = AF_INET6, .sin6_port = htons(a->port), .sin6_scope_id = a->zone};
        memcpy(&out->v6.sin6_addr, a->host, sizeof out->v6.sin6_addr);
        return sizeof out->v6;
    }
    out->v4 = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(a->port)};
    memcpy(&out->v4.sin_addr, a->host + 12, sizeof out->v4.sin_addr);
    return sizeof out->v4;
}

static inline void from_system(const union system_address *in, struct kl_address *out) {
    if (in->any.sa_family == AF_INET6) {
        memcpy(out->host, &in->v6.sin6_addr, sizeof out->host);
        out->zone = in->v6.sin6_scope_id;
        out->port = ntohs(in->v6.sin6_port);
    } else {
        *out = kl_address_v4((const uint8_t *)&in->v4.sin_addr, ntohs(in->v4.sin_port));
    }
}

/* False, with *out unchanged: it is neither IPv4 nor IPv6, or NULL. */
static bool address_from(const struct sockaddr *in, struct kl_address *out) {
    union system_address a;
    if (!in || (in->sa_family != AF_INET && in->sa_family != AF_INET6)) return false;
    memcpy(&a, in, in->sa_family == AF_INET ? sizeof a.v4 : sizeof a.v6);
    from_system(&a, out);
    return true;
}

/* --- this machine's addresses --- */

bool kl_address_own(struct kl_address *out) {
    struct ifaddrs *all = NULL;
    bool found = false;
    if (getifaddrs(&all) != 0) return false;
    for (const struct ifaddrs *i = all; i && !found; i = i->ifa_next) {
        if (!i->ifa_addr || i->ifa_addr->sa_family != AF_INET) continue;
        if (i->ifa_flags & IFF_LOOPBACK || !(i->ifa_flags & IFF_UP)) continue;
        found = address_from(i->ifa_addr, out);
    }
    freeifaddrs(all);
    return found;
}

bool kl_socket_name(int s, struct kl_address *out) {
    union system_address in;
    socklen_t len = sizeof in;
    if (getsockname(s, &in.any, &len) != 0) return false;
    from_system(&in, out);
    return true;
}

bool kl_address_towards(const struct kl_address *to, struct kl_address *out) {
    int s = kl_socket_open();
    bool found = s >= 0 && kl_socket_connect(s, to) == 0 && kl_socket_name(s, out);
    kl_socket_close(s);
    return found;
}

unsigned kl_address_peers(struct kl_address *out, unsigned max) {
    unsigned count = 0;
    for (int fd = 0; fd < DESCRIPTORS && count < max; fd++) {
        union system_address peer = {.any = {.sa_family = AF_UNSPEC}};
        socklen_t len = sizeof peer, type_len = sizeof(int);
        int type = 0;
        if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &type_len) != 0 || type != SOCK_STREAM) continue;
        if (getpeername(fd, &peer.any, &len) != 0 || !address_from(&peer.any, &out[count])) continue;
        out[count++].port = 0;
    }
    return count;
}

/* --- sockets --- */

/* A system without IPv6, and one that does not let this program have it. */
static bool is_lacking(int error) {
    return error == EAFNOSUPPORT || error == EPROTONOSUPPORT || error == EACCES || error == EPERM ||
           error == ENOPROTOOPT;
}

int kl_socket_open(void) {
    const int type = SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK;
    int off = 0, s = socket(AF_INET6, type, 0);
    bool lacking = s < 0 && is_lacking(errno);
    if (s >= 0 && setsockopt(s, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off) != 0) {
        lacking = true;
        close(s);
    }
    lacks_ipv6 = lacking;
    return lacking ? socket(AF_INET, type, 0) : s;
}

bool kl_socket_has_ipv6(void) {
    return !lacks_ipv6;
}

static bool is_v6(int s) {
    int family = 0;
    socklen_t len = sizeof family;
    return getsockopt(s, SOL_SOCKET, SO_DOMAIN, &family, &len) == 0 && family == AF_INET6;
}

void kl_socket_adopt(int s) {
    (void)fcntl(s, F_SETFD, FD_CLOEXEC);
    (void)fcntl(s, F_SETFL, fcntl(s, F_GETFL) | O_NONBLOCK);
}

void kl_socket_close(int s) {
    if (s >= 0) close(s);
}

int kl_socket_bind(int s, struct kl_address *at) {
    union system_address in;
    socklen_t len = to_system(&in, at, is_v6(s));
    return bind(s, &in.any, len) == 0 && kl_socket_name(s, at) ? 0 : -1;
}

#define BACKLOG 128

int kl_socket_listen(struct kl_address *at) {
    const int type = SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, on = 1, off = 0;
    int s = socket(kl_address_is_v4(at) ? AF_INET : AF_INET6, type, 0);
    if (s < 0) return -1;
    (void)setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    (void)setsockopt(s, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    if (kl_socket_bind(s, at) == 0 && listen(s, BACKLOG) == 0) return s;
    int why = errno;
    close(s);
    errno = why;
    return -1;
}

int kl_socket_connect(int s, const struct kl_address *to) {
    union system_address in;
    socklen_t len = to_system(&in, to, is_v6(s));
    return connect(s, &in.any, len);
}

/* Only root may exceed net.core.*mem_max. */
static void enlarge(int s, int forced, int plain, int bytes) {
    if (bytes && setsockopt(s, SOL_SOCKET, forced, &bytes, sizeof bytes) != 0)
        (void)setsockopt(s, SOL_SOCKET, plain, &bytes, sizeof bytes);
}

void kl_socket_enlarge(int s, int receive_bytes, int send_bytes) {
    enlarge(s, SO_RCVBUFFORCE, SO_RCVBUF, receive_bytes);
    enlarge(s, SO_SNDBUFFORCE, SO_SNDBUF, send_bytes);
}

int kl_socket_allowed(int bytes) {
    const int option[] = {SO_RCVBUF, SO_SNDBUF};
    int s = kl_socket_open(), least = s < 0 ? 0 : bytes;
    for (unsigned i = 0; i < 2 && s >= 0; i++) {
        int doubled = 0; /* Linux counts its own use of memory, too */
        socklen_t len = sizeof doubled;
        (void)setsockopt(s, SOL_SOCKET, option[i], &bytes, sizeof bytes);
        (void)getsockopt(s, SOL_SOCKET, option[i], &doubled, &len);
        if (doubled / 2 < least) least = doubled / 2;
    }
    kl_socket_close(s);
    return least;
}

bool kl_socket_send(int s, const struct kl_address *to, const void *bytes, size_t len) {
    const int flags = MSG_DONTWAIT | MSG_NOSIGNAL;
    union system_address in;
    if (!to) return send(s, bytes, len, flags) >= 0;
    socklen_t in_len = to_system(&in, to, !lacks_ipv6);
    if (sendto(s, bytes, len, flags, &in.any, in_len) >= 0) return true;
    if (errno != EAFNOSUPPORT || !kl_address_is_v4(to)) return false;
    in_len = to_system(&in, to, false); /* a socket of another library */
    return sendto(s, bytes, len, flags, &in.any, in_len) >= 0;
}

int kl_socket_receive(int s, void *bytes, size_t cap, struct kl_address *from) {
    union system_address in = {.any = {.sa_family = AF_INET}};
    socklen_t size = sizeof in;
    ssize_t len = recvfrom(s, bytes, cap, MSG_DONTWAIT | MSG_TRUNC, &in.any, &size);
    if (len >= 0 && from) from_system(&in, from);
    return (int)len;
}

bool kl_socket_time_arrivals(int s) {
    const int on = 1;
    return setsockopt(s, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof on) == 0;
}

union arrival {
    struct cmsghdr head;
    uint8_t room[CMSG_SPACE(sizeof(struct timespec))];
};

/* How long it has lain in the socket. The kernel tells by the wall clock, which may have been set since. */
static uint64_t lain_us(const union arrival *a, const struct msghdr *m, uint64_t wall_us) {
    struct timespec t;
    if (m->msg_controllen < CMSG_LEN(sizeof t) || a->head.cmsg_level != SOL_SOCKET ||
        a->head.cmsg_type != SCM_TIMESTAMPNS)
        return 0;
    memcpy(&t, CMSG_DATA(&a->head), sizeof t);
    uint64_t at_us = (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
    return at_us < wall_us && wall_us - at_us < LAIN_MOST_US ? wall_us - at_us : 0;
}

/* The question of recvmmsg(), made ready for the batch that this thread read last. The kernel changes no more
 * of it than it uses. */
static _Thread_local struct {
    const struct kl_socket_batch *of;
    struct mmsghdr m[KL_SOCKET_BATCH];
    struct iovec v[KL_SOCKET_BATCH];
    union system_address in[KL_SOCKET_BATCH];
    union arrival a[KL_SOCKET_BATCH];
} ask;

static void make_ready(struct kl_socket_batch *b, unsigned count) {
    for (unsigned i = 0; i < count; i++) {
        ask.v[i] = (struct iovec){.iov_base = b->bytes[i], .iov_len = KL_SOCKET_BYTES};
        ask.m[i].msg_hdr = (struct msghdr){.msg_name = &ask.in[i],
                                           .msg_namelen = sizeof ask.in[i],
                                           .msg_iov = &ask.v[i],
                                           .msg_iovlen = 1,
                                           .msg_control = &ask.a[i],
                                           .msg_controllen = sizeof ask.a[i]};
    }
}

bool kl_socket_receive_batch(int s, struct kl_socket_batch *b) {
    if (ask.of != b) make_ready(b, KL_SOCKET_BATCH);
    ask.of = b;
    int got = recvmmsg(s, ask.m, KL_SOCKET_BATCH, MSG_DONTWAIT | MSG_TRUNC, NULL);
    b->count = got > 0 ? (unsigned)got : 0;
    if (b->count == 0) return false;
    uint64_t now_us = kl_now_us(), wall_us = kl_wall_us();
    for (unsigned i = 0; i < b->count; i++) {
        from_system(&ask.in[i], &b->at[i]);
        b->len[i] = ask.m[i].msg_len;
        b->arrived_us[i] = now_us - lain_us(&ask.a[i], &ask.m[i].msg_hdr, wall_us);
    }
    make_ready(b, b->count);
    return true;
}

bool kl_socket_send_batch(int s, struct kl_socket_batch *b) {
    bool all = true;
    struct mmsghdr m[KL_SOCKET_BATCH];
    struct iovec v[KL_SOCKET_BATCH];
    union system_address in[KL_SOCKET_BATCH];
    for (unsigned i = 0; i < b->count; i++) {
        socklen_t len = to_system(&in[i], &b->at[i], !lacks_ipv6);
        v[i] = (struct iovec){.iov_base = b->bytes[i], .iov_len = b->len[i]};
        m[i].msg_hdr =
            (struct msghdr){.msg_name = &in[i], .msg_namelen = len, .msg_iov = &v[i], .msg_iovlen = 1};
    }
    for (unsigned at = 0; at < b->count;) {
        int sent = sendmmsg(s, m + at, b->count - at, MSG_DONTWAIT | MSG_NOSIGNAL);
        at += sent > 0 ? (unsigned)sent : 1;
        all = all && sent > 0;
    }
    b->count = 0;
    return all;
}

int kl_socket_peek(int s, void *bytes, size_t cap) {
    return (int)recv(s, bytes, cap, MSG_PEEK | MSG_DONTWAIT);
}

/* --- names --- */

#define LOOK_US 20000

/* glibc's resolver may wait for seconds and cannot be interrupted. So it runs in a thread of glibc's
 * (getaddrinfo_a), not in a thread of this library, which may be unloaded. */
struct question {
    struct gaicb request;
    struct addrinfo hints;
    char name[KL_LOOKUP_NAME_MAX];
};

/* Begins a look-up. NULL with a line in why on failure. */
static struct question *ask_name(const char *name, char *why, size_t why_len) {
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
static enum kl_lookup take_answer(struct question *q, struct kl_addresses *out, char *why, size_t why_len) {
    int error = gai_error(&q->request);
    struct kl_address a;
    if (error == 0) {
        for (const struct addrinfo *i = q->request.ar_result; i; i = i->ai_next)
            if (address_from(i->ai_addr, &a)) kl_addresses_add(out, &a);
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
    struct question *q = ask_name(name, why, why_len);
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
    return take_answer(q, out, why, why_len);
}
