/* session_peer - one end of a session, driven by lines; session.py is the other one.
 *
 *   session_peer relay SECRET CIPHERS   prints "fingerprint TEXT"
 *   session_peer client OFFERS          prints "out INIT"
 * Both then take lines. Each line is answered by lines, and by a line with a full stop:
 *   in HEX            a datagram for this end: "out HEX", "opened KIND HEX", "established PUB CIPHER SESSION
 *                     BINDING", "refused CODE VERSION", or nothing
 *   seal KIND HEX     "out HEX"
 *   session_peer papers                 takes lines, and answers them in the same way:
 *   digest ROOM BEFORE I BYTES              "digest HEX"
 *   token HEX                               "hash HEX"
 *   door SECRET BINDING                     "share HEX"; the next line is "share HEX" of the other end:
 *                                           "own MAC" and "expected MAC"
 *   return PUB BINDING TOKEN SIGNATURE      "yes" or "no"
 *   connect SESSION                         "connect HEX": ENet's CONNECT for that session,
 * unsealed filter HEX                              "pass" or "drop": a body for ENet at a relay All bytes are
 * hexadecimal; "-" stands for none. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/session/digest.h"
#include "net/session/door.h"
#include "net/session/handshake.h"
#include "net/session/seat.h"
#include "net/transport/enet_common.h"
#include "net/transport/enet_feed.h"

static char line[20000];
static uint8_t bytes[8000];

static void die(const char *why) {
    fprintf(stderr, "session_peer: %s: %s\n", why, line);
    exit(2);
}

static size_t parse(const char *hex, uint8_t *out, size_t cap) {
    size_t len = 0;
    if (!hex) die("a field is missing");
    if (strcmp(hex, "-") == 0) return 0;
    if (sodium_hex2bin(out, cap, hex, strlen(hex), NULL, &len, NULL) != 0)
        die("not hexadecimal, or too long");
    return len;
}
static void exactly(const char *hex, uint8_t *out, size_t len) {
    if (parse(hex, out, len) != len) die("another length was expected");
}
static char *word(void) {
    return strtok(NULL, " \n");
}

static void show(const char *what, const uint8_t *b, size_t len) {
    printf("%s ", what);
    for (size_t i = 0; i < len; i++)
        printf("%02x", b[i]);
    puts(len ? "" : "-");
}

/* --- a session --- */

static struct kl_hs_client client;
static struct kl_hs_relay relay;
static bool is_relay, open_;
static struct kl_sealer sealer;
static struct kl_opener opener;

static void open_session(const struct kl_session_keys *k, const uint8_t pub[32]) {
    kl_sealer_init(&sealer, k, is_relay ? k->down : k->up);
    kl_opener_init(&opener, k, is_relay ? k->up : k->down);
    open_ = true;
    printf("established ");
    for (unsigned i = 0; i < 32; i++)
        printf("%02x", pub[i]);
    printf(" %u %u", k->cipher, k->session);
    show("", k->binding, 32);
}

static void relay_takes(size_t len) {
    static const uint8_t address[KL_HS_ADDRESS] = {127, 0, 0, 1, 0xd8, 0x5b};
    uint8_t reply[KL_STRANGER_MAX];
    struct kl_hs_request request;
    struct kl_session_keys keys;
    size_t reply_len = 0;
    switch (kl_hs_relay_receive(&relay, 0, address, bytes, len, &request, reply, &reply_len)) {
    case KL_HS_DROP: return;
    case KL_HS_REPLY: show("out", reply, reply_len); return;
    case KL_HS_WANTS: break;
    }
    if (kl_hs_relay_answer(&relay, &request, 0x12345001, &keys, reply, &reply_len) != 0) return;
    show("out", reply, reply_len);
    open_session(&keys, relay.own.pub);
}

static void client_takes(size_t len) {
    struct kl_hs_outcome o;
    uint8_t init[KL_INIT_BYTES];
    switch (kl_hs_client_receive(&client, bytes, len, &o)) {
    case KL_HS_IGNORED: return;
    case KL_HS_REFUSED: printf("refused %u %u\n", o.code, o.version); return;
    case KL_HS_ESTABLISHED: open_session(&o.keys, o.relay_pub); return;
    case KL_HS_AGAIN: break;
    }
    kl_hs_client_init(&client, init);
    show("out", init, sizeof init);
}

static void take(size_t len) {
    struct kl_opened got;
    char what[32];
    if (open_ && kl_seal_session(bytes, len)) {
        if (kl_open(&opener, bytes, len, &got) != 0) return;
        snprintf(what, sizeof what, "opened %u", got.kind);
        show(what, got.body, got.len);
    } else if (is_relay) {
        relay_takes(len);
    } else {
        client_takes(len);
    }
}

static void seal(void) {
    static uint8_t out[sizeof bytes + KL_SEAL_OVERHEAD];
    const char *kind = word();
    if (!kind || !open_) die("no session yet");
    size_t len = parse(word(), bytes, sizeof bytes);
    show("out", out, kl_seal(&sealer, (uint8_t)atoi(kind), bytes, len, out));
}

static void session(void) {
    while (fgets(line, sizeof line, stdin)) {
        const char *what = strtok(line, " \n");
        if (what && strcmp(what, "in") == 0)
            take(parse(word(), bytes, sizeof bytes));
        else if (what && strcmp(what, "seal") == 0)
            seal();
        else
            die("what is this");
        puts(".");
        fflush(stdout);
    }
}

