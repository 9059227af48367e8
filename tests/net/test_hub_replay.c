/* test_hub_replay.c - the relay's end of the network against datagrams that somebody recorded.
 * net/PROTOCOL.md §8, §9. runs: waiting, test, 5 s */
#include <arpa/inet.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/unit/unit.h"

#include "tests/net/net_hub.h"

/* INIT with its cookie, the handshake's second word, sent again by somebody who saw it. From its own address:
 * the same answer as long as nothing has come of the session, nothing once it has, and later, as long as the
 * cookie is good, a session that nobody has the keys of and that is forgotten after 3 s. From elsewhere, a
 * cookie of its own, and nothing is kept. */
TEST_WITH(a_replayed_init, hub_begin, hub_finish) {
    struct shaken s;
    uint8_t bytes[2048];
    int own = stranger("127.0.0.5"), elsewhere = stranger("127.0.0.6");
    hub_shake(&s, own);
    assert_int_equal(hub_sessions(), 1);
    for (unsigned i = 0; i < 20; i++) {
        throw_at(own, kl_hub_port(hub), s.init, sizeof s.init);
        assert_int_equal(hub_heard(own, bytes, sizeof bytes), s.answer_len);
        assert_memory_equal(bytes, s.answer, s.answer_len);
        throw_at(elsewhere, kl_hub_port(hub), s.init, sizeof s.init);
        assert_true(hub_heard(elsewhere, bytes, sizeof bytes) < KL_INIT_BYTES);
        assert_int_equal(bytes[1], KL_HS_COOKIE);
    }
    assert_int_equal(hub_sessions(), 1);
    assert_int_equal(hub->gate->half_open->count, 1);

    hub_say_sealed(&s, own, KL_SEAL_ENET, bytes, hub_connects(bytes, &s.outcome.keys.session, 1));
    hub_settle();
    while (recv(own, bytes, sizeof bytes, MSG_DONTWAIT) >= 0) {
    }
    uint64_t replayed = kl_hub_stats(hub).replayed;
    for (unsigned i = 0; i < 20; i++)
        throw_at(own, kl_hub_port(hub), s.init, sizeof s.init);
    hub_settle();
    assert_int_equal(kl_hub_stats(hub).replayed - replayed, 20);
    for (ssize_t len; (len = recv(own, bytes, sizeof bytes, MSG_DONTWAIT)) >= 0;)
        assert_int_equal(bytes[1], KL_SEAL_ENET); /* VERIFY_CONNECT, said again; no word of a handshake */
    assert_int_equal(hub_sessions(), 1);

    kl_hub_free(hub, &hub->session[kl_gate_slot(s.outcome.keys.session)]); /* as when its time is up */
    for (unsigned i = 0; i < 20; i++)
        throw_at(own, kl_hub_port(hub), s.init, sizeof s.init);
    hub_settle();
    assert_int_equal(hub_sessions(), 1);
    assert_int_equal(hub->gate->half_open->count, 1);
    uint8_t sealed[64];
    size_t len = kl_seal(&s.sealer, KL_SEAL_CTRL, "x", 1, sealed); /* by the keys of then */
    throw_at(own, kl_hub_port(hub), sealed, len);
    hub_settle();
    assert_int_equal(hub->gate->half_open->count, 1);
    for (unsigned i = 0; i < 80 && hub_sessions(); i++)
        hub_settle();
    assert_int_equal(hub_sessions(), 0);
    close(own);
    close(elsewhere);
}

/* Between a client and the relay: keeps what goes by, and says all of it several times, at once and later. */
struct between {
    int client, relay; /* sockets: towards the client, towards the relay */
    struct sockaddr_in at;
    bool any;
    struct said {
        uint8_t bytes[2048];
        size_t len;
    } kept[64];
    unsigned count;
    uint32_t session, counter[4096]; /* of the client's sealed datagrams */
    unsigned counters, twice, sessions;
};

static void count_sealed(struct between *b, const uint8_t *bytes, size_t len) {
    uint32_t session = kl_seal_session(bytes, len), counter;
    if (!session) return;
    memcpy(&counter, bytes + 6, sizeof counter);
    b->sessions += session != b->session;
    b->session = session;
    for (unsigned i = 0; i < b->counters; i++)
        b->twice += b->counter[i] == counter;
    if (b->counters < 4096) b->counter[b->counters++] = counter;
}

static void carry(struct between *b) {
    uint8_t bytes[2048];
    socklen_t size = sizeof b->at;
    ssize_t len;
    while ((len = recvfrom(b->client, bytes, sizeof bytes, MSG_DONTWAIT, (struct sockaddr *)&b->at, &size)) >=
           0) {
        b->any = true;
        count_sealed(b, bytes, (size_t)len);
        for (unsigned i = 0; i < 3; i++) /* its INITs as well */
            throw_at(b->relay, kl_hub_port(hub), bytes, (size_t)len);
    }
    while ((len = recv(b->relay, bytes, sizeof bytes, MSG_DONTWAIT)) >= 0) {
        bool handshake = len > 1 && bytes[1] >= KL_HS_INIT;
        if (handshake && b->count < 64) {
            memcpy(b->kept[b->count].bytes, bytes, (size_t)len);
            b->kept[b->count++].len = (size_t)len;
        }
        for (unsigned i = 0; i < 3 && b->any; i++)
            (void)!sendto(b->client, bytes, (size_t)len, 0, (struct sockaddr *)&b->at, sizeof b->at);
    }
}

static void say_it_all_again(struct between *b) {
    for (unsigned i = 0; i < b->count; i++)
        (void)!sendto(b->client, b->kept[i].bytes, b->kept[i].len, 0, (struct sockaddr *)&b->at,
                      sizeof b->at);
}

/* COOKIE and ANSWER said again to a client, at once and in mid-session, begin nothing anew: no counter is
 * used twice under one key, there is one session, and it stays. */
TEST_WITH(replayed_words_of_the_relay, hub_begin, hub_finish) {
    static struct between b;
    struct player p = {0};
    struct sockaddr_in in = {0};
    socklen_t size = sizeof in;
    memset(&b, 0, sizeof b);
    b.client = stranger("127.0.0.1");
    b.relay = stranger("127.0.0.7");
    getsockname(b.client, (struct sockaddr *)&in, &size);
    struct kl_hello h = hello_make("ann", "room", 1, 2);
    player_open(&p, &h, ntohs(in.sin_port), 1);
    for (unsigned i = 0; i < 3000 && messages == 0; i++) {
        carry(&b);
        hub_serve();
        poll(NULL, 0, 1);
    }
    assert_int_equal(messages, 1); /* HELLO */
    assert_in_range(b.count, 2, 64);
    for (unsigned i = 0; i < 3000; i++) { /* pings go by meanwhile */
        if (i % 50 == 0) say_it_all_again(&b);
        carry(&b);
        hub_serve();
        poll(NULL, 0, 1);
    }
    assert_int_equal(b.twice, 0);
    assert_int_equal(b.sessions, 1);
    assert_true(b.counters > 5);
    assert_int_equal(opened, 1);
    assert_int_equal(lost, 0);
    assert_int_equal(hub_sessions(), 1);
    player_close(&p, 0);
    close(b.client);
    close(b.relay);
}
