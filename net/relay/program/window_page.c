/* The page of --http: page.html, and the policy by which a browser runs its own style and script alone. */
#include <stdio.h>
#include <string.h>

#include <sodium.h>

#include "net/relay/program/window.h"

#ifdef _WIN32 /* it has no --http */
static const char kl_window_page_begin[] = "";
#else
/* The file becomes part of the program: GNU as, .incbin. */
__asm__(".section .rodata\n"
        "kl_window_page_begin:\n"
        ".incbin \"net/relay/program/page.html\"\n"
        ".byte 0\n"
        ".previous\n");
extern const char kl_window_page_begin[] __attribute__((visibility("hidden")));
#endif

const char *kl_window_page(size_t *len) {
    *len = strlen(kl_window_page_begin);
    return kl_window_page_begin;
}

/* 'sha256-…' of the bytes between two tags (CSP level 3, §8.4). */
static void hash_between(const char *from, const char *to, char out[64]) {
    uint8_t hash[crypto_hash_sha256_BYTES];
    const char *begin = strstr(kl_window_page_begin, from), *end = begin ? strstr(begin, to) : NULL;
    *out = 0;
    if (!end) return;
    begin += strlen(from);
    crypto_hash_sha256(hash, (const uint8_t *)begin, (size_t)(end - begin));
    strcpy(out, "'sha256-");
    sodium_bin2base64(out + strlen(out), 48, hash, sizeof hash, sodium_base64_VARIANT_ORIGINAL);
    strcat(out, "'");
}

const char *kl_window_policy(void) {
    static char policy[320];
    char style[64], script[64];
    if (*policy) return policy;
    hash_between("<style>", "</style>", style);
    hash_between("<script>", "</script>", script);
    snprintf(policy, sizeof policy,
             "default-src 'none'; style-src %s; script-src %s; connect-src 'self'; base-uri 'none'; "
             "form-action 'none'; frame-ancestors 'none'",
             style, script);
    return policy;
}
