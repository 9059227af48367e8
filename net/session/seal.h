/* seal.h - seals: of a session's datagrams, and of a room's record. */
#ifndef KL_SEAL_H
#define KL_SEAL_H

#include <sodium.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* --- datagrams --- */

/* Protected datagrams of a session: header in clear, body sealed. net/PROTOCOL.md §2.
 *
 * One sealer and one opener an end; each direction has its key and its counter space, which all kinds of
 * datagrams share. Pure but for libsodium: no clock, no socket, no heap. Replay window: 2,048 counters (RFC
 * 6479's idea: a ring of words, cleared as the window moves on). */

#define KL_SEAL_MAGIC    0x4b /* the first byte of everything on the port */
#define KL_SEAL_HEADER   10   /* magic, kind, session u32, counter u32 */
#define KL_SEAL_TAG      16
#define KL_SEAL_OVERHEAD (KL_SEAL_HEADER + KL_SEAL_TAG)
#define KL_REPLAY_WINDOW 2048

/* Kinds of sealed datagrams. */
enum {
    KL_SEAL_CTRL = 1,
    KL_SEAL_UPDATE = 2,
    KL_SEAL_ENET = 3,
    KL_SEAL_PATH = 4,
    KL_SEAL_DIRECT = 5,
    KL_SEAL_VOICE = 6
};

/* As bits in the offer of an end; one of them in force. */
enum kl_cipher {
    KL_CIPHER_AES256GCM = 1, /* if the processor has it */
    KL_CIPHER_CHACHA20 = 2,  /* ChaCha20-Poly1305 (RFC 8439) */
    KL_CIPHER_CLEAR = 4,     /* --insecure-lan: body in clear, tag by keyed SipHash-2-4-128 */
};
/* This machine's ciphers, without KL_CIPHER_CLEAR. */
uint8_t kl_ciphers_here(void);
const char *kl_cipher_name(uint8_t cipher);

struct kl_session_keys {
    uint8_t cipher;      /* one of enum kl_cipher */
    uint32_t session;    /* number in every header, never 0 */
    uint8_t up[32];      /* client to relay */
    uint8_t down[32];    /* relay to client */
    uint8_t binding[32]; /* names this handshake; proofs inside the session cover it */
};

struct kl_seal_state {
    uint8_t cipher;
    uint8_t key[32];
    crypto_aead_aes256gcm_state aes;
};
struct kl_sealer {
    struct kl_seal_state state;
    uint32_t session, counter; /* counter: of the last datagram */
    uint64_t bytes;            /* of all datagrams */
};
struct kl_opener {
    struct kl_seal_state state;
    uint32_t session, highest, opened; /* opened: how many, repeated ones left out */
    uint64_t bytes;                    /* of all datagrams opened, repeated ones left out */
    uint64_t seen[KL_REPLAY_WINDOW / 64 + 1];
};

/* Bytes of a session's sealed datagrams. */
struct kl_traffic {
    uint64_t up, down;
    uint64_t frames; /* of those down: UPDATEs, and VOICE */
};

/* key: keys->up or keys->down, by the direction. Both structs hold secrets, and an AES state that needs
 * 16-byte alignment; the owner ends by sodium_memzero() on the whole. */
void kl_sealer_init(struct kl_sealer *s, const struct kl_session_keys *keys, const uint8_t key[32]);
void kl_opener_init(struct kl_opener *o, const struct kl_session_keys *keys, const uint8_t key[32]);

/* Writes a whole datagram to out (room for len + KL_SEAL_OVERHEAD). body is out + KL_SEAL_HEADER (sealed in
 * place) or does not overlap it. Returns its length; 0 once the counters are used up (after 2^32 - 1: the
 * session must be made anew). */
size_t kl_seal(struct kl_sealer *s, uint8_t kind, const void *body, size_t len, uint8_t *out);

/* The session number in a datagram's header; 0 if it is too short or not of Keylock. */
uint32_t kl_seal_session(const uint8_t *bytes, size_t len);

struct kl_opened {
    uint8_t kind;
    uint8_t *body; /* inside bytes */
    size_t len;
    uint32_t counter;
    bool newest;      /* its counter is the highest so far: its source is the sender's present address */
    uint32_t missing; /* datagrams of this sender below the highest counter that have not come */
};
/* Opens a datagram in place. 0, or, without a change to o but possibly to bytes: KL_E_MALFORMED (too short,
 * not this session, no sealed kind, tampered with), KL_E_WINDOW (seen before, or too old to tell; judged by
 * the header alone, so it proves nothing). */
int kl_open(struct kl_opener *o, uint8_t *bytes, size_t len, struct kl_opened *out);
/* Opens a datagram for which kl_open() gave KL_E_WINDOW. 0: it is authentic, and was opened before or is too
 * old to tell. Its body may be acted on only where a repetition does no harm. */
int kl_open_repeated(const struct kl_opener *o, uint8_t *bytes, size_t len, struct kl_opened *out);

/* --- tickets --- */

/* A room's record, sealed by the relay for itself.
 *
 * XChaCha20-Poly1305 under a key from the relay's long-term secret; a random nonce each. The seal proves that
 * this relay wrote it, not that it is the newest: the content must tell older from newer. */

#define KL_TICKET_MAX      18432 /* bytes, sealed */
#define KL_TICKET_OVERHEAD 40
#define KL_TICKET_BODY_MAX (KL_TICKET_MAX - KL_TICKET_OVERHEAD)

/* out: room for len + KL_TICKET_OVERHEAD, apart from body. Its length, or KL_E_SPACE above
 * KL_TICKET_BODY_MAX. */
int kl_ticket_seal(const uint8_t relay_secret[32], const void *body, size_t len, uint8_t *out);
/* out: room for len - KL_TICKET_OVERHEAD, apart from ticket. The body's length, or KL_E_MALFORMED: too long
 * or short, changed, or another relay's. */
int kl_ticket_open(const uint8_t relay_secret[32], const uint8_t *ticket, size_t len, void *out);

#endif
