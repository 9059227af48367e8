/* RetroArch's netplay as a way into a room: what the wrapper answers there, and whom it does not. No room
 * comes about here: that is netplay/room.sh's.
 * runs: waiting, test, 1 s */
#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>

#include "net/platform/clock.h"
#include "core_wrapper/netplay/channel.h"
#include "core_wrapper/netplay/netplay.h"
#include "core_wrapper/match/match.h"

static struct kl_match match;

#define FP "wgythom7kfxgzawo3kes55npkd5ewttr"

static struct kl_netpacket ours;
static bool has_interface;

static bool environment(unsigned cmd, void *data) {
    if (cmd != KL_NETPACKET_CALL || !has_interface) return false;
    ours = *(struct kl_netpacket *)data;
    return true;
}

/* The packets that went out. */
static struct {
    struct kl_channel_packet packet;
    unsigned to, count;
} out;

static void send_packet(int flags, const void *buf, size_t len, uint16_t client) {
    assert_int_equal(flags, KL_NETPACKET_RELIABLE | KL_NETPACKET_FLUSH);
    assert_true(len > 0); /* nothing was carried */
    assert_int_equal(kl_channel_decode(&out.packet, buf, len), KL_OK);
    out.to = client;
    out.count++;
}

static int begin(void **state) {
    kl_match_init(&match);
    (void)state;
    kl_netplay_close(&match.netplay);
    memset(&out, 0, sizeof out);
    match.front.call.environment = environment;
    match.config.host[0] = 0;
    has_interface = true;
    return kl_netplay_offer(&match.netplay) ? 0 : -1;
}

static void come(unsigned from, const struct kl_channel_packet *p) {
    uint8_t bytes[KL_CHANNEL_MAX];
    int len = kl_channel_encode(p, bytes, sizeof bytes);
    assert_true(len > 0);
    ours.receive(bytes, (size_t)len, (uint16_t)from);
}

/* No game is loaded: no room can be entered. */
static void turn(void) {
    struct kl_netplay_ask ask = kl_netplay_turn(&match.netplay, kl_now_us());
    if (ask.enters) kl_netplay_entered(&match.netplay, false);
}

static struct kl_channel_packet greeting(void) {
    return (struct kl_channel_packet){
        .kind = KL_CHANNEL_GREET, .version = KL_CHANNEL_VERSION, .protocol = KL_PROTOCOL_VERSION};
}

static struct kl_channel_packet ticket(const char *room) {
    struct kl_channel_packet p = {.kind = KL_CHANNEL_TICKET, .url.port = 55435};
    strcpy(p.url.host, "relay.example.org");
    snprintf(p.url.room, sizeof p.url.room, "%s", room);
    strcpy(p.url.fingerprint, FP);
    return p;
}

TEST_WITH(old_frontends_have_none, begin, NULL) {
    kl_netplay_close(&match.netplay);
    has_interface = false;
    assert_false(kl_netplay_offer(&match.netplay));
    assert_false(kl_netplay_inner(&match.netplay, &ours));
}

TEST_WITH(the_host_greets_back, begin, NULL) {
    struct kl_channel_packet p = greeting();
    ours.start(0, send_packet, NULL);
    assert_true(ours.connected(1));
    come(1, &p);
    assert_int_equal(out.count, 1);
    assert_int_equal(out.to, 1);
    assert_int_equal(out.packet.kind, KL_CHANNEL_GREET);
    come(1, &p); /* once is enough */
    assert_int_equal(out.count, 1);
}

TEST_WITH(the_host_refuses_other_versions, begin, NULL) {
    struct kl_channel_packet p = greeting();
    ours.start(0, send_packet, NULL);
    p.version = KL_CHANNEL_VERSION + 1;
    come(2, &p);
    assert_int_equal(out.packet.kind, KL_CHANNEL_REFUSE);
    assert_int_equal(out.to, 2);
    assert_non_null(strstr(out.packet.text, "expected netplay version 2, got 3"));
    p = greeting();
    p.protocol++;
    come(3, &p);
    assert_int_equal(out.to, 3);
    assert_non_null(strstr(out.packet.text, "expected protocol"));
    p = greeting();
    come(2, &p);
    come(3, &p); /* it had its turn */
    assert_int_equal(out.count, 2);
    ours.disconnected(2);
    come(2, &p); /* another one, by the same number */
    assert_int_equal(out.packet.kind, KL_CHANNEL_GREET);
}

TEST_WITH(the_host_takes_no_garbage, begin, NULL) {
    uint8_t huge[65536] = {KL_CHANNEL_GREET};
    struct kl_channel_packet p = greeting();
    ours.start(0, send_packet, NULL);
    ours.receive("\x7f", 1, 1);
    assert_int_equal(out.packet.kind, KL_CHANNEL_REFUSE);
    come(1, &p);
    ours.receive(huge, sizeof huge, 2);
    ours.receive(NULL, 0, 3);
    assert_int_equal(out.count, 3);
    p = ticket("np-1"); /* no guest gives tickets, and nobody before he has greeted */
    come(4, &p);
    assert_int_equal(out.packet.kind, KL_CHANNEL_REFUSE);
    come(33, &p);
    come(65535, &p);
    come(0, &p);
    assert_int_equal(out.count, 4);
    turn();
}

