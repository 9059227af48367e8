/* test_lobby_direct.c - the relay tells players of each other's addresses if both have said that it may.
 * net/ROOMS.md §7, Straight datagrams. runs: working, check, 1 s */
#include "tests/lib/lobby_net.h"
#include "tests/unit/unit.h"

static void connect_at(unsigned peer, const char *address) {
    address_of_peers = address;
    connect_peer(peer);
}

static int three_players(void **state) {
    static const char *const at[] = {"192.0.2.1:1001", "192.0.2.2:1002", "192.0.2.3:1003"};
    int result = set_up(state);
    for (unsigned i = 0; i < 3; i++) {
        address_of_peers = at[i];
        hello(i, "room", 1, 4, "a");
    }
    return result;
}

static void say_direct(unsigned peer) {
    say(peer, &(struct kl_msg){.kind = KL_MSG_DIRECT});
    pass(SECOND);
}

static const struct kl_peers *peers_of(unsigned peer) {
    const struct kl_msg *m = heard(peer, KL_MSG_PEERS);
    return m ? &m->peers : NULL;
}

static const struct kl_peer *only_peer_of(unsigned peer) {
    const struct kl_peers *p = peers_of(peer);
    assert_true(p && p->count == 1);
    return &p->peer[0];
}

TEST_WITH(both_must_say_so, three_players, tear_down) {
    static const uint8_t ann_is_at[KL_PEER_HOST] = {[10] = 0xff, 0xff, 192, 0, 2, 1};
    say_direct(0);
    assert_int_equal(peers_of(0)->count, 0);
    say_direct(1);
    struct kl_peer bob = *only_peer_of(0), ann = *only_peer_of(1);
    assert_null(peers_of(2));
    assert_memory_equal(ann.host, ann_is_at, sizeof ann_is_at);
    assert_int_equal(ann.port, 1001);
    assert_int_equal(ann.seats, 1);
    assert_int_equal(bob.seats, 2);
    assert_memory_equal(ann.out, bob.in, 32);
    assert_memory_equal(ann.in, bob.out, 32);
    assert_memory_not_equal(ann.in, ann.out, 32);
    say_direct(2); /* each pair has keys of its own */
    assert_int_equal(peers_of(0)->count, 2);
    assert_memory_equal(peers_of(0)->peer[0].out, bob.out, 32);
    assert_memory_not_equal(peers_of(0)->peer[1].out, bob.out, 32);
}

TEST_WITH(changes_are_told_once, three_players, tear_down) {
    say_direct(0);
    say_direct(1);
    unsigned count = inbox[0].count;
    pass(5 * SECOND);
    for (unsigned i = count; i < inbox[0].count; i++)
        assert_int_not_equal(inbox[0].msg[i % inbox_keeps].kind, KL_MSG_PEERS);
    kl_lobby_moved(lobby, 1, "192.0.2.9:77");
    pass(SECOND);
    assert_int_equal(only_peer_of(0)->port, 77);
    kl_lobby_moved(lobby, 1, "[2001:db8::9]:78"); /* nobody at an IPv4 address can use that */
    pass(SECOND);
    assert_int_equal(peers_of(0)->count, 0);
    kl_lobby_moved(lobby, 0, "[2001:db8::1]:79");
    pass(SECOND);
    assert_int_equal(only_peer_of(0)->host[15], 9);
    assert_int_equal(only_peer_of(1)->port, 79);
    lose(1);
    pass(SECOND);
    assert_int_equal(peers_of(0)->count, 0);
}

TEST_WITH(keys_are_new_in_a_new_session, three_players, tear_down) {
    say_direct(0);
    say_direct(1);
    struct kl_peer before = *only_peer_of(0);
    uint8_t token[KL_TOKEN_BYTES];
    memcpy(token, heard(1, KL_MSG_WELCOME)->welcome.token, sizeof token);
    lose(1);
    connect_at(5, "192.0.2.2:1007");
    struct kl_msg back = a_return(1, 5, "room", token);
    say(5, &back);
    assert_non_null(heard(5, KL_MSG_WELCOME));
    pass(SECOND);
    assert_int_equal(peers_of(0)->count, 0); /* the new session has not said it */
    say_direct(5);
    assert_int_equal(only_peer_of(0)->port, 1007);
    assert_memory_not_equal(only_peer_of(0)->out, before.out, 32);
}

TEST_WITH(nobody_is_told_in_a_quick_match, set_up, tear_down) {
    for (unsigned i = 0; i < 2; i++) {
        connect_peer(i);
        struct kl_msg m = a_hello(i, "quick", 1, 2, "a");
        m.hello.door = KL_DOOR_QUICK;
        say(i, &m);
        say_direct(i);
    }
    assert_null(peers_of(0));
    assert_null(peers_of(1));
}
