/* The asker of a relay: what it makes of answers that come, come late, or do not come.
 * runs: waiting, test, 1 s */

#include <arpa/inet.h>
#include "tests/unit/unit.h"
#include <netdb.h>
#include <sodium.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "net/engine/engine.h"
#include "net/platform/clock.h"
#include "net/platform/socket.h"
#include "net/platform/thread.h"
#include "net/platform/wait.h"
#include "net/transport/ask.h"

/* A relay whose every answer comes after the one to a question before, and after what is no answer at all. */
static int relay;
static uint16_t port;

static int setup(void **state) {
    (void)state;
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof at;
    relay = socket(AF_INET, SOCK_DGRAM, 0);
    if (sodium_init() < 0 || bind(relay, (struct sockaddr *)&at, sizeof at) != 0) return -1;
    if (getsockname(relay, (struct sockaddr *)&at, &len) != 0) return -1;
    port = ntohs(at.sin_port);
    return 0;
}

static bool no_room(void *ctx, unsigned *from, struct kl_room_line *out) {
    (void)ctx, (void)from, (void)out;
    return false;
}

static void answer_late(void *questions) {
    uint8_t in[KL_LIST_BYTES], out[KL_LIST_BYTES];
    struct kl_question q, before = {0};
    for (unsigned i = 0; i < *(unsigned *)questions; i++) {
        struct sockaddr_in to;
        socklen_t to_len = sizeof to;
        ssize_t got = recvfrom(relay, in, sizeof in, 0, (struct sockaddr *)&to, &to_len);
        if (got < 0 || kl_question_read(&q, in, (size_t)got) != 0) continue;
        for (unsigned part = 0; part < 3; part++) {
            const struct kl_question *to_whom = part < 2 ? &before : &q;
            struct kl_pong pong = {.version = KL_PROTOCOL_VERSION, .rooms = 3};
            memcpy(pong.echo, to_whom->echo, sizeof pong.echo);
            size_t len = q.kind == KL_STRANGER_PING ? kl_pong_write(&pong, out)
                                                    : kl_rooms_write(to_whom, no_room, NULL, out);
            if (part == 0) len /= 2;
            sendto(relay, out, len, 0, (struct sockaddr *)&to, to_len);
        }
        before = q;
    }
}

static bool look_at(void *ctx, struct kl_rooms *piece) {
    assert_int_equal(piece->count, 0);
    *(unsigned *)ctx += 1;
    return true;
}

TEST(only_the_answer_to_the_question_asked_counts) {
    char err[128];
    static struct kl_rooms rooms;
    struct kl_pong pong;
    unsigned questions = 3 + KL_ASK_TRIES + 1, pieces = 0;
    struct kl_thread thread;
    int fd = kl_ask_open(NULL, "127.0.0.1", port, err, sizeof err);
    assert_true(fd >= 0);
    assert_int_equal(kl_thread_start(&thread, "test", answer_late, &questions), 0);
    for (unsigned i = 0; i < 3; i++) {
        assert_true(kl_ask_ping(NULL, fd, &pong) >= 0);
        assert_int_equal(pong.rooms, 3);
    }
    pong.rooms = 0;
    assert_true(kl_ask_distance(NULL, fd, &pong) >= 0);
    assert_int_equal(pong.rooms, 3);
    assert_int_equal(kl_ask_rooms(NULL, fd, &rooms, look_at, &pieces), 0);
    assert_int_equal(pieces, 1);
    kl_thread_join(&thread);
    kl_socket_close(fd);
}

TEST(a_client_that_does_not_answer_is_waited_for_no_longer_than_said) {
    char err[128];
    struct kl_pong pong;
    int fd =
        kl_ask_open(NULL, "127.0.0.1", port, err, sizeof err); /* the socket is there, and nobody reads */
    uint64_t from_us = kl_now_us();
    assert_true(kl_ask_ping(NULL, fd, &pong) < 0);
    assert_true(kl_now_us() - from_us >= (KL_ASK_MS - 1) * 1000);
    kl_socket_close(fd);
}

/* --- an asker that is told to stop --- */

static struct {
    struct kl_asker asker;
    const char *host;
    atomic_uint looks, answered, unsent;
    struct kl_rooms rooms;
} asks;

/* In place of the C library's: a name server that never answers, and a question that cannot be taken back. */
int getaddrinfo_a(int mode, struct gaicb *list[], int n, struct sigevent *event) {
    (void)mode, (void)n, (void)event;
    list[0]->__return = EAI_INPROGRESS;
    return 0;
}
int gai_error(struct gaicb *request) {
    asks.looks++;
    return request->__return;
}
static struct gaicb *left;
int gai_cancel(struct gaicb *request) {
    left = request;
    return EAI_NOTCANCELED;
}

static void ask_for_ever(void *arg) {
    (void)arg;
    unsigned pieces = 0;
    char err[128];
    while (!asks.asker.leaving) {
        int s = kl_ask_open(&asks.asker, asks.host, port, err, sizeof err);
        asks.looks++;
        asks.unsent += s < 0;
        if (s >= 0) asks.answered += kl_ask_rooms(&asks.asker, s, &asks.rooms, look_at, &pieces) == 0;
        kl_socket_close(s);
    }
}

static void stop_while_it_waits(const char *host) {
    memset(&asks, 0, sizeof asks);
    asks.host = host;
    assert_int_equal(kl_asker_start(&asks.asker, "test", ask_for_ever, NULL), 0);
    while (!asks.looks)
        kl_sleep_us(1000);
    uint64_t from_us = kl_now_us();
    kl_asker_end(&asks.asker);
    assert_true(kl_now_us() - from_us < KL_ASK_MS * 1000);
}

/* Else it would be KL_ASK_TRIES times KL_ASK_MS. */
TEST(a_client_that_stops_does_not_wait_for_a_relay) {
    stop_while_it_waits("127.0.0.1");
    assert_int_equal(asks.answered, 0);
    assert_int_equal(asks.unsent, 0);
}

TEST(a_client_that_stops_does_not_wait_for_a_name_server) {
    stop_while_it_waits("relay.example.org");
    assert_int_equal(asks.unsent, 1);
    assert_string_equal(left->ar_name, "relay.example.org"); /* it is the C library's, for ever */
    free(left);
}

static void rest_until_poked(void *arg) {
    (void)arg;
    asks.looks = 1;
    asks.answered = kl_asker_rest(&asks.asker, KL_WAIT_FOREVER);
    asks.unsent = !kl_asker_rest(&asks.asker, KL_WAIT_FOREVER);
}

TEST(a_client_that_rests_is_poked_or_stopped) {
    memset(&asks, 0, sizeof asks);
    assert_int_equal(kl_asker_start(&asks.asker, "test", rest_until_poked, NULL), 0);
    kl_asker_poke(&asks.asker);
    while (!asks.answered)
        kl_sleep_us(1000);
    kl_asker_end(&asks.asker);
    assert_int_equal(asks.unsent, 1);
}

/* The last: the relay is gone from then on. */
TEST(if_nobody_listens_nobody_waits) {
    char err[128];
    struct kl_pong pong;
    kl_socket_close(relay);
    int fd = kl_ask_open(NULL, "127.0.0.1", port, err, sizeof err);
    assert_true(kl_ask_ping(NULL, fd, &pong) < 0);
    kl_socket_close(fd);
}

int main(void) {
    return run_all_tests(setup, NULL);
}
