/* The asker of a relay: what it makes of answers that come, come late, or do not come.
 * runs: waiting, test, 1 s */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <arpa/inet.h>
#include <cmocka.h>
#include <pthread.h>
#include <sodium.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net/engine/engine.h"
#include "net/platform/clock.h"
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

static void *answer_late(void *questions) {
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
    return NULL;
}

static void only_the_answer_to_the_question_asked_counts(void **state) {
    (void)state;
    char err[128];
    static struct kl_rooms rooms;
    struct kl_pong pong;
    unsigned questions = 4;
    pthread_t thread;
    int fd = kl_ask_open("127.0.0.1", port, err, sizeof err);
    assert_true(fd >= 0);
    pthread_create(&thread, NULL, answer_late, &questions);
    for (unsigned i = 0; i < 3; i++) {
        assert_true(kl_ask_ping(fd, &pong) >= 0);
        assert_int_equal(pong.rooms, 3);
    }
    assert_int_equal(kl_ask_rooms(fd, 0, &rooms), 0);
    pthread_join(thread, NULL);
    close(fd);
}

static void who_does_not_answer_is_waited_for_no_longer_than_said(void **state) {
    (void)state;
    char err[128];
    struct kl_pong pong;
    int fd = kl_ask_open("127.0.0.1", port, err, sizeof err); /* the socket is there, and nobody reads */
    uint64_t from_us = kl_now_us();
    assert_true(kl_ask_ping(fd, &pong) < 0);
    assert_true(kl_now_us() - from_us >= (KL_ASK_MS - 1) * 1000);
    close(fd);
    close(relay);
    fd = kl_ask_open("127.0.0.1", port, err, sizeof err); /* and here there is none */
    assert_true(kl_ask_ping(fd, &pong) < 0);
    close(fd);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_the_answer_to_the_question_asked_counts),
        cmocka_unit_test(who_does_not_answer_is_waited_for_no_longer_than_said),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
