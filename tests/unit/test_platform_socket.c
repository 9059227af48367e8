/* The platform's sockets: datagrams over this machine's loop, cut ones, refused ones, addresses as text.
 * runs: working, test, 1 s */
#include "tests/unit/unit.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net/platform/clock.h"
#include "net/platform/socket.h"
#include "net/platform/wait.h"

static int a, b;
static struct kl_address at_a, at_b;

static int open_two(void **state) {
    (void)state;
    at_a = at_b = kl_address_loopback(0);
    a = kl_socket_open();
    b = kl_socket_open();
    return a < 0 || b < 0 || kl_socket_bind(a, &at_a) != 0 || kl_socket_bind(b, &at_b) != 0 ? -1 : 0;
}
static int close_two(void **state) {
    (void)state;
    kl_socket_close(a);
    kl_socket_close(b);
    kl_socket_close(-1);
    return 0;
}

static int receive(int s, void *bytes, size_t cap, struct kl_address *from) {
    if (!kl_wait_for(&s, 1, kl_now_us() + 5000000)) return -1;
    return kl_socket_receive(s, bytes, cap, from);
}

static void an_address_is_text_and_back(void **state) {
    (void)state;
    uint32_t host = 7;
    char text[KL_ADDRESS_TEXT];
    assert_true(kl_address_parse("192.0.2.255", &host));
    assert_memory_equal(&host, "\xc0\x00\x02\xff", 4);
    assert_string_equal(kl_address_text(text, host), "192.0.2.255");
    static const char *const bad[] = {"", "localhost", "1.2.3", "1.2.3.256", "::1", "1.2.3.4 "};
    for (unsigned i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_false(kl_address_parse(bad[i], &host));
    assert_string_equal(kl_address_text(text, kl_address_loopback(9).host), "127.0.0.1");
    assert_int_equal(kl_address_loopback(9).port, 9);
    if (kl_address_own(&host)) assert_int_not_equal(host, kl_address_loopback(0).host);
}

static void a_datagram_comes_whole_with_its_sender(void **state) {
    (void)state;
    char bytes[8];
    struct kl_address from;
    assert_int_not_equal(at_a.port, 0);
    assert_true(kl_socket_send(a, &at_b, "hello", 5));
    assert_int_equal(receive(b, bytes, sizeof bytes, &from), 5);
    assert_memory_equal(bytes, "hello", 5);
    assert_int_equal(from.host, at_a.host);
    assert_int_equal(from.port, at_a.port);
    assert_true(kl_socket_receive(b, bytes, sizeof bytes, &from) < 0); /* at once: nothing waits */
}

static void a_datagram_that_does_not_fit_says_how_long_it_was(void **state) {
    (void)state;
    char bytes[4] = "....";
    assert_true(kl_socket_send(a, &at_b, "hello", 5));
    assert_true(kl_wait_for(&b, 1, kl_now_us() + 5000000));
    assert_int_equal(kl_socket_peek(b, bytes, 2), 2);
    assert_memory_equal(bytes, "he..", 4);
    assert_int_equal(receive(b, bytes, 3, NULL), 5);
    assert_memory_equal(bytes, "hel.", 4);
    assert_true(kl_socket_peek(b, bytes, 2) < 0);
}

static void a_connected_socket_hears_one_and_learns_of_a_refusal(void **state) {
    (void)state;
    char bytes[4];
    int other = kl_socket_open();
    assert_int_equal(kl_socket_connect(a, &at_b), 0);
    assert_true(kl_socket_send(other, &at_a, "x", 1)); /* not from there */
    assert_true(kl_socket_send(b, &at_a, "y", 1));
    assert_int_equal(receive(a, bytes, sizeof bytes, NULL), 1);
    assert_int_equal(bytes[0], 'y');
    assert_true(kl_socket_receive(a, bytes, sizeof bytes, NULL) < 0);
    kl_socket_close(b);
    b = -1;
    assert_true(kl_socket_send(a, NULL, "z", 1));
    assert_true(receive(a, bytes, sizeof bytes, NULL) < 0);
    kl_socket_close(other);
}

static void an_address_is_taken_once(void **state) {
    (void)state;
    struct kl_address same = at_a, foreign = {.port = 0};
    int s = kl_socket_open();
    assert_int_equal(kl_socket_bind(s, &same), -1);
    assert_int_equal(errno, EADDRINUSE);
    assert_true(kl_address_parse("192.0.2.1", &foreign.host));
    assert_int_equal(kl_socket_bind(s, &foreign), -1);
    assert_int_equal(errno, EADDRNOTAVAIL);
    kl_socket_close(s);
}

static void a_buffer_grows_and_the_child_programs_get_no_socket(void **state) {
    (void)state;
    int before, after;
    socklen_t len = sizeof before;
    getsockopt(a, SOL_SOCKET, SO_RCVBUF, &before, &len);
    kl_socket_enlarge(a, before, 0); /* the kernel doubles what it is told */
    getsockopt(a, SOL_SOCKET, SO_RCVBUF, &after, &len);
    assert_true(after > before);
    assert_true(fcntl(a, F_GETFD) & FD_CLOEXEC);
}

/* The connections of test_reach.c, without a wrapper. */
static void the_other_ends_of_tcp_connections_are_found(void **state) {
    (void)state;
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof in;
    uint32_t host[4];
    unsigned before = kl_address_peers(host, 4);
    int server = socket(AF_INET, SOCK_STREAM, 0), client = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(server, (struct sockaddr *)&in, sizeof in), 0);
    assert_int_equal(listen(server, 1), 0);
    assert_int_equal(getsockname(server, (struct sockaddr *)&in, &len), 0);
    assert_int_equal(kl_socket_connect(a, &at_b), 0);
    assert_int_equal(kl_address_peers(host, 4), before); /* nobody is connected, and UDP does not count */
    assert_int_equal(connect(client, (struct sockaddr *)&in, sizeof in), 0);
    assert_int_equal(kl_address_peers(host, 4), before + 1);
    assert_int_equal(kl_address_peers(host, 0), 0);
    close(client);
    close(server);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_address_is_text_and_back),
        cmocka_unit_test_setup_teardown(a_datagram_comes_whole_with_its_sender, open_two, close_two),
        cmocka_unit_test_setup_teardown(a_datagram_that_does_not_fit_says_how_long_it_was, open_two,
                                        close_two),
        cmocka_unit_test_setup_teardown(a_connected_socket_hears_one_and_learns_of_a_refusal, open_two,
                                        close_two),
        cmocka_unit_test_setup_teardown(an_address_is_taken_once, open_two, close_two),
        cmocka_unit_test_setup_teardown(a_buffer_grows_and_the_child_programs_get_no_socket, open_two,
                                        close_two),
        cmocka_unit_test_setup_teardown(the_other_ends_of_tcp_connections_are_found, open_two, close_two),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
