/* A match's own relay, and finding it by one of many addresses.
 * runs: waiting, test, 3 s */
#include "tests/unit/unit.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net/platform/clock.h"
#include "core_wrapper/netplay/reach.h"
#include "net/relay/loop/hosted.h"
#include "net/transport/ask.h"
#include "net/transport/link.h"

TEST(addresses) {
    struct kl_reach_list list = {.count = 0};
    kl_reach_add(&list, "192.0.2.1");
    kl_reach_add(&list, "192.0.2.1");
    kl_reach_add(&list, "relay.example.org");
    kl_reach_add(&list, "2001:db8::1");
    kl_reach_add(&list, "2001:DB8:0::1");
    kl_reach_add(&list, "::ffff:192.0.2.1");
    kl_reach_add(&list, "");
    assert_int_equal(list.count, 2);
    assert_string_equal(list.address[1], "2001:db8::1");
    for (unsigned i = 2; i < 20; i++) {
        char text[24];
        snprintf(text, sizeof text, "192.0.2.%u", i);
        kl_reach_add(&list, text);
    }
    assert_int_equal(list.count, KL_REACH_MAX);
    char own[KL_ADDRESS_TEXT];
    struct in_addr a;
    kl_reach_own(own);
    assert_int_equal(inet_pton(AF_INET, own, &a), 1);
}

/* The far end of a TCP connection, by IPv4 and by IPv6's way of saying it; not of one that only listens. */
TEST(the_far_ends_of_connections) {
    struct sockaddr_in6 any = {.sin6_family = AF_INET6};
    struct sockaddr_in to = {.sin_family = AF_INET};
    socklen_t len = sizeof any;
    struct kl_reach_list list = {.count = 0};
    int listens = socket(AF_INET6, SOCK_STREAM, 0), off = 0, connects = socket(AF_INET, SOCK_STREAM, 0);
    if (listens < 0) skip();
    assert_int_equal(setsockopt(listens, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off), 0);
    assert_int_equal(bind(listens, (struct sockaddr *)&any, sizeof any), 0);
    assert_int_equal(listen(listens, 1), 0);
    assert_int_equal(getsockname(listens, (struct sockaddr *)&any, &len), 0);
    kl_reach_add_peers(&list);
    assert_int_equal(list.count, 0);
    to.sin_port = any.sin6_port;
    inet_pton(AF_INET, "127.0.0.2", &to.sin_addr);
    assert_int_equal(connect(connects, (struct sockaddr *)&to, sizeof to), 0);
    kl_reach_add_peers(&list);
    assert_int_equal(list.count, 1);
    assert_string_equal(list.address[0], "127.0.0.2");
    int accepted = accept(listens, NULL, NULL);
    kl_reach_add_peers(&list);
    assert_int_equal(list.count, 2); /* 127.0.0.1, mapped */
    close(accepted);
    close(connects);
    close(listens);
}

static enum kl_reach_news wait_for(struct kl_reach *r, char address[KL_ADDRESS_TEXT]) {
    enum kl_reach_news news = KL_REACH_ASKING;
    for (unsigned i = 0; i < 600 && news == KL_REACH_ASKING; i++) {
        usleep(10000);
        news = kl_reach_look(r, address);
    }
    return news;
}

