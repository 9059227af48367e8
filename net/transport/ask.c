#include "ask.h"

#include <netdb.h>
#include <poll.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../engine/engine.h"
#include "link.h"

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

/* Asks once. Length of the datagram that came, at most KL_LIST_BYTES; 0: none in time. */
static size_t ask(int fd, struct kl_question *q, uint8_t answer[KL_LIST_BYTES]) {
    uint8_t bytes[KL_LIST_BYTES];
    struct pollfd p = {.fd = fd, .events = POLLIN};
    q->version = KL_PROTOCOL_VERSION;
    randombytes_buf(q->echo, sizeof q->echo);
    size_t len = kl_question_write(q, bytes);
    if (send(fd, bytes, len, MSG_NOSIGNAL) < 0 || poll(&p, 1, KL_ASK_MS) <= 0) return 0;
    ssize_t got = recv(fd, answer, KL_LIST_BYTES, MSG_DONTWAIT);
    return got > 0 ? (size_t)got : 0;
}

double kl_ask_ping(int fd, struct kl_pong *out) {
    uint8_t answer[KL_LIST_BYTES];
    struct kl_question q = {.kind = KL_STRANGER_PING};
    uint64_t from_us = kl_now_us();
    size_t len = ask(fd, &q, answer);
    double took_ms = (double)(kl_now_us() - from_us) / 1000;
    if (!len || kl_pong_read(out, answer, len) != 0 || memcmp(out->echo, q.echo, sizeof q.echo) != 0)
        return -1;
    return took_ms;
}

int kl_ask_rooms(int fd, uint16_t from, struct kl_rooms *out) {
    uint8_t answer[KL_LIST_BYTES];
    for (unsigned i = 0; i < KL_ASK_TRIES; i++) {
        struct kl_question q = {.kind = KL_STRANGER_LIST, .from = from};
        size_t len = ask(fd, &q, answer);
        if (len && kl_rooms_read(out, answer, len) == 0 && memcmp(out->echo, q.echo, sizeof q.echo) == 0)
            return 0;
    }
    return -1;
}
