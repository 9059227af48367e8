/* journal_whole.h - the frames that the bytes of a journal prove, read record by record. Used by tests/unit
 * and tests/rooms. net/relay/durable/journal_file.h. */
#ifndef TEST_JOURNAL_WHOLE_H
#define TEST_JOURNAL_WHOLE_H

#include "net/engine/engine.h"
#include "net/relay/durable/journal_file.h"

/* The frames that whole records hold, from 0 on; *end: these records end there. 0 also if it is none of this
 * relay's journals. */
uint32_t journal_whole_frames(const uint8_t relays_secret[32], const uint8_t *bytes, size_t len,
                              uint64_t *end);

#endif
