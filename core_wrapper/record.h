/* record.h - what a room's session leaves for testers: KEYLOCK_HASH_OUT (lines "FRAME RAM STATE" at the
 * room's hash frames) and KEYLOCK_TRACE (a CSV line per retro_run), the formats of `keylock run`; and two
 * lines in the frontend's log, at frame 0 and at the end. A headless runner writes its own files. */
#ifndef KLW_RECORD_H
#define KLW_RECORD_H

#include "wrapper_api.h"

void kl_record_open(void);
void kl_record_begin(void); /* frame 0 is next */
void kl_record_hash(const struct klw_hash *h);
void kl_record_turn(uint64_t at_us, const struct klw_report *r);
/* Writes the closing line where frames were run, and closes the files. Harmless twice. */
void kl_record_close(void);

#endif
