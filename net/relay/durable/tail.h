/* tail.h - the bytes of a room's tail (ROOMID.tail), which journal.h keeps beside its recording (ROOMID.klr,
 * net/RECORD.md): the part of a room that no recording has, keyed and private, and its frames since the
 * recording's last PIECES.
 *
 *     file     "keylock tail\0\0\0\0", u8 version, zeros up to 64 bytes; two slots of the same size
 *     slot     number u64; where the recording ended: byte u64, check (8), whole intervals u32, their end
 *              u32, their digest (16); mac (16); then records, and zeros
 *     record   u8 type, u16 length, body, mac (16)
 *
 *     TICKET   the room's record (lobby_ticket.h), sealed (net/session/seal.h); the last one counts
 *     FRAMES   a piece (net/engine/frames.h). Pieces may overlap each other and the recording
 *
 * A slot is zeroed, written whole, its mac last, and from then on grows in place; meanwhile the other one
 * counts. Of two good slots the one with the higher number is newer. A mac is SipHash-2-4-128, by half of a
 * key from the relay's long-term secret and the room's id: a slot's over the bytes before it, a record's over
 * the mac before it and the record. So no bytes are taken for a record that this relay did not write there,
 * and the slot vouches for the recording up to the check that it names. Integers little-endian.
 */
#ifndef KL_TAIL_H
#define KL_TAIL_H

#include "net/platform/slab.h"
#include "net/relay/room/journal_room.h"

#define KL_TAIL_VERSION 2
#define KL_TAIL_HEAD    64
#define KL_TAIL_MAC     16
#define KL_TAIL_BEFORE  3 /* bytes of a record before its body */
#define KL_TAIL_AROUND  (KL_TAIL_BEFORE + KL_TAIL_MAC)
#define KL_TAIL_BASE    (8 + 8 + KL_KLR_CHECK + 4 + 4 + KL_DIGEST) /* bytes of a slot before its mac */
#define KL_TAIL_SLOT    (192u * 1024)
#define KL_TAIL_BYTES   (KL_TAIL_HEAD + 2 * KL_TAIL_SLOT)

enum kl_tail_type { KL_TAIL_TICKET = 1, KL_TAIL_FRAMES };

/* A slot, and where its next record goes. */
struct kl_tail_slot {
    unsigned which; /* 0 or 1 */
    uint64_t number;
    size_t used;
    uint8_t mac[KL_TAIL_MAC];
};

struct kl_tail {
    uint8_t key[32];
    struct kl_slab slab;
    struct kl_tail_slot slot, before; /* before: while the slot is not whole */
    size_t dirty[2];                  /* bytes of each slot that may hold something */
    struct kl_tail_base base;         /* of the slot, until it counts */
};

void kl_tail_key(const uint8_t relay_secret[32], const uint8_t room_id[16], uint8_t key[32]);

/* A tail of this open file, new or read before, which it takes over. newest: its newest slot; NULL: there is
 * none. NULL with why, and the file is closed. */
struct kl_tail *kl_tail_make(const uint8_t key[32], const struct kl_file *file,
                             const struct kl_tail_slot *newest, char *why, size_t why_len);
void kl_tail_free(struct kl_tail *t); /* closes the file; NULL: nothing */
/* Begins the other slot. Records go there; kl_tail_keep() makes it count, kl_tail_drop() takes it back. False
 * if the disk fails. */
bool kl_tail_turn(struct kl_tail *t, const struct kl_tail_base *base);
bool kl_tail_keep(struct kl_tail *t);
void kl_tail_drop(struct kl_tail *t);
/* False: the slot has no place for it, or the disk fails. */
bool kl_tail_add(struct kl_tail *t, enum kl_tail_type type, const void *body, size_t len);

/* The file of a tail with this one slot; image: KL_TAIL_BYTES zeros. */
void kl_tail_image(uint8_t *image, const void *slot, size_t len);

/* Reads a slot, record by record. */
struct kl_tail_cursor {
    const uint8_t *key, *bytes; /* borrowed */
    size_t len;                 /* bytes of the slot that are there */
    size_t checked;             /* macs of records below are known to be right: for a second reading. 0 */
    struct kl_tail_slot slot;   /* behind the last good record */
    struct kl_tail_base base;
    uint8_t type; /* of the record read last */
    const uint8_t *body;
    size_t body_len;
};
/* The good slots of a file, the older one first; their number. wrong: the place of a torn or changed slot or
 * end, 0: there is none. */
unsigned kl_tail_open(struct kl_tail_cursor slot[2], const uint8_t key[32], const uint8_t *bytes, size_t len,
                      size_t *wrong);
/* False if no good record follows; then *wrong is the place of one that is torn or changed, if there is. */
bool kl_tail_next(struct kl_tail_cursor *c, size_t *wrong);
/* True if no slot of this file was ever kept. */
bool kl_tail_is_unwritten(const uint8_t *bytes, size_t len);
/* NULL if the file begins as a tail of this version; else what it is. */
const char *kl_tail_objection(const uint8_t *bytes, size_t len);

#endif
