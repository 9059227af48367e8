/* From strangers to a session: cookies, ciphers, refusals, and who changes a bit has none. That both ends
 * agree, by net/PROTOCOL.md §9: tests/conformance/session.py. */
#include "tests/unit/unit.h"

#include "net/engine/engine.h"
#include "net/session/handshake.h"

static const uint8_t here[KL_HS_ADDRESS] = {127, 0, 0, 1, 0x30, 0x39},
                     elsewhere[KL_HS_ADDRESS] = {127, 0, 0, 1, 0x30, 0x40};

struct pair {
    struct kl_hs_client client;
    struct kl_hs_relay relay;
    struct kl_hs_request request;
    struct kl_session_keys keys; /* the relay's */
    uint8_t answer[KL_INIT_BYTES];
    size_t answer_len;
};

static struct pair fresh(uint8_t client_offers, uint8_t relay_ciphers) {
    struct pair p;
    struct kl_keypair own;
    memset(&p, 0, sizeof p);
    kl_keypair_make(&own);
    kl_hs_relay_begin(&p.relay, &own, relay_ciphers, 1000);
    kl_hs_client_begin(&p.client, client_offers);
    return p;
}

/* Sends INIT once; the reply goes back. */
static enum kl_hs_relay_result ask(struct pair *p, uint64_t now_us, const uint8_t address[KL_HS_ADDRESS],
                                   enum kl_hs_client_result *client, struct kl_hs_outcome *out) {
    uint8_t init[KL_INIT_BYTES], reply[KL_INIT_BYTES];
    size_t len = 0;
    kl_hs_client_init(&p->client, init);
    enum kl_hs_relay_result r =
        kl_hs_relay_receive(&p->relay, now_us, address, init, sizeof init, &p->request, reply, &len);
    assert_true(len <= sizeof init);
    if (r == KL_HS_REPLY) *client = kl_hs_client_receive(&p->client, reply, len, out);
    return r;
}

static struct pair up_to_answer(uint8_t client_offers, uint8_t relay_ciphers) {
    struct pair p = fresh(client_offers, relay_ciphers);
    struct kl_hs_outcome out;
    enum kl_hs_client_result c;
    assert_int_equal(ask(&p, 1000, here, &c, &out), KL_HS_REPLY);
    assert_int_equal(c, KL_HS_AGAIN);
    assert_int_equal(ask(&p, 1001, here, &c, &out), KL_HS_WANTS);
    assert_int_equal(kl_hs_relay_answer(&p.relay, &p.request, 7000, &p.keys, p.answer, &p.answer_len), 0);
    assert_true(p.answer_len <= KL_INIT_BYTES);
    return p;
}

/* A relay's processes find a room's by its bucket, and no two relays have the same buckets. */
TEST(a_cookie_tells_the_key_by_which_init_has_the_bucket) {
    static const char *const room[] = {"lobby", "a", "b", "c", "d", "e"};
    struct pair p = fresh(KL_CIPHER_CHACHA20, KL_CIPHER_CHACHA20);
    struct kl_hs_outcome out;
    enum kl_hs_client_result c;
    unsigned differ = 0;
    assert_int_equal(ask(&p, 1000, here, &c, &out), KL_HS_REPLY);
    assert_memory_equal(p.client.told_pub, p.relay.own.pub, 32);
    for (uint8_t b = 0; b < KL_BUCKETS; b++) {
        p.client.bucket = b;
        assert_int_equal(ask(&p, 1000, elsewhere, &c, &out), KL_HS_REPLY); /* another cookie */
        assert_int_equal(ask(&p, 1000, elsewhere, &c, &out), KL_HS_WANTS);
        assert_int_equal(p.request.init[KL_INIT_BUCKET], b);
        p.client.cookies = 0;
        memset(p.client.cookie, 0, sizeof p.client.cookie);
    }
    p.client.bucket = KL_BUCKETS;
    assert_int_equal(ask(&p, 1000, here, &c, &out), KL_HS_DROP);
    for (unsigned i = 0; i < 6; i++) {
        uint8_t one = kl_bucket(p.relay.own.pub, room[i]), other = kl_bucket(p.client.ephemeral.pub, room[i]);
        assert_true(one < KL_BUCKETS && other < KL_BUCKETS);
        assert_int_equal(one, kl_bucket(p.relay.own.pub, room[i]));
        differ += one != other;
    }
    assert_true(differ > 0);
    assert_int_equal(kl_bucket(p.relay.own.pub, ""), 0);
}

