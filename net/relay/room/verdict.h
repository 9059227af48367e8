/* verdict.h - compares the hashes that a room's clients report for marked keyframes. docs/design.md §6.
 *
 * Pure, caller-allocated. The caller hands in memory for each client before its first report. The caller
 * feeds the expected labels (the room marks them), the clients' reports, and the clients present; and fetches
 * the verdicts that are due.
 *
 * A label is open, and all before it are, once all clients that are waited for have reported, or the first
 * did KL_REPORT_WAIT_US ago. No verdict on a label goes out before it is open. So no client learns anything
 * of the others' reports before its own is in or its time is up. A later report is late: it is compared, but
 * has no vote.
 *
 * A verdict on an open label is due when all present clients have reported; when the first difference shows,
 * and again when it is complete; incomplete when a client has kept silent for KL_VERDICT_WAIT_US. */
#ifndef KL_VERDICT_H
#define KL_VERDICT_H

#include "net/engine/msg.h"

/* Labels kept: a label is at a keyframe, and clients are within KL_WINDOW_FRAMES of each other. */
#define KL_VERDICT_LABELS  KL_WINDOW_FRAMES
#define KL_REPORT_WAIT_US  (1 * 1000000) /* after the first report */
#define KL_VERDICT_WAIT_US (3 * 1000000) /* the same */

/* A hash in parts, for tables: all but its values fit into a byte. */
uint8_t kl_verdict_flags(const struct kl_hash *h);
struct kl_hash kl_verdict_hash(uint32_t frame, uint64_t ram, uint64_t state, uint64_t av, uint8_t flags);

/* The clients of the game and their votes: the majority of votes is right. If no voter has reported, the
 * minority is found among all clients that have. */
struct kl_verdict_court {
    uint16_t present, voters;     /* bit per client */
    uint16_t awaited;             /* a label opens after the reports of these */
    uint8_t home[KL_MAX_CLIENTS]; /* equal for clients at the same address */
};

/* Voters of one home have one vote together, and none if they disagree: one person can come as several. If
 * all voters are of one home, each has a vote. The votes for a camp; camp == voters: all votes that there
 * are, those of homes that disagree among them. Bits per client. */
unsigned kl_verdict_votes(const uint8_t home[KL_MAX_CLIENTS], uint16_t voters, uint16_t camp);

struct kl_verdict_label {
    uint32_t frame;
    uint16_t reported; /* bit per client */
    uint16_t late;     /* reported when the label was open already */
    uint16_t loaded;   /* clients that loaded a state before the label's frame */
    uint8_t said;      /* verdict sent: 0 none, 1 incomplete, 2 complete */
    uint8_t differs;   /* of the last verdict sent */
    uint64_t first_us; /* of the first report */
};

/* One client's reports, by the label's place: those of `label`, then those of `asked`. Need not be cleared.
 */
#define KL_VERDICT_PLACES (KL_VERDICT_LABELS + KL_MAX_CLIENTS)
struct kl_verdict_words {
    uint64_t ram[KL_VERDICT_PLACES], av[KL_VERDICT_PLACES], state[KL_VERDICT_PLACES];
    uint8_t flags[KL_VERDICT_PLACES];
};

struct kl_verdict_table {                           /* all zero: empty */
    struct kl_verdict_words *words[KL_MAX_CLIENTS]; /* the caller's; NULL: the client reports nothing */
    uint32_t begin, end; /* labels [begin, end), by order of announcement, are kept */
    struct kl_verdict_label asked[KL_MAX_CLIENTS]; /* by the first asker; reported == 0: none */
    bool any_open;
    uint32_t open; /* labels up to this one are open; valid if any_open */
    bool any_bad;
    struct kl_verdict first_bad;
    struct kl_verdict_label label[KL_VERDICT_LABELS];
};

/* The room has marked a keyframe: hashes labelled `frame` will come. Labels ascend. If the table is full, the
 * oldest one makes way. */
void kl_verdict_expect(struct kl_verdict_table *t, uint32_t frame);

/* loaded: the client has loaded a state in this game. Its core may hold more than its states do, and so give
 * another state for the same game: from then on its unequal states are only noted, if nothing else differs.
 * 0; KL_E_SPACE without memory for it; KL_E_STATE if this client has reported that label, or if its complete
 * verdict is sent. A label without a keyframe is compared too: clients that stop at the same frame ask for a
 * verdict on their last frame. Each client can have one of these open; its next one replaces it. */
int kl_verdict_report(struct kl_verdict_table *t, unsigned client, const struct kl_hash *h, bool loaded,
                      uint64_t now_us);
/* Opens labels. To be called before kl_verdict_next(), and at kl_verdict_due_us(). */
void kl_verdict_open(struct kl_verdict_table *t, const struct kl_verdict_court *court, uint64_t now_us);

/* The next verdict that is due. Of a run of complete and equal labels of keyframes only the newest gets a
 * verdict. False if none is due. out->healed is the caller's. */
bool kl_verdict_next(struct kl_verdict_table *t, const struct kl_verdict_court *court, uint64_t now_us,
                     struct kl_verdict *out);

/* The camps among a label's reports. */
struct kl_verdict_camps {
    uint16_t reported;
    uint16_t right; /* the camp of more than half of the votes of those that reported; 0: there is none */
    bool tied;      /* there is none, though at least half of the voters reported in time */
    bool picture;   /* picture and sound differ */
    bool ram;       /* RAM differs (or picture and sound); else states alone, or a core shows no RAM */
};
/* False if that label is not kept, or nothing differs. */
bool kl_verdict_camps(const struct kl_verdict_table *t, uint32_t frame, const struct kl_verdict_court *court,
                      struct kl_verdict_camps *out);

/* The clients that have reported this label. */
uint16_t kl_verdict_reported(const struct kl_verdict_table *t, uint32_t frame);
/* The reports of these clients do not count any more. */
void kl_verdict_forget(struct kl_verdict_table *t, uint16_t clients);
/* All is equal again: verdicts name no earlier difference any more. */
void kl_verdict_healed(struct kl_verdict_table *t);

/* The time of the next kl_verdict_open() and kl_verdict_next() at the latest; UINT64_MAX if nothing is
 * open. */
uint64_t kl_verdict_due_us(const struct kl_verdict_table *t);

/* The difference of two reports of one label, as in struct kl_verdict. loaded: one of the two clients has
 * loaded a state. Then unequal states are only noted, if RAM is equal, or the picture of a core without RAM,
 * and not both reports say that the state counts in full. The same if one report says that its state is only
 * noted, and RAM is equal. A missing state is never noted. */
int kl_verdict_difference(const struct kl_hash *a, const struct kl_hash *b, bool loaded);

#endif
