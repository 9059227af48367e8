/* record_rule.h - the rule for a client that comes back to a room, by what the relay's record of the match
 * covers. docs/design.md, Loss of the relay; net/ROOMS.md §7, Kept seats.
 *
 * Pure: facts come in, the decision goes out. Digests are bytes here; net/session/digest.h computes them, and
 * the relay and each client do so for themselves. So a lie gains nothing: a client that claims an older state
 * runs frames again that it has, and one with another digest than its frames have is sent further back.
 *
 * Frames count from 0. The record covers frames [0, end). After a power cut, on a full disk or behind a
 * journal's limit a client may have run frames that the record lacks, and the room goes on with others in
 * their place. */
#ifndef KL_RECORD_RULE_H
#define KL_RECORD_RULE_H

#include <stdbool.h>
#include <stdint.h>

#define KL_RECORD_DIGEST 16
#define KL_RECORD_STATES 8 /* own states that a client may claim */

/* A place in the match: the end of so many whole intervals, and the digest of all frames before it. */
struct kl_record_mark {
    uint32_t intervals;
    uint8_t digest[KL_RECORD_DIGEST];
};

enum kl_record_match {
    KL_RECORD_UNKNOWN, /* the relay cannot tell any more, or the record ends before */
    KL_RECORD_OTHER,
    KL_RECORD_SAME
};
/* Compares two digests of the same place. ours: NULL: the relay does not know it. */
enum kl_record_match kl_record_match(const uint8_t *ours, const uint8_t *theirs);

struct kl_record_facts {
    uint32_t end;               /* the record covers frames [0, end) */
    bool complete;              /* no frame that went to a client was lost since: digests do not matter */
    bool fresh;                 /* the client is a new process, or had not loaded when its session ended */
    uint32_t have;              /* the client has run frames below */
    enum kl_record_match match; /* its frames below `have`, with the record's */
    bool can_catch_up;          /* from `have` on */
    uint32_t state;             /* keyframe of its newest own state that the record covers, with frames
                                 * behind it: if all clients stood at its end, no frame would ever
                                 * tell them how to go on; 0: none */
    bool state_can_catch_up;    /* from `state` on */
};

enum kl_record_rule {
    KL_RECORD_GO_ON,  /* the client has all frames of the record */
    KL_RECORD_FRAMES, /* it gets the record's frames from `have` on */
    KL_RECORD_BACK,   /* it goes back to its own state of keyframe `state`, and runs on from there */
    KL_RECORD_ANEW    /* it begins anew from the start data, or its seat ends if that is not kept */
};
enum kl_record_rule kl_record_rule(const struct kl_record_facts *f);

/* Why a client that cannot begin anew is put out: one line for people. */
const char *kl_record_why(const struct kl_record_facts *f);

#endif
