#include "net/platform/socket.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define DESCRIPTORS 1024 /* limit of the search for connections */

static struct sockaddr_in to_system(const struct kl_address *a) {
    return (struct sockaddr_in){
        .sin_family = AF_INET, .sin_port = htons(a->port), .sin_addr.s_addr = a->host};
}
static struct kl_address from_system(const struct sockaddr_in *in) {
    return (struct kl_address){.host = in->sin_addr.s_addr, .port = ntohs(in->sin_port)};
}

/* --- addresses --- */

const char *kl_address_text(char out[KL_ADDRESS_TEXT], uint32_t host) {
    struct in_addr in = {.s_addr = host};
    return inet_ntop(AF_INET, &in, out, KL_ADDRESS_TEXT);
}

bool kl_address_parse(const char *text, uint32_t *host) {
    struct in_addr in;
    if (inet_pton(AF_INET, text, &in) != 1) return false;
    *host = in.s_addr;
    return true;
}

struct kl_address kl_address_loopback(uint16_t port) {
    return (struct kl_address){.host = htonl(INADDR_LOOPBACK), .port = port};
}

bool kl_address_own(uint32_t *host) {
    struct ifaddrs *all = NULL;
    bool found = false;
    if (getifaddrs(&all) != 0) return false;
    for (const struct ifaddrs *i = all; i && !found; i = i->ifa_next) {
        if (!i->ifa_addr || i->ifa_addr->sa_family != AF_INET) continue;
        if (i->ifa_flags & IFF_LOOPBACK || !(i->ifa_flags & IFF_UP)) continue;
        *host = ((const struct sockaddr_in *)(const void *)i->ifa_addr)->sin_addr.s_addr;
        found = true;
    }
    freeifaddrs(all);
    return found;
}

/* Reads the IPv4 address, also one mapped into IPv6. */
static bool has_host(const struct sockaddr_storage *s, uint32_t *host) {
    const struct sockaddr_in *v4 = (const struct sockaddr_in *)s;
    const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)s;
    if (s->ss_family == AF_INET)
        *host = v4->sin_addr.s_addr;
    else if (s->ss_family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr))
        memcpy(host, v6->sin6_addr.s6_addr + 12, sizeof *host);
    else
        return false;
    return true;
}

unsigned kl_address_peers(uint32_t *host, unsigned max) {
    unsigned count = 0;
    for (int fd = 0; fd < DESCRIPTORS && count < max; fd++) {
        struct sockaddr_storage peer;
        socklen_t len = sizeof peer, type_len = sizeof(int);
        int type = 0;
        if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &type_len) != 0 || type != SOCK_STREAM) continue;
        if (getpeername(fd, (struct sockaddr *)&peer, &len) == 0 && has_host(&peer, &host[count])) count++;
    }
    return count;
}

/* --- sockets --- */

int kl_socket_open(void) {
    return socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

void kl_socket_adopt(int s) {
    (void)fcntl(s, F_SETFD, FD_CLOEXEC);
    (void)fcntl(s, F_SETFL, fcntl(s, F_GETFL) | O_NONBLOCK);
}

void kl_socket_close(int s) {
    if (s >= 0) close(s);
}

int kl_socket_bind(int s, struct kl_address *at) {
    struct sockaddr_in in = to_system(at);
    socklen_t len = sizeof in;
    if (bind(s, (struct sockaddr *)&in, sizeof in) != 0) return -1;
    if (getsockname(s, (struct sockaddr *)&in, &len) != 0) return -1;
    *at = from_system(&in);
    return 0;
}

int kl_socket_connect(int s, const struct kl_address *to) {
    struct sockaddr_in in = to_system(to);
    return connect(s, (struct sockaddr *)&in, sizeof in);
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

bool kl_socket_send(int s, const struct kl_address *to, const void *bytes, size_t len) {
    if (!to) return send(s, bytes, len, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0;
    struct sockaddr_in in = to_system(to);
    return sendto(s, bytes, len, MSG_DONTWAIT | MSG_NOSIGNAL, (struct sockaddr *)&in, sizeof in) >= 0;
}

int kl_socket_receive(int s, void *bytes, size_t cap, struct kl_address *from) {
    struct sockaddr_in in = {.sin_family = AF_INET};
    socklen_t size = sizeof in;
    ssize_t len = recvfrom(s, bytes, cap, MSG_DONTWAIT | MSG_TRUNC, (struct sockaddr *)&in, &size);
    if (len >= 0 && from) *from = from_system(&in);
    return (int)len;
}

bool kl_socket_receive_batch(int s, struct kl_socket_batch *b) {
    struct mmsghdr m[KL_SOCKET_BATCH];
    struct iovec v[KL_SOCKET_BATCH];
    struct sockaddr_in in[KL_SOCKET_BATCH];
    for (unsigned i = 0; i < KL_SOCKET_BATCH; i++) {
        v[i] = (struct iovec){.iov_base = b->bytes[i], .iov_len = KL_SOCKET_BYTES};
        m[i].msg_hdr = (struct msghdr){
            .msg_name = &in[i], .msg_namelen = sizeof in[i], .msg_iov = &v[i], .msg_iovlen = 1};
    }
    int got = recvmmsg(s, m, KL_SOCKET_BATCH, MSG_DONTWAIT | MSG_TRUNC, NULL);
    b->count = got > 0 ? (unsigned)got : 0;
    for (unsigned i = 0; i < b->count; i++) {
        b->at[i] = from_system(&in[i]);
        b->len[i] = m[i].msg_len;
    }
    return b->count > 0;
}

void kl_socket_send_batch(int s, struct kl_socket_batch *b) {
    struct mmsghdr m[KL_SOCKET_BATCH];
    struct iovec v[KL_SOCKET_BATCH];
    struct sockaddr_in in[KL_SOCKET_BATCH];
    for (unsigned i = 0; i < b->count; i++) {
        in[i] = to_system(&b->at[i]);
        v[i] = (struct iovec){.iov_base = b->bytes[i], .iov_len = b->len[i]};
        m[i].msg_hdr = (struct msghdr){
            .msg_name = &in[i], .msg_namelen = sizeof in[i], .msg_iov = &v[i], .msg_iovlen = 1};
    }
    for (unsigned at = 0; at < b->count;) {
        int sent = sendmmsg(s, m + at, b->count - at, MSG_DONTWAIT | MSG_NOSIGNAL);
        at += sent > 0 ? (unsigned)sent : 1;
    }
    b->count = 0;
}

int kl_socket_peek(int s, void *bytes, size_t cap) {
    return (int)recv(s, bytes, cap, MSG_PEEK | MSG_DONTWAIT);
}