TEST(keys_are_fresh_every_time) {
    struct pair p = up_to_answer(KL_CIPHER_CHACHA20, KL_CIPHER_CHACHA20);
    struct kl_session_keys again;
    uint8_t answer[KL_INIT_BYTES];
    size_t len;
    assert_int_equal(kl_hs_relay_answer(&p.relay, &p.request, 7000, &again, answer, &len), 0);
    assert_memory_not_equal(again.up, p.keys.up, 32);
    assert_memory_not_equal(again.binding, p.keys.binding, 32);
    assert_memory_not_equal(answer, p.answer, len);
}

TEST(every_flipped_bit_of_an_answer_gives_no_session) {
    struct pair p = up_to_answer(KL_CIPHER_CHACHA20 | KL_CIPHER_CLEAR, KL_CIPHER_CHACHA20);
    struct kl_hs_outcome out;
    for (size_t bit = 0; bit < 8 * p.answer_len; bit++) {
        uint8_t copy[KL_INIT_BYTES];
        memcpy(copy, p.answer, p.answer_len);
        copy[bit / 8] ^= (uint8_t)(1u << bit % 8);
        assert_int_equal(kl_hs_client_receive(&p.client, copy, p.answer_len, &out), KL_HS_IGNORED);
    }
    for (size_t len = 0; len < p.answer_len; len++)
        assert_int_equal(kl_hs_client_receive(&p.client, p.answer, len, &out), KL_HS_IGNORED);
    p.answer[p.answer_len] = 0;
    assert_int_equal(kl_hs_client_receive(&p.client, p.answer, p.answer_len + 1, &out), KL_HS_IGNORED);
    assert_int_equal(kl_hs_client_receive(&p.client, p.answer, p.answer_len, &out), KL_HS_ESTABLISHED);
}

/* Whoever changes INIT on the way, with a cookie of the right address or not, brings about no session: the
 * relay drops it, asks for a cookie, or answers what the client does not take. */
TEST(every_flipped_bit_of_init_gives_no_session) {
    struct pair p = up_to_answer(KL_CIPHER_CHACHA20, KL_CIPHER_CHACHA20 | KL_CIPHER_CLEAR);
    uint8_t init[KL_INIT_BYTES], copy[KL_INIT_BYTES], reply[KL_INIT_BYTES];
    struct kl_hs_outcome out;
    size_t len;
    unsigned answered = 0;
    kl_hs_client_init(&p.client, init);
    for (size_t bit = 0; bit < 8 * sizeof init; bit++) {
        bool bucket = bit / 8 == KL_INIT_BUCKET && bit % 8 < 6; /* the cookie is good for each */
        struct kl_hs_client client = p.client;
        memcpy(copy, init, sizeof copy);
        copy[bit / 8] ^= (uint8_t)(1u << bit % 8);
        enum kl_hs_relay_result r =
            kl_hs_relay_receive(&p.relay, 1002, here, copy, sizeof copy, &p.request, reply, &len);
        assert_int_equal(r == KL_HS_WANTS, bucket); /* the cookie is over all in front of it */
        /* Even an on-path attacker who has a cookie made for the changed one */
        struct kl_hs_relay trusting = p.relay;
        memcpy(p.request.init, copy, sizeof copy);
        p.request.offers = copy[36];
        if (kl_hs_relay_answer(&trusting, &p.request, 9, &p.keys, reply, &len) != 0) continue;
        answered++;
        enum kl_hs_client_result c = kl_hs_client_receive(&client, reply, len, &out);
        assert_int_equal(c, KL_HS_IGNORED);
    }
    assert_true(answered > 1500); /* the loop judged something */
}

TEST(strangers_get_no_more_than_they_send) {
    struct pair p = fresh(KL_CIPHER_CHACHA20, KL_CIPHER_CHACHA20);
    uint8_t init[1300] = {0}, reply[1300];
    size_t len;
    kl_hs_client_init(&p.client, init);
    for (size_t n = 0; n <= sizeof init; n++) {
        len = 0;
        enum kl_hs_relay_result r =
            kl_hs_relay_receive(&p.relay, 1000, here, init, n, &p.request, reply, &len);
        assert_int_equal(r, n == KL_INIT_BYTES ? KL_HS_REPLY : KL_HS_DROP);
        assert_true(len <= n);
    }
    init[2] ^= 0x40; /* another version: told so, at any length that pays for the answer */
    for (size_t n = 0; n <= sizeof init; n++) {
        struct kl_hs_outcome out;
        enum kl_hs_relay_result r =
            kl_hs_relay_receive(&p.relay, 1000, here, init, n, &p.request, reply, &len);
        assert_int_equal(r, n >= KL_INIT_BYTES && n <= KL_STRANGER_MAX ? KL_HS_REPLY : KL_HS_DROP);
        if (r != KL_HS_REPLY) continue;
        assert_true(len <= n);
        assert_int_equal(kl_hs_client_receive(&p.client, reply, len, &out), KL_HS_REFUSED);
        assert_int_equal(out.code, KL_HS_REFUSED_VERSION);
        assert_int_equal(out.version, KL_PROTOCOL_VERSION);
    }
}

