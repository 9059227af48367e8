/* Sealed datagrams: known answers, what is rejected, the replay window to the counter. net/PROTOCOL.md §2. */
#include "tests/unit/unit.h"

#include "net/engine/engine.h"
#include "net/session/seal.h"

static const uint8_t ciphers[] = {KL_CIPHER_AES256GCM, KL_CIPHER_CHACHA20, KL_CIPHER_CLEAR};

static bool have(uint8_t cipher) {
    return cipher == KL_CIPHER_CLEAR || (kl_ciphers_here() & cipher);
}

static struct kl_session_keys fixed_keys(uint8_t cipher) {
    struct kl_session_keys k = {.cipher = cipher, .session = 0x01020304};
    for (unsigned i = 0; i < 32; i++)
        k.up[i] = (uint8_t)i, k.down[i] = (uint8_t)(64 + i);
    return k;
}

struct ends {
    struct kl_sealer sealer;
    struct kl_opener opener;
};
static struct ends ends_of(uint8_t cipher) {
    struct kl_session_keys k = fixed_keys(cipher);
    struct ends e;
    memset(&e, 0xa5, sizeof e); /* as the memory may be that they are given */
    kl_sealer_init(&e.sealer, &k, k.up);
    kl_opener_init(&e.opener, &k, k.up);
    return e;
}

/* Made with another library (OpenSSL by Python's cryptography; SipHash from its reference's text):
 * key 00..1f, nonce 0 0 0 0 1 0.., session 0x01020304, counter 1, "keyframe" and 16 zeros. */
static const uint8_t known[3][50] = {
    {0x4b, 0x02, 0x04, 0x03, 0x02, 0x01, 0x01, 0x00, 0x00, 0x00, 0x8e, 0xf2, 0x0c, 0x56, 0x0c, 0xa0, 0x73,
     0x6d, 0x5e, 0x9d, 0x4f, 0x76, 0xed, 0x53, 0xb2, 0xf6, 0x69, 0x7d, 0x3d, 0x8f, 0x96, 0x0c, 0x3a, 0x61,
     0x89, 0x09, 0x29, 0xd0, 0xf8, 0x38, 0xa4, 0x1e, 0x91, 0x64, 0xc0, 0x6c, 0xba, 0xe1, 0xc4, 0x01},
    {0x4b, 0x02, 0x04, 0x03, 0x02, 0x01, 0x01, 0x00, 0x00, 0x00, 0xf4, 0x32, 0x8a, 0x39, 0xc7, 0x4b, 0xc2,
     0x7d, 0x29, 0xb6, 0xae, 0x5c, 0x52, 0x95, 0x99, 0x87, 0xc5, 0x7d, 0xeb, 0x0e, 0x47, 0x6b, 0x60, 0xad,
     0xa6, 0x2d, 0x6b, 0x72, 0xcf, 0xd9, 0x01, 0xa3, 0x2a, 0xa1, 0xe3, 0x2c, 0xd1, 0xb0, 0x83, 0x2a},
    {0x4b, 0x02, 0x04, 0x03, 0x02, 0x01, 0x01, 0x00, 0x00, 0x00, 0x6b, 0x65, 0x79, 0x66, 0x72, 0x61, 0x6d,
     0x65, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
     0x33, 0x17, 0x55, 0xb6, 0xc1, 0xf4, 0xfc, 0x3b, 0x57, 0x7c, 0x5f, 0xfd, 0xf3, 0x4f, 0x33, 0xb6}};

TEST(known_answers) {
    static const uint8_t body[24] = "keyframe";
    for (size_t i = 0; i < COUNT(ciphers); i++) {
        if (!have(ciphers[i])) continue;
        struct ends e = ends_of(ciphers[i]);
        uint8_t out[50];
        struct kl_opened o;
        assert_int_equal(kl_seal(&e.sealer, KL_SEAL_UPDATE, body, sizeof body, out), sizeof out);
        assert_memory_equal(out, known[i], sizeof out);
        assert_int_equal(kl_seal_session(out, sizeof out), 0x01020304);
        assert_int_equal(kl_open(&e.opener, out, sizeof out, &o), 0);
        assert_int_equal(o.kind, KL_SEAL_UPDATE);
        assert_int_equal(o.len, sizeof body);
        assert_memory_equal(o.body, body, sizeof body);
        assert_true(o.newest);
    }
}

