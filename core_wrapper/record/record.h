/* record.h - the files of a room's session for testers, in the formats of `keylock run`: KEYLOCK_HASH_OUT
 * (lines "FRAME RAM STATE" at the room's hash frames), KEYLOCK_TRACE (a CSV line for each retro_run),
 * KEYLOCK_RECORD (recording.h); with the configuration's `states` the last hashed states at a desync
 * (keep.h). Also two lines in the frontend's log, at frame 0 and at the end. A headless runner writes its
 * own files. */
#ifndef KLW_RECORD_H
#define KLW_RECORD_H

#include <stdio.h>

#include "core_wrapper/abi/wrapper_api.h"
#include "core_wrapper/frontend/frontend.h"
#include "core_wrapper/record/corrupt.h"
#include "core_wrapper/record/keep.h"
#include "core_wrapper/record/recording.h"
#include "core_wrapper/words/config.h"
#include "net/engine/command.h"
#include "net/engine/lock_client.h"
#include "net/transport/link.h"

struct kl_record {
    /* handed in by kl_record_init() */
    struct kl_frontend *front;
    struct kl_emulator *emu;
    const struct kl_config *config;
    const struct kl_stay_status *status;
    /* its own */
    FILE *hashes, *trace;
    uint64_t begin_us;
    bool begun;
    struct kl_recorder recorder;
    struct kl_keep keep;
    struct kl_corrupt corrupt;
    bool planted_once;       /* also if this machine replays the history from frame 0 later */
    struct kl_origin origin; /* of this session's states */
    bool owed;               /* the caller's: the states at a parting are to be written, once they are here */
};

/* Before anything else: records are of this match. All is borrowed. */
void kl_record_init(struct kl_record *r, struct kl_frontend *front, struct kl_emulator *emu,
                    const struct kl_config *config, const struct kl_stay_status *status);

void kl_record_open(struct kl_record *r);
/* Frame 0 is next. start: the room's start data, or NULL. */
void kl_record_begin(struct kl_record *r, const uint8_t *start, size_t len);
/* A frame is next: its inputs, and the hash of RAM after the one before. */
void kl_record_frame(struct kl_record *r, const struct kl_frame *f);
/* Hashes that were taken of this state. */
void kl_record_hash(struct kl_record *r, const struct klw_hash *h, const void *state, size_t bytes);
/* A command of the room. snapshot: what SNAPSHOT did to the core. */
enum kl_record_snapshot { KL_RECORD_NONE, KL_RECORD_SAVED, KL_RECORD_LOADED };
void kl_record_command(struct kl_record *r, const struct kl_command *c, uint32_t frame,
                       enum kl_record_snapshot snapshot);
/* Before that frame the core was changed by something that no recording holds. */
void kl_record_alien(struct kl_record *r, uint32_t frame, const char *why);
/* The hashes differ somewhere: the kept states are written. */
void kl_record_desync(struct kl_record *r);
void kl_record_turn(struct kl_record *r, uint64_t at_us, const struct klw_report *report);
/* record_run.c's share of begin, hash and close. */
void kl_record_run_begin(struct kl_record *r, const uint8_t *start, size_t len);
void kl_record_run_hash(struct kl_record *r, const struct klw_hash *h, const void *state, size_t bytes);
void kl_record_run_end(struct kl_record *r);
/* Closes the files, and writes the closing line if frames were run. A second call does nothing. */
struct kl_record_sum {
    uint32_t frames;
    uint64_t stalls, stall_longest_us;
    int64_t desync_first; /* frame; -1: there was none */
};
void kl_record_close(struct kl_record *r, const struct kl_record_sum *sum);

#endif
