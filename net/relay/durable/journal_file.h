/* journal_file.h - the bytes of a room's journal, which journal.h writes and loads.
 *
 * A head, then records one after the other:
 *
 *     head     "keylock journal\0", u8 version, room id (16), mac (16)
 *     record   u32 length of body, u8 type, body, mac (16)
 *
 * A mac is keyed BLAKE2b-128 of (u64 position in the file, u8 type, body), by a key from the relay's
 * long-term secret and the room's id: no bytes that this relay did not write there are taken for a record. A
 * cut or a changed byte ends the journal at the last whole record before it. Integers little-endian.
 *
 *     TICKET   the room's record (lobby_ticket.h), sealed (net/session/ticket.h); the last one counts
 *     START    the start data as they are
 *     FRAMES   a piece (net/engine/frames.h). Pieces may overlap
 *     MARK     the frames of the last 17 s or so once more, in few pieces, so that hours load in
 *              milliseconds: u64 byte of the file (frames from the mark's end on stand in records from
 *              there on), u32 first frame (end of the mark before; 0), u32 its interval, u16 count of
 *              intervals, the digest at its end (net/session/digest.h); then (u16 length, piece) up to the
 *              end. Whole intervals
 *
 * Pure but for libsodium; nothing is owned. */
#ifndef KL_JOURNAL_FILE_H
#define KL_JOURNAL_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KL_JOURNAL_VERSION 2
#define KL_JOURNAL_ID      16
#define KL_JOURNAL_MAC     16
#define KL_JOURNAL_MAGIC   16
#define KL_JOURNAL_HEAD    (KL_JOURNAL_MAGIC + 1 + KL_JOURNAL_ID + KL_JOURNAL_MAC)
#define KL_JOURNAL_BEFORE  5 /* of a record, before its body */
#define KL_JOURNAL_AROUND  (KL_JOURNAL_BEFORE + KL_JOURNAL_MAC)

enum kl_journal_type { KL_JOURNAL_TICKET = 1, KL_JOURNAL_START, KL_JOURNAL_FRAMES, KL_JOURNAL_MARK };

void kl_journal_key(const uint8_t relay_secret[32], const uint8_t id[KL_JOURNAL_ID], uint8_t key[32]);

void kl_journal_head(const uint8_t key[32], const uint8_t id[KL_JOURNAL_ID], uint8_t out[KL_JOURNAL_HEAD]);
/* Finds the journal's relay. 0; KL_E_MALFORMED: none at all, torn in its head, or another relay's;
 * KL_E_VERSION. */
int kl_journal_head_open(const uint8_t relay_secret[32], const uint8_t *bytes, size_t len,
                         uint8_t id[KL_JOURNAL_ID]);

/* The record with this body, which begins `at` bytes from the file's begin: before, body, mac. */
void kl_journal_record(const uint8_t key[32], uint64_t at, enum kl_journal_type type, const void *body,
                       uint32_t len, uint8_t before[KL_JOURNAL_BEFORE], uint8_t mac[KL_JOURNAL_MAC]);

/* Reads record by record. bytes: of the whole file, borrowed. */
struct kl_journal_cursor {
    const uint8_t *key, *bytes;
    uint64_t len, at; /* at: behind the last whole record */
    uint64_t checked; /* macs of records below are known to be right: for a second reading. 0 */
    uint8_t type;
    const uint8_t *body;
    uint32_t body_len;
};
void kl_journal_seek(struct kl_journal_cursor *c, const uint8_t key[32], const uint8_t *bytes, uint64_t len);
/* False if no whole record follows; then c is unchanged. */
bool kl_journal_next(struct kl_journal_cursor *c);
/* The same, but its mac is not looked at. */
bool kl_journal_hop(struct kl_journal_cursor *c);
/* Whether the mac of the record that this hop came to is right. */
bool kl_journal_is_right(const struct kl_journal_cursor *c);

#endif
