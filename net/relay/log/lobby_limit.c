#include "net/relay/log/lobby_limit.h"

#include <string.h>

#define ONE       1000U
#define MINUTE_US 60000000U

static void leak(struct kl_bucket *b, unsigned per_min, uint64_t now_us) {
    uint64_t gone = now_us > b->at_us ? (now_us - b->at_us) * per_min / (MINUTE_US / ONE) : 0;
    if (gone == 0 && b->level > 0) return; /* at_us stays, so that small steps add up */
    b->level = gone < b->level ? b->level - (uint32_t)gone : 0;
    b->at_us = now_us;
}

bool kl_bucket_take(struct kl_bucket *b, unsigned per_min, uint64_t now_us) {
    leak(b, per_min, now_us);
    if (b->level + ONE > per_min * ONE) return false;
    b->level += ONE;
    return true;
}

unsigned kl_bucket_wait_s(struct kl_bucket *b, unsigned per_min, uint64_t now_us) {
    leak(b, per_min, now_us);
    if (b->level + ONE <= per_min * ONE) return 0;
    if (per_min == 0) return 60;
    uint64_t over = b->level + ONE - per_min * ONE;
    return (unsigned)((over * 60 + per_min * ONE - 1) / (per_min * ONE));
}

struct kl_trier *kl_triers_of(struct kl_triers *t, const char *host, uint64_t now_us) {
    struct kl_trier *oldest = &t->at[0];
    for (unsigned i = 0; i < KL_TRIERS; i++) {
        struct kl_trier *at = &t->at[i];
        if (strcmp(at->host, host) == 0) {
            at->used_us = now_us;
            return at;
        }
        if (at->used_us < oldest->used_us) oldest = at;
    }
    *oldest = (struct kl_trier){.used_us = now_us};
    strncpy(oldest->host, host, sizeof oldest->host - 1);
    return oldest;
}

void kl_address_host(char out[KL_ADDRESS_MAX], const char *address) {
    size_t len = strcspn(address, ":");
    if (len > KL_ADDRESS_MAX - 1) len = KL_ADDRESS_MAX - 1;
    memcpy(out, address, len);
    out[len] = 0;
}