/* The rule of net/PROTOCOL.md §9, Versions. */
TEST(a_relay_serves_its_version_and_the_one_before_it_from_the_first_on) {
    static const unsigned served[][2] = {{5, 5}, {6, 6}, {6, 5}, {9, 8}}; /* relay, client */
    static const unsigned not [][2] = {{5, 4}, {5, 6}, {6, 4}, {6, 7}, {7, 5}, {5, 0}, {0, UINT16_MAX}};
    for (unsigned i = 0; i < sizeof served / sizeof *served; i++)
        assert_true(kl_protocol_serves(served[i][0], served[i][1]));
    for (unsigned i = 0; i < sizeof not / sizeof *not ; i++)
        assert_false(kl_protocol_serves(not [i][0], not [i][1]));
    assert_string_equal(kl_protocol_remedy(4, 6), "update Keylock");
    assert_string_equal(kl_protocol_remedy(6, 5), "the relay must be updated");
}

TEST(the_served_versions_get_a_cookie_and_all_others_a_refusal) {
    struct pair p = fresh(KL_CIPHER_CHACHA20, KL_CIPHER_CHACHA20);
    uint8_t init[KL_INIT_BYTES], reply[KL_STRANGER_MAX];
    size_t len;
    kl_hs_client_init(&p.client, init);
    for (unsigned v = 0; v <= KL_PROTOCOL_VERSION + 3; v++) {
        bool served = kl_protocol_serves(KL_PROTOCOL_VERSION, v);
        struct kl_hs_outcome out = {0};
        init[2] = (uint8_t)v;
        init[3] = 0;
        assert_int_equal(
            kl_hs_relay_receive(&p.relay, 1000, here, init, sizeof init, &p.request, reply, &len),
            KL_HS_REPLY);
        assert_int_equal(kl_hs_client_receive(&p.client, reply, len, &out),
                         served ? KL_HS_AGAIN : KL_HS_REFUSED);
        if (!served) assert_int_equal(out.code, KL_HS_REFUSED_VERSION);
    }
}

TEST(a_cookie_is_for_one_address_and_a_time) {
    struct pair p = fresh(KL_CIPHER_CHACHA20, KL_CIPHER_CHACHA20);
    struct kl_hs_outcome out;
    enum kl_hs_client_result c = KL_HS_IGNORED;
    const uint64_t s = 1000000;
    assert_int_equal(ask(&p, 1000, here, &c, &out), KL_HS_REPLY);
    assert_int_equal(c, KL_HS_AGAIN);
    struct pair other = p;
    assert_int_equal(ask(&other, 1001, elsewhere, &c, &out), KL_HS_REPLY); /* another cookie */
    assert_int_equal(c, KL_HS_AGAIN);
    assert_memory_not_equal(other.client.cookie, p.client.cookie, 16);
    other = p;
    assert_int_equal(ask(&other, 119 * s, here, &c, &out), KL_HS_WANTS);
    assert_int_equal(ask(&other, 121 * s, here, &c, &out), KL_HS_WANTS); /* by the secret before */
    assert_int_equal(ask(&other, 242 * s, here, &c, &out), KL_HS_REPLY);
    other = p;
    assert_int_equal(ask(&other, 500 * s, here, &c, &out), KL_HS_REPLY); /* nobody came in between */
    assert_int_equal(c, KL_HS_AGAIN);
    assert_int_equal(ask(&other, 500 * s, here, &c, &out), KL_HS_WANTS);
}

TEST(a_cookie_is_taken_from_the_path_only_and_not_for_ever) {
    struct pair p = fresh(KL_CIPHER_CHACHA20, KL_CIPHER_CHACHA20);
    uint8_t init[KL_INIT_BYTES], cookie[66] = {KL_SEAL_MAGIC, KL_HS_COOKIE};
    struct kl_hs_outcome out;
    cookie[20] = 1;
    assert_int_equal(kl_hs_client_receive(&p.client, cookie, sizeof cookie, &out), KL_HS_IGNORED);
    kl_hs_client_init(&p.client, init);
    memcpy(cookie + 2, init + 4, 16);
    unsigned again = 0;
    for (unsigned i = 1; i <= 20; i++) {
        cookie[20] = (uint8_t)i;
        again += kl_hs_client_receive(&p.client, cookie, sizeof cookie, &out) == KL_HS_AGAIN;
        assert_int_equal(kl_hs_client_receive(&p.client, cookie, sizeof cookie, &out), KL_HS_IGNORED);
        assert_int_equal(p.client.cookie[2], i);
    }
    assert_int_equal(again, 4);
    memset(cookie + 18, 0, 16);
    assert_int_equal(kl_hs_client_receive(&p.client, cookie, sizeof cookie, &out), KL_HS_IGNORED);
    assert_int_equal(p.client.cookie[2], 20);
}

