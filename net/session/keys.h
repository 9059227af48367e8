/* keys.h - keys and their fingerprints, and the keys of the relays that this user has met. */
#ifndef KL_KEYS_H
#define KL_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* --- keys --- */

/* Pairs of keys, a relay's long-term key and its fingerprint. net/PROTOCOL.md §9. */

struct kl_keypair {
    uint8_t pub[32], secret[32]; /* X25519 */
};
void kl_keypair_make(struct kl_keypair *k);
/* pub from secret. */
void kl_keypair_complete(struct kl_keypair *k);

/* BLAKE2b-160 of the public key in RFC 4648 base32, lower case: 32 characters and NUL. */
#define KL_FINGERPRINT_CHARS 32
void kl_fingerprint(const uint8_t pub[32], char out[KL_FINGERPRINT_CHARS + 1]);
/* True for 32 characters of that alphabet, in either case. */
bool kl_fingerprint_valid(const char *text);
bool kl_fingerprint_is(const char *text, const uint8_t pub[32]);

/* A relay's long-term key: an Ed25519 pair, which signs (proof.h), and its X25519 form, which handshakes use
 * and links name by its fingerprint. So the fingerprint says whose a signature is. RFC 8032 and RFC 7748, by
 * libsodium's conversion. */
struct kl_relay_key {
    struct kl_keypair exchange;
    bool signs; /* false: a key of before, which is X25519 alone: sign_pub and sign_secret are zero */
    uint8_t sign_pub[32], sign_secret[64];
};
#define KL_RELAY_SEED 32
void kl_relay_key_from_seed(struct kl_relay_key *k, const uint8_t seed[KL_RELAY_SEED]);
/* Whether the owner of sign_pub answers handshakes with exchange_pub; false for what is no key. */
bool kl_relay_key_is(const uint8_t sign_pub[32], const uint8_t exchange_pub[32]);

/* Reads the key in DIR/relay.key: "keylock2" and the 32 bytes of the seed; or, as files of before have it,
 * the 32 bytes of an X25519 secret. Makes folder and file if they are missing (folder 0700, parents too;
 * file 0600, written whole or not at all; if two processes make it at once, one wins and both read its file).
 * 0, or -1 with one line in err; a file of another form, no plain file, or one that others may read, is an
 * error and is left alone. */
int kl_keys_open(const char *dir, struct kl_relay_key *out, char *err, size_t err_len);

/* --- known relays --- */

/* The keys of the relays that this user has met by name, as of first use. net/PROTOCOL.md §9.
 *
 * One text file, DIR/relays, lines "HOST:PORT FINGERPRINT", mode 0600, written whole or not at all, under a
 * lock against other processes of this user. For relays that the user named without a fingerprint; a link
 * carries its own and is never pinned. */

#define KL_KNOWN_MAX 1024 /* relays; when full, none is forgotten and none added */

enum kl_known_result {
    KL_KNOWN_SAME = 0,     /* as it was */
    KL_KNOWN_PINNED = 1,   /* met for the first time, and remembered */
    KL_KNOWN_CHANGED = -1, /* another key than before: do not go on. err has both fingerprints and the file */
    KL_KNOWN_FAILED = -2,  /* the file cannot be read, understood or written; err says why */
};
/* host is compared without regard to case. Blocks on files: not for a frame's thread. */
enum kl_known_result kl_known_check(const char *dir, const char *host, uint16_t port, const uint8_t pub[32],
                                    char *err, size_t err_len);
/* True if this user has met that relay by name. An unreadable file is as none. */
bool kl_known_has(const char *dir, const char *host, uint16_t port);

#endif
