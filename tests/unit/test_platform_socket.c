/* The platform's sockets: datagrams over this machine's loop, cut ones, refused ones, addresses as text.
 * runs: working, test, 1 s */
#include "tests/unit/unit.h"

#include <errno.h>
#ifdef _WIN32
#include <winsock2.h>
#else
#include <arpa/inet.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include "net/platform/clock.h"
#include "net/platform/socket.h"
#include "net/platform/wait.h"

#ifdef _WIN32
typedef int socklen_t;

static void close_socket(int s) {
    closesocket((SOCKET)s);
}
static bool is_inherited(int s) {
    DWORD flags;
    assert_true(GetHandleInformation((HANDLE)(intptr_t)s, &flags));
    return flags & HANDLE_FLAG_INHERIT;
}
/* Wine takes another machine's address, and binds to all of its own. */
static bool binds_anything(void) {
    return GetProcAddress(GetModuleHandleW(L"ntdll.dll"), "wine_get_version") != NULL;
}
#else
static void close_socket(int s) {
    close(s);
}
static bool is_inherited(int s) {
    return !(fcntl(s, F_GETFD) & FD_CLOEXEC);
}
static bool binds_anything(void) {
    return false;
}

/* In place of the C library's: a kernel without IPv6. */
static bool no_ipv6;
int socket(int domain, int type, int protocol) {
    if (!no_ipv6 || domain != AF_INET6) return (int)syscall(SYS_socket, domain, type, protocol);
    errno = EAFNOSUPPORT;
    return -1;
}
#endif

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

TEST(this_machine_has_an_address) {
    struct kl_address own, towards, here = kl_address_loopback(9);
    if (kl_address_own(&own)) assert_int_not_equal(kl_address_audience(&own), KL_AUDIENCE_MACHINE);
    assert_true(kl_address_towards(&here, &towards));
    assert_memory_equal(towards.host, here.host, KL_HOST_BYTES);
}

/* The relay's socket: each client is one address, whichever kind of socket it has. */
TEST(one_port_for_both_kinds) {
    char bytes[8];
    struct kl_address all = {.port = 0}, from, v4 = kl_address_loopback(0), v6 = {.host = {[15] = 1}};
    int relay = kl_socket_open(), client[2] = {kl_socket_open(), kl_socket_open()};
    assert_int_equal(kl_socket_bind(relay, &all), 0);
    assert_int_equal(kl_socket_bind(client[0], &v4), 0);
    bool has_v6 = kl_socket_has_ipv6() && kl_socket_bind(client[1], &v6) == 0;
    struct kl_address at[2] = {kl_address_loopback(all.port), {.host = {[15] = 1}, .port = all.port}};
    for (unsigned i = 0; i < 1U + has_v6; i++) {
        const struct kl_address *is = i ? &v6 : &v4;
        assert_true(kl_socket_send(client[i], &at[i], "hello", 5));
        assert_int_equal(receive(relay, bytes, sizeof bytes, &from), 5);
        assert_true(kl_address_same(&from, is));
        assert_int_equal(kl_address_is_v4(&from), i == 0);
        assert_true(kl_socket_send(relay, &from, "you", 3));
        assert_int_equal(receive(client[i], bytes, sizeof bytes, &from), 3);
        assert_true(kl_address_same(&from, &at[i]));
    }
    if (!has_v6) print_message("skip: no IPv6 loopback here\n");
    for (unsigned i = 0; i < 2; i++)
        kl_socket_close(client[i]);
    kl_socket_close(relay);
}

#ifndef _WIN32
TEST(without_ipv6_there_is_ipv4) {
    char bytes[8];
    struct kl_address all = {.port = 0}, from, v6 = {.host = {[15] = 1}, .port = 9};
    no_ipv6 = true;
    int relay = kl_socket_open(), client = kl_socket_open();
    no_ipv6 = false;
    assert_false(kl_socket_has_ipv6());
    assert_int_equal(kl_socket_bind(relay, &all), 0);
    struct kl_address at = kl_address_loopback(all.port);
    assert_true(kl_socket_send(client, &at, "hello", 5));
    assert_int_equal(receive(relay, bytes, sizeof bytes, &from), 5);
    assert_true(kl_address_is_v4(&from));
    assert_true(kl_socket_send(relay, &from, "you", 3));
    assert_int_equal(receive(client, bytes, sizeof bytes, &from), 3);
    assert_true(kl_address_same(&from, &at));
    assert_false(kl_socket_send(client, &v6, "x", 1));
    assert_int_equal(kl_socket_connect(client, &v6), -1);
    kl_socket_close(client);
    kl_socket_close(relay);
    kl_socket_close(kl_socket_open());
}
#endif

TEST_WITH(a_datagram_that_does_not_fit_is_known_as_cut_off, open_two, close_two) {
    char bytes[4] = "....";
    assert_true(kl_socket_send(a, &at_b, "hello", 5));
    assert_true(kl_wait_for(&b, 1, kl_now_us() + 5000000));
    assert_int_equal(kl_socket_peek(b, bytes, 2), 2);
    assert_memory_equal(bytes, "he..", 4);
    assert_true(receive(b, bytes, 3, NULL) > 3);
    assert_memory_equal(bytes, "hel.", 4);
    assert_true(kl_socket_peek(b, bytes, 2) < 0);
}

