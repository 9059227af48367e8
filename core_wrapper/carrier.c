#include "core_wrapper/carrier.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core_wrapper/carry.h"

#define WAITING_BYTES (2 * 1024 * 1024) /* in the socket; the kernel may give less */
#define AT_ONCE       4096              /* datagrams out of the socket in one call */

struct kl_carrier {
    struct kl_carry carry;
    int fd;
    bool guest;
    struct sockaddr_in peer; /* of the guest's link; sin_port 0: it has said nothing yet */
    uint64_t in, out;
};

static struct sockaddr_in here(uint16_t port) {
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(port)};
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return a;
}

static struct kl_carrier *open_socket(void) {
    struct kl_carrier *c = calloc(1, sizeof *c);
    if (!c) return NULL;
    kl_carry_init(&c->carry);
    c->fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (c->fd < 0) {
        free(c);
        return NULL;
    }
    int bytes = WAITING_BYTES;
    (void)setsockopt(c->fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
    return c;
}

struct kl_carrier *kl_carrier_open_guest(uint16_t *port) {
    struct sockaddr_in at = here(0);
    socklen_t len = sizeof at;
    struct kl_carrier *c = open_socket();
    if (!c) return NULL;
    c->guest = true;
    if (bind(c->fd, (struct sockaddr *)&at, sizeof at) == 0 &&
        getsockname(c->fd, (struct sockaddr *)&at, &len) == 0) {
        *port = ntohs(at.sin_port);
        return c;
    }
    kl_carrier_close(c);
    return NULL;
}

struct kl_carrier *kl_carrier_open_host(uint16_t relay_port) {
    struct sockaddr_in to = here(relay_port);
    struct kl_carrier *c = open_socket();
    if (!c) return NULL;
    if (connect(c->fd, (struct sockaddr *)&to, sizeof to) == 0) return c;
    kl_carrier_close(c);
    return NULL;
}

void kl_carrier_again(struct kl_carrier *c) {
    kl_carry_init(&c->carry);
}

void kl_carrier_frame(struct kl_carrier *c) {
    kl_carry_frame(&c->carry);
}

/* A failure is a datagram that did not arrive, as on any way: the next call goes on. */
static void drain(struct kl_carrier *c) {
    uint8_t bytes[KL_CARRY_MAX + 1];
    struct sockaddr_in from;
    for (unsigned i = 0; i < AT_ONCE; i++) {
        socklen_t len = sizeof from;
        ssize_t got = recvfrom(c->fd, bytes, sizeof bytes, 0, (struct sockaddr *)&from, &len);
        if (got < 0) return;
        if (c->guest) c->peer = from;
        kl_carry_put(&c->carry, bytes, (size_t)got);
        c->out++;
    }
}

bool kl_carrier_next(struct kl_carrier *c, struct kl_channel_packet *out) {
    drain(c);
    return kl_carry_next(&c->carry, out);
}

int kl_carrier_take(struct kl_carrier *c, const struct kl_channel_packet *p) {
    int result = kl_carry_take(&c->carry, p);
    if (result != KL_OK || !p->len) return result;
    c->in++;
    if (!c->guest)
        (void)send(c->fd, p->datagram, p->len, MSG_NOSIGNAL);
    else if (c->peer.sin_port)
        (void)sendto(c->fd, p->datagram, p->len, MSG_NOSIGNAL, (struct sockaddr *)&c->peer, sizeof c->peer);
    return KL_OK;
}

void kl_carrier_count(const struct kl_carrier *c, uint64_t *in, uint64_t *out, uint64_t *dropped) {
    *in = c->in;
    *out = c->out;
    *dropped = c->carry.dropped;
}

void kl_carrier_close(struct kl_carrier *c) {
    if (!c) return;
    close(c->fd);
    free(c);
}
