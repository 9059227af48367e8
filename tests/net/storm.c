/* storm.c - everything that strangers and hostile clients can do to a relay at once, while two others play
 * there:
 *
 *   storm PORT SECONDS ROOM [CLIENT'S PORT]…
 *
 * Joins ROOM as a spectator (what the room plays it learns from the refusal it gets first), says "joined",
 * and "playing" once the game runs. From three seconds later on, for SECONDS: 3,000 spoofed handshakes a
 * second from everywhere, half of them with a guessed cookie; garbage, at those clients too; what the players
 * and the relay say, again, turned, cut, oversized, in fragments that never end, from other addresses and
 * ports, from port 0, and again long after, when its sender has moved; ENet's disconnects; and from two
 * accepted clients, the spectator and one in a room of his own, commands, chat, hashes and nonsense without
 * end. Says what it did. Needs the right to open raw sockets; exits with 77 without. */
#include <arpa/inet.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/engine/command.h"
#include "net/platform/clock.h"
#include "tests/lib/rng.h"
#include "tests/net/net_intruder.h"
#include "tests/net/net_spoof.h"

#define LOOPBACK    0x7f000001U
#define INITS_PER_S 3000
#define JUNK_PER_S  400
#define NASTY_US    5000
#define OLD         256 /* datagrams remembered */
#define SETTLE_US   3000000
#define JOIN_S      60

static uint16_t port, client_port[8];
static unsigned client_ports;
static struct spoof spoof;
static struct spoof_packet packet, old[OLD];
static unsigned remembered, inits, junk, nasty, sessions;
static struct rng chance = {73};

static uint32_t any(uint32_t below) {
    return rng_below(&chance, below);
}

/* --- strangers --- */

static void from_anywhere(uint16_t to_port) {
    packet.from = 0x7f000000U | (1 + any(0xfffffd));
    packet.from_port = (uint16_t)any(65536);
    packet.to = LOOPBACK;
    packet.to_port = to_port;
}

static void spoofed_init(void) {
    static struct kl_hs_client c;
    if (inits % 100 == 0) kl_hs_client_begin(&c, kl_ciphers_here()); /* the curve takes its time */
    kl_hs_client_init(&c, packet.bytes);
    memcpy(packet.bytes + 8, &inits, sizeof inits);
    for (unsigned k = 0; k < 16 && inits % 2; k++)
        packet.bytes[40 + k] = (uint8_t)any(256);
    packet.len = KL_INIT_BYTES;
    from_anywhere(port);
    spoof_send(&spoof, &packet);
    inits++;
}

static void garbage(void) {
    packet.len = any(any(20) ? 1400 : 9000);
    for (size_t i = 0; i < packet.len; i++)
        packet.bytes[i] = (uint8_t)any(256);
    if (any(3)) packet.bytes[0] = KL_SEAL_MAGIC;
    if (any(3)) packet.bytes[1] = (uint8_t)any(0x18);
    from_anywhere(client_ports && any(3) == 0 ? client_port[any(client_ports)] : port);
    spoof_send(&spoof, &packet);
    junk++;
}

/* --- somebody on the wire --- */

static void spoof_disconnects(const struct spoof_packet *seen) {
    for (unsigned k = 0; k < 16; k++) {
        uint8_t plain[16] = {(uint8_t)(0x80 | (k & 3) << 4), (uint8_t)(k >> 2), [8] = 4, 0xff, 0, 9};
        packet = *seen;
        memcpy(plain + 4, seen->bytes + 2, 4); /* the connect id, which anybody can read */
        memcpy(packet.bytes, plain, packet.len = sizeof plain);
        spoof_send(&spoof, &packet);
        memcpy(packet.bytes + KL_SEAL_HEADER, plain, sizeof plain);
        memcpy(packet.bytes, seen->bytes, KL_SEAL_HEADER);
        packet.bytes[1] = KL_SEAL_ENET;
        packet.len = KL_SEAL_OVERHEAD + sizeof plain;
        spoof_send(&spoof, &packet);
    }
}

static void again_from_elsewhere(const struct spoof_packet *seen) {
    packet = *seen;
    packet.from_port = (uint16_t)any(65536);
    spoof_send(&spoof, &packet);
    packet.from = 0x7f000000U | (1 + any(0xfffffd));
    spoof_send(&spoof, &packet);
    packet.from_port = 0;
    spoof_send(&spoof, &packet);
}

static void be_nasty(const struct spoof_packet *seen) {
    spoof_send(&spoof, seen);
    spoof_altered(&spoof, seen, any);
    spoof_fragment(&spoof, seen);
    packet = *seen; /* made up: of a counter that is still to come */
    packet.bytes[7] ^= 0x40;
    spoof_send(&spoof, &packet);
    again_from_elsewhere(&packet);
    again_from_elsewhere(seen);
    if (any(20) == 0) spoof_disconnects(seen);
    if (remembered) { /* as it was, from where its sender was then */
        spoof_send(&spoof, &old[any(remembered)]);
        again_from_elsewhere(&old[any(remembered)]);
    }
    nasty++;
    if (remembered < OLD && any(4) == 0) old[remembered++] = *seen;
}

/* The newest datagram of a session that has passed; ours that look like one are among them. */
static bool seen_on_the_wire(struct spoof_packet *seen) {
    static struct spoof_packet p;
    bool some = false;
    while (spoof_see(&spoof, &p)) {
        bool ours = p.from == LOOPBACK && p.to == LOOPBACK && p.len >= KL_SEAL_OVERHEAD && p.len <= 1226 &&
                    p.bytes[0] == KL_SEAL_MAGIC && p.bytes[1] < KL_HS_INIT;
        if (!ours || (p.from_port != port && p.to_port != port)) continue;
        *seen = p;
        some = true;
    }
    return some;
}

