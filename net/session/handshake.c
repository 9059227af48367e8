#include "net/session/handshake.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "net/engine/engine.h"
#include "net/engine/wire.h"

/* Offsets in INIT; the first three are the same in every version for ever. */
enum {
    INIT_VERSION = 2,
    INIT_EPHEMERAL = 4,
    INIT_OFFERS = 36,
    INIT_ZERO = 37,
    INIT_COOKIE = 40,
    INIT_PAD = KL_INIT_BUCKET + 1
};
/* Every reply: magic, kind, the first 16 bytes of e_c (proof that the sender saw INIT), then its own. */
enum { ECHO = 16, REPLY_BODY = 2 + ECHO };
enum { COOKIE_BYTES = REPLY_BODY + 16 + 32, ANSWER_PROOF = REPLY_BODY + 4 + 1 + 32 + 32 };
enum { ANSWER_BYTES = ANSWER_PROOF + 16, REFUSAL_BYTES = REPLY_BODY + 1 + 2 };

#define COOKIE_LIFE_US 120000000u /* a secret makes cookies for so long, and takes them twice as long */
#define COOKIES_MAX    4          /* that a client answers at once */

_Static_assert(ANSWER_BYTES <= KL_INIT_BYTES, "no reply is longer than what asked for it");

static void start_reply(struct kl_writer *w, uint8_t *out, size_t cap, uint8_t kind, const uint8_t *init) {
    *w = kl_writer(out, cap);
    kl_write_u8(w, KL_SEAL_MAGIC);
    kl_write_u8(w, kind);
    kl_write_bytes(w, init + INIT_EPHEMERAL, ECHO);
}

static bool all_zero(const uint8_t *b, size_t len) {
    return sodium_is_zero(b, len) == 1;
}

uint8_t kl_bucket(const uint8_t relay_pub[32], const char *room) {
    uint8_t hash[crypto_generichash_BYTES_MIN];
    if (!*room) return 0;
    crypto_generichash(hash, sizeof hash, (const uint8_t *)room, strlen(room), relay_pub, 32);
    return hash[0] % KL_BUCKETS;
}

/* --- keys, derived by both ends --- */

static void derive(const uint8_t root[64], const char *label, uint8_t *out, size_t len) {
    crypto_generichash(out, len, (const uint8_t *)label, strlen(label), root, 64);
}

/* root = BLAKE2b-512("keylock session" || ee || es || BLAKE2b-512(INIT || ANSWER without its proof)) */
static void schedule(const uint8_t ee[32], const uint8_t es[32], const uint8_t init[KL_INIT_BYTES],
                     const uint8_t answer[ANSWER_PROOF], struct kl_session_keys *keys, uint8_t proof[16]) {
    static const char domain[] = "keylock session";
    uint8_t said[64], root[64];
    crypto_generichash_state h;
    crypto_generichash_init(&h, NULL, 0, sizeof said);
    crypto_generichash_update(&h, init, KL_INIT_BYTES);
    crypto_generichash_update(&h, answer, ANSWER_PROOF);
    crypto_generichash_final(&h, said, sizeof said);
    crypto_generichash_init(&h, NULL, 0, sizeof root);
    crypto_generichash_update(&h, (const uint8_t *)domain, sizeof domain - 1);
    crypto_generichash_update(&h, ee, 32);
    crypto_generichash_update(&h, es, 32);
    crypto_generichash_update(&h, said, sizeof said);
    crypto_generichash_final(&h, root, sizeof root);
    derive(root, "up", keys->up, sizeof keys->up);
    derive(root, "down", keys->down, sizeof keys->down);
    derive(root, "binding", keys->binding, sizeof keys->binding);
    derive(root, "proof", proof, 16);
    sodium_memzero(&h, sizeof h);
    sodium_memzero(root, sizeof root);
}

/* --- client --- */

