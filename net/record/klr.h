/* klr.h - a recording: the bytes of a .klr file. net/RECORD.md is its standard.
 *
 * Eight bytes of magic, then blocks one after the other: u32 length of body, u8 type, body, check (8).
 * A check is the first half of a BLAKE2b-128 of (u64 position of the block in the file, u8 type, body, the
 * check before); the magic stands for the check before the first. So a block that was changed, lost, moved
 * or swapped shows, and the blocks before it are good. Integers little-endian.
 *
 * A check shows damage, not forgery: anybody can compute it. Pure but for libsodium; nothing is owned. */
#ifndef KL_KLR_H
#define KL_KLR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KL_KLR_MAGIC    8
#define KL_KLR_CHECK    8
#define KL_KLR_BEFORE   5 /* bytes of a block before its body */
#define KL_KLR_AROUND   (KL_KLR_BEFORE + KL_KLR_CHECK)
#define KL_KLR_BODY_MAX (32u << 20)

/* klr_body.h has the bodies. A reader passes over types that it does not know. */
enum kl_klr_type {
    KL_KLR_HEAD = 1,
    KL_KLR_ROOM,
    KL_KLR_START,
    KL_KLR_SNAPSHOT,
    KL_KLR_PIECES,
    KL_KLR_DIGEST,
    KL_KLR_HASH,
    KL_KLR_EVENT,
    KL_KLR_END,
    KL_KLR_SEAL,
    KL_KLR_SIGN
};

extern const uint8_t kl_klr_magic[KL_KLR_MAGIC];

/* Between two blocks. */
struct kl_klr_place {
    uint64_t at; /* byte of the file */
    uint8_t check[KL_KLR_CHECK];
};
struct kl_klr_place kl_klr_begin(void); /* behind the magic */

/* The check of a block at p. */
void kl_klr_check(const struct kl_klr_place *p, uint8_t type, const void *body, size_t len,
                  uint8_t check[KL_KLR_CHECK]);
/* The bytes around a body at p, and p moves behind the block. */
struct kl_klr_around {
    uint8_t before[KL_KLR_BEFORE], check[KL_KLR_CHECK];
};
struct kl_klr_around kl_klr_around(struct kl_klr_place *p, enum kl_klr_type type, const void *body,
                                   uint32_t len);

/* Reads block by block. */
struct kl_klr_cursor {
    const uint8_t *bytes; /* of the whole file, borrowed */
    uint64_t len;
    uint64_t checked;          /* checks of blocks below are known to be right: for a second reading. 0 */
    struct kl_klr_place place; /* behind the last good block */
    uint8_t type;              /* of the block read last; at damage: as its bytes say, 0 where they end */
    const uint8_t *body;
    uint32_t body_len;
};
/* False: the file does not begin with the magic. */
bool kl_klr_open(struct kl_klr_cursor *c, const uint8_t *bytes, uint64_t len);
enum kl_klr_next {
    KL_KLR_WHOLE,  /* the file ends behind a block */
    KL_KLR_BLOCK,  /* the next one is read */
    KL_KLR_TORN,   /* the file ends within the block at c->place.at */
    KL_KLR_DAMAGED /* that block's check is wrong, or its length is above KL_KLR_BODY_MAX */
};
enum kl_klr_next kl_klr_next(struct kl_klr_cursor *c);

/* "PIECES"; "?" for a type that is not known. */
const char *kl_klr_type_name(uint8_t type);

#endif
