/* handshake.h - from strangers to a session: cookie, key exchange, proof of the relay's identity.
 * net/PROTOCOL.md §9.
 *
 *   client                                   relay
 *   INIT (version, ciphers, e_c, cookie 0)  ->
 *                                           <-  COOKIE            (no state kept)
 *   INIT (the same, with the cookie)        ->
 *                                           <-  ANSWER (session, cipher, e_r, s_r, proof)
 *   the first sealed datagram               ->  (the session counts from here)
 *
 * e_: ephemeral X25519 keys, s_r: the relay's long-term one. Keys come from both X25519(e_c, e_r) and
 * X25519(e_c, s_r) and the bytes of INIT and ANSWER: only the owner of s_r can make the proof, and an s_r
 * stolen later opens no earlier session (pattern NX of the Noise protocol framework, revision 34, with
 * BLAKE2b for the mixing; the cookie is WireGuard's idea). INIT is padded: no reply is longer than its
 * question.
 *
 * Pure but for libsodium (random numbers, curves): time and bytes come in, bytes go out; no heap. */
#ifndef KL_HANDSHAKE_H
#define KL_HANDSHAKE_H

#include "net/session/keys.h"
#include "net/session/seal.h"

#define KL_INIT_BYTES   256  /* exactly */
#define KL_INIT_BUCKET  56   /* there is the room's bucket */
#define KL_INIT_CHANCE  4    /* from here on, 32 bytes of e_c: no two handshakes have the same */
#define KL_STRANGER_MAX 1200 /* of any datagram outside a session */

/* Kinds of datagrams outside a session; below them are the sealed ones (seal.h). The transport handles PING
 * and LIST; see strangers.h. */
enum {
    KL_HS_INIT = 0x10,
    KL_HS_COOKIE = 0x11,
    KL_HS_ANSWER = 0x12,
    KL_HS_REFUSAL = 0x13,
};
enum { KL_HS_REFUSED_VERSION = 1, KL_HS_REFUSED_FULL = 2, KL_HS_REFUSED_LIMIT = 3, KL_HS_REFUSED_CIPHER = 4 };

/* A relay's rooms lie in so many buckets by their names, and processes of one relay share the buckets. The
 * bucket of a room by its name, with a NUL; "": 0. */
#define KL_BUCKETS 64
uint8_t kl_bucket(const uint8_t relay_pub[32], const char *room);

/* --- client --- */
struct kl_hs_client {
    uint8_t offers;  /* enum kl_cipher bits */
    uint8_t cookies; /* cookies answered at once */
    uint8_t bucket;  /* of the wanted room, as far as is known; set by the caller; 0: not known */
    struct kl_keypair ephemeral;
    uint8_t cookie[16];
    uint8_t told_pub[32]; /* the relay's key as COOKIE says it, unproved; zeros: no COOKIE so far */
};
enum kl_hs_client_result {
    KL_HS_IGNORED,     /* not for us, or damaged: go on waiting */
    KL_HS_AGAIN,       /* a COOKIE: set the bucket, then send kl_hs_client_init() again now */
    KL_HS_ESTABLISHED, /* keys and relay_pub are filled in; the caller checks relay_pub */
    KL_HS_REFUSED,     /* see code; unauthenticated: go on for a while, then show it as the reason */
};
struct kl_hs_outcome {
    struct kl_session_keys keys;
    uint8_t relay_pub[32];
    uint8_t code;
    uint16_t version; /* of the relay, with KL_HS_REFUSED */
};
/* Makes the ephemeral key. offers: kl_ciphers_here(), with KL_CIPHER_CLEAR if the user asked for it. */
void kl_hs_client_begin(struct kl_hs_client *c, uint8_t offers);
/* Writes INIT; the same at every repetition until a cookie or another bucket has come. */
void kl_hs_client_init(const struct kl_hs_client *c, uint8_t out[KL_INIT_BYTES]);
/* Feeds a datagram of one of the kinds above. out is written to with KL_HS_ESTABLISHED and KL_HS_REFUSED
 * only. Stays usable after ESTABLISHED: after the answer of a wrong relay the caller may go on. */
enum kl_hs_client_result kl_hs_client_receive(struct kl_hs_client *c, const uint8_t *bytes, size_t len,
                                              struct kl_hs_outcome *out);
/* Forgets the secrets. */
void kl_hs_client_end(struct kl_hs_client *c);

/* --- relay --- */
struct kl_hs_relay {
    struct kl_keypair own;
    uint8_t ciphers;       /* accepted ciphers */
    uint8_t base[32];      /* of the cookies' secrets */
    uint8_t secret[2][32]; /* the present and the former one */
    uint64_t period;       /* the present one's */
};
struct kl_hs_request { /* an INIT whose address is proved */
    uint8_t offers;
    uint8_t init[KL_INIT_BYTES];
};
enum kl_hs_relay_result {
    KL_HS_DROP,
    KL_HS_REPLY, /* send the reply; no state to keep */
    KL_HS_WANTS, /* the address is proved and wants a session: kl_hs_relay_answer(), or kl_hs_relay_refuse()
                  */
};
/* ciphers: as offers above. If both ends accept KL_CIPHER_CLEAR it is chosen; otherwise AES before
 * ChaCha20. */
void kl_hs_relay_begin(struct kl_hs_relay *r, const struct kl_keypair *own, uint8_t ciphers, uint64_t now_us);
/* Relays with the same base, and the same clock, take each other's cookies. */
void kl_hs_relay_share(struct kl_hs_relay *r, const uint8_t base[32]);
#define KL_HS_ADDRESS 18
/* address: host (IPv6; IPv4 as ::ffff:0:0/96) and port, as on the wire. reply: room for len bytes; never
 * longer than that. INIT of another version (256..1,200 bytes) is answered with REFUSAL; req is written to
 * with WANTS only. */
enum kl_hs_relay_result kl_hs_relay_receive(struct kl_hs_relay *r, uint64_t now_us,
                                            const uint8_t address[KL_HS_ADDRESS], const uint8_t *bytes,
                                            size_t len, struct kl_hs_request *req, uint8_t *reply,
                                            size_t *reply_len);
/* Makes the session's keys and the ANSWER (at most KL_INIT_BYTES). session: not 0. 0, or KL_E_MALFORMED for
 * an invalid key (forget keys and reply then). A repeated INIT (its 256 bytes equal) must get the bytes of
 * the first ANSWER again, so the caller keeps both until the session is proved. */
int kl_hs_relay_answer(struct kl_hs_relay *r, const struct kl_hs_request *req, uint32_t session,
                       struct kl_session_keys *keys, uint8_t *reply, size_t *reply_len);
/* Writes REFUSAL (at most KL_INIT_BYTES). */
void kl_hs_relay_refuse(const struct kl_hs_request *req, uint8_t code, uint8_t *reply, size_t *reply_len);
/* Forgets the secrets. */
void kl_hs_relay_end(struct kl_hs_relay *r);

#endif
