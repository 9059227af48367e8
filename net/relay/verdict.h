/* verdict.h - compares the hashes that a room's clients report for marked keyframes. docs/design.md §6.
 *
 * Pure, of fixed size, caller-allocated. The caller says which labels are expected (the room marks them), who
 * reported what, and who is present; and fetches the verdicts that are due.
 *
 * A label is open, and all before it are, once all clients that are waited for have reported, or the first
 * did KL_REPORT_WAIT_US ago. Nothing is said of a label before it is open. So no client can learn anything of
 * the others' reports before its own is in or its time is up. A later report is late: it is compared, but has
 * no vote.
 *
 * A verdict of an open label is due when all who are present have reported; when the first difference shows,
 * and again when it is complete; incomplete when somebody has kept silent for KL_VERDICT_WAIT_US. */
#ifndef KL_VERDICT_H
#define KL_VERDICT_H

#include "net/engine/msg.h"

/* Labels kept: a label is at a keyframe, and clients are within KL_WINDOW_FRAMES of each other. */
#define KL_VERDICT_LABELS  KL_WINDOW_FRAMES
#define KL_REPORT_WAIT_US  (1 * 1000000) /* after the first report */
#define KL_VERDICT_WAIT_US (3 * 1000000) /* the same */

/* Who is in the game, and whose word counts: the majority of voters is right; without one those who agree
 * with the judge, else with the host. KL_MAX_CLIENTS for judge or host: there is none. In naming the minority
 * all who have reported are voters where no voter has. */
struct kl_verdict_court {
    uint16_t present, voters; /* bit per client */
    uint16_t awaited;         /* whose reports a label waits for before it is open */
    unsigned judge, host;
};

struct kl_verdict_label {
    uint32_t frame;
    uint16_t reported; /* bit per client */
    uint16_t late;     /* reported when the label was open already */
    uint16_t loaded;   /* had loaded a state before they ran the label's frame */
    uint8_t said;      /* 0: nothing yet, 1: incomplete, 2: complete */
    uint8_t differs;   /* as said last */
    uint64_t first_us; /* of the first report */
    struct kl_hash word[KL_MAX_CLIENTS];
};

struct kl_verdict_table {
    uint32_t begin, end; /* labels [begin, end), by order of announcement, are kept */
    struct kl_verdict_label asked[KL_MAX_CLIENTS]; /* by who asked first; reported == 0: none */
    bool any_open;
    uint32_t open; /* labels up to this one are, where any_open */
    bool any_bad;
    struct kl_verdict first_bad;
    struct kl_verdict_label label[KL_VERDICT_LABELS];
};

void kl_verdict_init(struct kl_verdict_table *t);

/* The room has marked a keyframe: hashes labelled `frame` will come. Labels ascend. The oldest one makes way
 * where the table is full. */
void kl_verdict_expect(struct kl_verdict_table *t, uint32_t frame);

/* loaded: the client has loaded a state in this game. Its core may keep more than its states hold, and so
 * give another state for the same game: from then on its unequal states are noted, if nothing else differs.
 * 0; KL_E_STATE where this client has reported that label, or it is settled: complete, and told.
 * A label that no keyframe has is compared too: clients that stop at the same frame ask for a verdict on
 * their last. Each client can have one of these open; its next one takes the place. */
int kl_verdict_report(struct kl_verdict_table *t, unsigned client, const struct kl_hash *h, bool loaded,
                      uint64_t now_us);
/* Opens labels. To be called before kl_verdict_next(), and when kl_verdict_due_us() says so. */
void kl_verdict_open(struct kl_verdict_table *t, const struct kl_verdict_court *court, uint64_t now_us);

/* The next verdict that is due. A run of complete labels of keyframes that are equal gives only the newest of
 * them. False where none is due. out->healed is the caller's. */
bool kl_verdict_next(struct kl_verdict_table *t, const struct kl_verdict_court *court, uint64_t now_us,
                     struct kl_verdict *out);

/* What a label says of its reports. */
struct kl_verdict_camps {
    uint16_t reported, right; /* right: 0 where nobody can say: too few have spoken in time */
    bool majority;            /* right are more than half of the voters who reported; else it was decided */
    bool ram; /* it is RAM that differs (or picture and sound); else states alone, or a core shows no RAM */
};
/* False where that label is not kept (any more), or nothing differs. */
bool kl_verdict_camps(const struct kl_verdict_table *t, uint32_t frame, const struct kl_verdict_court *court,
                      struct kl_verdict_camps *out);

/* What these clients have reported does not count any more. */
void kl_verdict_forget(struct kl_verdict_table *t, uint16_t clients);
/* All is equal again: verdicts name no earlier difference any more. */
void kl_verdict_healed(struct kl_verdict_table *t);

/* When kl_verdict_open() and kl_verdict_next() are to be asked at the latest; UINT64_MAX where nothing is
 * open. */
uint64_t kl_verdict_due_us(const struct kl_verdict_table *t);

/* What two reports of one label differ in, as in struct kl_verdict. Without RAM the state is all there is, so
 * then it counts in full; else as both say. */
int kl_verdict_difference(const struct kl_hash *a, const struct kl_hash *b);

#endif
