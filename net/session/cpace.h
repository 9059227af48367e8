/* cpace.h - CPace, a balanced password-authenticated key exchange: suite CPACE-RISTR255-SHA512 of
 * draft-irtf-cfrg-cpace, initiator-responder setting, with its explicit key confirmation. door.h uses it.
 *
 * Pure but for libsodium. The fields' names are the draft's; each is shorter than 128 bytes here. */
#ifndef KL_CPACE_H
#define KL_CPACE_H

#include <stddef.h>
#include <stdint.h>

struct kl_cpace_text {
    const void *bytes;
    size_t len; /* < 128 */
};

/* calculate_generator: a point that cannot be found without PRS. */
void kl_cpace_generator(uint8_t g[32], struct kl_cpace_text prs, struct kl_cpace_text ci,
                        struct kl_cpace_text sid);

/* Y = y * g. 0, or -1 if g is no point. */
int kl_cpace_share(uint8_t share[32], const uint8_t scalar[32], const uint8_t g[32]);

/* The messages of both ends, in the draft's order: A spoke first. */
struct kl_cpace_said {
    const uint8_t *ya, *yb; /* 32 bytes each */
    struct kl_cpace_text ada, adb;
};

/* ISK from one's own scalar and the other's share (said.ya or said.yb). 0, or -1 if that share is no point of
 * the group in its one encoding, or the neutral one: stop then. */
int kl_cpace_isk(uint8_t isk[64], const uint8_t scalar[32], const uint8_t theirs[32],
                 struct kl_cpace_text sid, const struct kl_cpace_said *said);

/* The confirmation tags Ta and Tb: HMAC-SHA-512 under SHA-512("CPaceMac" || sid || ISK), each over its
 * sender's message; the first 16 bytes of each. */
void kl_cpace_tags(uint8_t ta[16], uint8_t tb[16], const uint8_t isk[64], struct kl_cpace_text sid,
                   const struct kl_cpace_said *said);

#endif
