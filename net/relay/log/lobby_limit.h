/* lobby_limit.h - limits of rate: leaky buckets, and buckets by address. Pure. */
#ifndef KL_LOBBY_LIMIT_H
#define KL_LOBBY_LIMIT_H

#include <stdbool.h>
#include <stdint.h>

/* Holds a minute's worth, and leaks as much in a minute. All zero: empty. */
struct kl_bucket {
    uint32_t level; /* thousandths of one */
    uint64_t at_us;
};
/* True if one more fits; it is then counted. */
bool kl_bucket_take(struct kl_bucket *b, unsigned per_min, uint64_t now_us);
/* Seconds until one more fits, rounded up; 0: now. */
unsigned kl_bucket_wait_s(struct kl_bucket *b, unsigned per_min, uint64_t now_us);

/* Buckets of wrong tries by address; the one longest unused makes way. */
#define KL_ADDRESS_MAX 24 /* bytes of an IPv4 address (and port) as text */
#define KL_TRIERS      256
struct kl_triers {
    struct kl_trier {
        char host[KL_ADDRESS_MAX];
        struct kl_bucket wrong;
        bool failed; /* it has been wrong */
        uint64_t used_us;
    } at[KL_TRIERS];
};
/* host: without the port. */
struct kl_trier *kl_triers_of(struct kl_triers *t, const char *host, uint64_t now_us);

/* "192.0.2.1" of "192.0.2.1:5". */
void kl_address_host(char out[KL_ADDRESS_MAX], const char *address);

#endif
