#include "core_wrapper/netplay/carrier.h"

#include <stdlib.h>

#include "net/platform/socket.h"

#define WAITING_BYTES (2 * 1024 * 1024) /* in the socket; the kernel may give less */
#define AT_ONCE       4096              /* datagrams out of the socket in one call */

struct kl_carrier {
    struct kl_carry carry;
    int fd;
    bool guest;
    struct kl_address peer; /* of the guest's link; port 0: it has said nothing yet */
    uint64_t in, out;
};

static struct kl_carrier *open_socket(void) {
    struct kl_carrier *c = calloc(1, sizeof *c);
    if (!c) return NULL;
    kl_carry_init(&c->carry);
    c->fd = kl_socket_open();
    if (c->fd < 0) {
        free(c);
        return NULL;
    }
    kl_socket_enlarge(c->fd, WAITING_BYTES, 0);
    return c;
}

struct kl_carrier *kl_carrier_open_guest(uint16_t *port) {
    struct kl_address at = kl_address_loopback(0);
    struct kl_carrier *c = open_socket();
    if (!c) return NULL;
    c->guest = true;
    if (kl_socket_bind(c->fd, &at) == 0) {
        *port = at.port;
        return c;
    }
    kl_carrier_close(c);
    return NULL;
}

struct kl_carrier *kl_carrier_open_host(uint16_t relay_port) {
    struct kl_address to = kl_address_loopback(relay_port);
    struct kl_carrier *c = open_socket();
    if (!c) return NULL;
    if (kl_socket_connect(c->fd, &to) == 0) return c;
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
    struct kl_address from;
    for (unsigned i = 0; i < AT_ONCE; i++) {
        int got = kl_socket_receive(c->fd, bytes, sizeof bytes, &from);
        if (got < 0) return;
        if (c->guest) c->peer = from;
        kl_carry_put(&c->carry, bytes, (size_t)got < sizeof bytes ? (size_t)got : sizeof bytes);
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
    if (!c->guest || c->peer.port)
        (void)kl_socket_send(c->fd, c->guest ? &c->peer : NULL, p->datagram, p->len);
    return KL_OK;
}

void kl_carrier_count(const struct kl_carrier *c, uint64_t *in, uint64_t *out, uint64_t *dropped) {
    *in = c->in;
    *out = c->out;
    *dropped = c->carry.dropped;
}

void kl_carrier_close(struct kl_carrier *c) {
    if (!c) return;
    kl_socket_close(c->fd);
    free(c);
}
