#include "net/transport/ask.h"

#include <netdb.h>
#include <poll.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net/engine/engine.h"
#include "net/platform/clock.h"

int kl_ask_open(const char *host, uint16_t port, char *err, size_t err_len) {
    struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_DGRAM}, *found;
    char text[8];
    snprintf(text, sizeof text, "%u", port);
    int error = getaddrinfo(host, text, &hints, &found);
    if (error) {
        snprintf(err, err_len, "cannot find the relay %s: %s", host, gai_strerror(error));
        return -1;
    }
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    bool good = fd >= 0 && connect(fd, found->ai_addr, found->ai_addrlen) == 0;
    freeaddrinfo(found);
    if (good) return fd;
    snprintf(err, err_len, "cannot reach the relay %s:%u", host, port);
    if (fd >= 0) close(fd);
    return -1;
}

/* Whether these bytes are the answer to a question with this echo; fills out. */
typedef bool take_fn(void *out, const uint8_t *bytes, size_t len, const uint8_t *echo);

static bool take_pong(void *out, const uint8_t *bytes, size_t len, const uint8_t *echo) {
    struct kl_pong *pong = out;
    return kl_pong_read(pong, bytes, len) == 0 && memcmp(pong->echo, echo, sizeof pong->echo) == 0;
}

static bool take_rooms(void *out, const uint8_t *bytes, size_t len, const uint8_t *echo) {
    struct kl_rooms *rooms = out;
    return kl_rooms_read(rooms, bytes, len) == 0 && memcmp(rooms->echo, echo, sizeof rooms->echo) == 0;
}

static bool put(int fd, struct kl_question *q) {
    uint8_t bytes[KL_LIST_BYTES];
    q->version = KL_PROTOCOL_VERSION;
    randombytes_buf(q->echo, sizeof q->echo);
    size_t len = kl_question_write(q, bytes);
    return send(fd, bytes, len, MSG_NOSIGNAL) >= 0;
}

/* Asks once and waits KL_ASK_MS for that question's answer; what else comes, a late answer to one before, is
 * passed over. The time it took, ms; -1: none came. */
static double ask(int fd, struct kl_question *q, take_fn *take, void *out) {
    uint8_t bytes[KL_LIST_BYTES];
    struct pollfd p = {.fd = fd, .events = POLLIN};
    uint64_t from_us = kl_now_us(), took_us;
    if (!put(fd, q)) return -1;
    while ((took_us = kl_now_us() - from_us) < KL_ASK_MS * 1000) {
        if (poll(&p, 1, KL_ASK_MS - (int)(took_us / 1000)) <= 0) return -1;
        ssize_t got = recv(fd, bytes, sizeof bytes, MSG_DONTWAIT);
        if (got < 0) return -1; /* nobody listens there */
        if (take(out, bytes, (size_t)got, q->echo)) return (double)(kl_now_us() - from_us) / 1000;
    }
    return -1;
}

double kl_ask_ping(int fd, struct kl_pong *out) {
    struct kl_question q = {.kind = KL_STRANGER_PING};
    return ask(fd, &q, take_pong, out);
}

/* The first of them with its answer in it, or -1; what else came is out of the way then. */
static int first_answer(const struct pollfd *p, const struct kl_question *q, unsigned count) {
    uint8_t bytes[KL_LIST_BYTES];
    struct kl_pong pong;
    for (unsigned i = 0; i < count; i++) {
        ssize_t got = p[i].revents ? recv(p[i].fd, bytes, sizeof bytes, MSG_DONTWAIT) : -1;
        if (got > 0 && take_pong(&pong, bytes, (size_t)got, q[i].echo)) return (int)i;
    }
    return -1;
}

int kl_ask_first(const int *fd, unsigned count) {
    struct pollfd p[KL_ASK_MANY];
    struct kl_question q[KL_ASK_MANY];
    uint64_t until_us = kl_now_us() + KL_ASK_MS * 1000, now_us;
    int found = -1;
    if (count > KL_ASK_MANY) count = KL_ASK_MANY;
    for (unsigned i = 0; i < count; i++) {
        q[i] = (struct kl_question){.kind = KL_STRANGER_PING};
        p[i] = (struct pollfd){.fd = fd[i], .events = POLLIN};
        if (fd[i] >= 0 && !put(fd[i], &q[i])) (void)put(fd[i], &q[i]); /* the first told of an error before */
    }
    while (found < 0 && (now_us = kl_now_us()) < until_us) {
        if (poll(p, count, (int)((until_us - now_us) / 1000) + 1) <= 0) return -1;
        found = first_answer(p, q, count);
    }
    return found;
}

int kl_ask_rooms(int fd, uint16_t from, struct kl_rooms *out) {
    for (unsigned i = 0; i < KL_ASK_TRIES; i++) {
        struct kl_question q = {.kind = KL_STRANGER_LIST, .from = from};
        if (ask(fd, &q, take_rooms, out) >= 0) return 0;
    }
    return -1;
}
