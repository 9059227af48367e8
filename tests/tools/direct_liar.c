/* direct_liar.c - a library that is preloaded into `keylock run`: its straight datagrams (net/PROTOCOL.md §7)
 * leave with false buttons, sealed by its own keys. All else that it says is true. */
#include <dlfcn.h>
#include <stdint.h>
#include <string.h>

#include <sodium.h>

#define KIND    5 /* of a sealed datagram, in its second byte */
#define SAMPLES 5 /* of the body: behind first and count */
#define MOST    256

typedef int encrypt(unsigned char *, unsigned long long *, const unsigned char *, unsigned long long,
                    const unsigned char *, unsigned long long, const unsigned char *, const unsigned char *,
                    const unsigned char *);

/* Left and right by turns, and B: another picture each frame. */
static void lie(uint8_t *body, size_t len) {
    for (size_t at = SAMPLES; at + 1 < len; at += 2)
        body[at] ^= (body[0] + (at - SAMPLES) / 2) & 1 ? 0x41 : 0x81;
}

__attribute__((visibility("default"))) int
crypto_aead_chacha20poly1305_ietf_encrypt(unsigned char *c, unsigned long long *c_len, const unsigned char *m,
                                          unsigned long long len, const unsigned char *ad,
                                          unsigned long long ad_len, const unsigned char *unused,
                                          const unsigned char *nonce, const unsigned char *key) {
    static encrypt *real;
    uint8_t body[MOST];
    if (!real) *(void **)&real = dlsym(RTLD_NEXT, "crypto_aead_chacha20poly1305_ietf_encrypt");
    if (ad_len < 2 || ad[1] != KIND || len > sizeof body)
        return real(c, c_len, m, len, ad, ad_len, unused, nonce, key);
    memcpy(body, m, len);
    lie(body, len);
    return real(c, c_len, body, len, ad, ad_len, unused, nonce, key);
}
