/* journal_whole.h - the frames that a room's two files prove, read block by block and record by record. Used
 * by tests/unit and tests/rooms. net/relay/durable/journal.h. */
#ifndef TEST_JOURNAL_WHOLE_H
#define TEST_JOURNAL_WHOLE_H

#include "net/engine/engine.h"
#include "net/relay/durable/journal_private.h"
#include "net/relay/durable/tail.h"
#include "net/relay/room/lobby_room.h"

/* The bytes of ROOMID.klr and ROOMID.tail. */
struct journal_bytes {
    const uint8_t *recording, *tail;
    size_t recording_len, tail_len;
};

/* The frames from 0 on; 0 also if the room cannot come of these bytes: no ticket, no start data, or none of
 * this relay's. good: the recording's good part ends there; NULL: it does not matter. */
uint32_t journal_whole_frames(const uint8_t relays_secret[32], const uint8_t id[KL_STORE_ID],
                              const struct journal_bytes *b, uint64_t *good);

/* Reads the rooms that nobody has come back to. */
void journal_read_rooms(struct kl_lobby *l, uint64_t now_us);

#endif
