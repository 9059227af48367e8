/* `keylock rooms`: what a relay tells whoever asks. net/PROTOCOL.md §10. */
#include "tool.h"

#include "../../net/engine/engine.h"
#include "../../net/transport/strangers.h"
#include "../config.h"

#include <netdb.h>
#include <poll.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define ASKS      5 /* of one question; the ping is the quickest answer of as many */
#define ANSWER_MS 400
#define PIECES    64 /* lists at most: a relay that never ends one is none */

static const char help[] =
    "Usage: keylock rooms HOST[:PORT]\n"
    "\n"
    "Asks a relay for its public rooms, and how far away it is. Nothing of the answer is proved: who is on "
    "the way may\n"
    "have written it. Rooms made with --unlisted are not told.\n"
    "\n"
    "Exit status: 0; 2 for wrong usage; 4 where no relay answers.\n";

static int connect_to(const struct kl_config *where) {
    struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_DGRAM}, *found;
    char port[8];
    snprintf(port, sizeof(port), "%u", where->port);
    int error = getaddrinfo(where->host, port, &hints, &found);
    if (error) {
        tool_fail(0, "rooms", "cannot find the relay %s: %s", where->host, gai_strerror(error));
        return -1;
    }
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    bool good = fd >= 0 && connect(fd, found->ai_addr, found->ai_addrlen) == 0;
    freeaddrinfo(found);
    if (good) return fd;
    tool_fail(0, "rooms", "cannot reach the relay %s:%u", where->host, where->port);
    if (fd >= 0) close(fd);
    return -1;
}

/* Asks once. Length of the datagram that came, at most KL_LIST_BYTES; 0: none in time. */
static size_t ask(int fd, struct kl_question *q, uint8_t answer[KL_LIST_BYTES]) {
    uint8_t bytes[KL_LIST_BYTES];
    struct pollfd p = {.fd = fd, .events = POLLIN};
    q->version = KL_PROTOCOL_VERSION;
    randombytes_buf(q->echo, sizeof(q->echo));
    size_t len = kl_question_write(q, bytes);
    if (send(fd, bytes, len, 0) < 0 || poll(&p, 1, ANSWER_MS) <= 0) return 0;
    ssize_t got = recv(fd, answer, KL_LIST_BYTES, 0);
    return got > 0 ? (size_t)got : 0;
}

/* The quickest of some. 0, or -1 without any answer. */
static int ping(int fd, struct kl_pong *out, double *ms) {
    uint8_t answer[KL_LIST_BYTES];
    struct kl_pong pong;
    *ms = -1;
    for (unsigned i = 0; i < ASKS; i++) {
        struct kl_question q = {.kind = KL_STRANGER_PING};
        uint64_t from_us = tool_now_us();
        size_t len = ask(fd, &q, answer);
        double took_ms = (double)(tool_now_us() - from_us) / 1000;
        if (!len || kl_pong_read(&pong, answer, len) != 0 || memcmp(pong.echo, q.echo, sizeof(q.echo)) != 0)
            continue;
        *out = pong;
        if (*ms < 0 || took_ms < *ms) *ms = took_ms;
    }
    return *ms < 0 ? -1 : 0;
}

static int list(int fd, uint16_t from, struct kl_rooms *out) {
    uint8_t answer[KL_LIST_BYTES];
    for (unsigned i = 0; i < ASKS; i++) {
        struct kl_question q = {.kind = KL_STRANGER_LIST, .from = from};
        size_t len = ask(fd, &q, answer);
        if (len && kl_rooms_read(out, answer, len) == 0 && memcmp(out->echo, q.echo, sizeof(q.echo)) == 0)
            return 0;
    }
    return -1;
}

static void print_rooms(const struct kl_rooms *r) {
    for (unsigned i = 0; i < r->count; i++) {
        const struct kl_room_line *l = &r->line[i];
        printf("%-23s  %u/%u  %-7s  %-8s  %s\n", l->name, l->filled, l->players,
               l->playing  ? "playing"
               : l->locked ? "locked"
                           : "open",
               l->password ? "password" : "-", l->content);
    }
}

static int tell(int fd, const struct kl_config *where) {
    static struct kl_rooms rooms;
    struct kl_pong pong = {.version = 0};
    double ms;
    uint16_t from = 0;
    if (ping(fd, &pong, &ms) != 0)
        return tool_fail(KLT_ROOM, "rooms", "no answer from %s:%u (is keylock-relay running there?)",
                         where->host, where->port);
    printf("relay %s:%u  %.1f ms  protocol %u  rooms %u  clients %u\n", where->host, where->port, ms,
           pong.version, pong.rooms, pong.clients);
    for (unsigned i = 0; i < PIECES && from != KL_ROOMS_END; i++, from = rooms.next) {
        if (list(fd, from, &rooms) != 0)
            return tool_fail(KLT_ROOM, "rooms", "the relay does not answer any more");
        print_rooms(&rooms);
    }
    return KLT_OK;
}

int cmd_rooms(int argc, char **argv) {
    static struct kl_config where;
    char err[512];
    if (argc == 2 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))) {
        fputs(help, stdout);
        return KLT_OK;
    }
    if (argc != 2) return tool_fail(KLT_USAGE, "rooms", "expected HOST[:PORT]; see keylock rooms --help");
    if (kl_config_set(&where, "relay", argv[1], err, sizeof(err)) != 0)
        return tool_fail(KLT_USAGE, "rooms", "%s", strstr(err, "expected"));
    if (sodium_init() < 0) return tool_fail(KLT_FAILED, "rooms", "libsodium does not start");
    int fd = connect_to(&where);
    if (fd < 0) return KLT_ROOM;
    int code = tell(fd, &where);
    close(fd);
    return code;
}