/* --- papers --- */

static void do_digest(void) {
    struct kl_digest d = {0};
    uint8_t room[16];
    exactly(word(), room, 16), exactly(word(), d.digest, 16);
    d.intervals = (uint32_t)strtoul(word(), NULL, 10);
    kl_digest_next(&d, room, bytes, parse(word(), bytes, sizeof bytes), 0);
    show("digest", d.digest, sizeof d.digest);
}

static void do_token(void) {
    uint8_t token[16], hash[32];
    exactly(word(), token, 16);
    kl_seat_token_hash(token, hash);
    show("hash", hash, 32);
}

static void do_door(void) {
    uint8_t secret[32], binding[32], share[32];
    struct kl_door d;
    struct kl_door_macs m;
    exactly(word(), secret, 32), exactly(word(), binding, 32);
    kl_door_begin(&d, KL_DOOR_RELAY, secret, binding);
    show("share", d.share, 32);
    fflush(stdout);
    if (!fgets(line, sizeof line, stdin) || !strtok(line, " \n")) die("a share was expected");
    exactly(word(), share, 32);
    if (kl_door_finish(&d, share, &m) != 0) {
        puts("malformed");
        return;
    }
    show("own", m.own, 16);
    show("expected", m.expected, 16);
}

static void do_return(void) {
    uint8_t pub[32], binding[32], token[16], signature[64];
    exactly(word(), pub, 32), exactly(word(), binding, 32), exactly(word(), token, 16);
    exactly(word(), signature, 64);
    puts(kl_seat_verify(pub, binding, token, signature) ? "yes" : "no");
}

/* --- ENet --- */

static struct kl_sealer *only_sealer(void *ctx, uint32_t connect_id) {
    (void)connect_id;
    return ctx;
}

/* ENet sends its CONNECT to a socket of ours, in a datagram whose body is in clear. */
static void do_connect(void) {
    struct kl_session_keys keys = {.cipher = KL_CIPHER_CLEAR, .session = (uint32_t)strtoul(word(), NULL, 10)};
    struct kl_sealer clear;
    struct kl_enet_seal seal = {.ctx = &clear, .sealer = only_sealer};
    ENetHost *host = kl_enet_host_create(1);
    ENetAddress here = {.host = ENET_HOST_ANY, .port = 0};
    ENetSocket own = enet_socket_create(ENET_SOCKET_TYPE_DATAGRAM);
    ENetBuffer in = {.data = bytes, .dataLength = sizeof bytes};
    if (!host || enet_socket_bind(own, &here) != 0 || enet_socket_get_address(own, &here) != 0)
        die("no socket");
    enet_address_set_host_ip(&here, "127.0.0.1");
    kl_sealer_init(&clear, &keys, keys.up);
    kl_enet_seal_attach(host, &seal);
    host->peers[0].packetThrottleInterval = ENET_PEER_PACKET_THROTTLE_INTERVAL; /* as link_session.c has it */
    host->peers[0].packetThrottleAcceleration = ENET_PEER_PACKET_THROTTLE_SCALE;
    host->peers[0].packetThrottleDeceleration = 0;
    if (!kl_enet_seal_connect(host, &here, keys.session)) die("no CONNECT");
    enet_host_flush(host);
    int len = enet_socket_receive(own, NULL, &in, 1);
    if (len <= KL_SEAL_OVERHEAD) die("nothing was sent");
    show("connect", bytes + KL_SEAL_HEADER, (size_t)len - KL_SEAL_OVERHEAD);
    enet_host_destroy(host);
    enet_socket_destroy(own);
}

static void do_filter(void) {
    puts(kl_udp_judge(KL_UDP_RELAY, bytes, parse(word(), bytes, sizeof bytes), NULL).pass ? "pass" : "drop");
}

static void papers(void) {
    static const struct {
        const char *word;
        void (*run)(void);
    } table[] = {{"digest", do_digest}, {"token", do_token},     {"door", do_door},
                 {"return", do_return}, {"connect", do_connect}, {"filter", do_filter}};
    while (fgets(line, sizeof line, stdin)) {
        const char *what = strtok(line, " \n");
        for (size_t i = 0; what && i < sizeof table / sizeof *table; i++)
            if (strcmp(what, table[i].word) == 0) table[i].run();
        puts(".");
        fflush(stdout);
    }
}

int main(int argc, char **argv) {
    if (sodium_init() < 0) return 2;
    if (argc == 2 && strcmp(argv[1], "papers") == 0) {
        papers();
    } else if (argc == 3 && strcmp(argv[1], "client") == 0) {
        uint8_t init[KL_INIT_BYTES];
        kl_hs_client_begin(&client, (uint8_t)atoi(argv[2]));
        kl_hs_client_init(&client, init);
        show("out", init, sizeof init);
        fflush(stdout);
        session();
    } else if (argc == 4 && strcmp(argv[1], "relay") == 0) {
        struct kl_keypair own;
        char text[KL_FINGERPRINT_CHARS + 1];
        is_relay = true;
        exactly(argv[2], own.secret, 32);
        kl_keypair_complete(&own);
        kl_fingerprint(own.pub, text);
        printf("fingerprint %s\n", text);
        fflush(stdout);
        kl_hs_relay_begin(&relay, &own, (uint8_t)atoi(argv[3]), 0);
        session();
    } else {
        return fputs("session_peer relay SECRET CIPHERS | client OFFERS | papers\n", stderr), 2;
    }
    return 0;
}