void kl_hs_client_begin(struct kl_hs_client *c, uint8_t offers) {
    memset(c, 0, sizeof *c);
    c->offers = offers;
    kl_keypair_make(&c->ephemeral);
}

void kl_hs_client_init(const struct kl_hs_client *c, uint8_t out[KL_INIT_BYTES]) {
    memset(out, 0, KL_INIT_BYTES);
    struct kl_writer w = kl_writer(out, KL_INIT_BYTES);
    kl_write_u8(&w, KL_SEAL_MAGIC);
    kl_write_u8(&w, KL_HS_INIT);
    kl_write_u16(&w, KL_PROTOCOL_VERSION);
    kl_write_bytes(&w, c->ephemeral.pub, 32);
    kl_write_u8(&w, c->offers);
    memcpy(out + INIT_COOKIE, c->cookie, sizeof c->cookie);
    out[KL_INIT_BUCKET] = c->bucket;
}

static enum kl_hs_client_result take_cookie(struct kl_hs_client *c, struct kl_reader *r) {
    const uint8_t *cookie = kl_read_bytes(r, sizeof c->cookie), *pub = kl_read_bytes(r, sizeof c->told_pub);
    if (r->failed || kl_reader_left(r) || all_zero(cookie, sizeof c->cookie)) return KL_HS_IGNORED;
    if (memcmp(c->cookie, cookie, sizeof c->cookie) == 0) return KL_HS_IGNORED;
    memcpy(c->cookie, cookie, sizeof c->cookie);
    memcpy(c->told_pub, pub, sizeof c->told_pub);
    if (c->cookies == COOKIES_MAX) return KL_HS_IGNORED; /* two machines shall not chase each other */
    c->cookies++;
    return KL_HS_AGAIN;
}

static enum kl_hs_client_result take_refusal(struct kl_reader *r, struct kl_hs_outcome *out) {
    uint8_t code = kl_read_u8(r);
    uint16_t version = kl_read_u16(r);
    if (r->failed || kl_reader_left(r)) return KL_HS_IGNORED;
    out->code = code;
    out->version = version;
    return KL_HS_REFUSED;
}

static bool is_one_of(uint8_t cipher, uint8_t offers) {
    return cipher && !(cipher & (cipher - 1)) && (cipher & offers) == cipher;
}

static enum kl_hs_client_result take_answer(const struct kl_hs_client *c, const uint8_t *bytes, size_t len,
                                            struct kl_hs_outcome *out) {
    if (len != ANSWER_BYTES) return KL_HS_IGNORED;
    struct kl_session_keys keys;
    struct kl_reader r = kl_reader(bytes + REPLY_BODY, len - REPLY_BODY);
    keys.session = kl_read_u32(&r);
    keys.cipher = kl_read_u8(&r);
    const uint8_t *ephemeral = kl_read_bytes(&r, 32), *own = kl_read_bytes(&r, 32),
                  *proof = kl_read_bytes(&r, 16);
    if (keys.session == 0 || !is_one_of(keys.cipher, c->offers)) return KL_HS_IGNORED;
    uint8_t init[KL_INIT_BYTES], ee[32], es[32], expected[16];
    kl_hs_client_init(c, init);
    bool ok = crypto_scalarmult(ee, c->ephemeral.secret, ephemeral) == 0 &&
              crypto_scalarmult(es, c->ephemeral.secret, own) == 0;
    if (ok) {
        schedule(ee, es, init, bytes, &keys, expected);
        ok = crypto_verify_16(expected, proof) == 0;
    }
    if (ok) {
        out->keys = keys;
        memcpy(out->relay_pub, own, 32);
    }
    sodium_memzero(&keys, sizeof keys);
    sodium_memzero(ee, sizeof ee);
    sodium_memzero(es, sizeof es);
    return ok ? KL_HS_ESTABLISHED : KL_HS_IGNORED;
}