TEST_WITH(a_guest_takes_one_ticket, begin, NULL) {
    struct kl_channel_packet p = ticket("np-1"), hello = greeting();
    ours.start(1, send_packet, NULL);
    assert_int_equal(out.count, 0); /* the host could not answer yet */
    ours.poll();
    assert_int_equal(out.count, 2); /* and a beat */
    come(0, &hello);
    come(1, &p); /* another guest's */
    turn();
    assert_int_equal(out.count, 2);
    come(0, &p);
    turn(); /* no game is loaded: no room */
    assert_int_equal(out.count, 3);
    assert_int_equal(out.packet.kind, KL_CHANNEL_OUTCOME);
    assert_int_equal(out.packet.outcome, KL_CHANNEL_FAILED);
    come(0, &p); /* again, and another */
    p = ticket("np-2");
    come(0, &p);
    turn();
    assert_int_equal(out.count, 3);
    ours.stop();
    come(0, &p);
    turn();
    assert_int_equal(out.count, 3);
}

/* The host's beat goes to all, and comes before its answer. */
TEST_WITH(a_beat_may_come_before_the_greeting, begin, NULL) {
    struct kl_channel_packet beat = {.kind = KL_CHANNEL_BEAT}, p = ticket("np-1"), hello = greeting();
    ours.start(1, send_packet, NULL);
    ours.poll();
    come(0, &beat);
    come(0, &hello);
    come(0, &p);
    turn(); /* no game is loaded: no room */
    assert_int_equal(out.packet.kind, KL_CHANNEL_OUTCOME);
    ours.stop();
    ours.start(0, send_packet, NULL);
    come(1, &beat); /* but a guest greets first */
    assert_int_equal(out.packet.kind, KL_CHANNEL_REFUSE);
}

TEST_WITH(a_guest_takes_none_from_a_stranger, begin, NULL) {
    struct kl_channel_packet p = ticket("np-1"), hello = greeting();
    ours.start(1, send_packet, NULL);
    come(0, &p);
    come(0, &hello);
    come(0, &p);
    turn();
    assert_int_equal(out.count, 0);
    struct kl_channel_packet no = {.kind = KL_CHANNEL_REFUSE};
    strcpy(no.text, "another version");
    ours.start(1, send_packet, NULL);
    come(0, &no); /* that may come first */
    assert_string_equal(match.front.error, "the host has no room for you: another version");
}

/* --- the match over the channel (netplay/tcp.sh has the rest) --- */

TEST_WITH(nobody_is_carried_without_a_ticket_for_it, begin, NULL) {
    struct kl_channel_packet hello = greeting(), p = {.kind = KL_CHANNEL_CARRY, .len = 60};
    ours.start(0, send_packet, NULL);
    come(1, &p);
    assert_int_equal(out.packet.kind, KL_CHANNEL_REFUSE);
    come(2, &hello);
    come(2, &p); /* it waits for its ticket, and the relay is none of the host's machine */
    assert_int_equal(out.packet.kind, KL_CHANNEL_REFUSE);
    assert_int_equal(out.to, 2);
    assert_non_null(strstr(out.packet.text, "expected no datagrams"));
    come(2, &p);
    assert_int_equal(out.count, 3);
    turn();
    kl_netplay_send(&match.netplay);
    assert_int_equal(out.count, 3);
}

TEST_WITH(a_guest_that_is_not_carried_passes_it_over, begin, NULL) {
    struct kl_channel_packet hello = greeting(), p = {.kind = KL_CHANNEL_CARRY, .len = 60},
                             no = {.kind = KL_CHANNEL_REFUSE};
    strcpy(no.text, "full");
    ours.start(1, send_packet, NULL);
    come(0, &hello);
    come(0, &p);
    kl_netplay_send(&match.netplay);
    assert_int_equal(out.count, 0);
    come(0, &no); /* the host is heard all the same */
    assert_string_equal(match.front.error, "the host has no room for you: full");
}

static unsigned polled;
static void read_more(void) {
    polled++;
    if (polled == 3) ours.stop();
}

TEST_WITH(the_channel_is_read_once_a_turn, begin, NULL) {
    polled = 0;
    ours.start(1, send_packet, read_more);
    for (unsigned i = 0; i < 5; i++)
        turn();
    assert_int_equal(polled, 3); /* it may end the session */
}

/* --- a core with an interface of its own --- */

static unsigned core_started, core_heard, core_stopped;
static void core_start(uint16_t client, kl_netpacket_send_fn send, kl_netpacket_poll_fn poll_receive) {
    (void)client, (void)send, (void)poll_receive;
    core_started++;
}
static void core_receive(const void *buf, size_t len, uint16_t client) {
    (void)buf, (void)len, (void)client;
    core_heard++;
}
static void core_stop(void) {
    core_stopped++;
}

TEST_WITH(a_core_is_served_without_a_relay, begin, NULL) {
    struct kl_netpacket core = {.start = core_start, .receive = core_receive, .stop = core_stop};
    assert_true(kl_netplay_inner(&match.netplay, &core));
    ours.start(0, send_packet, NULL);
    assert_true(ours.connected(1));
    ours.receive("x", 1, 1);
    ours.poll();
    ours.disconnected(1);
    ours.stop();
    assert_int_equal(core_started, 1);
    assert_int_equal(core_heard, 1);
    assert_int_equal(core_stopped, 1);
    assert_int_equal(out.count, 0);
    strcpy(match.config.host, "relay.example.org");
    ours.start(0, send_packet, NULL);
    ours.receive("x", 1, 1);
    assert_int_equal(core_started, 1);
    assert_int_equal(out.packet.kind, KL_CHANNEL_REFUSE);
    core.receive = NULL; /* half of one */
    assert_false(kl_netplay_inner(&match.netplay, &core));
}
