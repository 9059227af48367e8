/* The session layer: all that a stranger can send to a relay or a client, all that an authenticated peer can
 * seal, and links, tickets and shares from anybody. A record's `extra` says to whom its bytes go.
 *
 * Random numbers are made deterministic, so that the same input does the same again. */
#include "tests/fuzz/fuzz.h"

#include <stdbool.h>
#include <string.h>

#include "net/session/door.h"
#include "net/engine/engine.h"
#include "net/session/handshake.h"
#include "net/session/seat.h"
#include "net/session/seal.h"
#include "net/session/url.h"

enum { INIT_COOKIE = 40 };
static const uint8_t address[KL_HS_ADDRESS] = {192, 0, 2, 7, 0xd8, 0x5b};
static const uint8_t secret[32] = "the fuzzed relay's";

/* --- random numbers --- */

static uint32_t drawn;
static const char *name_of_it(void) {
    return "fuzz";
}
static void draw(void *const buf, const size_t len) {
    uint8_t seed[randombytes_SEEDBYTES] = {0};
    drawn++;
    memcpy(seed, &drawn, sizeof drawn);
    randombytes_buf_deterministic(buf, len, seed);
}
static uint32_t draw_one(void) {
    uint32_t v;
    draw(&v, sizeof v);
    return v;
}
static struct randombytes_implementation not_random = {
    .implementation_name = name_of_it, .random = draw_one, .buf = draw};

/* --- the ends --- */

static struct kl_keypair own;
static struct kl_hs_relay relay;
static struct kl_hs_client client;
static struct kl_sealer sealer;
static struct kl_opener opener;
static uint64_t now_us;

static void begin(void) {
    static bool ready;
    if (!ready) {
        randombytes_set_implementation(&not_random);
        MUST(sodium_init() >= 0);
        memcpy(own.secret, secret, 32);
        kl_keypair_complete(&own);
        ready = true;
    }
    drawn = 0;
    now_us = 1000000;
    struct kl_session_keys keys = {.cipher = KL_CIPHER_CHACHA20, .session = 0x2001, .up = {1}, .down = {2}};
    kl_hs_relay_begin(&relay, &own, KL_CIPHER_CHACHA20 | KL_CIPHER_CLEAR, now_us);
    kl_hs_client_begin(&client, KL_CIPHER_CHACHA20 | KL_CIPHER_CLEAR);
    kl_sealer_init(&sealer, &keys, keys.up);
    kl_opener_init(&opener, &keys, keys.up);
}

/* A stranger's datagram. Nothing comes back that is longer, and no cookie was guessed. */
static void to_relay(const uint8_t *bytes, size_t len, bool guessed) {
    static uint8_t reply[KL_STRANGER_MAX];
    struct kl_hs_request request;
    size_t reply_len = 0;
    enum kl_hs_relay_result r =
        kl_hs_relay_receive(&relay, now_us, address, bytes, len, &request, reply, &reply_len);
    MUST(reply_len <= len && (r == KL_HS_REPLY) == (reply_len > 0));
    if (r != KL_HS_WANTS) return;
    MUST(guessed && len == KL_INIT_BYTES && memcmp(request.init, bytes, len) == 0);
    struct kl_session_keys keys;
    struct kl_hs_outcome out;
    int result = kl_hs_relay_answer(&relay, &request, 0x2002, &keys, reply, &reply_len);
    MUST(result == 0 || result == KL_E_MALFORMED);
    if (result != 0) return;
    MUST(reply_len <= KL_INIT_BYTES);
    MUST(kl_hs_client_receive(&client, reply, reply_len, &out) ==
         KL_HS_IGNORED); /* it asked for none of that */
    kl_hs_relay_refuse(&request, KL_HS_REFUSED_FULL, reply, &reply_len);
    MUST(reply_len <= KL_INIT_BYTES);
}

/* The same from an address that has proved itself: the right cookie is put in. */
static void to_relay_with_cookie(const uint8_t *bytes, size_t len) {
    uint8_t init[KL_INIT_BYTES] = {0}, reply[KL_INIT_BYTES];
    struct kl_hs_request request;
    size_t reply_len = 0;
    memcpy(init, bytes, len < sizeof init ? len : sizeof init);
    memset(init + INIT_COOKIE, 0, 16);
    enum kl_hs_relay_result r =
        kl_hs_relay_receive(&relay, now_us, address, init, sizeof init, &request, reply, &reply_len);
    MUST(r != KL_HS_WANTS);
    if (r == KL_HS_REPLY && reply[1] == KL_HS_COOKIE) memcpy(init + INIT_COOKIE, reply + 18, 16);
    to_relay(init, sizeof init, true);
}

/* A datagram to a client that waits; with the echo put in, where the sender has seen INIT. Nobody here has
 * the secrets that an ANSWER wants. */
static void to_client(const uint8_t *bytes, size_t len, bool on_path) {
    uint8_t copy[512], before[16], init[KL_INIT_BYTES];
    struct kl_hs_outcome out;
    size_t n = len < sizeof copy ? len : sizeof copy;
    memcpy(copy, bytes, n);
    if (on_path && n >= 18) memcpy(copy + 2, client.ephemeral.pub, 16);
    memcpy(before, client.cookie, 16);
    enum kl_hs_client_result r = kl_hs_client_receive(&client, copy, n, &out);
    MUST(r != KL_HS_ESTABLISHED);
    MUST(on_path || (r == KL_HS_IGNORED && memcmp(before, client.cookie, 16) == 0));
    if (r == KL_HS_AGAIN) MUST(memcmp(before, client.cookie, 16) != 0);
    kl_hs_client_init(&client, init);
    MUST(memcmp(init + INIT_COOKIE, client.cookie, 16) == 0);
}

