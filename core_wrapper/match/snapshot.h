/* snapshot.h - the room's snapshots on this machine: takes a snapshot at a keyframe, reports its hash and
 * gives it to the relay; unpacks one that comes. Keeps its own newest states. heal.h loads them.
 * docs/design.md §5, net/PROTOCOL.md §7.
 *
 * Serializing runs in the core's thread; hashing, packing and unpacking in a thread beside it. */
#ifndef KLW_SNAPSHOT_H
#define KLW_SNAPSHOT_H

#include <stdbool.h>
#include <stdint.h>

#include <stdatomic.h>

#include "core_wrapper/match/own_states.h"
#include "core_wrapper/match/snapshot_form.h"
#include "net/engine/history.h"
#include "net/engine/msg.h"
#include "net/platform/thread.h"

struct kl_match;

#define KL_SNAPSHOT_LACKED 64 /* bytes, NUL included */

struct kl_snapshots {
    /* The thread's job; one at a time. A snapshot taken meanwhile does not wait for it. */
    struct {
        enum { KL_JOB_NONE, KL_JOB_HASH, KL_JOB_PACK, KL_JOB_UNPACK } kind;
        bool threaded;
        struct kl_thread thread;
        atomic_bool done;
        const uint8_t *in, *base; /* base: KL_JOB_PACK: the older snapshot to pack against, or NULL */
        size_t in_len, base_len;
        struct kl_offer offer; /* KL_JOB_UNPACK: the expected snapshot */
        uint8_t *freed;        /* freed after the job; or NULL */
        bool stale;            /* nobody wants it any more */
        uint8_t *out;          /* NULL: it came to nothing */
        size_t out_len;
        uint8_t hash[KL_SNAPSHOT_HASH];
    } job;

    struct {
        uint8_t *bytes; /* the newest that was taken here; NULL: the core gave none */
        size_t len;
        uint32_t frame;
        bool taken, said; /* said: or being hashed */
        bool asked;       /* the relay wants it */
        bool hashed;
        uint8_t hash[KL_SNAPSHOT_HASH];
    } own;

    /* The snapshot taken before `own`. The difference to it is smaller to give, if the relay has that one. */
    struct {
        uint8_t *bytes; /* NULL: none */
        size_t len;
        uint32_t frame;
        uint8_t hash[KL_SNAPSHOT_HASH];
    } before;
    struct kl_ask ask; /* own.asked: the relay's question */

    struct kl_outside outside;       /* this machine's, as collected last */
    char lacked[KL_SNAPSHOT_LACKED]; /* why the room's state was not loaded, for a screen; "": it was */
    struct kl_own_states mine;       /* as snapshots, but of the keyframe's beginning: before its commands */

    struct {
        uint8_t *bytes; /* unpacked and checked, to be loaded; NULL: none */
        size_t len;
        struct kl_offer offer;
    } got;

    /* Going back to a state of the past (heal.h). */
    struct {
        bool running;           /* frames [at, end) are to be run again */
        bool own;               /* from an own state; else from a snapshot of the room's */
        bool lost;              /* the relay has lost the frames from `keyframe` on; others follow there */
        uint32_t rate;          /* the core's before, millionths of a hertz */
        uint32_t from, at, end; /* the state's frame; the next one; the first that was not run before */
        uint32_t keyframe;      /* of OFFER or REWIND */
        uint8_t how;
        struct kl_history_cursor past;
    } back;
};

/* True if this room's machines give each other states: neither the profile nor the core says otherwise. */
bool kl_snapshot_given(const struct kl_match *m);
/* The SNAPSHOT command, before this frame: serializes, and loads the state again if the room's cores need
 * that. */
void kl_snapshot_take(struct kl_match *m, uint32_t frame);
/* A marked keyframe: the core was serialized for its hash, into m->play.buffer. Keeps that as an own state.
 */
void kl_snapshot_keep(struct kl_match *m, uint32_t frame);
/* All of this machine before that frame and its commands: the core's state is in m->play.buffer. bytes: of
 * malloc. False: it cannot be kept. */
bool kl_snapshot_machine(struct kl_match *m, uint32_t frame, uint8_t **bytes, size_t *len,
                         struct kl_fileset **files);
/* The room's slot has another save: own states from before are of no use, since frames after them may load
 * the old one. */
void kl_snapshot_forget_own(struct kl_match *m);
/* Once a call, in the game and in a room: says and gives as far as it is due. */
void kl_snapshot_turn(struct kl_match *m);
/* The state that has come, or is being unpacked, is of a frame that was lost with the relay's record: the
 * room never had it. */
void kl_snapshot_drop_got(struct kl_match *m);
/* Tells the relay the result of a healing. */
void kl_snapshot_say_healed(struct kl_match *m, struct kl_healed h);
/* True while a snapshot is loaded or the frames after it are still to run: the core is not at the room's
 * frame. */
bool kl_snapshot_busy(struct kl_match *m);

/* Nothing is under way; all is freed. Waits for the thread. */
void kl_snapshot_clear(struct kl_match *m);

/* The files that a snapshot needed and this machine lacks, in words; "": none. */
const char *kl_snapshot_lacked(const struct kl_match *m);

#endif
