/* record.h - the files of a room's session for testers, in the formats of `keylock run`: KEYLOCK_HASH_OUT
 * (lines "FRAME RAM STATE" at the room's hash frames), KEYLOCK_TRACE (a CSV line for each retro_run),
 * KEYLOCK_RECORD (recording.h); with the configuration's `states` the last hashed states at a desync
 * (desync.h). Also two lines in the frontend's log, at frame 0 and at the end. A headless runner writes its
 * own files. */
#ifndef KLW_RECORD_H
#define KLW_RECORD_H

#include <stdatomic.h>

#include "core_wrapper/abi/wrapper_api.h"
#include "core_wrapper/frontend/frontend.h"
#include "core_wrapper/record/desync.h"
#include "core_wrapper/record/recording.h"
#include "core_wrapper/start/sums.h"
#include "core_wrapper/words/config.h"
#include "net/engine/command.h"
#include "net/engine/lock_client.h"
#include "net/transport/link.h"

/* A thread writes the states at a desync. */
struct kl_record_states {
    struct kl_thread thread;
    bool runs;
    atomic_bool done;
    struct kl_keep keep;
    struct kl_origin origin;
    int written;
    char why[256];
};

/* No call waits for a disk but kl_record_open(), kl_record_begin() and kl_record_end(). */
struct kl_record {
    /* handed in by kl_record_init() */
    struct kl_frontend *front;
    struct kl_emulator *emu;
    const struct kl_config *config;
    const char *room; /* its name */
    const struct kl_participant_status *status;
    struct kl_sums *sums;         /* has read the content */
    const struct kl_facts *facts; /* of identity, as the room knows them */
    /* its own */
    struct kl_spool hashes, trace;
    bool told_failed; /* a file cannot be written */
    uint64_t begin_us;
    bool begun;
    struct kl_recorder recorder;
    uint8_t seats[KL_MAX_CLIENTS]; /* as the recording says */
    struct kl_keep keep;
    struct kl_record_states states;
    bool states_again; /* another desync came while a thread wrote the states */
    struct kl_corrupt corrupt;
    bool planted_once;       /* also if this machine replays the history from frame 0 later */
    struct kl_origin origin; /* of this session's states */
    bool owed;               /* the caller's: the states at a parting are to be written, once they are here */
};

/* Before anything else: records are of this match. All is borrowed. */
void kl_record_init(struct kl_record *r, struct kl_frontend *front, struct kl_emulator *emu,
                    const struct kl_config *config, const char *room,
                    const struct kl_participant_status *status, struct kl_sums *sums,
                    const struct kl_facts *facts);

/* Whether matches are recorded: `record` names a folder or a file, or is on. */
bool kl_record_wanted(const struct kl_config *c);
void kl_record_open(struct kl_record *r);
/* Frame 0 is next. start: the room's start data, or NULL. */
void kl_record_begin(struct kl_record *r, const uint8_t *start, size_t len);
/* A frame is next. True: a state was loaded, with a
 * planted byte. */
bool kl_record_frame(struct kl_record *r, const struct kl_frame *f);
/* Hashes that were taken of this state. */
void kl_record_hash(struct kl_record *r, const struct klw_hash *h, const void *state, size_t bytes);
/* SNAPSHOT among the frame's commands made the core serialize, and load its own state again. */
void kl_record_serialized(struct kl_record *r, uint32_t frame, bool loaded);
/* The run begins with a state of the room. */
void kl_record_snapshot(struct kl_record *r, const struct kl_offer *o);
/* Before that frame the core was changed by something that no recording holds. */
void kl_record_alien(struct kl_record *r, uint32_t frame, const char *why);
/* The hashes differ somewhere: a thread writes the kept states. */
void kl_record_desync(struct kl_record *r);
void kl_record_turn(struct kl_record *r, uint64_t at_us, const struct klw_report *report);
/* Finishes the files, and writes the closing line if frames were run. A second call does nothing. */
struct kl_record_sum {
    uint32_t frames;
    uint64_t stalls, stall_longest_us;
    int64_t desync_first; /* frame; -1: there was none */
};
void kl_record_close(struct kl_record *r, const struct kl_record_sum *sum);
/* Waits until all is on the disk; no thread is left. */
void kl_record_end(struct kl_record *r);

#endif
