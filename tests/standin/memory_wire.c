#include "tests/standin/memory_wire.h"

#include <string.h>

#include <enet/enet.h>

#include "net/platform/clock.h"
#include "tests/lib/must.h"

#define WIRE_SOCKETS 16
#define WIRE_BYTES   (256 * 1024) /* that wait at one socket; what comes above is lost */

static struct wire_socket {
    bool open;
    struct kl_address at;
    size_t begin, end;
    uint8_t bytes[WIRE_BYTES]; /* datagrams: struct wire_head, bytes */
} wire[WIRE_SOCKETS];
struct wire_head {
    struct kl_address from;
    uint32_t len;
};

int wire_open(void) {
    for (int s = 0; s < WIRE_SOCKETS; s++)
        if (!wire[s].open) {
            wire[s].open = true;
            wire[s].begin = wire[s].end = 0;
            wire[s].at = (struct kl_address){.port = (uint16_t)(WIRE_PORT + s)};
            return s;
        }
    abort();
}
void wire_close(int s) {
    wire[s].open = false;
}
void wire_bind(int s, const struct kl_address *host) {
    memcpy(wire[s].at.host, host->host, sizeof host->host);
}

static struct wire_socket *wire_at(const struct kl_address *to) {
    struct wire_socket *w = &wire[(uint16_t)(to->port - WIRE_PORT) % WIRE_SOCKETS];
    return w->open && kl_address_same(&w->at, to) ? w : NULL;
}

void wire_send(int s, const struct kl_address *to, const void *bytes, size_t len) {
    struct wire_socket *w = wire_at(to);
    struct wire_head h = {.from = wire[s].at, .len = (uint32_t)len};
    if (!w || w->end + sizeof h + len > WIRE_BYTES) return;
    memcpy(w->bytes + w->end, &h, sizeof h);
    if (len) memcpy(w->bytes + w->end + sizeof h, bytes, len);
    w->end += sizeof h + len;
}

/* As wire_receive(), but the datagram stays. */
static int wire_peek(int s, void *bytes, size_t cap, struct kl_address *from) {
    const struct wire_socket *w = &wire[s];
    struct wire_head h;
    if (w->begin == w->end) return -1;
    memcpy(&h, w->bytes + w->begin, sizeof h);
    if (h.len) memcpy(bytes, w->bytes + w->begin + sizeof h, h.len < cap ? h.len : cap);
    if (from) *from = h.from;
    return (int)h.len;
}
int wire_receive(int s, void *bytes, size_t cap, struct kl_address *from) {
    struct wire_socket *w = &wire[s];
    int len = wire_peek(s, bytes, cap, from);
    if (len < 0) return len;
    w->begin += sizeof(struct wire_head) + (size_t)len;
    if (w->begin == w->end) w->begin = w->end = 0;
    return len;
}

/* --- net/platform/socket.h --- */

int __wrap_kl_socket_open(void);
void __wrap_kl_socket_close(int s);
bool __wrap_kl_socket_receive_batch(int s, struct kl_socket_batch *b);
bool __wrap_kl_socket_send_batch(int s, struct kl_socket_batch *b);
bool __wrap_kl_socket_time_arrivals(int s);
int __wrap_kl_socket_bind(int s, struct kl_address *at);
void __wrap_kl_socket_enlarge(int s, int receive_bytes, int send_bytes);
bool __wrap_kl_socket_send(int s, const struct kl_address *to, const void *bytes, size_t len);
int __wrap_kl_socket_receive(int s, void *bytes, size_t cap, struct kl_address *from);
int __wrap_kl_socket_peek(int s, void *bytes, size_t cap);

int __wrap_kl_socket_open(void) {
    return wire_open();
}
void __wrap_kl_socket_close(int s) {
    if (s >= 0) wire_close(s);
}
bool __wrap_kl_socket_receive_batch(int s, struct kl_socket_batch *b) {
    int len;
    for (b->count = 0; b->count < KL_SOCKET_BATCH; b->len[b->count++] = (size_t)len) {
        len = wire_receive(s, b->bytes[b->count], KL_SOCKET_BYTES, &b->at[b->count]);
        if (len < 0) break;
        b->arrived_us[b->count] = kl_now_us();
    }
    return b->count > 0;
}
bool __wrap_kl_socket_send_batch(int s, struct kl_socket_batch *b) {
    for (unsigned i = 0; i < b->count; i++)
        wire_send(s, &b->at[i], b->bytes[i], b->len[i]);
    b->count = 0;
    return true;
}
int __wrap_kl_socket_bind(int s, struct kl_address *at) {
    wire_bind(s, at);
    *at = wire[s].at;
    return 0;
}
bool __wrap_kl_socket_time_arrivals(int s) {
    return s < 0;
}
void __wrap_kl_socket_enlarge(int s, int receive_bytes, int send_bytes) {
    (void)s, (void)receive_bytes, (void)send_bytes;
}
bool __wrap_kl_socket_send(int s, const struct kl_address *to, const void *bytes, size_t len) {
    wire_send(s, to, bytes, len);
    return true;
}
int __wrap_kl_socket_receive(int s, void *bytes, size_t cap, struct kl_address *from) {
    return wire_receive(s, bytes, cap, from);
}
int __wrap_kl_socket_peek(int s, void *bytes, size_t cap) {
    int len = wire_peek(s, bytes, cap, NULL);
    return len > (int)cap ? (int)cap : len;
}

/* --- ENet's; the library calls these too, if they can be seen --- */

#define SEEN __attribute__((visibility("default")))

SEEN ENetSocket enet_socket_create(ENetSocketType type) {
    (void)type;
    return wire_open();
}
SEEN void enet_socket_destroy(ENetSocket s) {
    wire_close(s);
}
SEEN int enet_socket_set_option(ENetSocket s, ENetSocketOption option, int value) {
    (void)s, (void)option, (void)value;
    return 0;
}
SEEN int enet_socket_send(ENetSocket s, const ENetAddress *to, const ENetBuffer *buffers, size_t count) {
    uint8_t bytes[ENET_PROTOCOL_MAXIMUM_MTU];
    size_t len = 0;
    for (size_t i = 0; i < count; i++) {
        MUST(len + buffers[i].dataLength <= sizeof bytes);
        if (buffers[i].dataLength) memcpy(bytes + len, buffers[i].data, buffers[i].dataLength);
        len += buffers[i].dataLength;
    }
    const struct kl_address at = kl_address_v4((const uint8_t *)&to->host, to->port);
    wire_send(s, &at, bytes, len);
    return (int)len;
}
SEEN int enet_socket_receive(ENetSocket s, ENetAddress *from, ENetBuffer *buffers, size_t count) {
    struct kl_address at;
    MUST(count == 1);
    int len = wire_receive(s, buffers[0].data, buffers[0].dataLength, &at);
    if (len < 0) return 0;
    *from = (ENetAddress){.port = at.port};
    memcpy(&from->host, at.host + 12, sizeof from->host);
    return len > (int)buffers[0].dataLength ? -1 : len;
}