enum kl_hs_client_result kl_hs_client_receive(struct kl_hs_client *c, const uint8_t *bytes, size_t len,
                                              struct kl_hs_outcome *out) {
    if (len < REPLY_BODY || len > KL_INIT_BYTES || bytes[0] != KL_SEAL_MAGIC) return KL_HS_IGNORED;
    if (sodium_memcmp(bytes + 2, c->ephemeral.pub, ECHO) != 0) return KL_HS_IGNORED;
    struct kl_reader r = kl_reader(bytes + REPLY_BODY, len - REPLY_BODY);
    switch (bytes[1]) {
    case KL_HS_COOKIE: return take_cookie(c, &r);
    case KL_HS_REFUSAL: return take_refusal(&r, out);
    case KL_HS_ANSWER: return take_answer(c, bytes, len, out);
    default: return KL_HS_IGNORED;
    }
}

void kl_hs_client_end(struct kl_hs_client *c) {
    sodium_memzero(c, sizeof *c);
}

/* --- relay --- */

static void make_secrets(struct kl_hs_relay *r, uint64_t period) {
    for (unsigned i = 0; i < 2; i++) {
        uint64_t n = period - i;
        crypto_generichash(r->secret[i], sizeof r->secret[i], (const uint8_t *)&n, sizeof n, r->base,
                           sizeof r->base);
    }
    r->period = period;
}

void kl_hs_relay_begin(struct kl_hs_relay *r, const struct kl_keypair *own, uint8_t ciphers,
                       uint64_t now_us) {
    if (sodium_init() < 0) abort(); /* no random numbers: no secrets */
    r->own = *own;
    r->ciphers = ciphers;
    randombytes_buf(r->base, sizeof r->base);
    make_secrets(r, now_us / COOKIE_LIFE_US);
}

void kl_hs_relay_share(struct kl_hs_relay *r, const uint8_t base[32]) {
    memcpy(r->base, base, sizeof r->base);
    make_secrets(r, r->period);
}

void kl_hs_relay_end(struct kl_hs_relay *r) {
    sodium_memzero(r, sizeof *r);
}

/* Over the address and all of INIT in front of the cookie. */
static void make_cookie(const uint8_t secret[32], const uint8_t address[KL_HS_ADDRESS], const uint8_t *init,
                        uint8_t out[16]) {
    uint8_t text[KL_HS_ADDRESS + INIT_COOKIE];
    memcpy(text, address, KL_HS_ADDRESS);
    memcpy(text + KL_HS_ADDRESS, init, INIT_COOKIE);
    crypto_generichash(out, 16, text, sizeof text, secret, 32);
}

static bool cookie_fits(const struct kl_hs_relay *r, const uint8_t address[KL_HS_ADDRESS],
                        const uint8_t *init) {
    for (unsigned i = 0; i < 2; i++) {
        uint8_t cookie[16];
        make_cookie(r->secret[i], address, init, cookie);
        if (crypto_verify_16(cookie, init + INIT_COOKIE) == 0) return true;
    }
    return false;
}

/* The cipher that both ends accept; in clear if both were told so. 0: none. */
static uint8_t choose(uint8_t offers, uint8_t own) {
    static const uint8_t order[] = {KL_CIPHER_CLEAR, KL_CIPHER_AES256GCM, KL_CIPHER_CHACHA20};
    for (size_t i = 0; i < sizeof order; i++)
        if (offers & own & order[i]) return order[i];
    return 0;
}

static void write_refusal(const uint8_t *init, uint8_t code, uint8_t *reply, size_t *reply_len) {
    struct kl_writer w;
    start_reply(&w, reply, REFUSAL_BYTES, KL_HS_REFUSAL, init);
    kl_write_u8(&w, code);
    kl_write_u16(&w, KL_PROTOCOL_VERSION);
    assert(!w.failed);
    *reply_len = REFUSAL_BYTES;
}

void kl_hs_relay_refuse(const struct kl_hs_request *req, uint8_t code, uint8_t *reply, size_t *reply_len) {
    write_refusal(req->init, code, reply, reply_len);
}