/* The relay's limits count by them, from the first datagram on. */
TEST(bytes_are_counted_from_zero) {
    uint8_t out[64];
    struct kl_opened o;
    struct ends e = ends_of(KL_CIPHER_CHACHA20);
    assert_int_equal(e.sealer.bytes, 0);
    assert_int_equal(e.opener.bytes, 0);
    size_t len = kl_seal(&e.sealer, KL_SEAL_CTRL, "ten bytes.", 10, out);
    assert_int_equal(kl_open(&e.opener, out, len, &o), 0);
    assert_int_equal(e.sealer.bytes, len);
    assert_int_equal(e.opener.bytes, len);
}

TEST(in_place_is_the_same) {
    static const size_t sizes[] = {0, 1, 15, 16, 17, 1200, 4000};
    for (size_t i = 0; i < COUNT(ciphers); i++) {
        if (!have(ciphers[i])) continue;
        struct ends a = ends_of(ciphers[i]), b = ends_of(ciphers[i]);
        for (size_t j = 0; j < COUNT(sizes); j++) {
            uint8_t body[4000], one[4000 + KL_SEAL_OVERHEAD], two[sizeof one];
            struct kl_opened o;
            memset(body, (int)j + 1, sizeof body);
            memcpy(two + KL_SEAL_HEADER, body, sizes[j]);
            size_t len = kl_seal(&a.sealer, KL_SEAL_ENET, body, sizes[j], one);
            assert_int_equal(len, sizes[j] + KL_SEAL_OVERHEAD);
            assert_int_equal(kl_seal(&b.sealer, KL_SEAL_ENET, two + KL_SEAL_HEADER, sizes[j], two), len);
            assert_memory_equal(one, two, len);
            assert_int_equal(kl_open(&a.opener, one, len, &o), 0);
            assert_int_equal(o.len, sizes[j]);
            assert_memory_equal(o.body, body, sizes[j]);
        }
    }
}

TEST(every_flipped_bit_and_every_cut_is_rejected) {
    static const uint8_t body[24] = "keyframe";
    for (size_t i = 0; i < COUNT(ciphers); i++) {
        if (!have(ciphers[i])) continue;
        struct ends e = ends_of(ciphers[i]);
        uint8_t sealed[50], copy[51];
        struct kl_opened o;
        kl_seal(&e.sealer, KL_SEAL_CTRL, body, sizeof body, sealed);
        for (size_t bit = 0; bit < 8 * sizeof sealed; bit++) {
            memcpy(copy, sealed, sizeof sealed);
            copy[bit / 8] ^= (uint8_t)(1u << bit % 8);
            assert_int_equal(kl_open(&e.opener, copy, sizeof sealed, &o), KL_E_MALFORMED);
        }
        for (size_t len = 0; len < sizeof sealed; len++) {
            memcpy(copy, sealed, sizeof sealed);
            assert_int_equal(kl_open(&e.opener, copy, len, &o), KL_E_MALFORMED);
        }
        memcpy(copy, sealed, sizeof sealed);
        copy[50] = 0;
        assert_int_equal(kl_open(&e.opener, copy, sizeof copy, &o), KL_E_MALFORMED);
        assert_int_equal(kl_open(&e.opener, sealed, sizeof sealed, &o), 0); /* nothing of it was remembered */
    }
}

TEST(directions_sessions_and_ciphers_do_not_mix) {
    for (size_t i = 0; i < COUNT(ciphers); i++) {
        for (size_t j = 0; j < COUNT(ciphers); j++) {
            if (!have(ciphers[i]) || !have(ciphers[j])) continue;
            struct kl_session_keys k = fixed_keys(ciphers[i]), other = fixed_keys(ciphers[j]);
            struct kl_sealer s;
            struct kl_opener o;
            struct kl_opened got;
            uint8_t sealed[60];
            kl_sealer_init(&s, &k, k.up);
            size_t len = kl_seal(&s, KL_SEAL_PATH, "12345678", 8, sealed);
            kl_opener_init(&o, &other,
                           i == j ? other.down : other.up); /* a reflected datagram, or another cipher */
            assert_int_equal(kl_open(&o, sealed, len, &got), KL_E_MALFORMED);
        }
    }
}

/* Counters are u32 in the header, so a test may set the sealer's. */
static int deliver(struct ends *e, uint32_t counter, bool *newest) {
    uint8_t sealed[KL_SEAL_OVERHEAD + 1];
    struct kl_opened o = {0};
    e->sealer.counter = counter - 1;
    size_t len = kl_seal(&e->sealer, KL_SEAL_CTRL, "x", 1, sealed);
    int result = kl_open(&e->opener, sealed, len, &o);
    if (newest) *newest = result == 0 && o.newest;
    return result;
}