TEST(ciphers_are_agreed) {
    enum { A = KL_CIPHER_AES256GCM, C = KL_CIPHER_CHACHA20, X = KL_CIPHER_CLEAR };
    static const uint8_t table[][3] = {{A | C, A | C, A},     {A | C, C, C},         {C, A | C, C},
                                       {A | C | X, A | C, A}, {A | C, A | C | X, A}, {A | C | X, C | X, X},
                                       {0xf8 | C, A | C, C}};
    for (size_t i = 0; i < COUNT(table); i++) {
        struct pair p = up_to_answer(table[i][0], table[i][1]);
        struct kl_hs_outcome out;
        assert_int_equal(p.keys.cipher, table[i][2]);
        assert_int_equal(kl_hs_client_receive(&p.client, p.answer, p.answer_len, &out), KL_HS_ESTABLISHED);
        assert_int_equal(out.keys.cipher, table[i][2]);
    }
    struct pair p = up_to_answer(C, C); /* a relay that takes what nobody offered, with a proof that fits */
    struct kl_hs_outcome out;
    p.relay.ciphers = X, p.request.offers = X;
    assert_int_equal(kl_hs_relay_answer(&p.relay, &p.request, 7000, &p.keys, p.answer, &p.answer_len), 0);
    assert_int_equal(kl_hs_client_receive(&p.client, p.answer, p.answer_len, &out), KL_HS_IGNORED);
    static const uint8_t none[][2] = {{A, C}, {X, A | C}, {A | C, X}, {0, A | C | X}, {0xf8, A | C | X}};
    for (size_t i = 0; i < COUNT(none); i++) {
        enum kl_hs_client_result c;
        p = fresh(none[i][0], none[i][1]);
        assert_int_equal(ask(&p, 1000, here, &c, &out), KL_HS_REPLY);
        assert_int_equal(c, KL_HS_REFUSED);
        assert_int_equal(out.code, KL_HS_REFUSED_CIPHER);
    }
}

/* Keys of low order would make the secret known to all. */
TEST(points_of_low_order_are_refused) {
    struct pair p = up_to_answer(KL_CIPHER_CHACHA20, KL_CIPHER_CHACHA20);
    struct kl_hs_request zero = p.request;
    struct kl_hs_outcome out;
    memset(zero.init + 4, 0, 32);
    assert_int_equal(kl_hs_relay_answer(&p.relay, &zero, 7, &p.keys, p.answer, &p.answer_len),
                     KL_E_MALFORMED);
    zero.init[4] = 1;
    assert_int_equal(kl_hs_relay_answer(&p.relay, &zero, 7, &p.keys, p.answer, &p.answer_len),
                     KL_E_MALFORMED);
    p = up_to_answer(KL_CIPHER_CHACHA20, KL_CIPHER_CHACHA20);
    memset(p.answer + 23, 0, 64);
    assert_int_equal(kl_hs_client_receive(&p.client, p.answer, p.answer_len, &out), KL_HS_IGNORED);
}

TEST(a_relay_that_is_full_says_so) {
    struct pair p = up_to_answer(KL_CIPHER_CHACHA20, KL_CIPHER_CHACHA20);
    struct kl_hs_outcome out;
    uint8_t reply[KL_INIT_BYTES];
    size_t len;
    kl_hs_relay_refuse(&p.request, KL_HS_REFUSED_FULL, reply, &len);
    assert_int_equal(kl_hs_client_receive(&p.client, reply, len, &out), KL_HS_REFUSED);
    assert_int_equal(out.code, KL_HS_REFUSED_FULL);
    for (size_t bit = 0; bit < 8 * 18; bit++) { /* a stranger who has not seen INIT cannot say it */
        reply[bit / 8] ^= (uint8_t)(1u << bit % 8);
        assert_int_equal(kl_hs_client_receive(&p.client, reply, len, &out), KL_HS_IGNORED);
        reply[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
}

TEST(the_end_forgets) {
    struct pair p = up_to_answer(KL_CIPHER_CHACHA20, KL_CIPHER_CHACHA20);
    kl_hs_client_end(&p.client);
    kl_hs_relay_end(&p.relay);
    assert_true(sodium_is_zero((uint8_t *)&p.client, sizeof p.client));
    assert_true(sodium_is_zero((uint8_t *)&p.relay, sizeof p.relay));
}
