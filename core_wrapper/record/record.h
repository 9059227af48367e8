/* record.h - the files of a room's session for testers, in the formats of `keylock run`: KEYLOCK_HASH_OUT
 * (lines "FRAME RAM STATE" at the room's hash frames), KEYLOCK_TRACE (a CSV line for each retro_run),
 * KEYLOCK_RECORD (recording.h); with the configuration's `states` the last hashed states at a desync
 * (keep.h). Also two lines in the frontend's log, at frame 0 and at the end. A headless runner writes its
 * own files. */
#ifndef KLW_RECORD_H
#define KLW_RECORD_H

#include "net/engine/command.h"
#include "net/engine/lock_client.h"
#include "core_wrapper/abi/wrapper_api.h"

void kl_record_open(void);
void kl_record_begin(void); /* frame 0 is next */
/* A frame is next: its inputs, and the hash of RAM after the one before. */
void kl_record_frame(const struct kl_frame *f);
/* Hashes that were taken of the state that kl_w.play.buffer holds. */
void kl_record_hash(const struct klw_hash *h);
void kl_record_command(const struct kl_command *c, uint32_t frame);
/* Before that frame the core was changed by something that no recording holds. */
void kl_record_alien(uint32_t frame, const char *why);
/* The hashes differ somewhere: the kept states are written. */
void kl_record_desync(void);
void kl_record_turn(uint64_t at_us, const struct klw_report *r);
/* record_run.c's share of begin, hash and close. */
void kl_record_run_begin(void);
void kl_record_run_hash(const struct klw_hash *h);
void kl_record_run_end(void);
/* Writes the closing line if frames were run, and closes the files. A second call does nothing. */
void kl_record_close(void);

#endif