TEST_WITH(a_connected_socket_hears_one_and_learns_of_a_refusal, open_two, close_two) {
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

/* Windows reports a refusal at the next receive, of any socket. */
TEST_WITH(a_socket_for_all_hears_of_no_refusal, open_two, close_two) {
    char bytes[4];
    struct kl_address gone = at_b;
    kl_socket_close(b);
    b = -1;
    assert_true(kl_socket_send(a, &gone, "x", 1));
    assert_true(kl_socket_send(a, &at_a, "y", 1));
    assert_int_equal(receive(a, bytes, sizeof bytes, NULL), 1);
    assert_int_equal(bytes[0], 'y');
    assert_int_equal(kl_wait_for(&a, 1, kl_now_us() + 20000), 0);
}

TEST_WITH(another_library_s_socket_behaves_as_ours, open_two, close_two) {
    close_socket(a);
    a = (int)socket(AF_INET, SOCK_DGRAM, 0);
    assert_true(is_inherited(a));
    kl_socket_adopt(a);
    assert_false(is_inherited(a));
    at_a.port = 0;
    assert_int_equal(kl_socket_bind(a, &at_a), 0);
    assert_true(kl_socket_receive(a, (char[4]){0}, 4, NULL) < 0); /* it does not wait */
    a_socket_for_all_hears_of_no_refusal(NULL);
}

TEST_WITH(an_address_is_taken_once, open_two, close_two) {
    struct kl_address same = at_a, foreign = {.port = 0};
    int s = kl_socket_open();
    assert_int_equal(kl_socket_bind(s, &same), -1);
    assert_int_equal(errno, EADDRINUSE);
    assert_true(kl_address_parse("198.51.100.1", &foreign));
    if (!binds_anything()) {
        assert_int_equal(kl_socket_bind(s, &foreign), -1);
        assert_int_equal(errno, EADDRNOTAVAIL);
    }
    kl_socket_close(s);
}

TEST_WITH(a_buffer_grows_and_the_child_programs_get_no_socket, open_two, close_two) {
    int before, after;
    socklen_t len = sizeof before;
    getsockopt(a, SOL_SOCKET, SO_RCVBUF, (void *)&before, &len);
    kl_socket_enlarge(a, before + 4096, 0);
    getsockopt(a, SOL_SOCKET, SO_RCVBUF, (void *)&after, &len);
    assert_true(after > before);
    assert_false(is_inherited(a));
}

/* A batch is read 20 ms after its datagrams came: this time by its own word, at most. */
static uint64_t lain_us(void) {
    static struct kl_socket_batch batch;
    uint64_t before_us = kl_now_us(), lain = 0;
    assert_true(kl_socket_send(b, &at_a, "now", 3));
    assert_true(kl_socket_send(b, &at_a, "and", 3));
    kl_sleep_us(20000);
    assert_true(kl_socket_receive_batch(a, &batch));
    uint64_t read_us = kl_now_us();
    assert_int_equal(batch.count, 2);
    for (unsigned i = 0; i < 2; i++) {
        assert_in_range(batch.arrived_us[i], before_us - 1000, read_us);
        if (read_us - batch.arrived_us[i] > lain) lain = read_us - batch.arrived_us[i];
    }
    return lain;
}

TEST_WITH(a_batch_says_when_its_datagrams_came, open_two, close_two) {
    uint64_t us = lain_us();
    if (!kl_socket_time_arrivals(a)) skip();         /* an emulator's kernel, or Windows */
    for (unsigned i = 0; i < 100 && us < 20000; i++) /* the kernel begins with it some time later */
        us = lain_us();
    assert_true(us >= 20000);
}

#ifndef _WIN32
/* 10 ms of 2,000 players at 60 fps, as keylock-relay --check counts them. */
TEST_WITH(a_burst_of_a_full_relay_waits_whole_if_the_system_allows_it, open_two, close_two) {
    enum { BURST = 1200, DATAGRAM = 60, EACH = 416, ASKED = 4 * 1024 * 1024 };
    int allowed = kl_socket_allowed(ASKED), count = 0;
    uint8_t bytes[DATAGRAM] = {0};
    assert_in_range(allowed, 1, ASKED);
    assert_true(kl_socket_allowed(4096) <= 4096);
    assert_int_equal(setsockopt(a, SOL_SOCKET, SO_RCVBUF, &allowed, sizeof allowed), 0);
    for (unsigned i = 0; i < BURST; i++)
        assert_true(kl_socket_send(b, &at_a, bytes, sizeof bytes));
    while (kl_socket_receive(a, bytes, sizeof bytes, NULL) >= 0)
        count++;
    if (allowed < BURST * EACH)
        print_message("           %d of %d datagrams fit: net.core.rmem_max or wmem_max is %d\n", count,
                      BURST, allowed);
    else
        assert_int_equal(count, BURST);
}
#endif

/* The connections of test_reach.c, without a wrapper. */
TEST_WITH(the_other_ends_of_tcp_connections_are_found, open_two, close_two) {
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof in;
    struct kl_address host[4];
    unsigned before = kl_address_peers(host, 4);
    int server = (int)socket(AF_INET, SOCK_STREAM, 0), client = (int)socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(server, (struct sockaddr *)&in, sizeof in), 0);
    assert_int_equal(listen(server, 1), 0);
    assert_int_equal(getsockname(server, (struct sockaddr *)&in, &len), 0);
    assert_int_equal(kl_socket_connect(a, &at_b), 0);
    assert_int_equal(kl_address_peers(host, 4), before); /* nobody is connected, and UDP does not count */
    assert_int_equal(connect(client, (struct sockaddr *)&in, sizeof in), 0);
    assert_int_equal(send(client, "x", 1, 0), 1);    /* Wine does not know its owner before */
    assert_true(kl_address_peers(host, 4) > before); /* the server's end may be listed, too */
    assert_memory_equal(host[before].host + 12, &in.sin_addr, 4);
    assert_int_equal(kl_address_peers(host, 0), 0);
    close_socket(client);
    close_socket(server);
}