TEST(a_relay_for_one_match) {
    char dir[] = "/tmp/keylock-hosted-XXXXXX", fingerprint[KL_FINGERPRINT_CHARS + 1], err[256] = "",
         address[KL_ADDRESS_TEXT] = "";
    uint16_t port = 0;
    assert_non_null(mkdtemp(dir));
    struct kl_hosted *h = kl_hosted_open(dir);
    assert_non_null(h);
    for (unsigned i = 0; i < 500; i++) {
        if (kl_hosted_look(h, &port, fingerprint, err, sizeof err) != KL_HOSTED_STARTING) break;
        usleep(10000);
    }
    assert_string_equal(err, "");
    assert_int_equal(strlen(fingerprint), KL_FINGERPRINT_CHARS);
    struct kl_reach_list list = {.count = 0};
    kl_reach_add(&list, "192.0.2.1"); /* nobody */
    kl_reach_add(&list, "127.0.0.1");
    struct kl_reach *r = kl_reach_open(&list, port);
    assert_int_equal(wait_for(r, address), KL_REACH_FOUND);
    assert_string_equal(address, "127.0.0.1");
    kl_reach_close(r);
    kl_hosted_close(h);
    list.count = 1;
    r = kl_reach_open(&list, port);
    uint64_t from_us = kl_now_us();
    assert_int_equal(wait_for(r, address), KL_REACH_NOWHERE);
    assert_true(kl_now_us() - from_us > KL_REACH_US - 100000);
    kl_reach_close(r);
    r = kl_reach_open(&list, port);
    from_us = kl_now_us();
    kl_reach_close(r);
    assert_true(kl_now_us() - from_us < KL_ASK_MS * 1000); /* at once */
    char command[64];
    snprintf(command, sizeof command, "rm -r %s", dir);
    assert_int_equal(system(command), 0);
}

/* A socket that says nothing, as a firewall does, and seven of them: whom it is asked does not wait for them.
 */
TEST(all_are_asked_at_once) {
    struct kl_reach_list list = {.count = 0};
    struct sockaddr_in at = {.sin_family = AF_INET};
    socklen_t len = sizeof at;
    char address[KL_ADDRESS_TEXT] = "";
    uint8_t question[KL_LIST_BYTES], answer[KL_LIST_BYTES];
    int quiet[KL_REACH_MAX];
    for (unsigned i = 0; i < KL_REACH_MAX; i++) {
        char text[24];
        snprintf(text, sizeof text, "127.0.0.%u", 2 + i);
        kl_reach_add(&list, text);
        inet_pton(AF_INET, text, &at.sin_addr);
        quiet[i] = socket(AF_INET, SOCK_DGRAM, 0);
        assert_int_equal(bind(quiet[i], (struct sockaddr *)&at, sizeof at), 0);
        assert_int_equal(getsockname(quiet[i], (struct sockaddr *)&at, &len), 0);
    }
    struct kl_reach *r = kl_reach_open(&list, ntohs(at.sin_port));
    uint64_t from_us = kl_now_us();
    int last = quiet[KL_REACH_MAX - 1]; /* this one answers, at once */
    ssize_t got = recvfrom(last, question, sizeof question, 0, (struct sockaddr *)&at, &len);
    struct kl_question q;
    assert_true(got > 0);
    assert_int_equal(kl_question_read(&q, question, (size_t)got), KL_OK);
    struct kl_pong pong = {.version = q.version};
    memcpy(pong.echo, q.echo, sizeof pong.echo);
    q.echo[0] ^= 1;
    memcpy(answer, question, (size_t)got); /* not an answer */
    (void)sendto(last, answer, (size_t)got, 0, (struct sockaddr *)&at, len);
    (void)sendto(last, answer, kl_pong_write(&pong, answer), 0, (struct sockaddr *)&at, len);
    assert_int_equal(wait_for(r, address), KL_REACH_FOUND);
    assert_string_equal(address, list.address[KL_REACH_MAX - 1]);
    assert_true(kl_now_us() - from_us < (KL_REACH_MAX - 1) * KL_ASK_MS * 1000ULL);
    kl_reach_close(r);
    for (unsigned i = 0; i < KL_REACH_MAX; i++)
        close(quiet[i]);
}

TEST(no_folder_no_relay) {
    char fingerprint[KL_FINGERPRINT_CHARS + 1], err[256] = "";
    uint16_t port;
    struct kl_hosted *h = kl_hosted_open("/dev/null/state");
    enum kl_hosted_state s = KL_HOSTED_STARTING;
    for (unsigned i = 0; i < 500 && s == KL_HOSTED_STARTING; i++) {
        s = kl_hosted_look(h, &port, fingerprint, err, sizeof err);
        usleep(10000);
    }
    assert_int_equal(s, KL_HOSTED_FAILED);
    assert_true(*err);
    kl_hosted_close(h);
}
