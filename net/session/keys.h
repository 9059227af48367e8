/* keys.h - a relay's long-term key pair and its fingerprint. net/PROTOCOL.md §9. */
#ifndef KL_KEYS_H
#define KL_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

/* Reads the key pair in DIR/relay.key (the 32 bytes of the secret key), or makes both (folder 0700, parents
 * too; file 0600, written whole or not at all; if two processes make it at once, one wins and both read its
 * file). 0, or -1 with one line in err; a file of another length, no plain file, or one that others may read,
 * is an error and is left alone. */
int kl_keys_open(const char *dir, struct kl_keypair *out, char *err, size_t err_len);

#endif