TEST(the_window_is_exact) {
    for (uint32_t high = 5000; high < 5000 + 2 * 2112; high += 61) {
        struct ends e = ends_of(KL_CIPHER_CLEAR);
        bool newest;
        assert_int_equal(deliver(&e, high, &newest), 0);
        assert_true(newest);
        assert_int_equal(deliver(&e, high, NULL), KL_E_WINDOW);
        assert_int_equal(deliver(&e, high - 2048, NULL), KL_E_WINDOW);
        assert_int_equal(deliver(&e, high - 2047, &newest), 0);
        assert_false(newest);
        assert_int_equal(deliver(&e, high - 2047, NULL), KL_E_WINDOW);
        assert_int_equal(deliver(&e, high + 1, NULL), 0); /* and now it is too old */
        assert_int_equal(deliver(&e, high - 2047, NULL), KL_E_WINDOW);
        assert_int_equal(deliver(&e, high - 2046, NULL), 0);
    }
}

/* Against the plainest model there is: a list of all that was seen. */
TEST(any_order_is_taken_once) {
    static bool seen[60000];
    struct ends e = ends_of(KL_CIPHER_CLEAR);
    uint32_t random = 1, base = 1, highest = 0;
    memset(seen, 0, sizeof seen);
    for (unsigned i = 0; i < 40000; i++) {
        random = random * 1664525 + 1013904223;
        if (i % 5000 == 4999) base += 2500; /* a gap, longer than the window */
        base += (random >> 8) % 2;
        uint32_t counter = base + (random >> 16) % 2300;
        assert_true(counter < COUNT(seen));
        bool fresh = !seen[counter] && (counter > highest || highest - counter < KL_REPLAY_WINDOW), newest;
        assert_int_equal(deliver(&e, counter, &newest), fresh ? 0 : KL_E_WINDOW);
        assert_true(newest == (fresh && counter > highest));
        seen[counter] |= fresh;
        if (fresh && counter > highest) highest = counter;
    }
}

TEST(counters_end) {
    struct ends e = ends_of(KL_CIPHER_CLEAR);
    uint8_t sealed[KL_SEAL_OVERHEAD];
    struct kl_opened o;
    assert_int_equal(deliver(&e, UINT32_MAX - 2100, NULL), 0);
    assert_int_equal(deliver(&e, UINT32_MAX, NULL), 0);
    assert_int_equal(kl_seal(&e.sealer, KL_SEAL_CTRL, NULL, 0, sealed), 0); /* and none is used again */
    assert_int_equal(e.sealer.counter, UINT32_MAX);
    assert_int_equal(deliver(&e, UINT32_MAX - 2047, NULL), 0);
    assert_int_equal(deliver(&e, UINT32_MAX - 2048, NULL), KL_E_WINDOW);
    e = ends_of(KL_CIPHER_CLEAR); /* counter 0 is none, even where the tag fits */
    e.sealer.counter = UINT32_MAX - 1;
    e.sealer.counter += 1;
    uint8_t zero[KL_SEAL_OVERHEAD] = {KL_SEAL_MAGIC, KL_SEAL_CTRL, 4, 3, 2, 1};
    crypto_shorthash_siphashx24(zero + KL_SEAL_HEADER, zero, KL_SEAL_HEADER, e.sealer.state.key);
    assert_int_equal(kl_open(&e.opener, zero, sizeof zero, &o), KL_E_MALFORMED);
}

TEST(unsealed_datagrams_have_no_session) {
    struct ends e = ends_of(KL_CIPHER_CHACHA20);
    uint8_t sealed[40];
    struct kl_opened o;
    static const uint8_t kinds[] = {0, 7, 0x0f, 0x10, 0x13, 0xff};
    for (size_t i = 0; i < COUNT(kinds); i++) {
        size_t len = kl_seal(&e.sealer, kinds[i], "x", 1, sealed);
        assert_int_equal(kl_seal_session(sealed, len), 0);
        assert_int_equal(kl_open(&e.opener, sealed, len, &o), KL_E_MALFORMED);
    }
    size_t len = kl_seal(&e.sealer, KL_SEAL_PATH, "x", 1, sealed);
    assert_int_equal(kl_seal_session(sealed, len), 0x01020304);
    assert_int_equal(kl_seal_session(sealed, KL_SEAL_OVERHEAD - 1), 0);
    sealed[0] = 0x8f; /* ENet's */
    assert_int_equal(kl_seal_session(sealed, len), 0);
    assert_string_equal(kl_cipher_name(KL_CIPHER_CHACHA20), "chacha20-poly1305");
    assert_string_equal(kl_cipher_name(3), "unknown");
}