/* --- accepted clients --- */

/* "core differs: room has X, you have none; content differs: room has Y, you have none" */
static void learn(struct kl_facts *facts, char *text) {
    char *rest = text;
    for (char *one; (one = strstr(rest, " differs: room has "));) {
        char *value = one + strlen(" differs: room has "), *end = strstr(value, ", you have none");
        if (!end) return;
        *one = *end = 0;
        kl_facts_add(facts, rest, value);
        rest = end + strlen(", you have none");
        rest += strncmp(rest, "; ", 2) == 0 ? 2 : 0;
    }
}

static void enter(struct intruder *n, struct kl_hello *h) {
    intruder_room = h->room;
    intruder_enter(n, port);
    sessions++;
    intruder_hello(n, h);
}

static bool join(struct intruder *n, const char *room) {
    struct kl_hello h = hello_make("eve", room, 0, 2);
    h.facts.count = 0;
    enter(n, &h);
    intruder_serve(n, 500);
    learn(&h.facts, n->refusal);
    intruder_leave(n);
    enter(n, &h);
    intruder_serve(n, 500);
    if (!n->gone && n->welcome) return true;
    fprintf(stderr, "storm: not let in: %s\n", n->refusal);
    return false;
}

/* Loads with the others. */
static bool plays(struct intruder *n) {
    static const uint8_t ready[] = {KL_MSG_READY, 0}, ctrl[10];
    for (unsigned i = 0; i < JOIN_S * 20 && !n->gone; i++) {
        bool asked = n->prepare;
        intruder_serve(n, 50);
        if (!asked && n->prepare) {
            intruder_serve(n, 1000); /* the start data */
            intruder_say(n, ready, sizeof ready);
        }
        intruder_send(n, -1, KL_SEAL_CTRL, ctrl, sizeof ctrl);
        if (n->updates > 60) return true;
    }
    fprintf(stderr, "storm: the game does not begin: %s\n", n->refusal);
    return false;
}

/* Messages that a member might say, and some that none does. */
static void misbehave(struct intruder *n) {
    static const uint8_t chat[] = {KL_MSG_COMMAND, KL_COMMAND_CHAT, 'e', 'v', 'e'};
    static const uint8_t kick[] = {KL_MSG_COMMAND, KL_COMMAND_KICK, 0};
    static const uint8_t swap[] = {KL_MSG_COMMAND, KL_COMMAND_SWAP, 0, 1};
    static const uint8_t hash[30] = {KL_MSG_HASH, [17] = 0xff, 0xff, 0xff, 0x7f, 1};
    uint8_t bytes[64];
    if (n->gone) return;
    switch (any(6)) {
    case 0: intruder_say(n, chat, sizeof chat); break;
    case 1: intruder_say(n, kick, sizeof kick); break;
    case 2: intruder_say(n, swap, sizeof swap); break;
    case 3: intruder_say(n, hash, sizeof hash); break;
    case 4: {
        memset(bytes, 1, 9);
        intruder_send(n, -1, KL_SEAL_PATH, bytes, 9);
        break;
    }
    default:
        for (size_t i = 0; i < sizeof bytes; i++)
            bytes[i] = (uint8_t)any(256);
        intruder_send(n, -1, any(8) ? KL_SEAL_ENET : KL_SEAL_CTRL, bytes, any(sizeof bytes));
    }
    intruder_serve(n, 1);
}

/* --- all of it --- */

static void storm(struct intruder *eve, unsigned seconds) {
    static struct spoof_packet seen;
    static struct intruder mallory;
    struct kl_hello h = hello_make("mallory", "mallory's", 1, 2);
    uint64_t begin_us = kl_now_us(), now_us = begin_us, nasty_us = 0, again_us = begin_us;
    enter(&mallory, &h);
    for (; now_us < begin_us + seconds * UINT64_C(1000000); now_us = kl_now_us()) {
        while (inits < (now_us - begin_us) * INITS_PER_S / 1000000)
            spoofed_init();
        while (junk < (now_us - begin_us) * JUNK_PER_S / 1000000)
            garbage();
        if (now_us >= nasty_us && seen_on_the_wire(&seen)) {
            be_nasty(&seen);
            nasty_us = now_us + NASTY_US;
        }
        misbehave(eve);
        misbehave(&mallory);
        if (mallory.gone && now_us >= again_us) { /* and comes again */
            again_us = now_us + 2000000;
            intruder_leave(&mallory);
            enter(&mallory, &h);
        }
        poll(NULL, 0, 1);
    }
    printf("storm inits=%u junk=%u seen_again=%u old=%u sessions=%u eve=\"%s\" mallory=\"%s\"\n", inits, junk,
           nasty, remembered, sessions, eve->refusal, mallory.refusal);
    intruder_leave(&mallory);
}

static void say(const char *what) {
    puts(what);
    fflush(stdout);
}

int main(int argc, char **argv) {
    static struct intruder eve;
    if (argc < 4) return 2;
    port = (uint16_t)atoi(argv[1]);
    for (int i = 4; i < argc && client_ports < sizeof client_port / sizeof *client_port; i++)
        client_port[client_ports++] = (uint16_t)atoi(argv[i]);
    if (!spoof_open(&spoof)) return 77;
    if (!join(&eve, argv[3])) return 1;
    say("joined");
    if (!plays(&eve)) return 1;
    say("playing");
    intruder_serve(&eve, SETTLE_US / 1000);
    say("begins");
    storm(&eve, (unsigned)atoi(argv[2]));
    intruder_leave(&eve);
    spoof_close(&spoof);
    return 0;
}