enum kl_hs_relay_result kl_hs_relay_receive(struct kl_hs_relay *r, uint64_t now_us,
                                            const uint8_t address[KL_HS_ADDRESS], const uint8_t *bytes,
                                            size_t len, struct kl_hs_request *req, uint8_t *reply,
                                            size_t *reply_len) {
    if (len < KL_INIT_BYTES || len > KL_STRANGER_MAX) return KL_HS_DROP;
    if (bytes[0] != KL_SEAL_MAGIC || bytes[1] != KL_HS_INIT) return KL_HS_DROP;
    unsigned version = bytes[INIT_VERSION] | (unsigned)bytes[INIT_VERSION + 1] << 8;
    if (!kl_protocol_serves(KL_PROTOCOL_VERSION, version)) {
        write_refusal(bytes, KL_HS_REFUSED_VERSION, reply, reply_len);
        return KL_HS_REPLY;
    }
    if (len != KL_INIT_BYTES || !all_zero(bytes + INIT_ZERO, INIT_COOKIE - INIT_ZERO) ||
        !all_zero(bytes + INIT_PAD, KL_INIT_BYTES - INIT_PAD) || bytes[KL_INIT_BUCKET] >= KL_BUCKETS)
        return KL_HS_DROP;
    if (!choose(bytes[INIT_OFFERS], r->ciphers)) {
        write_refusal(bytes, KL_HS_REFUSED_CIPHER, reply, reply_len);
        return KL_HS_REPLY;
    }
    if (r->period != now_us / COOKIE_LIFE_US) make_secrets(r, now_us / COOKIE_LIFE_US);
    if (cookie_fits(r, address, bytes)) {
        req->offers = bytes[INIT_OFFERS];
        memcpy(req->init, bytes, KL_INIT_BYTES);
        return KL_HS_WANTS;
    }
    struct kl_writer w;
    uint8_t cookie[16];
    make_cookie(r->secret[0], address, bytes, cookie);
    start_reply(&w, reply, COOKIE_BYTES, KL_HS_COOKIE, bytes);
    kl_write_bytes(&w, cookie, sizeof cookie);
    kl_write_bytes(&w, r->own.pub, 32);
    assert(!w.failed);
    *reply_len = COOKIE_BYTES;
    return KL_HS_REPLY;
}

int kl_hs_relay_answer(struct kl_hs_relay *r, const struct kl_hs_request *req, uint32_t session,
                       struct kl_session_keys *keys, uint8_t *reply, size_t *reply_len) {
    assert(session != 0);
    uint8_t cipher = choose(req->offers, r->ciphers), ee[32], es[32], proof[16];
    const uint8_t *theirs = req->init + INIT_EPHEMERAL;
    struct kl_keypair ephemeral;
    kl_keypair_make(&ephemeral);
    bool ok = crypto_scalarmult(ee, ephemeral.secret, theirs) == 0 &&
              crypto_scalarmult(es, r->own.secret, theirs) == 0;
    if (ok) {
        struct kl_writer w;
        start_reply(&w, reply, ANSWER_BYTES, KL_HS_ANSWER, req->init);
        kl_write_u32(&w, session);
        kl_write_u8(&w, cipher);
        kl_write_bytes(&w, ephemeral.pub, 32);
        kl_write_bytes(&w, r->own.pub, 32);
        schedule(ee, es, req->init, reply, keys, proof);
        kl_write_bytes(&w, proof, sizeof proof);
        assert(!w.failed);
        keys->session = session;
        keys->cipher = cipher;
        *reply_len = ANSWER_BYTES;
    }
    sodium_memzero(&ephemeral, sizeof ephemeral);
    sodium_memzero(ee, sizeof ee);
    sodium_memzero(es, sizeof es);
    return ok ? 0 : KL_E_MALFORMED;
}
