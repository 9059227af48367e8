/* door.h - a room's password: proved by both ends without telling it. net/PROTOCOL.md §9.
 *
 *   client                                          relay (holds salt and secret of the room)
 *                                                   <-  DOOR prove: salt, the relay's share
 *   secret = kl_door_stretch(password, salt)
 *   PROVE: the client's share, its mac              ->
 *                                                   <-  PROVED: the relay's mac
 *
 * CPace over the stretched secret and the session's binding: an eavesdropper learns nothing, a false end can
 * test one guess a run, and a proof is valid in its own session only. The relay counts failed runs.
 * The relay's secret opens this room like the password, and allows guessing the password at Argon2id's
 * price: it is kept like a key.
 *
 * Pure but for libsodium, and but for the memory of the stretching. */
#ifndef KL_DOOR_H
#define KL_DOOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* CPace, a balanced password-authenticated key exchange: suite CPACE-RISTR255-SHA512 of
 * draft-irtf-cfrg-cpace, initiator-responder setting, with its explicit key confirmation. kl_door uses it.
 *
 * Pure but for libsodium. The fields' names are the draft's; each is shorter than 128 bytes here. */

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

#define KL_DOOR_PASSWORD_MAX 128 /* bytes, at least 1; any but NUL, compared as they are */
#define KL_DOOR_SALT         16  /* random, made by the relay with the room */
#define KL_DOOR_SECRET       32
#define KL_DOOR_SHARE        32
#define KL_DOOR_MAC          16

/* Argon2id, libsodium's INTERACTIVE limits (2 passes over 64 MiB): some 0.1 s, and 64 MiB from the system
 * meanwhile: never in a thread that frames wait for. 0; KL_E_SPACE without memory; KL_E_MALFORMED for a
 * password that is empty or too long. */
int kl_door_stretch(const char *password, const uint8_t salt[KL_DOOR_SALT], uint8_t secret[KL_DOOR_SECRET]);

/* One run of one end. */
enum kl_door_end { KL_DOOR_RELAY, KL_DOOR_CLIENT };
struct kl_door {
    uint8_t end; /* enum kl_door_end */
    uint8_t scalar[32], binding[32];
    uint8_t share[KL_DOOR_SHARE]; /* to be sent */
};
/* binding: of the session's keys (seal.h). */
void kl_door_begin(struct kl_door *d, enum kl_door_end end, const uint8_t secret[KL_DOOR_SECRET],
                   const uint8_t binding[32]);

struct kl_door_macs {
    uint8_t own[KL_DOOR_MAC];      /* to be sent */
    uint8_t expected[KL_DOOR_MAC]; /* from an other end that knows the password */
};
/* 0, or KL_E_MALFORMED if theirs is no share: the run has failed. d is used up and forgotten in any case. */
int kl_door_finish(struct kl_door *d, const uint8_t theirs[KL_DOOR_SHARE], struct kl_door_macs *out);

/* In constant time. */
bool kl_door_mac_equal(const uint8_t a[KL_DOOR_MAC], const uint8_t b[KL_DOOR_MAC]);

#endif