/* A datagram to a session from somebody without its keys. */
static void to_opener(const uint8_t *bytes, size_t len) {
    static uint8_t copy[65536];
    struct kl_opened got;
    uint32_t highest = opener.highest;
    memcpy(copy, bytes, len);
    int r = kl_open(&opener, copy, len, &got);
    MUST(r == KL_E_MALFORMED || r == KL_E_WINDOW);
    MUST(opener.highest == highest);
}

/* From the peer itself: u8 kind, u32 counter of its choice, the rest is the body. Taken once, and only then.
 */
static void from_peer(const uint8_t *bytes, size_t len) {
    static uint8_t sealed[65536 + KL_SEAL_OVERHEAD], again[sizeof sealed];
    struct kl_opened got;
    uint32_t counter;
    if (len < 5) return;
    memcpy(&counter, bytes + 1, 4);
    uint32_t highest = opener.highest;
    sealer.counter = counter - 1;
    size_t n = kl_seal(&sealer, bytes[0], bytes + 5, len - 5, sealed);
    MUST(n == (counter == 0 ? 0 : len - 5 + KL_SEAL_OVERHEAD));
    if (n == 0) return;
    memcpy(again, sealed, n);
    int r = kl_open(&opener, sealed, n, &got);
    bool kind_fits = bytes[0] >= KL_SEAL_CTRL && bytes[0] <= KL_SEAL_VOICE;
    MUST(kind_fits ? r == 0 || r == KL_E_WINDOW : r == KL_E_MALFORMED);
    if (counter > highest && kind_fits) MUST(r == 0);
    if (r != 0) return;
    MUST(got.newest == (counter > highest) && got.kind == bytes[0] && got.len == len - 5);
    MUST(memcmp(got.body, bytes + 5, got.len) == 0);
    MUST(kl_open(&opener, again, n, &got) == KL_E_WINDOW);
}

static void as_link(const uint8_t *bytes, size_t len) {
    char text[1024], written[KL_URL_MAX + 1], err[300];
    struct kl_url u, back;
    size_t n = len < sizeof text - 1 ? len : sizeof text - 1;
    memcpy(text, bytes, n);
    text[n] = 0;
    if (kl_url_parse(text, &u, err, sizeof err) != 0) {
        for (const char *c = err; *c; c++)
            MUST(*c >= 0x20 && *c < 0x7f);
        return;
    }
    MUST(u.host[0] && u.host[0] != '-' && u.room[0]);
    MUST(kl_url_write(&u, written, sizeof written) == 0);
    MUST(kl_url_parse(written, &back, err, sizeof err) == 0);
    MUST(memcmp(&u, &back, sizeof u) == 0);
}

/* A share and a mac from who does not know the password. */
static void to_door(const uint8_t *bytes, size_t len) {
    uint8_t said[48] = {0};
    struct kl_door d;
    struct kl_door_macs m;
    memcpy(said, bytes, len < sizeof said ? len : sizeof said);
    kl_door_begin(&d, KL_DOOR_RELAY, secret, own.pub);
    int r = kl_door_finish(&d, said, &m);
    MUST(r == 0 || r == KL_E_MALFORMED);
    if (r == 0) MUST(!kl_door_mac_equal(m.expected, said + 32));
}

static void as_ticket(const uint8_t *bytes, size_t len) {
    static uint8_t ticket[KL_TICKET_MAX], out[KL_TICKET_MAX];
    MUST(kl_ticket_open(secret, bytes, len, out) == KL_E_MALFORMED);
    int n = kl_ticket_seal(secret, bytes, len, ticket);
    MUST(n == (len <= KL_TICKET_BODY_MAX ? (int)len + KL_TICKET_OVERHEAD : KL_E_SPACE));
    if (n < 0) return;
    MUST(kl_ticket_open(secret, ticket, (size_t)n, out) == (int)len && memcmp(out, bytes, len) == 0);
}

/* RETURN's own: key, token, signature. */
static void to_seat(const uint8_t *bytes, size_t len) {
    uint8_t said[KL_SEAT_PUB + KL_SEAT_TOKEN + KL_SEAT_SIGNATURE] = {0};
    struct kl_seat_key k;
    memcpy(said, bytes, len < sizeof said ? len : sizeof said);
    const uint8_t *token = said + KL_SEAT_PUB, *signature = token + KL_SEAT_TOKEN;
    (void)kl_seat_verify(said, own.pub, token, signature);
    kl_seat_from_seed(&k, secret);
    MUST(!kl_seat_verify(k.pub, own.pub, token, signature));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct record r;
    begin();
    for (unsigned n = 0; n < 24 && next_record(&data, &size, &r); n++) {
        switch (r.extra & 15) {
        case 0: to_relay(r.bytes, r.len, false); break;
        case 1: to_relay_with_cookie(r.bytes, r.len); break;
        case 2: to_client(r.bytes, r.len, false); break;
        case 3: to_client(r.bytes, r.len, true); break;
        case 4: to_opener(r.bytes, r.len); break;
        case 5: from_peer(r.bytes, r.len); break;
        case 6: as_link(r.bytes, r.len); break;
        case 7: to_door(r.bytes, r.len); break;
        case 8: as_ticket(r.bytes, r.len); break;
        case 9: to_seat(r.bytes, r.len); break;
        case 10: now_us += 1000000ull * r.len; break; /* cookies grow old */
        default: break;
        }
    }
    return 0;
}
